"""Formulas of a composition with many states: its graph in arrays, and what holds there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from proofs.core.explore import Trace
from proofs.core.kernel import WIDEST
from proofs.core.limits import Effort
from proofs.core.model import Step
from proofs.core.results import Status, Verdict
from proofs.core.table_search import Visited, explore_tables
from proofs.logic import parsing
from proofs.logic.checking import Runs
from proofs.logic.fairness import AGENTS, ROWS, Demand
from proofs.logic.formulas import Formula, atoms
from proofs.logic.graph_checking import GraphChecker, TooWide
from proofs.logic.unfolding import Class, Graph
from proofs.systems.fairness import agent_of
from proofs.systems.product import Composition, Move
from proofs.systems.propositions import (
    Ended,
    Noting,
    OfStep,
    bits_of,
    named,
    test_of,
    value,
)
from proofs.systems.replay import shown
from proofs.systems.tables import labelled, projected, tables_of

WORD = 31
"""How many classes of steps have a bit in one word."""

Key = tuple[int, Hashable]
"""A class of steps: the number of the demand, and a row with its member, or an agent."""


def check_graph(
    noting: Noting,
    formula: Formula,
    runs: Runs,
    effort: Effort,
    demands: Sequence[Demand],
    vocabulary: frozenset[str],
) -> Verdict | None:
    """Whether the composition satisfies `formula`, as `proofs.systems.checking.check` says it.

    UNKNOWN where `effort` does not suffice; None where states or product are too wide for arrays.
    """
    adds = _Adding(noting)
    tables = tables_of(noting.composition, adds)
    if adds.shift + (len(adds.latest) - 1).bit_length() > WIDEST:
        return None
    unknown = sorted(set(atoms(formula)) - vocabulary)
    if unknown:
        raise parsing.unknown(unknown, vocabulary, "no reachable state has")
    visited = explore_tables(tables, effort)
    if visited.cut:
        return Verdict(Status.UNKNOWN, visited.cut)
    offsets, targets = visited.edges()
    truth = partial(_truth, adds, visited)
    classes, labels = _labels(adds, visited, offsets, targets, truth, demands, vocabulary)
    checker = GraphChecker(Graph(offsets, targets, truth, classes, labels), (0,), runs)
    try:
        found = checker.check(formula)
    except TooWide:
        return None
    trace = None
    if found.status is Status.FAILS:
        start = int(visited.states[found.start]) & tables.keep
        steps = tuple(_steps(noting.composition, visited, offsets, targets, found.edges))
        trace = shown(noting.composition, Trace(start, steps))
    return Verdict(found.status, found.detail, trace, found.cycle)


class _Adding:
    """What a move adds to a state that also says what is true of the latest step."""

    def __init__(self, noting: Noting) -> None:
        self.noting = noting
        self.composition = noting.composition
        self.shift = self.composition.encoding.bits
        self.latest: dict[frozenset[OfStep], int] = {frozenset(): 0}

    def __call__(self, move: Move) -> int:
        number = self.latest.setdefault(self.noting.latest(move), len(self.latest))
        return move.difference + (number << self.shift)


def _truth(adds: _Adding, visited: Visited, name: str) -> Any:
    """For each state whether the proposition with this name holds there."""
    import numpy as np

    composition, states = adds.composition, visited.states
    meant = named(composition)[name]
    if isinstance(meant, OfStep):
        told = np.array([meant in latest for latest in adds.latest])
        return told[states >> adds.shift]
    if isinstance(meant, Ended):
        ended = np.ones(len(states), np.bool_)
        for place, field in enumerate(composition.encoding.fields):
            final = np.array([n in composition.finals[place] for n in range(field.mask + 1)])
            ended &= final[states >> field.shift & field.mask]
        return ended
    met, places = projected(states, bits_of(composition, meant))
    holds = test_of(composition, meant)
    return np.array([holds(part) for part in met])[places]


def _labels(
    adds: _Adding,
    visited: Visited,
    offsets: Any,
    targets: Any,
    truth: Callable[[str], Any],
    demands: Sequence[Demand],
    vocabulary: frozenset[str],
) -> tuple[tuple[Class, ...], tuple[Any, ...]]:
    """The classes that `demands` mean, and for each step those to which it belongs."""
    keys = list[Key]()
    for number, demand in enumerate(demands):
        keys += ((number, key) for key in _keys(adds.composition, demand))
    places = {key: place for place, key in enumerate(keys)}
    classes = tuple(
        Class(demands[key[0]].strength, place // WORD, 1 << place % WORD)
        for place, key in enumerate(keys)
    )
    whose = [n for n, demand in enumerate(demands) if isinstance(demand.of, str)]

    def word(which: int, move: Move) -> int:
        bits = 0
        for number in whose:
            for key in _keys_of(demands[number], move):
                place = places[number, key]
                bits |= 1 << place % WORD if place // WORD == which else 0
        return bits

    labels = []
    for which in range(-(-len(keys) // WORD)):
        found = labelled(adds.composition, visited.states, offsets, partial(word, which), adds)
        for number, demand in enumerate(demands):
            place = places.get((number, None), -1)
            if number in whose or place // WORD != which or isinstance(demand.of, str):
                continue
            unknown = set(atoms(demand.of)) - vocabulary
            if unknown:
                raise parsing.unknown(unknown, vocabulary, "no step leads to")
            holds = _holds(demand.of, truth, len(visited.states))
            found |= holds[targets].astype(found.dtype) << place % WORD
        labels.append(found)
    return classes, tuple(labels)


def _holds(formula: Formula, truth: Callable[[str], Any], states: int) -> Any:
    """For each state whether a propositional formula holds there."""
    import numpy as np

    names = sorted(set(atoms(formula)))
    known = np.zeros(states, np.int64)
    for bit, name in enumerate(names):
        known |= truth(name).astype(np.int64) << bit
    met, places = np.unique(known, return_inverse=True)
    told = [{name: bool(one >> bit & 1) for bit, name in enumerate(names)} for one in met.tolist()]
    return np.array([value(formula, true) for true in told])[places]


def _keys(composition: Composition, demand: Demand) -> Iterator[Hashable]:
    """The classes of steps to which a demand is fair."""
    if demand.of == ROWS:
        for place, member in enumerate(composition.system.members):
            yield from ((place, row) for row in member.automaton.transitions)
    elif demand.of == AGENTS:
        yield from (member.name for member in composition.system.members)
        yield None
    else:
        yield None


def _keys_of(demand: Demand, move: Move) -> Iterable[Hashable]:
    return move.rows if demand.of == ROWS else (agent_of(move.action),)


def _steps(
    composition: Composition, visited: Visited, offsets: Any, targets: Any, edges: Sequence[int]
) -> Iterator[Step[int]]:
    """The steps of the composition that these edges are."""
    keep = visited.tables.keep
    for edge in edges:
        source = int(offsets.searchsorted(edge, "right")) - 1
        moves = composition.moves(int(visited.states[source]) & keep)
        move = moves[edge - int(offsets[source])]
        yield Step(move.action, int(visited.states[targets[edge]]) & keep)
