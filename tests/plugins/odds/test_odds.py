"""The odds of sessions: against enumeration, against real sessions, and against themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.odds import Behaviour, Player, exact, lengths
from pxp_fsm.plugins.odds.chain import Draw, chain
from pxp_fsm.plugins.odds.floats import floats, many
from pxp_fsm.plugins.odds.functions import placed, sensitivity
from pxp_fsm.plugins.odds.limit import limit
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.rules import Ending, Interact
from tests.oracles.decisions import interact_guard
from tests.plugins.odds.session_odds import (
    H,
    M,
    behaviour,
    behaviours,
    enumerated,
    holds,
    message,
    played,
    players,
)

NEVER = Player(behaviour("0", "1", "0", "0", "0"))


@settings(max_examples=25)
@given(players(), players(), st.integers(1, 5), st.integers(1, 5))
def test_the_odds_are_those_of_every_session_there_is(m: Player, h: Player, n: int, k: int) -> None:
    found = exact((m, h), n, k)
    sessions = list(enumerated((m, h), Interact(n, k)))
    for outcome in OUTCOMES:
        due = sum(share for history, end, share in sessions if holds(outcome, history, end))
        assert found.of(outcome) == due, outcome
    assert sum(found.results.values()) == 1
    assert found.length == sum(share * len(history) for history, _, share in sessions)
    by_length = defaultdict[int, Fraction](Fraction)
    for history, _, share in sessions:
        by_length[len(history)] += share
    assert lengths((m, h), n, k) == tuple(by_length[each] for each in range(1, n + 1))


def test_known_numbers() -> None:
    """Two messages, and three, by hand; and ten of two given players, for good."""
    two = exact((M, H), 2, 1)
    assert two.of("one-way, human") == Fraction("0.4") + Fraction("0.3") / 2
    assert two.of("rejected") == Fraction("0.3")
    assert two.of("one-way, machine") == 0
    assert exact((M, H), 3, 1).of("ratified") == Fraction("0.4") / 2
    ten = exact((M, H), 10, 3)
    assert ten.of("two-way") == Fraction(5118371411, 9600000000)
    assert ten.of("bound") == Fraction(71739, 6250000)
    assert ten.length == Fraction(2973727, 625000)
    assert limit((M, H), 3).of("two-way") == Fraction(867, 1645)


@pytest.mark.deep
def test_real_sessions_by_chance_come_out_as_the_odds_say() -> None:
    """Each count is within what a binomial of that probability passes but once in a million."""
    sessions, rules = 200, Interact(8, 3)
    pair = (
        Player(M.usual, {"RATIFY": behaviour("0.9", "0", "0", "0.1", "0")}),
        Player(H.usual, {"INIT": behaviour("0.7", "0.1", "0.1", "0.1", "0.2")}),
    )
    odds = exact(pair, rules.n, rules.k)
    found = played(pair, rules, sessions, seed=11)
    for outcome, chance in odds.items():
        seen = 0
        for tags, count in found.items():
            history = [message(number, tag) for number, tag in enumerate(tags, start=1)]
            seen += count * holds(outcome, history, rules.ending(history) or "")
        assert tails(seen, sessions, chance) > 1e-6, outcome


def tails(seen: int, sessions: int, chance: Fraction) -> float:
    """The smaller tail of a binomial, exactly."""
    p, q = chance.numerator, chance.denominator - chance.numerator
    below = sum(comb(sessions, i) * p**i * q ** (sessions - i) for i in range(seen + 1))
    at = comb(sessions, seen) * p**seen * q ** (sessions - seen)
    whole = chance.denominator**sessions
    return float(Fraction(min(below, whole - below + at), whole))


@settings(max_examples=15)
@given(players(), players(), st.integers(1, 60), st.integers(1, 12))
def test_floats_are_the_exact_odds(m: Player, h: Player, n: int, k: int) -> None:
    due, found = exact((m, h), n, k), floats((m, h), n, k)
    for outcome, value in due.items():
        assert found.of(outcome) == pytest.approx(float(value), rel=1e-12, abs=1e-15), outcome
    assert found.length == pytest.approx(float(due.length or 0), rel=1e-12)


def test_floats_keep_their_digits_over_thousands_of_messages() -> None:
    stubborn = Player(behaviour("0.001", "0.9", "0.098", "0.001", "1/3"))
    due, found = exact((stubborn, M), 2500, 3), floats((stubborn, M), 2500, 3)
    for outcome, value in due.items():
        assert found.of(outcome) == pytest.approx(float(value), rel=1e-12, abs=1e-15), outcome


def test_many_pairs_at_once_are_each_as_one() -> None:
    import numpy as np

    def shares(one: Behaviour) -> dict[str, float]:
        return {name: float(one.value(name) or 0) for name in ("A", "B", "C", "D", "revise")}

    answer = behaviour("0.9", "0", "0", "0.1", "0.5")
    pairs = [(M, H), (H, M), (Player(M.usual, {"RATIFY": answer}), H)]
    drawn = [
        {
            tag: {
                name: np.array([shares(pair[agent].answering(tag))[name] for pair in pairs])
                for name in shares(answer)
            }
            for tag in ("", "RATIFY")
        }
        for agent in (0, 1)
    ]
    found = many((drawn[0], drawn[1]), 9, 2)
    for place, pair in enumerate(pairs):
        due = exact(pair, 9, 2)
        for outcome, value in due.items():
            if outcome != "endless":
                assert found.of(outcome)[place] == pytest.approx(float(value)), outcome


@settings(max_examples=12)
@given(players(), players(), st.integers(1, 5))
def test_the_limit_is_what_long_sessions_come_to(m: Player, h: Player, k: int) -> None:
    """Odds for n are off by no more than what the bound ends, which may come into a class later.

    Endings are off by those of them that would end at all.
    """
    without, bounded, late = limit((m, h), k), exact((m, h), 150, k), floats((m, h), 10**6, k)
    assert sum(without.results.values()) == 1
    cut = bounded.of("bound")
    left = cut - without.of("endless")
    assert left >= 0
    for outcome in OUTCOMES:
        if outcome not in ("bound", "endless"):
            off = abs(without.of(outcome) - bounded.of(outcome))
            assert off <= (left if outcome in tuple(Ending) else cut), outcome
            assert late.of(outcome) == pytest.approx(float(without.of(outcome)), abs=1e-9), outcome
    assert late.of("bound") == pytest.approx(float(without.of("endless")), abs=1e-9)
    if without.length is None:
        assert without.of("endless") > 0
    else:
        assert bounded.length is not None
        assert without.length >= bounded.length


def test_sessions_that_never_end() -> None:
    endless = limit((NEVER, NEVER), 3)
    assert endless.of("endless") == 1
    assert endless.length is None
    once = limit((NEVER, Player(behaviour("0", "0.99", "0", "0.01", "0"))), 3)
    assert once.of("rejected") == 1
    assert once.of("endless") == 0
    assert once.length == 4 + 2 * 99


@settings(max_examples=10)
@given(players(), players(), st.integers(1, 5), st.sampled_from(["A", "C", "revise.B"]))
def test_a_sensitivity_is_a_derivative(m: Player, h: Player, n: int, parameter: str) -> None:
    """Results for n are polynomials: their derivative is got from differences, to all orders."""
    value = h.value(parameter)
    assert value is not None
    assume(parameter == "revise.B" or value != 1)
    found = sensitivity((m, h), 1, parameter, n, 2)
    points = [Fraction(i, 8) for i in range(n + 1)]
    for outcome in ("two-way", "strong, human", "rejected"):
        values = [exact(placed((m, h), 1, parameter, x), n, 2).of(outcome) for x in points]
        assert found.of(outcome).slope == slope_at(value, points, values)
        assert found.of(outcome).value == exact((m, h), n, 2).of(outcome)


def slope_at(x: Fraction, points: list[Fraction], values: list[Fraction]) -> Fraction:
    """The derivative at x of the polynomial through the points (Lagrange)."""
    total = Fraction(0)
    for i, value in enumerate(values):
        others = [p for p in points if p != points[i]]
        scale = Fraction(1)
        for p in others:
            scale /= points[i] - p
        slope = Fraction(0)
        for left_out in others:
            term = Fraction(1)
            for p in others:
                if p != left_out:
                    term *= x - p
            slope += term
        total += value * scale * slope
    return total


def test_no_derivative_where_sessions_only_just_never_end() -> None:
    with pytest.raises(UsageError, match="stop coming to an end"):
        sensitivity((NEVER, Player(behaviour("0", "1/2", "1/2", "0", "0"))), 1, "D", None, 1)


def test_the_number_of_a_message_decides_by_k_alone() -> None:
    """The chain's two stages, against the decision function itself."""
    for number, k, found, revises in product(range(2, 14), range(1, 13), Category, (False, True)):
        due = interact_guard(found, revises, 2 if number <= k else 9, 3)
        assert interact_guard(found, revises, number, k) is due


def test_how_large_the_chain_is() -> None:
    every = frozenset(Draw(a, t) for a in (0, 1) for t in ("INIT", "RATIFY", "REFUTE", "REVISE"))
    assert len(chain().speakers) == 46
    assert len(chain(every).speakers) == 54


@given(behaviours(), st.sampled_from(["A", "B", "C", "D", "revise"]), st.integers(0, 4))
def test_a_parameter_that_is_set_is_set_and_the_rest_keep_their_shares(
    one: Behaviour, parameter: str, quarters: int
) -> None:
    value = Fraction(quarters, 4)
    assume(parameter == "revise" or one.of(Category(parameter)) != 1)
    changed = one.with_(parameter, value)
    assert changed.value(parameter) == value
    assert sum(changed.cells().values()) == 1
    if parameter != "revise":
        others = [c for c in Category if c.value != parameter]
        for left, right in product(others, others):
            assert changed.of(left) * one.of(right) == changed.of(right) * one.of(left)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: behaviour("0.4", "0.2", "0.1", "0.2", "0"), "add up to 9/10"),
        (lambda: behaviour("1.5", "-0.5", "0", "0", "0"), "from 0 to 1; it was 3/2"),
        (lambda: behaviour("1", "0", "0", "0", "2"), "revise.B is a probability"),
        (lambda: behaviour("1", "0", "0", "0", "0").with_("A", Fraction(0)), "nothing says how"),
        (lambda: Player(H.usual, {"TERM": H.usual}), "answered by nobody"),
        (lambda: H.with_("RATIFY:A", Fraction(0)), "in answer to RATIFY"),
        (lambda: H.with_("agree", Fraction(0)), "no parameter 'agree'"),
        (lambda: exact((M, H), 0, 3), "n is the largest"),
        (lambda: exact((M, H), 3, 3).of("three-way"), "no outcome 'three-way'"),
    ],
)
def test_what_cannot_be_is_said(wrong: Callable[[], object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        wrong()
