"""A second tableau, of formulas as they are written.

It is that of Clarke, Grumberg and Hamaguchi (FMSD 10, 1997), without a normal form or rewriting.

At each state of a run every part of the formula is true or false. What a temporal part promises
of the next state is a bit, and the bits at a state follow from the values at the next one. So the
lassos of the product are as long as those of the model, and a shortest one stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

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
    path_parts,
)

Holds = Callable[[Formula], bool]
"""Whether an atom, or what E quantifies, holds in the state at hand."""


@dataclass(frozen=True)
class Tableau:
    """The valuations of `formula`.

    A valuation is an int: bit i is the value of `promised[i]` at the next state.
    """

    formula: Formula
    _known: dict[tuple[object, int | None], tuple[bool, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def _parts(self) -> tuple[Formula, ...]:
        return path_parts(self.formula)

    @cached_property
    def promised(self) -> tuple[Formula, ...]:
        """The parts whose value at the next state matters now."""
        found: dict[Formula, None] = {}
        for part in self._parts:
            match part:
                case Next(of) | WeakNext(of):
                    found.setdefault(of)
                case Until() | Release():
                    found.setdefault(part)
        return tuple(found)

    @cached_property
    def atoms(self) -> tuple[Formula, ...]:
        """What must be known of a state: propositions, and formulas that E begins."""
        return tuple(part for part in self._parts if isinstance(part, (Atom, Exists)))

    @property
    def valuations(self) -> range:
        """Every valuation; most of them lead nowhere."""
        return range(1 << len(self.promised))

    @cached_property
    def _places(self) -> dict[Formula, int]:
        return {part: place for place, part in enumerate(self._parts)}

    def values(self, known: tuple[bool, ...], valuation: int | None) -> tuple[bool, ...]:
        """The value of each part where `atoms` are `known`; None where the run ends here."""
        key = (known, valuation)
        if key not in self._known:
            self._known[key] = tuple(self._values(known, valuation))
        return self._known[key]

    def holds(self, known: tuple[bool, ...], valuation: int | None) -> bool:
        """Whether the formula itself holds."""
        return self.values(known, valuation)[-1]

    def kept(self, known: tuple[bool, ...], valuation: int | None) -> int:
        """The valuation that the state before must have."""
        values = self.values(known, valuation)
        return sum(values[self._places[part]] << bit for bit, part in enumerate(self.promised))

    def settled(self, known: tuple[bool, ...], valuation: int) -> int:
        """For each of `waiting` a bit: whether it is not waiting here."""
        values, bits = self.values(known, valuation), 0
        for bit, part in enumerate(self.waiting):
            waits = isinstance(part, Until)
            claim, right = values[self._places[part]], values[self._places[part.right]]
            bits |= (not (claim is waits and right is not waits)) << bit
        return bits

    @cached_property
    def waiting(self) -> tuple[Until | Release, ...]:
        """The parts that must not wait for ever: a true U for its right side to hold, a false R
        for its right side to fail.
        """
        return tuple(part for part in self._parts if isinstance(part, (Until, Release)))

    def _values(self, known: tuple[bool, ...], valuation: int | None) -> list[bool]:
        atoms = dict(zip(self.atoms, known, strict=True))
        values: dict[Formula, bool] = {}
        next_of = {part: bit for bit, part in enumerate(self.promised)}

        def later(part: Formula, at_the_end: bool) -> bool:
            return at_the_end if valuation is None else bool(valuation >> next_of[part] & 1)

        for part in self._parts:
            match part:
                case Truth(value):
                    values[part] = value
                case Atom() | Exists():
                    values[part] = atoms[part]
                case Not(of):
                    values[part] = not values[of]
                case And(left, right):
                    values[part] = values[left] and values[right]
                case Or(left, right):
                    values[part] = values[left] or values[right]
                case Next(of):
                    values[part] = later(of, at_the_end=False)
                case WeakNext(of):
                    values[part] = later(of, at_the_end=True)
                case Until(left, right):
                    goes_on = values[left] and later(part, at_the_end=False)
                    values[part] = values[right] or goes_on
                case Release(left, right):
                    stops = values[left] or later(part, at_the_end=True)
                    values[part] = values[right] and stops
        return [values[part] for part in self._parts]


Duties = frozenset[Formula]


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
