"""Tableaux: what the parts of a path formula demand of a state, and of the state after it.

A part holds in a state by what is true there and by parts that hold in the next state: p U q, for
instance, if q holds, or else p and, next, p U q (Manna and Pnueli, Temporal Verification of
Reactive Systems, 1995, section 5.4). The parts that matter in the next state are promised. The
formula is in negation normal form, each part occurs once, and it is rewritten first (Etessami and
Holzmann, Optimizing Büchi automata, CONCUR 2000).

The relation is read in two ways. Exactly: of each promised part it is known whether it holds in the
next state, a bit each (Clarke, Grumberg and Hamaguchi, FMSD 10, 1997). The bits at a state follow
from those at the next one: so the lassos of a product are as long as those of the model, and a
shortest one stays one. And at least: a state of the automaton is a set of parts that have to hold,
its duties, whatever holds besides; it is worked out only as far as a search comes (Gerth, Peled,
Vardi and Wolper, PSTV 1995; Couvreur, FM 1999).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import cached_property, partial

from proofs.core.explore import TooLarge
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
)
from pxp_fsm.lazy_dataclasses import dataclass


class PartKind(IntEnum):
    """What a part is."""

    TRUE = 0
    FALSE = 1
    LITERAL = 2
    AND = 3
    OR = 4
    NEXT = 5
    WEAK_NEXT = 6
    UNTIL = 7
    RELEASE = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a formula: `left` and `right` are numbers of parts.

    Of a literal `left` is the number of its atom, and `right` is 1 where it is negated.
    """

    kind: PartKind
    left: int = 0
    right: int = 0


TRUE, FALSE = 0, 1
"""The numbers of the constants."""

Known = tuple[bool, ...]
"""The truth of a tableau's atoms in a state."""

MOST_EXACT = 12
"""Of how many parts a valuation says whether they hold: there are twice as many for each."""

MOST_WAYS = 1_000
"""In how many ways duties may be met in a state."""

_TEMPORAL = (PartKind.UNTIL, PartKind.RELEASE)


class Tableau:
    """The parts of a formula, of which `first` is the formula itself, and how they are joined.

    `reached` are the numbers of its parts, each after those that it is made of; `promised` those
    that matter in the next state, of which `bits` has the places; `untils` those that must not be
    put off for ever. `known` is everywhere the truth of `atoms`, propositions and what E begins.
    """

    def __init__(self, formula: Formula) -> None:
        self.parts = [Part(PartKind.TRUE), Part(PartKind.FALSE)]
        self._numbers = {part: number for number, part in enumerate(self.parts)}
        self._atoms: dict[Formula, int] = {}
        self._eventual = [True, True]
        self._universal = [True, True]
        self.first = self._read(formula)
        self.reached = self._reached()
        self.promised = sorted(self._promised())
        self.bits = {number: bit for bit, number in enumerate(self.promised)}
        self.untils = [n for n in self.reached if self.parts[n].kind is PartKind.UNTIL]
        self._known_values: dict[tuple[Known, int | None], tuple[bool, ...]] = {}
        self._known_ways: dict[Known, dict[int, tuple[int, ...]]] = {}

    @property
    def atoms(self) -> tuple[Formula, ...]:
        """What must be known of a state: propositions, and formulas that E begins."""
        return tuple(self._atoms)

    def _read(  # noqa: PLR0912 - one case for each kind of formula
        self, formula: Formula
    ) -> int:
        """The number of a formula; each object is read once, however often it occurs."""
        known: dict[tuple[int, bool], int] = {}
        left: list[tuple[Formula, bool, bool]] = [(formula, True, False)]
        while left:
            part, positive, ready = left.pop()
            key = (id(part), positive)
            if key in known:
                continue
            match part:
                case Truth(value):
                    known[key] = TRUE if value is positive else FALSE
                case Atom() | Exists():
                    known[key] = self._literal(part, negated=not positive)
                case Not(of):
                    if ready:
                        known[key] = known[id(of), not positive]
                    else:
                        left += ((part, positive, True), (of, not positive, False))
                case Next(of) | WeakNext(of):
                    if ready:
                        strong = isinstance(part, Next) is positive
                        known[key] = self._next(known[id(of), positive], strong=strong)
                    else:
                        left += ((part, positive, True), (of, positive, False))
                case (
                    And(first, second)
                    | Or(first, second)
                    | Until(first, second)
                    | Release(first, second)
                ):
                    if ready:
                        pair = known[id(first), positive], known[id(second), positive]
                        known[key] = self._joined(_KINDS[type(part), positive], *pair)
                    else:
                        left += (
                            (part, positive, True),
                            (first, positive, False),
                            (second, positive, False),
                        )
        return known[id(formula), True]

    def _new(self, part: Part, *, eventual: bool = False, universal: bool = False) -> int:
        if part not in self._numbers:
            self._numbers[part] = len(self.parts)
            self.parts.append(part)
            self._eventual.append(eventual)
            self._universal.append(universal)
        return self._numbers[part]

    def _literal(self, atom: Formula, *, negated: bool) -> int:
        number = self._atoms.setdefault(atom, len(self._atoms))
        return self._new(Part(PartKind.LITERAL, number, int(negated)))

    def _next(self, of: int, *, strong: bool) -> int:
        if of == (FALSE if strong else TRUE):
            return of
        kind = PartKind.NEXT if strong else PartKind.WEAK_NEXT
        return self._new(
            Part(kind, of),
            eventual=strong and self._eventual[of],
            universal=not strong and self._universal[of],
        )

    def _joined(self, kind: PartKind, left: int, right: int) -> int:
        eventual = self._eventual[left] and self._eventual[right]
        universal = self._universal[left] and self._universal[right]
        if kind in (PartKind.AND, PartKind.OR):
            return self._boolean(kind, left, right, eventual=eventual, universal=universal)
        holds, fails, settled = (
            (TRUE, FALSE, self._eventual)
            if kind is PartKind.UNTIL
            else (FALSE, TRUE, self._universal)
        )
        # `left` U `right` is `right` where that is a constant or holds earlier wherever it holds
        # later, and where `left` never holds; dually for R.
        inner = self.parts[right]
        if settled[right] or left in (fails, right):
            return right
        if inner.kind is kind and (left in (inner.left, holds)):
            return self._joined(kind, left, inner.right) if left == holds else right
        return self._new(
            Part(kind, left, right),
            eventual=(left == TRUE or eventual) if kind is PartKind.UNTIL else eventual,
            universal=(left == FALSE or universal) if kind is PartKind.RELEASE else universal,
        )

    def _boolean(
        self, kind: PartKind, left: int, right: int, *, eventual: bool, universal: bool
    ) -> int:
        neutral, other = (TRUE, FALSE) if kind is PartKind.AND else (FALSE, TRUE)
        if left in (neutral, right):
            return right
        if right == neutral:
            return left
        if other in (left, right) or self._opposed(left, right):
            return other
        left, right = min(left, right), max(left, right)
        return self._new(Part(kind, left, right), eventual=eventual, universal=universal)

    def _opposed(self, left: int, right: int) -> bool:
        first, second = self.parts[left], self.parts[right]
        literals = first.kind is PartKind.LITERAL is second.kind
        return literals and first.left == second.left and first.right != second.right

    def _reached(self) -> list[int]:
        """The parts that `first` is made of, each after those that it is made of."""
        reached, left = {self.first}, [self.first]
        while left:
            for child in children(self.parts[left.pop()]):
                if child not in reached:
                    reached.add(child)
                    left.append(child)
        return sorted(reached)

    def _promised(self) -> set[int]:
        promised = set[int]()
        for number in self.reached:
            part = self.parts[number]
            if part.kind in (PartKind.NEXT, PartKind.WEAK_NEXT):
                promised.add(part.left)
            elif part.kind in _TEMPORAL:
                promised.add(number)
        return promised

    # exactly

    @cached_property
    def choices(self) -> tuple[int, ...]:
        """The promised parts that have a bit of a valuation: of a part and its negation one."""
        chosen: dict[int, None] = {}
        for number in self.promised:
            if number > FALSE and self._negation(number) not in chosen:
                chosen.setdefault(number)
        return tuple(chosen)

    @property
    def valuations(self) -> range:
        """Every valuation of the next state, an int with a bit for each of `choices`; most of them
        lead nowhere.
        """
        return range(1 << len(self.choices))

    @cached_property
    def waiting(self) -> tuple[int, ...]:
        """The parts that must not wait for ever: a true U for its right side to hold, a false R
        for its right side to fail.
        """
        waiting: dict[int, None] = {}
        for number in self.reached:
            if self.parts[number].kind in _TEMPORAL and self._negation(number) not in waiting:
                waiting.setdefault(number)
        return tuple(waiting)

    def holds(self, known: Known, valuation: int | None) -> bool:
        """Whether the formula holds; the valuation is None where the run ends here."""
        return self._values(known, valuation)[self.first]

    def kept(self, known: Known, valuation: int | None) -> int:
        """The valuation that the state before must have."""
        values = self._values(known, valuation)
        return sum(values[number] << bit for bit, number in enumerate(self.choices))

    def settled(self, known: Known, valuation: int) -> int:
        """For each of `waiting` a bit: whether it is not waiting here."""
        values, bits = self._values(known, valuation), 0
        for bit, number in enumerate(self.waiting):
            waits = self.parts[number].kind is PartKind.UNTIL
            claim, right = values[number], values[self.parts[number].right]
            bits |= (not (claim is waits and right is not waits)) << bit
        return bits

    def _values(self, known: Known, valuation: int | None) -> tuple[bool, ...]:
        """The value of each part."""
        key = (known, valuation)
        if key not in self._known_values:
            self._known_values[key] = tuple(self._valued(known, valuation))
        return self._known_values[key]

    def _valued(self, known: Known, valuation: int | None) -> list[bool]:
        values = [False] * len(self.parts)
        values[TRUE] = True
        later: dict[int, bool] = {TRUE: True, FALSE: False}
        if valuation is not None:
            for bit, number in enumerate(self.choices):
                value = bool(valuation >> bit & 1)
                later[number], later[self._negation(number)] = value, not value
        for number in self.reached:
            part = self.parts[number]
            left, right = part.left, part.right
            match part.kind:
                case PartKind.LITERAL:
                    values[number] = known[left] is (right == 0)
                case PartKind.AND:
                    values[number] = values[left] and values[right]
                case PartKind.OR:
                    values[number] = values[left] or values[right]
                case PartKind.NEXT:
                    values[number] = valuation is not None and later[left]
                case PartKind.WEAK_NEXT:
                    values[number] = valuation is None or later[left]
                case PartKind.UNTIL:
                    goes_on = values[left] and valuation is not None and later[number]
                    values[number] = values[right] or goes_on
                case PartKind.RELEASE:
                    stops = values[left] or valuation is None or later[number]
                    values[number] = values[right] and stops
        return values

    @cached_property
    def _negations(self) -> dict[int, int]:
        """The part that is the negation of a part, where there is one."""
        negations = {TRUE: FALSE, FALSE: TRUE}
        for number in self.reached:
            part = self.parts[number]
            if number in negations:
                continue
            if part.kind is PartKind.LITERAL:
                other = Part(part.kind, part.left, 1 - part.right)
            elif part.kind in (PartKind.NEXT, PartKind.WEAK_NEXT):
                other = Part(_DUALS[part.kind], negations.get(part.left, -1))
            else:
                pair = negations.get(part.left, -1), negations.get(part.right, -1)
                sides = pair if part.kind in _TEMPORAL else (min(pair), max(pair))
                other = Part(_DUALS[part.kind], *sides)
            if other in self._numbers:
                negations[number] = self._numbers[other]
        return negations

    def _negation(self, number: int) -> int:
        return self._negations.get(number, -1)

    # at least

    def duties(self, number: int) -> int:
        """A set of duties with one part, which need not be promised."""
        return 1 << self.bits.setdefault(number, len(self.bits))

    def members(self, duties: int) -> list[int]:
        """The parts of a set of duties, which is an int with a bit for each of `bits`."""
        members, numbers = list[int](), self._of_bits
        while duties:
            lowest = duties & -duties
            members.append(numbers[lowest.bit_length() - 1])
            duties ^= lowest
        return members

    @cached_property
    def _of_bits(self) -> list[int]:
        self.duties(self.first)
        return sorted(self.bits, key=self.bits.__getitem__)

    def ways(self, duties: int, known: Known) -> tuple[int, ...]:
        """The least that each way to meet duties in a state, after which there is another, leaves.

        A way is an int: the duties of the next state, and from bit `len(promised)` on a bit for
        each of `untils` that is put off here. No way contains another. Raises `TooLarge`.
        """
        ways = self._all(self._ways_of(number, known) for number in self.members(duties))
        return _least({self._without_implied(way) for way in ways})

    def _without_implied(self, way: int) -> int:
        """A way without duties that follow from others, as F p does from G F p."""
        duties = way & (1 << len(self.promised)) - 1
        for number in self.members(duties):
            way &= ~self._implied[number]
        return way

    @cached_property
    def _implied(self) -> dict[int, int]:
        """The duties that each part brings with it where it has to hold."""
        implied: dict[int, int] = {}
        for number in self.reached:
            part, duties = self.parts[number], 0
            forced = {PartKind.AND: (part.left, part.right), PartKind.RELEASE: (part.right,)}
            for child in forced.get(part.kind, ()):
                duties |= implied[child]
                if child in self.promised:
                    duties |= 1 << self.bits[child]
            implied[number] = duties
        return implied

    def met_at_the_end(self, duties: int, known: Known) -> bool:
        """Whether duties are met in a state after which there is none."""
        values = self._values(known, None)
        return all(values[number] for number in self.members(duties))

    def _ways_of(self, number: int, known: Known) -> tuple[int, ...]:
        known_ways = self._known_ways.setdefault(known, {TRUE: (0,), FALSE: ()})
        if number in known_ways:
            return known_ways[number]
        part = self.parts[number]
        here = partial(self._ways_of, known=known)
        match part.kind:
            case PartKind.LITERAL:
                result: tuple[int, ...] = (0,) if known[part.left] is (part.right == 0) else ()
            case PartKind.AND:
                result = self._all((here(part.left), here(part.right)))
            case PartKind.OR:
                result = _least({*here(part.left), *here(part.right)})
            case PartKind.NEXT | PartKind.WEAK_NEXT:
                result = () if part.left == FALSE else (1 << self.bits[part.left],)
            case PartKind.UNTIL:
                put_off = 1 << self.bits[number] | 1 << self._waits[number]
                result = _least({*here(part.right), *(way | put_off for way in here(part.left))})
            case _:
                again = 1 << self.bits[number]
                ends = {*here(part.left), again}
                result = self._all((here(part.right), _least(ends)))
        known_ways[number] = result
        return result

    @cached_property
    def _waits(self) -> dict[int, int]:
        """The bit of a way that says that an until is put off."""
        return {number: len(self.promised) + bit for bit, number in enumerate(self.untils)}

    def _all(self, choices: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        """The ways to meet all of what can be met in so many ways each."""
        met: tuple[int, ...] = (0,)
        for ways in sorted(choices, key=len):
            joined = {way | other for way in met for other in ways}
            met = _least(joined) if len(joined) <= 4 * MOST_WAYS else tuple(joined)
            if len(met) > MOST_WAYS:
                raise TooLarge(f"the formula can be met in more than {MOST_WAYS:,} ways in a state")
        return met


def _least(ways: set[int]) -> tuple[int, ...]:
    """Those that contain no other."""
    if len(ways) < 2:
        return tuple(ways)
    least = list[int]()
    for way in sorted(ways, key=lambda way: (way.bit_count(), way)):
        if not any(less & way == less for less in least):
            least.append(way)
    return tuple(least)


def children(part: Part) -> tuple[int, ...]:
    """The parts that a part is made of."""
    if part.kind in (PartKind.NEXT, PartKind.WEAK_NEXT):
        return (part.left,)
    return () if part.kind <= PartKind.LITERAL else (part.left, part.right)


_DUALS = {
    PartKind.AND: PartKind.OR,
    PartKind.OR: PartKind.AND,
    PartKind.NEXT: PartKind.WEAK_NEXT,
    PartKind.WEAK_NEXT: PartKind.NEXT,
    PartKind.UNTIL: PartKind.RELEASE,
    PartKind.RELEASE: PartKind.UNTIL,
}

_KINDS = {
    (And, True): PartKind.AND,
    (And, False): PartKind.OR,
    (Or, True): PartKind.OR,
    (Or, False): PartKind.AND,
    (Until, True): PartKind.UNTIL,
    (Until, False): PartKind.RELEASE,
    (Release, True): PartKind.RELEASE,
    (Release, False): PartKind.UNTIL,
}
