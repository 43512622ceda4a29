"""Verdicts on a system over a channel: the standard checks, and formulas of temporal logic."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial

from proofs.core.explore import Space, TooLarge, Trace, explore
from proofs.core.kernels import Array
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.logic import parsing
from proofs.logic.checking import FormulaChecker, Runs, of_all_runs
from proofs.logic.fairness import AGENTS, ROWS, Demand, Strength, fairness
from proofs.logic.formulas import (
    FALSE,
    And,
    Atom,
    Exists,
    Formula,
    Not,
    Or,
    Release,
    Truth,
    Until,
    atoms,
    negated,
    negation_normal,
    parts,
)
from proofs.logic.graph import WORD, EdgeClass, Graph, edge_classes, graph_of, label_edges_to
from proofs.systems import partial_order, symmetry
from proofs.systems.fairness import acting, agents_of, asked, row_of, taking
from proofs.systems.partial_order import PartialOrder, is_branching
from proofs.systems.product import Action, Composition, Move
from proofs.systems.propositions import (
    AllEnded,
    NotedState,
    Noting,
    OfStep,
    bits_of,
    is_propositional,
    named,
    test_of,
    vocabulary,
)
from proofs.systems.reachability import Reached, reach
from proofs.systems.replay import shown
from proofs.systems.standard_checks import STANDARD, StandardCheck, StandardChecks, applying
from proofs.systems.symmetry import Quotient, Symmetry, unfolded
from pxp_fsm.errors import UsageError

Key = tuple[int, Hashable]
"""A class of steps: the number of the demand, and a row with its member, or an agent."""


def _graph(reached: Reached, demands: Sequence[Demand], vocabulary: frozenset[str]) -> Graph:
    """The graph of what was reached, with the steps to which runs are fair as `demands` ask."""
    offsets, targets = reached.edges
    classes, labels = _labels(reached, demands, vocabulary)
    return Graph(
        reached.runner,
        offsets,
        targets,
        (0,),
        partial(_truth, reached),
        reached.along,
        vocabulary,
        classes,
        labels,
    )


def _truth(reached: Reached, name: str) -> bytearray:
    """For each state a 1 where the proposition with this name holds."""
    composition, noted = reached.composition, reached.noted
    meant = named(composition)[name]
    if isinstance(meant, OfStep):
        latest = noted.latest
        return reached.marks(~noted.keep, lambda part: meant in latest[part >> noted.shift])
    if isinstance(meant, AllEnded):  # member by member: together they have too many states
        return reached.all_marks(
            (field.bits, lambda part, field=field, final=final: field.of(part) in final)  # type: ignore[misc] # mypy sees no default in a lambda
            for field, final in zip(composition.encoding.fields, composition.finals, strict=True)
        )
    return reached.marks(bits_of(composition, meant), test_of(composition, meant))


def _holds(reached: Reached, formula: Formula) -> bytearray:
    """For each state a 1 where a propositional formula holds."""
    every = int.from_bytes(b"\1" * len(reached.states))

    def holds(part: Formula) -> int:
        match part:
            case Truth(constant):
                return every if constant else 0
            case Atom(name):
                return int.from_bytes(_truth(reached, name))
            case Not(of):
                return holds(of) ^ every
            case And(left, right):
                return holds(left) & holds(right)
            case Or(left, right):
                return holds(left) | holds(right)
        raise AssertionError(f"not propositional: {part}")

    return bytearray(holds(formula).to_bytes(len(reached.states)))


def _labels(
    reached: Reached, demands: Sequence[Demand], vocabulary: frozenset[str]
) -> tuple[tuple[EdgeClass, ...], tuple[Array, ...]]:
    """The classes that `demands` mean, and for each step those to which it belongs."""
    keys = list[Key]()
    for number, demand in enumerate(demands):
        keys += ((number, key) for key in _keys(reached.composition, demand))
    places = {key: place for place, key in enumerate(keys)}
    classes = edge_classes([demands[number].strength for number, _ in keys])
    labels = []
    for word in range(-(-len(keys) // WORD)):

        def bits(move: Move, word: int = word) -> int:
            mask = 0
            for number, demand in enumerate(demands):
                for key in _keys_of(reached.composition, demand, move):
                    place = classes[places[number, key]]
                    mask |= place.bit if place.word == word else 0
            return mask

        def label(moves: Sequence[Move], bits: Callable[[Move], int] = bits) -> list[int]:
            """Moves with one action to one state are one step, with the bits of all of them."""
            together: dict[tuple[Action, int], int] = {}
            steps = list(
                zip((move.action for move in moves), reached.noted.differences(moves), strict=True)
            )
            for step, move in zip(steps, moves, strict=True):
                together[step] = together.get(step, 0) | bits(move)
            return [together[step] for step in steps]

        labels.append(reached.labels(label))
    for (number, _), place in zip(keys, classes, strict=True):
        asked_of = demands[number].of
        if isinstance(asked_of, str):
            continue
        unknown = set(atoms(asked_of)) - vocabulary
        if unknown:
            raise parsing.unknown(unknown, vocabulary, "no step leads to")
        truth = reached.runner.put("B", _holds(reached, asked_of))
        reached.runner.run(label_edges_to, reached.edges[1], truth, place.bit, labels[place.word])
    return classes, tuple(labels)


def _keys(composition: Composition, demand: Demand) -> Iterator[Hashable]:
    """The classes of steps to which a demand is fair."""
    if demand.of == ROWS:
        for place, member in enumerate(composition.system.members):
            rows = (row_of(place, row) for row in member.automaton.transitions)
            yield from dict.fromkeys(rows)
    elif demand.of == AGENTS:
        yield from (member.name for member in composition.system.members)
    else:
        yield None


def _keys_of(composition: Composition, demand: Demand, move: Move) -> Iterable[Hashable]:
    """The classes to which a move belongs by its rows, or by whose it is."""
    if not isinstance(demand.of, str):
        return ()
    if demand.of == ROWS:
        return (row_of(*taken) for taken in move.rows)
    return agents_of(composition, move)


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
    """What every system must pass, by name (of `names`, or all that apply); FAILS with a shortest
    trace, taken by real machines.

    UNKNOWN where `effort` does not suffice and nothing wrong was met. Raises `NotReducible` where
    the reduction cannot be used.
    """
    names = names or frozenset(applying(composition.system))
    if reduction is Reduction.PARTIAL_ORDER:
        yield from _in_one_order(composition, effort, names)
        return
    chosen: Symmetry | None = None
    if reduction is Reduction.SYMMETRY:
        _refuse(reduction, symmetry.why_not(composition.system, None))
        chosen = Symmetry(composition)
    standing = StandardChecks(reach(composition, effort, chosen))
    for name, standard_check in STANDARD.items():
        if name in names:
            yield name, _decided(standard_check, standing)


def _in_one_order(
    composition: Composition, effort: Effort | None, names: frozenset[str]
) -> Iterator[tuple[str, Verdict]]:
    """Each standard check by the partial order that keeps it."""
    _refuse(Reduction.PARTIAL_ORDER, partial_order.why_not(composition, None))
    for name, standard_check in STANDARD.items():
        if name in names:
            reached = reach(composition, effort, partial_order.for_check(composition, name))
            yield name, _decided(standard_check, StandardChecks(reached))


def _decided(standard_check: StandardCheck, standing: StandardChecks) -> Verdict:
    try:
        return standard_check.decide(standing)
    except TooLarge as error:  # in a state that exploring has not come to
        return Verdict(Status.UNKNOWN, str(error))


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
    reduction cannot be used. `compiled` is that of `reach`.
    """
    if demands and reduction is not None:
        demands = _fair(composition, formula, demands, reduction)
    wanted = vocabulary(composition, {*atoms(formula), *asked(demands)})
    unknown = sorted(set(atoms(formula)) - wanted)
    if unknown:
        raise parsing.unknown(unknown, wanted, "no reachable state has")
    model = Noting(composition, {*atoms(formula), *asked(demands)})
    quotient = _quotient(model, formula, reduction)
    answered = _of_reached(composition, formula)
    if answered is not None and runs is Runs.COMPLETE and not demands:
        ordered = reduction is Reduction.PARTIAL_ORDER
        symmetric = quotient.symmetry if quotient else None
        chosen = _order(composition, formula) if ordered else symmetric
        reached = reach(composition, effort, chosen, compiled if reduction is None else None)
        return _with_loss(answered(reached), formula)
    try:
        if reduction is None:
            reached = reach(composition, effort, compiled=compiled, noting=model)
            if reached.cut:
                return Verdict(Status.UNKNOWN, reached.cut)
            graph = _graph(reached, demands, wanted)
        else:
            space = _space(model, formula, quotient, effort)
            fairly = fairness(
                demands, model, space, wanted, taking(composition), acting(composition)
            )
            graph = graph_of(quotient or model, space, fairly, wanted)
        verdict = FormulaChecker(graph, runs).check(formula)
    except TooLarge as error:
        return Verdict(Status.UNKNOWN, str(error))
    if verdict.trace is None:
        return verdict
    trace, cycle = verdict.trace, verdict.cycle
    if quotient is not None:
        steps = [(step.action, step.target.state) for step in trace.steps]
        walked, cycle = unfolded(quotient.symmetry, trace.start.state, steps, cycle)
        trace = Trace(trace.start.state, tuple(walked))
    replayed = Verdict(verdict.status, verdict.detail, shown(composition, trace), cycle)
    return _with_loss(replayed, formula)


def _with_loss(verdict: Verdict, formula: Formula) -> Verdict:
    """`verdict`, which says whether what contradicts `formula` is that something is impossible."""
    if verdict.status is not Status.FAILS or verdict.cycle:
        return verdict
    wrong = negation_normal(negated(of_all_runs(formula)))
    lost = any(isinstance(part, Not) and isinstance(part.of, Exists) for part in parts(wrong))
    return replace(verdict, impossible=lost)


def _fair(
    composition: Composition, formula: Formula, demands: Sequence[Demand], reduction: Reduction
) -> Sequence[Demand]:
    """What is asked of runs of the states that a reduction keeps; it is refused where it is lost.

    Over buffers nobody else takes from an agent what it can do. So weak fairness to agents is
    strong fairness, and two runs that differ in the order of independent steps are both fair. Each
    cycle that is followed has a state of which every step is followed: what an agent can do on the
    cycle is seen there.
    """
    kept = all(demand.of == AGENTS for demand in demands) and not composition.events
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
) -> Space[NotedState]:
    """What a reduction explores: by symmetry where there is a quotient, else by partial order."""
    if quotient is not None:
        return explore(quotient, effort=effort)
    return explore(model, effort=effort, followed=_order(model.composition, formula).steps)


def _order(composition: Composition, formula: Formula) -> PartialOrder:
    return PartialOrder(composition, atoms(formula), branching=is_branching(formula))


def _refuse(reduction: Reduction, reason: str) -> None:
    if reason:
        raise NotReducible(reduction, reason)


def invariant(composition: Composition, formula: Formula) -> Formula | None:
    """What `formula` says of every state (G p or AG p, where p speaks of states); else None."""
    condition = _of_every_state(formula)
    return condition if condition is not None and _is_of_states(composition, condition) else None


def home_space(composition: Composition, formula: Formula) -> Formula | None:
    """What `formula` says can always be reached again (AG EF p, p of states); else None."""
    match _of_every_state(formula):
        case Exists(Until(Truth(True), goal)) if _is_of_states(composition, goal):
            return goal
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
    return _first(reached, _holds(reached, formula).find(0))


def _again(reached: Reached, formula: Formula) -> Verdict:
    """Whether from every state one is reached in which a propositional formula holds."""
    if reached.cut:
        return Verdict(Status.UNKNOWN, reached.cut)
    return _first(reached, reached.leading_to(_holds(reached, formula)).find(0))


def _first(reached: Reached, number: int) -> Verdict:
    """FAILS in the state with this number, if any."""
    if number >= 0:
        trace = shown(reached.composition, reached.trace_to(number))
        return Verdict(Status.FAILS, trace=trace)
    return Verdict(Status.UNKNOWN, reached.cut) if reached.cut else Verdict(Status.HOLDS)
