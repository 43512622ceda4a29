"""Model checking of a formula, with a counterexample.

A run is complete where it ends in a state without a step, or never ends. Finite and infinite runs
are kept apart: `Runs` says which of them count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import StrEnum
from typing import Generic, TypeVar

from proofs.core.explore import Model, Space, Step, Trace
from proofs.core.results import Status, Verdict
from proofs.logic import parsing
from proofs.logic.fairness import Fairness
from proofs.logic.formulas import (
    TRUE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Truth,
    Until,
    WeakNext,
    atoms,
    negated,
    negation_normal,
)
from proofs.logic.product import Lasso, Node, Product, ReachedPart, leading_to, reach
from proofs.logic.tableau import Tableau, path_parts
from pxp_fsm.errors import UsageError

S = TypeVar("S", bound=Hashable)
Duties = frozenset[Formula]
Holds = Callable[[Formula, S], bool]


def is_co_safety(formula: Formula) -> bool:
    """Whether every run that satisfies the path formula has shown so after finitely many states.

    A condition on how it is written: in negation normal form it has no R (and so no G).
    """
    return not any(isinstance(p, Release) for p in path_parts(negation_normal(formula)))


def earliest(
    space: Space[S], starts: tuple[S, ...], formula: Formula, holds: Holds[S], among: frozenset[S]
) -> Trace[S] | None:
    """A shortest trace, through states in `among`, after which `formula` is shown; None if none."""
    first = frozenset({negation_normal(formula)})
    parents: dict[tuple[S, Duties], tuple[tuple[S, Duties], Step[S]] | None] = {
        (state, first): None for state in starts if state in among
    }
    queue = deque(parents)
    while queue:
        place = queue.popleft()
        state, duties = place
        for strong, weak in ways_to_meet(duties, lambda atom: holds(atom, state)):  # noqa: B023 - used up before the loop goes on
            if not strong and (not weak or not space.steps[state]):
                return _back(parents, place)
            for step in space.steps[state]:
                reached = (step.target, strong | weak)
                if step.target in among and reached not in parents:
                    parents[reached] = (place, step)
                    queue.append(reached)
    return None


def _back(
    parents: dict[tuple[S, Duties], tuple[tuple[S, Duties], Step[S]] | None],
    place: tuple[S, Duties],
) -> Trace[S]:
    steps: list[Step[S]] = []
    parent = parents[place]
    while parent is not None:
        place, step = parent
        steps.append(step)
        parent = parents[place]
    return Trace(place[0], tuple(reversed(steps)))


def ways_to_meet(
    duties: Duties, holds: Callable[[Formula], bool]
) -> Iterable[tuple[Duties, Duties]]:
    """What each way to meet `duties` here leaves: where there must be a next state, and if any."""
    ordered = sorted(duties, key=repr)  # so that equal questions have equal answers
    return dict.fromkeys(_ways(tuple(ordered), frozenset(), frozenset(), holds))


def _ways(  # noqa: PLR0912 - a case for each kind of formula
    todo: tuple[Formula, ...], strong: Duties, weak: Duties, holds: Callable[[Formula], bool]
) -> Iterator[tuple[Duties, Duties]]:
    if not todo:
        yield strong, weak
        return
    first, rest = todo[0], todo[1:]
    match first:
        case Truth(value):
            if value:
                yield from _ways(rest, strong, weak, holds)
        case Atom() | Exists():
            if holds(first):
                yield from _ways(rest, strong, weak, holds)
        case Not(of):
            if not holds(of):
                yield from _ways(rest, strong, weak, holds)
        case And(left, right):
            yield from _ways((left, right, *rest), strong, weak, holds)
        case Or(left, right):
            yield from _ways((left, *rest), strong, weak, holds)
            yield from _ways((right, *rest), strong, weak, holds)
        case Next(of):
            yield from _ways(rest, strong | {of}, weak, holds)
        case WeakNext(of):
            yield from _ways(rest, strong, weak | {of}, holds)
        case Until(left, right):
            yield from _ways((right, *rest), strong, weak, holds)
            yield from _ways((left, *rest), strong | {first}, weak, holds)
        case Release(left, right):
            yield from _ways((right, left, *rest), strong, weak, holds)
            yield from _ways((right, *rest), strong, weak | {first}, holds)


MOST_PROMISES = 12
"""What one path formula may promise of the next state; the search can double with each."""


class Runs(StrEnum):
    """Which runs a formula speaks of."""

    COMPLETE = "complete"
    FINITE = "finite"
    INFINITE = "infinite"


class FormulaChecker(Generic[S]):
    """Checks formulas of an explored model; what an E quantifies is worked out once.

    `fairness` restricts infinite runs; it says nothing of finite ones. `vocabulary` are
    propositions that may be asked for although no reachable state has them.
    """

    def __init__(
        self,
        model: Model[S],
        space: Space[S],
        runs: Runs = Runs.COMPLETE,
        fairness: Fairness[S] | None = None,
        vocabulary: frozenset[str] = frozenset(),
    ) -> None:
        self._space = space
        self._runs = runs
        self._fairness: Fairness[S] = fairness or Fairness()
        self._true = {state: model.propositions(state) for state in space.steps}
        self.vocabulary = vocabulary.union(*self._true.values())
        self._where: dict[Formula, frozenset[S]] = {}
        self._starts = tuple(state for state, parent in space.parents.items() if parent is None)

    def check(self, formula: Formula) -> Verdict:
        """Whether every run that counts satisfies `formula`, from every initial state.

        The trace of FAILS is a shortest one for a formula without an F, U or M that could be waited
        for (for ever safe, as it is written); else a run that ends, or a lasso with a shortest stem
        and then a shortest cycle, or with fairness a short one. VACUOUS: there is no such run.
        Raises `UsageError` for a proposition that no state has, or too many temporal operators.
        """
        unknown = sorted(set(atoms(formula)) - self.vocabulary)
        if unknown:
            raise parsing.unknown(unknown, self.vocabulary, "no reachable state has")
        path = of_all_runs(formula)
        if not any(state in self.continuing for state in self._starts):
            return Verdict(Status.VACUOUS, f"there is no {self._runs.value} run")
        bad = negated(path)
        if is_co_safety(bad):
            trace = earliest(self._space, self._starts, bad, self.holds, self.continuing)
            return Verdict(Status.HOLDS) if trace is None else Verdict(Status.FAILS, trace=trace)
        found = self.run_with(bad)
        if found is None:
            return Verdict(Status.HOLDS)
        return Verdict(Status.FAILS, trace=found.trace, cycle=found.cycle)

    def run_with(self, path: Formula) -> Lasso[S] | None:
        """A complete run from an initial state that counts and satisfies `path`, or None."""
        product = self._product(path)
        reached = reach(product, (n for state in self._starts for n in product.starting(state)))
        ends = reached.finite() if self._runs is not Runs.INFINITE else None
        if ends is not None or self._runs is Runs.FINITE:
            return ends
        return reached.infinite(self._fairness)

    def holds(self, formula: Formula, state: S) -> bool:
        """Whether a proposition, or a formula that begins with E, holds in `state`."""
        if isinstance(formula, Atom):
            return formula.name in self._true[state]
        if formula not in self._where:
            self._where[formula] = self.satisfying(formula)
        return state in self._where[formula]

    def satisfying(self, formula: Formula) -> frozenset[S]:
        """The states from which some run that counts satisfies what `formula` (an E) quantifies."""
        product = self._product(formula.path if isinstance(formula, Exists) else formula)
        starting = {state: tuple(product.starting(state)) for state in self._space.steps}
        reached = reach(product, (node for nodes in starting.values() for node in nodes))
        good = leading_to(reached, self._good(reached))
        return frozenset(state for state, nodes in starting.items() if not good.isdisjoint(nodes))

    @property
    def continuing(self) -> frozenset[S]:
        """The states from which there is a run that counts at all."""
        if TRUE not in self._where:
            self._where[TRUE] = (
                frozenset(self._space.steps)
                if self._runs is Runs.COMPLETE
                else self.satisfying(TRUE)
            )
        return self._where[TRUE]

    def _product(self, path: Formula) -> Product[S]:
        return Product(self._space, tableau_of(path), self.holds)

    def _good(self, reached: ReachedPart[S]) -> Iterable[Node[S]]:
        """Nodes at which, or from which on, a run is all that it has to be."""
        if self._runs is not Runs.INFINITE:
            yield from (node for node in reached.edges if node[1] is None)
        if self._runs is not Runs.FINITE:
            for component in reached.recurring(self._fairness):
                yield from component


def tableau_of(path: Formula) -> Tableau:
    """The tableau of a path formula; `UsageError` where it is too large."""
    tableau = Tableau(path)
    if len(tableau.promised) > MOST_PROMISES:
        raise UsageError(
            f"the formula has {len(tableau.promised)} different temporal operators on one run, "
            f"and at most {MOST_PROMISES} are checked; split it into several formulas"
        )
    return tableau


def of_all_runs(formula: Formula) -> Formula:
    """What must hold of every run: A in front of a formula changes nothing."""
    match formula:
        case Not(Exists(path)):
            return negated(path)
        case _:
            return formula
