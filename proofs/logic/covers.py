"""Shortest bad prefixes: how soon a run has broken a formula for good.

What must hold from a state on is a set of formulas; one state later it is what they leave to be
shown (Couvreur, On-the-fly verification of linear temporal logic, FM 1999). A set that has become
empty is shown, however the run goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from proofs.explore import Space, Trace
from proofs.logic.formulas import (
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
    negation_normal,
)
from proofs.logic.tableau import path_parts
from proofs.model import Step

S = TypeVar("S", bound=Hashable)
Duties = frozenset[Formula]
Holds = Callable[[Formula, S], bool]


def is_shown_early(formula: Formula) -> bool:
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
        for strong, weak in _left(duties, lambda atom: holds(atom, state)):  # noqa: B023 - used up before the loop goes on
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


def _left(duties: Duties, holds: Callable[[Formula], bool]) -> Iterable[tuple[Duties, Duties]]:
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
