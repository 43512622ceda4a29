"""Verdicts on a system over a channel: the standard checks, and formulas of temporal logic."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any

from proofs.core.explore import Space, Step, TooLarge, Trace, explore
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.core.table_search import WIDEST, Visited, explore_tables
from proofs.logic import parsing
from proofs.logic.checking import FormulaChecker, Runs
from proofs.logic.fairness import AGENTS, ROWS, Demand, Strength, fairness
from proofs.logic.formulas import FALSE, Exists, Formula, Not, Release, Truth, Until, atoms
from proofs.logic.graph_checking import EdgeClass, Graph, GraphChecker, TooWide
from proofs.systems import partial_order, symmetry
from proofs.systems.fairness import acting, agent_of, asked, taking
from proofs.systems.partial_order import PartialOrder, is_branching
from proofs.systems.product import Composition, Move
from proofs.systems.propositions import (
    AllEnded,
    NotedState,
    Noting,
    OfStep,
    bits_of,
    is_propositional,
    named,
    test_of,
    value,
    vocabulary,
)
from proofs.systems.reachability import Reached, reach
from proofs.systems.replay import shown
from proofs.systems.standard_checks import STANDARD, StandardChecks
from proofs.systems.symmetry import Quotient, Symmetry, unfolded
from proofs.systems.tables import fits, labelled, projected, tables_of
from pxp_fsm.errors import UsageError

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
    if isinstance(meant, AllEnded):
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
) -> tuple[tuple[EdgeClass, ...], tuple[Any, ...]]:
    """The classes that `demands` mean, and for each step those to which it belongs."""
    keys = list[Key]()
    for number, demand in enumerate(demands):
        keys += ((number, key) for key in _keys(adds.composition, demand))
    places = {key: place for place, key in enumerate(keys)}
    classes = tuple(
        EdgeClass(demands[key[0]].strength, place // WORD, 1 << place % WORD)
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


GRAPH_FROM = 5_000
"""From how many states on formulas are checked on a graph in arrays."""


class Reduction(StrEnum):
    """How fewer states can be enough."""

    SYMMETRY = "symmetry"
    PARTIAL_ORDER = "partial-order"


UNFAIR = {
    Reduction.SYMMETRY: "in a run of states that stand for others it is not seen whose step each "
    "is (Emerson and Sistla, Utilizing symmetry when model checking under fairness assumptions, "
    "CAV 1995)",
    Reduction.PARTIAL_ORDER: "of two runs that differ in the order of independent steps one may be "
    "fair and the other not (Apt, Francez and Katz, Appraising fairness in languages for "
    "distributed programming, Distributed Computing 2, 1988; Peled, All from one, one for all: on "
    "model checking using representatives, CAV 1993), save to agents where no event comes from "
    "outside and the formula has no E or A inside",
}
"""Why a reduction does not keep fairness."""


class NotReducible(UsageError):
    """A reduction cannot be used for what is asked of a system, for this reason."""

    def __init__(self, reduction: Reduction, reason: str) -> None:
        super().__init__(f"the reduction {reduction.value} cannot be used here: {reason}")
        self.reduction = reduction
        self.reason = reason


def decide_standard(
    composition: Composition,
    effort: Effort | None = None,
    reduction: Reduction | None = None,
    names: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, Verdict]]:
    """What every system must pass, by name (of `names`, or all); FAILS with a shortest trace, taken
    by real machines.

    UNKNOWN where `effort` does not suffice and nothing wrong was met. Raises `NotReducible` where
    the reduction cannot be used.
    """
    if reduction is Reduction.PARTIAL_ORDER:
        yield from _in_one_order(composition, effort, names)
        return
    chosen: Symmetry | None = None
    if reduction is Reduction.SYMMETRY:
        _refuse(reduction, symmetry.why_not(composition.system, None))
        chosen = Symmetry(composition)
    standing = StandardChecks(reach(composition, effort, chosen))
    for name, one in STANDARD.items():
        if name in names or not names:
            yield name, one.decide(standing)


def _in_one_order(
    composition: Composition, effort: Effort | None, names: frozenset[str]
) -> Iterator[tuple[str, Verdict]]:
    """Each standard check by the partial order that keeps it."""
    _refuse(Reduction.PARTIAL_ORDER, partial_order.why_not(composition, None))
    for name, one in STANDARD.items():
        if name in names or not names:
            reached = reach(composition, effort, partial_order.for_check(composition, name))
            yield name, one.decide(StandardChecks(reached))


def check(
    composition: Composition,
    formula: Formula,
    runs: Runs = Runs.COMPLETE,
    effort: Effort | None = None,
    reduction: Reduction | None = None,
    demands: Sequence[Demand] = (),
    compiled: bool | None = None,
) -> Verdict:
    """Whether the composition satisfies `formula`; a failing trace was taken by real machines.

    UNKNOWN where `effort` does not suffice. Runs that count are as fair as `demands` ask, which go
    without a reduction. Raises `UsageError` for a proposition that there is none of, and where the
    reduction cannot be used. `compiled` says whether Numba compiles the loops; by default where it
    can, and there are many states.
    """
    if demands and reduction is not None:
        demands = _fair(composition, formula, demands, reduction)
    wanted = vocabulary(composition)
    model = Noting(composition, {*atoms(formula), *asked(demands)})
    quotient = None
    if wanted.issuperset(atoms(formula)):
        quotient = _quotient(model, formula, reduction)
        answered = _of_reached(composition, formula)
        if answered is not None and runs is Runs.COMPLETE and not demands:
            chosen = quotient.symmetry if quotient else _order(composition, formula, reduction)
            how = compiled if reduction is None else None
            return answered(reach(composition, effort, chosen, how))
    space, large = None, reduction is None and compiled is not False and fits(composition)
    if large and not compiled:
        with suppress(TooLarge):
            space = explore(model, GRAPH_FROM, effort)
    if large and space is None and (effort is None or effort.states > GRAPH_FROM):
        answer = check_graph(model, formula, runs, effort or Effort(), demands, wanted)
        if answer is not None:
            return answer
    try:
        space = space or _space(model, formula, quotient, effort, reduction)
    except TooLarge as error:
        return Verdict(Status.UNKNOWN, str(error))
    fairly = fairness(demands, model, space, wanted, taking(composition), acting)
    verdict = FormulaChecker(quotient or model, space, runs, fairly, wanted).check(formula)
    if verdict.trace is None:
        return verdict
    trace, cycle = verdict.trace, verdict.cycle
    if quotient is not None:
        steps = [(step.action, step.target.state) for step in trace.steps]
        found, cycle = unfolded(quotient.symmetry, trace.start.state, steps, cycle)
        trace = Trace(trace.start.state, tuple(found))
    return Verdict(verdict.status, verdict.detail, shown(composition, trace), cycle)


def _fair(
    composition: Composition, formula: Formula, demands: Sequence[Demand], reduction: Reduction
) -> Sequence[Demand]:
    """What is asked of runs of the states that a reduction keeps; it is refused where it is lost.

    Over buffers nobody else takes from an agent what it can do. So weak fairness to agents is
    strong fairness, and two runs that differ in the order of independent steps are both fair. Each
    cycle that is followed has a state of which every step is followed: what an agent can do on the
    cycle is seen there.
    """
    kept = all(one.of == AGENTS for one in demands) and not composition.events
    if reduction is Reduction.SYMMETRY or not kept or is_branching(formula):
        _refuse(reduction, f"{UNFAIR[reduction]}; leave one of them out")
    return (Demand(Strength.STRONG, AGENTS),)


def _quotient(model: Noting, formula: Formula, reduction: Reduction | None) -> Quotient | None:
    if reduction is Reduction.PARTIAL_ORDER:
        _refuse(reduction, partial_order.why_not(model.composition, formula))
    if reduction is not Reduction.SYMMETRY:
        return None
    _refuse(reduction, symmetry.why_not(model.composition.system, formula))
    return Quotient(model, Symmetry(model.composition))


def _space(
    model: Noting,
    formula: Formula,
    quotient: Quotient | None,
    effort: Effort | None,
    reduction: Reduction | None,
) -> Space[NotedState]:
    if quotient is not None:
        return explore(quotient, effort=effort)
    order = _order(model.composition, formula, reduction)
    return explore(model, effort=effort, followed=order.steps if order else None)


def _order(
    composition: Composition, formula: Formula, reduction: Reduction | None
) -> PartialOrder | None:
    if reduction is not Reduction.PARTIAL_ORDER:
        return None
    return PartialOrder(composition, atoms(formula), branching=is_branching(formula))


def _refuse(reduction: Reduction, reason: str) -> None:
    if reason:
        raise NotReducible(reduction, reason)


def invariant(composition: Composition, formula: Formula) -> Formula | None:
    """What `formula` says of every state (G p or AG p, where p speaks of states); else None."""
    found = _of_every_state(formula)
    return found if found is not None and _is_of_states(composition, found) else None


def home_space(composition: Composition, formula: Formula) -> Formula | None:
    """What `formula` says can always be reached again (AG EF p, p of states); else None."""
    match _of_every_state(formula):
        case Exists(Until(Truth(True), found)) if _is_of_states(composition, found):
            return found
    return None


def _of_reached(composition: Composition, formula: Formula) -> Callable[[Reached], Verdict] | None:
    """How a formula is answered by what is reached alone, where it can be."""
    plain, home = invariant(composition, formula), home_space(composition, formula)
    if plain is not None:
        return partial(_always, formula=plain)
    return None if home is None else partial(_again, formula=home)


def _of_every_state(formula: Formula) -> Formula | None:
    match formula:
        case Release(left, right) if left == FALSE:
            return right
        case Not(Exists(Not(Release(left, right)))) if left == FALSE:
            return right
        case Not(Exists(Until(Truth(True), of))):
            return of.of if isinstance(of, Not) else Not(of)
    return None


def _is_of_states(composition: Composition, formula: Formula) -> bool:
    known = named(composition)
    plain = not any(isinstance(known[name], OfStep) for name in atoms(formula))
    return is_propositional(formula) and plain


def _always(reached: Reached, formula: Formula) -> Verdict:
    """Whether a propositional formula holds in every state; UNKNOWN where not all were reached."""
    return _first(reached, _marks(reached, Not(formula)).find(1))


def _again(reached: Reached, formula: Formula) -> Verdict:
    """Whether from every state one is reached in which a propositional formula holds."""
    if reached.cut:
        return Verdict(Status.UNKNOWN, reached.cut)
    return _first(reached, reached.leading_to(_marks(reached, formula)).find(0))


def _first(reached: Reached, number: int) -> Verdict:
    """FAILS in the state with this number, if any."""
    if number >= 0:
        trace = shown(reached.composition, reached.trace_to(number))
        return Verdict(Status.FAILS, trace=trace)
    return Verdict(Status.UNKNOWN, reached.cut) if reached.cut else Verdict(Status.HOLDS)


def _marks(reached: Reached, formula: Formula) -> bytearray:
    """For each state a 1 if a propositional formula holds there."""
    composition, known = reached.composition, named(reached.composition)
    meant = {name: known[name] for name in sorted(set(atoms(formula)))}
    about = {name: one for name, one in meant.items() if not isinstance(one, OfStep)}
    tests, mask = {name: test_of(composition, one) for name, one in about.items()}, 0
    for one in about.values():
        mask |= bits_of(composition, one)

    def holds(state: int) -> bool:
        return value(formula, {name: test(state) for name, test in tests.items()})

    return reached.marks(mask, holds)
