"""What a formula means on one run, by its definition: slow, plain, and shared by no search.

A run is finite, or a lasso: a stem and then a cycle for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from proofs.logic.formulas import (
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Past,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    parts,
)

S = TypeVar("S")


def satisfied(
    formula: Formula, states: Sequence[S], cycle: int, holds: Callable[[Formula, S], bool]
) -> bool:
    """Whether the run through `states` satisfies `formula` at its first state.

    The last `cycle` states repeat for ever; with 0 the run is finite. `holds` says of atoms, and of
    what E quantifies, whether they hold in a state.
    """
    if cycle:  # what has been settles after as many rounds as there are past operators
        past = sum(isinstance(part, Past) for part in parts(formula))
        states = [*states, *(list(states[len(states) - cycle :]) * past)]
    length = len(states)
    after = [place + 1 for place in range(length)]
    if cycle:
        after[-1] = length - cycle
    values: dict[Formula, list[bool]] = {}
    for part in parts(formula):
        values[part] = _values(part, states, after, values, holds)
    return values[formula][0]


def _values(  # noqa: PLR0911, PLR0912 - a case for each kind of formula
    part: Formula,
    states: Sequence[S],
    after: list[int],
    values: dict[Formula, list[bool]],
    holds: Callable[[Formula, S], bool],
) -> list[bool]:
    """The value of `part` at each place, from those of its parts."""
    places, end = range(len(states)), len(states)
    match part:
        case Truth(value):
            return [value for _ in places]
        case Atom() | Exists():
            return [holds(part, state) for state in states]
        case Not(of):
            return [not values[of][place] for place in places]
        case And(left, right):
            return [values[left][place] and values[right][place] for place in places]
        case Or(left, right):
            return [values[left][place] or values[right][place] for place in places]
        case Next(of):
            return [after[place] < end and values[of][after[place]] for place in places]
        case WeakNext(of):
            return [after[place] == end or values[of][after[place]] for place in places]
        case Yesterday(of):
            return [place > 0 and values[of][place - 1] for place in places]
        case WeakYesterday(of):
            return [place == 0 or values[of][place - 1] for place in places]
        case Since(left, right):
            return [_since(place, values[left], values[right]) for place in places]
        case Triggered(left, right):
            no_left, no_right = ([not v for v in values[part]] for part in (left, right))
            return [not _since(place, no_left, no_right) for place in places]
        case Until(left, right):
            return [_until(place, after, values[left], values[right]) for place in places]
        case Release(left, right):
            no_left = [not value for value in values[left]]
            no_right = [not value for value in values[right]]
            return [not _until(place, after, no_left, no_right) for place in places]


def _since(place: int, left: list[bool], right: list[bool]) -> bool:
    """Whether `right` held at a place up to here, and `left` at each one after it."""
    return any(right[at] and all(left[at + 1 : place + 1]) for at in range(place + 1))


def _until(place: int, after: list[int], left: list[bool], right: list[bool]) -> bool:
    """Walk on from `place` until `right`; whoever comes back to a place never will get there."""
    seen: set[int] = set()
    while place < len(after) and place not in seen:
        if right[place]:
            return True
        if not left[place]:
            return False
        seen.add(place)
        place = after[place]
    return False
