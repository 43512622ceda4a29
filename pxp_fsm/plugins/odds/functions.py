"""Results as functions of one parameter: quotients of polynomials with whole coefficients.

Polynomials are FLINT's (`python-flint`, the extra `odds`); they are loaded when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pxp_fsm.errors import UsageError, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds.chain import Players, spanned
from pxp_fsm.plugins.odds.limit import unbounded
from pxp_fsm.plugins.odds.rationals import finite
from pxp_fsm.plugins.odds.results import Odds
from pxp_fsm.protocol import decisions

if TYPE_CHECKING:
    from flint import fmpz_poly


@dataclass(frozen=True, slots=True)
class Dual:
    """A value and its derivative: `value + slope·ε` with ε² = 0."""

    value: Any
    slope: Any

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    __radd__ = __add__

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(
                self.value * other.value, self.value * other.slope + self.slope * other.value
            )
        return Dual(self.value * other, self.slope * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Dual) -> Dual:
        if not other.value:
            raise UsageError(
                "at this very value sessions stop coming to an end, so that nothing has a "
                "derivative there; ask for a bound n, or for another value"
            )
        value = self.value / other.value
        return Dual(value, (self.slope - value * other.slope) / other.value)


def sensitivity(players: Players, agent: int, parameter: str, n: int | None, k: int) -> Odds[Dual]:
    """How each result changes with one parameter of agent 0 (m) or 1 (h); n None is no bound.

    The derivative is the one along `Behaviour.with_`: another category than the one that changes
    keeps its share among the others. Raises `UsageError` where they have none.
    """
    at = players[agent].value(parameter)
    if at is None:
        raise UsageError(f"{parameter} differs between categories; ask for {parameter}.B and so on")
    low, high = (placed(players, agent, parameter, Fraction(value)) for value in (0, 1))

    def element(constant: int, slope: int) -> Dual:
        return Dual(constant * at.denominator + slope * at.numerator, slope * at.denominator)

    weighted = spanned(low, high, element, at.denominator)
    if n is None:
        decisions.check_bound(k, "k is the message after which REJECT is allowed,")
        return unbounded(weighted, k, Dual(1, 0), _over)
    decisions.check_bounds(n, k)
    return finite(weighted, n, k, Dual(1, 0), _over)


def placed(players: Players, agent: int, parameter: str, value: Fraction) -> Players:
    """The players with one parameter of one agent set."""
    changed = players[agent].with_(parameter, value)
    return (players[0], changed) if agent else (changed, players[1])


def _over(value: Dual, denominator: int) -> Dual:
    return Dual(Fraction(value.value, denominator), Fraction(value.slope, denominator))


@dataclass(frozen=True)
class Function:
    """A quotient of two polynomials without a common factor; make one with `quotient`."""

    numerator: fmpz_poly
    denominator: fmpz_poly

    def __call__(self, value: Fraction) -> Fraction:
        """Its value at a rational; `ZeroDivisionError` where it has none."""
        return at(self.numerator, value) / at(self.denominator, value)

    def __add__(self, other: Any) -> Function:
        return quotient(
            self.numerator * other.denominator + other.numerator * self.denominator,
            self.denominator * other.denominator,
        )

    def __sub__(self, other: Function) -> Function:
        return self + Function(-other.numerator, other.denominator)

    def __mul__(self, other: Function) -> Function:
        return quotient(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other: Function) -> Function:
        return quotient(self.numerator * other.denominator, self.denominator * other.numerator)

    def derivative(self) -> Function:
        """Its derivative."""
        up, down = self.numerator, self.denominator
        return quotient(up.derivative() * down - up * down.derivative(), down * down)

    def coefficients(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The coefficients of numerator and denominator, the constant first."""
        up, down = (tuple(map(int, p.coeffs())) for p in (self.numerator, self.denominator))
        return up, down

    def __str__(self) -> str:
        up, down = (_written(polynomial) for polynomial in self.coefficients())
        return up if down == "1" else f"({up}) / ({down})"


def quotient(numerator: fmpz_poly, denominator: fmpz_poly) -> Function:
    """The quotient of two polynomials in lowest terms, the denominator's lead being positive."""
    common = numerator.gcd(denominator)
    if denominator.leading_coefficient() < 0:
        common = -common
    return Function(numerator // common, denominator // common)


def at(polynomial: fmpz_poly, value: Fraction) -> Fraction:
    """A polynomial's value at a rational."""
    import flint

    rational = polynomial(flint.fmpq(value.numerator, value.denominator))
    return Fraction(int(rational.p), int(rational.q))


def along(players: Players, agent: int, parameter: str, n: int | None, k: int) -> Odds[Function]:
    """Every result as a function of one parameter of agent 0 (m) or 1 (h); n None is no bound.

    Another category than the one that is free keeps its share among the others. Without a bound
    the functions hold wherever sessions end with probability 1 or no parameter between 0 and 1
    makes them: at 0 and at 1 they may differ from what `limit` says there. Raises `UsageError`.
    """
    polynomials = needed()
    low, high = (placed(players, agent, parameter, Fraction(value)) for value in (0, 1))
    weighted = spanned(low, high, lambda constant, slope: polynomials.fmpz_poly([constant, slope]))
    unity = polynomials.fmpz_poly([1])

    def over(value: Any, denominator: int) -> Function:
        return quotient(value * unity, polynomials.fmpz_poly([denominator]))

    if n is None:
        decisions.check_bound(k, "k is the message after which REJECT is allowed,")
        return unbounded(weighted, k, unity, over)
    decisions.check_bounds(n, k)
    return finite(weighted, n, k, unity, over)


def needed() -> Any:
    """FLINT; `UsageError` where it is not installed."""
    require_extra("odds", "a function of a parameter", {"flint": "python-flint"})
    import flint

    return flint


def _written(coefficients: Iterable[int]) -> str:
    """A polynomial in x, the highest power first."""
    terms = []
    for power, value in enumerate(coefficients):
        if value:
            size = "" if abs(value) == 1 and power else str(abs(value))
            letter = ("", "x")[power] if power < 2 else f"x^{power}"
            terms.append((("-" if value < 0 else "+"), size + letter))
    if not terms:
        return "0"
    (sign, first), *others = reversed(terms)
    lead = first if sign == "+" else f"-{first}"
    return " ".join((lead, *(f"{sign} {term}" for sign, term in others)))
