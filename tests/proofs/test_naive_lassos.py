"""Fair lassos of small graphs, beside an oracle that tries every set of states for a cycle.

A run that is fair meets some set of states for ever, and may take every edge inside it for ever:
so there is a fair run that breaks `F p` exactly if such a set without p is reached without p.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import pytest

from proofs.core.explore import Step, explore
from proofs.core.results import Status
from proofs.logic.checking import Runs
from proofs.logic.fairness import FairClass, Fairness, Strength
from proofs.logic.graph import graph_of
from proofs.logic.parsing import parse
from tests.oracles.graphs import NAMES, Graph
from tests.proofs.test_compiled_formulas import decided, is_fair
from tests.proofs.test_logic import breaks

States = frozenset[int]


def reached(graph: Graph, starts: States, among: States) -> States:
    """The states that runs inside `among` lead to."""
    found, left = set(starts & among), list(starts & among)
    while left:
        for target in graph.edges[left.pop()]:
            if target in among and target not in found:
                found.add(target)
                left.append(target)
    return frozenset(found)


def cycles(graph: Graph, classes: Sequence[FairClass[int]]) -> Iterator[States]:
    """The sets of states that a fair run may meet for ever, and no others."""
    every = range(len(graph.edges))
    for size in range(1, len(graph.edges) + 1):
        for chosen in combinations(every, size):
            states = frozenset(chosen)
            after = {s: frozenset(graph.edges[s]) & states for s in states}
            if all(reached(graph, after[s], states) == states for s in states) and all(
                fair(graph, states, one) for one in classes
            ):
                yield states


def fair(graph: Graph, states: States, one: FairClass[int]) -> bool:
    """Whether a run that takes every edge inside `states` for ever is fair to the class."""
    can = [any(one.contains(s, step) for step in graph.successors(s)) for s in states]
    takes = any(
        one.contains(s, step)
        for s in states
        for step in graph.successors(s)
        if step.target in states
    )
    return takes or not (any(can) if one.strength is Strength.STRONG else all(can))


def with_(graph: Graph, name: str) -> States:
    return frozenset(s for s, true in enumerate(graph.true) if name in true)


Broken = Callable[[Graph, Sequence[FairClass[int]]], bool]


def avoids(graph: Graph, classes: Sequence[FairClass[int]]) -> bool:
    """Some fair run never comes to p."""
    without = frozenset(range(len(graph.edges))) - with_(graph, "p")
    there = reached(graph, frozenset({0}), without)
    return any(states <= there for states in cycles(graph, classes))


def some(graph: Graph, classes: Sequence[FairClass[int]]) -> Iterator[States]:
    there = reached(graph, frozenset({0}), frozenset(range(len(graph.edges))))
    return (states for states in cycles(graph, classes) if states <= there)


BROKEN: dict[str, Broken] = {
    "F p": avoids,
    "G F p": lambda g, fairly: any(not states & with_(g, "p") for states in some(g, fairly)),
    "F G p": lambda g, fairly: any(not states <= with_(g, "p") for states in some(g, fairly)),
    "F G p | F G q": lambda g, fairly: any(
        not states <= with_(g, "p") and not states <= with_(g, "q") for states in some(g, fairly)
    ),
    "G F p | G F q": lambda g, fairly: any(
        not states & (with_(g, "p") | with_(g, "q")) for states in some(g, fairly)
    ),
    "G F p -> G F q": lambda g, fairly: any(
        states & with_(g, "p") and not states & with_(g, "q") for states in some(g, fairly)
    ),
}


def is_one_of(edges: frozenset[tuple[int, int]], state: int, step: Step[int]) -> bool:
    return (state, step.target) in edges


def drawn(chance: random.Random) -> tuple[Graph, list[FairClass[int]]]:
    """A graph in which every run goes on, and classes of some of its edges."""
    size, density = chance.randint(1, 6), chance.choice((0.15, 0.3, 0.5))
    edges = [[t for t in range(size) if chance.random() < density] for _ in range(size)]
    edges = [targets or [chance.randrange(size)] for targets in edges]
    true = [frozenset(name for name in NAMES if chance.random() < 0.5) for _ in range(size)]
    every = [(s, t) for s, targets in enumerate(edges) for t in targets]
    classes = []
    for _ in range(chance.choice((0, 1, 2, 2, 3, 18))):
        share = chance.choice((0.1, 0.2, 0.5))
        chosen = frozenset(edge for edge in every if chance.random() < share)
        classes.append(FairClass[int](chance.choice(list(Strength)), partial(is_one_of, chosen)))
    return Graph(tuple(map(tuple, edges)), tuple(true)), classes


def compared(seeds: range) -> set[tuple[str, Status, bool]]:
    met = set[tuple[str, Status, bool]]()
    for seed in seeds:
        chance = random.Random(seed)
        graph, classes = drawn(chance)
        text = chance.choice(list(BROKEN))
        broken = BROKEN[text](graph, classes)
        arrays = graph_of(graph, explore(graph), Fairness(tuple(classes)), frozenset(NAMES))
        for verdict in decided(arrays, parse(text), Runs.COMPLETE):
            assert verdict.status is (Status.FAILS if broken else Status.HOLDS), (seed, text)
            if broken:
                assert verdict.trace is not None
                assert verdict.cycle > 0
                assert breaks(graph, parse(text), verdict.trace, verdict.cycle), (seed, text)
                assert all(is_fair(graph, one, verdict) for one in classes), (seed, text)
        met.add((text, Status.FAILS if broken else Status.HOLDS, bool(classes)))
    return met


@pytest.mark.deep
def test_a_fair_lasso_is_found_where_there_is_one_and_nowhere_else() -> None:
    met = compared(range(120))
    statuses = (Status.HOLDS, Status.FAILS)
    assert {(text, status, True) for text in BROKEN for status in statuses} <= met


@pytest.mark.parametrize(
    ("strength", "edge", "least"),
    [
        (Strength.WEAK, (0, 2), 2),  # the loop at 0 waits for it; 1 does not enable it
        (Strength.WEAK, (1, 0), 1),
        (Strength.STRONG, (1, 0), 1),  # the loop never enables it
        (Strength.STRONG, (0, 1), 2),  # it is taken on the longer cycle
        (Strength.STRONG, (0, 2), 0),  # whoever comes through 0 again and again leaves
    ],
)
def test_a_longer_cycle_is_told_where_the_shortest_is_unfair(
    strength: Strength, edge: tuple[int, int], least: int
) -> None:
    graph = Graph(((0, 1, 2), (0,), (2,)), (frozenset(), frozenset(), frozenset({"p"})))
    one = FairClass[int](strength, partial(is_one_of, frozenset({edge})))
    assert avoids(graph, [one]) is bool(least)
    arrays = graph_of(graph, explore(graph), Fairness((one,)), frozenset(NAMES))
    for verdict in decided(arrays, parse("F p"), Runs.COMPLETE):
        assert bool(verdict.cycle) is bool(least)
        assert verdict.cycle >= least
        assert least == 0 or is_fair(graph, one, verdict)


@pytest.mark.deep
def test_more_fair_lassos() -> None:
    compared(range(1_000, 2_000))
