"""Runtime monitors: the four-valued verdict on a formula for a run so far.

True or false: no continuation can change it, either none whatever or none that a model allows.
Presumably true or false: what the formula would be if the run ended here (RV-LTL; Bauer, Leucker
and Schallhart, The good, the bad, and the ugly, but how ugly is ugly?, RV 2007). A monitor is the
checker's own tableau, made deterministic as far as runs need it; a step that was met before is a
look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import product
from typing import Generic, TypeVar

from proofs.core.explore import Model, explore
from proofs.logic.checking import FormulaChecker
from proofs.logic.formulas import Atom, Exists, Formula, atoms, path_parts
from proofs.logic.graph import graph_of
from proofs.logic.past import Remembering, history_of
from proofs.logic.tableau import MOST_EXACT, Tableau
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)
K = TypeVar("K", bound=Hashable)
L = TypeVar("L", bound=Hashable)

Letter = tuple[bool, ...]
"""The truth of a formula's atoms in one state of a run, in the tableau's order."""

_Promise = tuple[int, int]
"""A history, and a valuation: what the next state has to keep."""

_BITS = 15
"""Atoms and temporal operators that a formula by itself is decided with: each doubles the work."""

_NODES = 200_000
"""States times valuations that a model is decided with."""


class MonitorVerdict(StrEnum):
    """The four verdicts."""

    TRUE = "true"
    FALSE = "false"
    PRESUMABLY_TRUE = "presumably true"
    PRESUMABLY_FALSE = "presumably false"

    @property
    def settled(self) -> bool:
        """Whether no continuation changes it."""
        return self in (MonitorVerdict.TRUE, MonitorVerdict.FALSE)

    @property
    def positive(self) -> bool:
        """What it is or presumably is."""
        return self in (MonitorVerdict.TRUE, MonitorVerdict.PRESUMABLY_TRUE)


class Deterministic(Generic[K, L]):
    """An automaton that is worked out as it is walked: places are numbers, `start` is the first.

    `follow` gives the state after a letter and raises where there is none; `judge` its verdict.
    """

    start = 0

    def __init__(
        self, first: K, follow: Callable[[K, L], K], judge: Callable[[K], MonitorVerdict]
    ) -> None:
        self._follow = follow
        self._judge = judge
        self._states: list[K] = []
        self._places: dict[K, int] = {}
        self.moves: list[dict[L, int]] = []
        self.outlooks: list[MonitorVerdict] = []
        self._place(first)

    def after(self, place: int, letter: L) -> int:
        """The place after `letter`."""
        target = self.moves[place].get(letter)
        return self._found(place, letter) if target is None else target

    @property
    def size(self) -> int:
        """How many places have been met."""
        return len(self._states)

    def _found(self, place: int, letter: L) -> int:
        target = self._place(self._follow(self._states[place], letter))
        self.moves[place][letter] = target
        return target

    def _place(self, state: K) -> int:
        if state not in self._places:
            self._places[state] = len(self._states)
            self._states.append(state)
            self.moves.append({})
            self.outlooks.append(self._judge(state))
        return self._places[state]


@dataclass(frozen=True, slots=True)
class _Open:
    """After some states of a run: the valuations at the last with which the formula holds at the
    first (with all others it does not), its value if the run ends here, and the history.
    """

    valuations: frozenset[int]
    now: bool
    history: int = 0


class _Tracking:
    """How the tableau follows a run, whatever comes next."""

    def __init__(self, formula: Formula) -> None:
        if any(isinstance(part, Exists) for part in path_parts(formula)):
            raise UsageError(
                "a monitor sees one run, and A and E speak of others: leave them out of its formula"
            )
        self.history = history_of(formula)
        self.tableau = Tableau(formula if self.history is None else self.history.formula)
        self.atoms = atoms_of(formula)
        if len(self.tableau.choices) > MOST_EXACT:
            raise UsageError(
                f"the formula has {len(self.tableau.choices)} different temporal operators, and "
                f"at most {MOST_EXACT} are monitored; split it into several"
            )

    @property
    def start(self) -> int:
        """The history before the first state."""
        return 0 if self.history is None else self.history.start

    def read(self, history: int, letter: Letter) -> tuple[Letter, int]:
        """The truth of the tableau's atoms in a state, and the history after it."""
        if self.history is None:
            return letter, 0
        there = dict(zip(self.atoms, letter, strict=True))
        true, after = self.history.step(history, [there[atom] for atom in self.history.atoms])
        there |= {
            Atom(name): bool(true >> number & 1) for number, name in enumerate(self.history.names)
        }
        return tuple(there[atom] for atom in self.tableau.atoms), after

    def first(self, letter: Letter) -> _Open:
        tableau = self.tableau
        known, history = self.read(self.start, letter)
        holding = (v for v in tableau.valuations if tableau.holds(known, v))
        return _Open(frozenset(holding), tableau.holds(known, None), history)

    def after(self, before: _Open, letter: Letter) -> _Open:
        kept = self.tableau.kept
        known, history = self.read(before.history, letter)
        following = (v for v in self.tableau.valuations if kept(known, v) in before.valuations)
        return _Open(frozenset(following), kept(known, None) in before.valuations, history)


def by_itself(formula: Formula) -> Deterministic[_Open | None, Letter]:
    """A monitor of `formula` alone: any state may come after any other, and any may be the last.

    Letters are the truth of `atoms_of(formula)` in each state, the first included. Raises
    `UsageError` where the formula is too large, or speaks of more than one run.
    """
    tracking = _Tracking(formula)
    tableau = tracking.tableau
    past = 0 if tracking.history is None else tracking.history.bits
    bits = len(tracking.atoms) + len(tableau.choices) + past
    if bits > _BITS:
        raise UsageError(
            f"the formula has {bits} propositions and temporal operators, and at most {_BITS} are "
            f"monitored by themselves; split it into several"
        )
    live = _satisfiable(tracking)

    def follow(state: _Open | None, letter: Letter) -> _Open:
        return tracking.first(letter) if state is None else tracking.after(state, letter)

    def judge(state: _Open | None) -> MonitorVerdict:
        if state is None:  # before the first state there is no run yet
            return MonitorVerdict.PRESUMABLY_TRUE
        there = live[state.history]
        can_hold = state.now or not there.isdisjoint(state.valuations)
        can_fail = not state.now or not there <= state.valuations
        return _outlook(state.now, can_hold, can_fail)

    return Deterministic(None, follow, judge)


def atoms_of(formula: Formula) -> tuple[Formula, ...]:
    """The atoms of a formula in the order of a letter."""
    history = history_of(formula)
    if history is None:
        return Tableau(formula).atoms
    present = (atom for atom in Tableau(history.formula).atoms if atom not in history.propositions)
    return tuple(dict.fromkeys((*present, *history.atoms)))


def over(formula: Formula, model: Model[S], limit: int = _NODES) -> Deterministic[Hashable, str]:
    """A monitor of `formula` over finite and infinite runs of `model`; letters are steps' labels.

    It starts in the model's initial state. A label that the model does not allow raises `Refused`.
    Raises `TooLarge` past `limit` states times valuations, and `UsageError` where the formula
    speaks of more than one run, or the labels of a run do not tell what is true after it.
    """
    history = history_of(formula)
    if history is not None:
        return over(history.formula, Remembering(model, history), limit)
    tracking = _Tracking(formula)
    tableau = tracking.tableau
    space = explore(model, limit // len(tableau.valuations))
    true = {state: model.propositions(state) for state in space.steps}
    checker = FormulaChecker(graph_of(model, space, vocabulary=frozenset(atoms(formula))))
    live = dict(zip(space.steps, checker.live(formula), strict=True))
    every = frozenset(tableau.valuations)

    def entered(states: Iterable[S], before: _Open | None) -> tuple[frozenset[S], _Open]:
        members = frozenset(states)
        letters = {
            tuple(getattr(atom, "name", None) in true[state] for atom in tableau.atoms)
            for state in members
        }
        if len(letters) != 1:
            raise UsageError(
                f"the steps of {model.name} do not tell what is true after them, so that the "
                f"formula cannot be monitored by them"
            )
        letter = letters.pop()
        opened = tracking.first(letter) if before is None else tracking.after(before, letter)
        return members, opened

    def follow(state: tuple[frozenset[S], _Open], label: str) -> tuple[frozenset[S], _Open]:
        places, opened = state
        targets = [s.target for place in places for s in space.steps[place] if s.label == label]
        if not targets:
            offered = {step.label for place in places for step in space.steps[place]}
            there = ", ".join(sorted(offered)) or "nothing, it has ended"
            raise Refused(f"{model.name} does not allow {label!r} here; it allows {there}")
        return entered(targets, opened)

    def judge(state: tuple[frozenset[S], _Open]) -> MonitorVerdict:
        places, opened = state
        ends = any(not space.steps[place] for place in places)
        valuations = frozenset[int]().union(*(live.get(place, frozenset()) for place in places))
        can_hold = (ends and opened.now) or not valuations.isdisjoint(opened.valuations)
        can_fail = (ends and not opened.now) or not valuations.isdisjoint(every - opened.valuations)
        return _outlook(opened.now, can_hold, can_fail)

    starts = [state for state, parent in space.parents.items() if parent is None]
    return Deterministic(entered(starts, None), follow, judge)  # type: ignore[arg-type] # of one S


def _outlook(now: bool, can_hold: bool, can_fail: bool) -> MonitorVerdict:
    if not can_fail:
        return MonitorVerdict.TRUE
    if not can_hold:
        return MonitorVerdict.FALSE
    return MonitorVerdict.PRESUMABLY_TRUE if now else MonitorVerdict.PRESUMABLY_FALSE


def _satisfiable(tracking: _Tracking) -> Mapping[int, frozenset[int]]:
    """By history the valuations whose promises some run keeps, whatever the propositions do."""
    import networkx as nx

    tableau, history = tracking.tableau, tracking.history
    letters: Sequence[Letter] = list(product((False, True), repeat=len(tracking.atoms)))
    histories = range(1 if history is None else 1 << history.bits)
    graph: nx.DiGraph[_Promise] = nx.DiGraph()
    graph.add_nodes_from(product(histories, tableau.valuations))
    settled: dict[tuple[_Promise, _Promise], int] = {}
    good = set[_Promise]()
    for before in histories:
        for known, after in {tracking.read(before, letter) for letter in letters}:
            good.add((before, tableau.kept(known, None)))
            for valuation in tableau.valuations:
                edge = (before, tableau.kept(known, valuation)), (after, valuation)
                settled[edge] = settled.get(edge, 0) | tableau.settled(known, valuation)
    graph.add_edges_from(settled)
    for component in nx.strongly_connected_components(graph):
        good.update(_kept_for_ever(component, settled, (1 << len(tableau.waiting)) - 1))
    kept = good.union(*(nx.ancestors(graph, promise) for promise in good))
    return {
        before: frozenset(valuation for other, valuation in kept if other == before)
        for before in histories
    }


def _kept_for_ever(
    component: set[_Promise], settled: dict[tuple[_Promise, _Promise], int], everything: int
) -> Iterator[_Promise]:
    """The component's promises, if a walk round it has an edge and waits for nothing."""
    inside = [
        bits
        for (source, target), bits in settled.items()
        if source in component and target in component
    ]
    covered = 0
    for bits in inside:
        covered |= bits
    return iter(component if inside and covered == everything else ())
