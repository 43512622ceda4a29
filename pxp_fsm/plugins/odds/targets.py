"""Solutions of f(x) = target for a function of one parameter: every interval in 0 to 1, with proof.

All real roots are isolated by FLINT, whose balls are certified; between two of them nothing changes
its sign, so that one rational point there decides. Nothing is assumed to be monotone.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Any, cast

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds.functions import Function, at, needed

if TYPE_CHECKING:
    from flint import fmpz_poly

_PRECISIONS = (64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class ParameterValue:
    """A value of the parameter: exact where `low` is `high`, else the one root between them."""

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)


@dataclass(frozen=True)
class Reach:
    """A part of 0 to 1 in which the target is reached.

    Its ends are in it, but for a `first` of 0 where it is `above`, a `last` of 1 where it is
    `below`.
    """

    first: ParameterValue
    last: ParameterValue
    above: bool = False
    below: bool = False


Ends = tuple[Fraction | None, Fraction | None]
"""The values at 0 and at 1, None where they are the function's own."""


def reaches(function: Function, target: Fraction, ends: Ends = (None, None)) -> tuple[Reach, ...]:
    """Every part of 0 to 1 in which `function` is at least `target`, in order.

    Within 0 to 1 the function must have a value everywhere, as the functions of `along` do; at 0
    and at 1 `ends` may be said to differ. Raises `UsageError` without FLINT.
    """
    flint = needed()
    zero, unity = Fraction(0), Fraction(1)
    missed = function.numerator * target.denominator - function.denominator * target.numerator
    signs = missed * function.denominator
    if signs == flint.fmpz_poly([]):
        everything = [Reach(ParameterValue(zero, zero), ParameterValue(unity, unity))]
        return _ended(everything, function, missed, target, ends)
    inner = [root for root in _roots(signs) if zero < root.low and root.high < unity]
    places = [ParameterValue(zero, zero), *inner, ParameterValue(unity, unity)]
    parts: list[Reach] = []
    for left, right in pairwise(places):
        between = at(signs, _between(left.high, right.low)) > 0
        if between:
            joined = parts and parts[-1].last == left
            first = parts.pop().first if joined else left
            parts.append(Reach(first, right))
            continue
        for place in (left, right):
            if _touches(function, missed, place) and not (parts and parts[-1].last == place):
                parts.append(Reach(place, place))
    return _ended(parts, function, missed, target, ends)


def _ended(
    parts: list[Reach], function: Function, missed: fmpz_poly, target: Fraction, ends: Ends
) -> tuple[Reach, ...]:
    """The same parts, with what is so at 0 and at 1 themselves."""
    for number, own in enumerate(ends):
        place = ParameterValue(Fraction(number), Fraction(number))
        holds = _touches(function, missed, place) if own is None else own >= target
        alone = Reach(place, place)
        beside = [part for part in parts if place in (part.first, part.last) and part != alone]
        parts = [part for part in parts if part != alone and part not in beside]
        if beside:
            (reach,) = beside
            if not holds:
                reach = replace(reach, below=True) if number else replace(reach, above=True)
            parts.append(reach)
        elif holds:
            parts.append(alone)
    return tuple(sorted(parts, key=lambda part: part.first.low))


def _touches(function: Function, missed: fmpz_poly, place: ParameterValue) -> bool:
    """Whether the target is reached at a place beside which it is not."""
    if place.exact:
        below = at(function.denominator, place.low)
        return below != 0 and at(missed, place.low) * below >= 0
    roots = _roots(missed)
    return any(root.low <= place.high and place.low <= root.high for root in roots)


def _between(left: Fraction, right: Fraction) -> Fraction:
    return (left + right) / 2


def _roots(polynomial: fmpz_poly) -> list[ParameterValue]:
    """The real roots from 0 to 1, in order, in disjoint intervals that hold no end by chance."""
    flint = needed()
    if polynomial.degree() < 1:
        return []
    before = flint.ctx.prec
    try:
        for precision in _PRECISIONS:
            flint.ctx.prec = precision
            isolated = _isolated(polynomial)
            if isolated is not None:
                return isolated
    finally:
        flint.ctx.prec = before
    raise ArithmeticError("the roots of this polynomial are too close to each other")


def _isolated(polynomial: fmpz_poly) -> list[ParameterValue] | None:
    """The roots at the present precision; None where it is too small to tell them apart."""
    places = []
    for root, _ in cast("list[tuple[Any, int]]", polynomial.complex_roots()):
        if not root.imag.is_zero():
            continue
        middle, radius = (_rational(part) for part in (root.real.mid(), root.real.rad()))
        low, high = middle - radius, middle + radius
        if high < 0 or low > 1:
            continue
        simple = _simplest(low, high)
        if at(polynomial, simple) == 0:
            low = high = simple
        elif low <= 0 <= high or low <= 1 <= high:
            return None
        if low >= 0 and high <= 1:
            places.append(ParameterValue(low, high))
    places.sort(key=lambda place: place.low)
    apart = all(left.high < right.low for left, right in pairwise(places))
    return places if apart else None


def _rational(number: Any) -> Fraction:
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The rational with the smallest denominator from `low` to `high`."""
    whole = floor(low)
    if whole == low:
        return low
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))
