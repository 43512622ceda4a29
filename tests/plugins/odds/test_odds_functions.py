"""Results as functions of a parameter, and where they reach a target."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pxp_fsm.plugins.odds import Player, exact
from pxp_fsm.plugins.odds.functions import Function, along, placed, quotient, sensitivity
from pxp_fsm.plugins.odds.limit import limit
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.plugins.odds.targets import Reach, reaches
from tests.plugins.odds.session_odds import H, M, behaviour, players

flint = pytest.importorskip("flint", reason="python-flint is not installed: extra odds")

HALF = Fraction(1, 2)


@settings(max_examples=8)
@given(
    players(),
    players(),
    st.integers(1, 12),
    st.sampled_from(["A", "D", "revise"]),
    st.integers(0, 4),
)
def test_the_function_is_the_odds_at_every_value(
    m: Player, h: Player, n: int, parameter: str, quarters: int
) -> None:
    assume(parameter == "revise" or m.value(parameter) != 1)
    value = Fraction(quarters, 4)
    functions = along((m, h), 0, parameter, n, 3)
    due = exact(placed((m, h), 0, parameter, value), n, 3)
    for outcome in OUTCOMES:
        assert functions.of(outcome)(value) == due.of(outcome), outcome
    assert functions.length is not None
    assert functions.length(value) == due.length


def test_in_the_limit_it_is_a_quotient_and_its_derivative_is_the_sensitivity() -> None:
    functions, slopes = along((M, H), 1, "A", None, 3), sensitivity((M, H), 1, "A", None, 3)
    two_way = functions.of("two-way")
    assert str(two_way) == "(-3x^3 + 22x^2 - 43x) / (3x^2 - 7x - 24)"
    assert two_way.coefficients() == ((0, -43, 22, -3), (-24, -7, 3))
    at = Fraction("0.4")
    for outcome in OUTCOMES:
        assert functions.of(outcome)(at) == limit((M, H), 3).of(outcome)
        assert functions.of(outcome).derivative()(at) == slopes.of(outcome).slope
    assert functions.length is not None
    assert slopes.length is not None
    assert functions.length.derivative()(at) == slopes.length.slope


def function(*coefficients: int, below: tuple[int, ...] = (1,)) -> Function:
    return quotient(flint.fmpz_poly(list(coefficients)), flint.fmpz_poly(list(below)))


def told(found: tuple[Reach, ...]) -> list[tuple[float, float]]:
    return [(float(each.first), float(each.last)) for each in found]


@pytest.mark.parametrize(
    ("one", "target", "due"),
    [
        (function(0, 1), "1/3", [(1 / 3, 1)]),
        (function(0, 4, -4), "3/4", [(0.25, 0.75)]),
        (function(0, 4, -4), "1", [(0.5, 0.5)]),
        (function(0, 4, -4), "5/4", []),
        (function(1, -4, 4), "1/4", [(0, 0.25), (0.75, 1)]),
        (function(1, -4, 4), "0", [(0, 1)]),
        (function(1, -4, 4), "1", [(0, 0), (1, 1)]),
        (function(0, 0, 2), "1", [(2**-0.5, 1)]),
        (function(1), "1", [(0, 1)]),
        (function(0), "1/2", []),
        (function(1, below=(0, 2)), "1", [(0, 0.5)]),
        (function(1, below=(-1, 2)), "2", [(0.5, 0.75)]),
    ],
    ids=str,
)
def test_where_a_target_is_reached(
    one: Function, target: str, due: list[tuple[float, float]]
) -> None:
    assert told(reaches(one, Fraction(target))) == [pytest.approx(each) for each in due]


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=7),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.fractions(-2, 2, max_denominator=12),
)
def test_a_value_is_in_a_part_just_where_the_target_is_reached(
    above: list[int], below: list[int], target: Fraction
) -> None:
    one = function(*above, below=tuple(below))
    found = reaches(one, target)
    for eighths in range(97):
        x = Fraction(eighths, 96)
        inside = any(each.first.low <= x <= each.last.high for each in found)
        assert inside == (one(x) >= target), x


def test_at_0_and_1_the_odds_may_differ_from_those_beside_them() -> None:
    """The machine goes on for ever; so does the human, but for the least chance of a rejection."""
    endless, h = (Player(behaviour("0", b, "0", d, "0")) for b, d in (("1", "0"), ("1/2", "1/2")))
    rejected = along((endless, h), 1, "D", None, 3).of("rejected")
    assert str(rejected) == "1"
    at = limit(placed((endless, h), 1, "D", Fraction(0)), 3).of("rejected")
    assert at == 0
    (above,) = reaches(rejected, HALF, (at, None))
    assert (above.above, above.below, told((above,))) == (True, False, [(0, 1)])
    (below,) = reaches(function(1, -1), Fraction(1, 4), (Fraction(0), Fraction(1)))[:1]
    assert (below.above, told((below,))) == (True, [(0, 0.75)])
    assert told(reaches(function(0), HALF, (Fraction(1), Fraction(1)))) == [(0, 0), (1, 1)]
    assert reaches(function(0, 4, -4), Fraction(1), (None, None))[0].above is False


def test_a_root_that_is_rational_is_given_as_one_and_another_is_enclosed() -> None:
    (third,) = reaches(function(0, 3), Fraction(1))
    assert third.first.exact
    assert third.first.low == Fraction(1, 3)
    (root,) = reaches(function(0, 0, 2), Fraction(1))
    assert not root.first.exact
    assert root.first.low**2 < HALF < root.first.high**2
    assert root.first.high - root.first.low < Fraction(1, 10**15)


def test_roots_that_are_hard_to_tell_apart_are_told_apart() -> None:
    tiny = 10**25
    near = [(1, 3), (tiny + 3, 3 * tiny)]  # 1/3 and 1/3 + 1e-25
    product = flint.fmpz_poly([1])
    for up, down in near:
        product *= flint.fmpz_poly([-up, down])
    first, second = reaches(quotient(product, flint.fmpz_poly([1])), Fraction(0))
    assert first.last.low == Fraction(1, 3)
    assert first.last.high < second.first.low


def test_the_smallest_rate_is_where_the_target_is_first_met() -> None:
    """Just below it the odds miss the target, just above they do not; by another way to count."""
    (found,) = reaches(along((M, H), 1, "A", 10, 3).of("two-way"), Fraction("0.8"))
    step = Fraction(1, 10**12)
    below, above = found.first.low - step, found.first.high + step
    assert exact(placed((M, H), 1, "A", below), 10, 3).of("two-way") < Fraction("0.8")
    assert exact(placed((M, H), 1, "A", above), 10, 3).of("two-way") > Fraction("0.8")


def test_more_agreement_can_do_harm() -> None:
    """Nothing is monotone for the asking: that h is Ultra-Strong needs disagreement too."""
    found = reaches(along((M, H), 1, "A", 10, 3).of("ultra-strong, human"), Fraction("0.1"))
    ((low, high),) = told(found)
    assert (low, high) == pytest.approx((0.160182, 0.811757), abs=1e-6)


def test_a_parameter_that_changes_nothing() -> None:
    always = Player(behaviour("1", "0", "0", "0", "0"))
    functions = along((always, always), 1, "revise", 10, 3)
    assert str(functions.of("two-way")) == "1"
    assert told(reaches(functions.of("two-way"), Fraction(1))) == [(0, 1)]


@settings(max_examples=10)
@given(players(), players(), st.integers(1, 12), st.integers(1, 5))
def test_exact_results_are_the_same_over_flints_integers(
    m: Player, h: Player, n: int, k: int
) -> None:
    ours = exact((m, h), n, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("pxp_fsm.plugins.odds.rationals"), "MANY", 1)
        found = exact((m, h), n, k)
    assert isinstance(found.messages, flint.fmpz)
    assert found.results == ours.results
    assert found.length == ours.length
    assert dict(found.items()) == dict(ours.items())
