"""Values with their derivative in one parameter, and how far results depend on each parameter.

Forward-mode differentiation: exact, since the numbers are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from proofs.odds.exact import finite
from proofs.odds.limit import unbounded
from proofs.odds.results import Odds
from proofs.odds.weights import Players, spanned
from pxp_fsm import decisions
from pxp_fsm.errors import UsageError


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
