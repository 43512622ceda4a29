"""Intervals and tests, against SciPy and statsmodels; and what they must be on their own."""

from __future__ import annotations

import math
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.outcomes import Outcomes, contrast, pooled
from pxp_fsm.experiments.statistics import (
    ROWS,
    clustered_error,
    estimate,
    mcnemar,
    sign_flips,
    wilson,
)


@pytest.mark.deep
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    successes, total = counts
    theirs = binomtest(successes, total).proportion_ci(method="wilson")
    ours = wilson(successes, total)
    assert ours.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.high == pytest.approx(theirs.high, abs=1e-12)


def test_wilson_of_a_published_count() -> None:
    """19 of 20 sessions, the first number of Table 1."""
    assert wilson(19, 20).low == pytest.approx(0.7639, abs=5e-5)
    assert wilson(19, 20).high == pytest.approx(0.9911, abs=5e-5)


@pytest.mark.deep
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_scipys_and_statsmodels(first: int, second: int) -> None:
    from scipy.stats import binomtest
    from statsmodels.stats.contingency_tables import mcnemar as theirs

    expected = theirs([[5, first], [second, 7]], exact=True).pvalue if first + second else 1.0
    assert float(mcnemar(first, second)) == pytest.approx(expected, rel=1e-9)
    if first + second:
        exact = binomtest(first, first + second).pvalue
        assert float(mcnemar(first, second)) == pytest.approx(exact, rel=1e-9)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 9))
def test_flipping_signs_is_mcnemar_for_pairs_that_stand_alone(up: int, down: int, tie: int) -> None:
    assert sign_flips([1] * up + [-1] * down + [0] * tie) == mcnemar(up, down)


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_flipping_signs_counts_all_ways(differences: list[int]) -> None:
    ways = list(product((1, -1), repeat=len(differences)))
    totals = [sum(s * d for s, d in zip(way, differences, strict=True)) for way in ways]
    far = sum(abs(total) >= abs(sum(differences)) for total in totals)
    assert float(sign_flips(differences)) == pytest.approx(far / len(ways))


@pytest.mark.deep
def test_the_clustered_error_is_statsmodels() -> None:
    import statsmodels.api as sm

    drawn = np.random.default_rng(3)
    for clusters in (2, 5, 20):
        groups = drawn.integers(0, clusters, 100)
        groups[:clusters] = np.arange(clusters)
        values = (drawn.random(100) < 0.3 + 0.4 * groups / clusters).astype(float)
        fitted = sm.OLS(values, np.ones(100)).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
        )
        ours = clustered_error(values.tolist(), groups.tolist())
        assert ours == pytest.approx(float(fitted.bse[0]), rel=1e-9)


def test_one_cluster_says_nothing_of_others() -> None:
    assert clustered_error([1.0, 0.0], ["a", "a"]) == math.inf


def test_one_repetition_has_wilsons_interval() -> None:
    found = estimate({(1, f"i{i}"): i < 19 for i in range(20)})
    assert found.interval == wilson(19, 20)
    assert found.by_repetition == math.inf


def test_repetitions_that_say_the_same_make_nothing_surer() -> None:
    """Five times the same twenty outcomes are twenty, not a hundred."""
    once = estimate({(1, f"i{i}"): i < 12 for i in range(20)})
    five = estimate({(r, f"i{i}"): i < 12 for r in range(1, 6) for i in range(20)})
    assert five.size == pytest.approx(19.0)
    assert five.interval.low < once.interval.low
    assert five.interval.high > once.interval.high
    all_alike = estimate({(r, f"i{i}"): True for r in range(1, 6) for i in range(20)})
    assert all_alike.interval == wilson(20, 20)


def test_independent_repetitions_count_in_full() -> None:
    drawn = np.random.default_rng(1)
    outcomes = {(r, f"i{i}"): bool(drawn.random() < 0.5) for r in range(1, 41) for i in range(20)}
    assert estimate(outcomes).size > 300


Sessions = list[tuple[int, bool]]
"""The number of a person, and whether a session of theirs is in a class."""


def group(name: str, sessions: Sessions) -> Outcomes:
    by_person: dict[int, list[Outcomes]] = {}
    for place, (person, value) in enumerate(sessions):
        key = (1, f"molecule {place}")
        run = Outcomes(f"run {place}", {key: 1}, {key: (value,) * len(ROWS)}, 1)
        by_person.setdefault(person, []).append(run)
    return pooled(name, by_person)


SESSIONS = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=12)


@pytest.mark.deep
@given(SESSIONS, SESSIONS)
def test_a_contrast_is_statsmodels_regression_with_clustered_errors(
    first: Sessions, second: Sessions
) -> None:
    """Its own factor (N - 1) / (N - 2) is taken out: what is left is G / (G - 1), as ours."""
    import statsmodels.api as sm

    assume(len(first) + len(second) > 2)
    groups = group("a", first), group("b", second)
    assert groups[0].left_out == len(first)
    found = contrast(*groups)[3]
    assert found.first == pytest.approx(sum(value for _, value in first) / len(first))
    people = np.array([person for person, _ in first + second])
    if len(set(people)) < 2:
        assert (found.interval.low, found.interval.high) == (-1.0, 1.0)
        return
    x = np.array([0.0] * len(first) + [1.0] * len(second))
    y = np.array([float(value) for _, value in first + second])
    size = len(x)
    with warnings.catch_warnings():  # that an error is 0, or just below it
        warnings.simplefilter("ignore", RuntimeWarning)
        fitted = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds={"groups": people})
        error = float(np.nan_to_num(fitted.bse[1]))
    assert found.second - found.first == pytest.approx(fitted.params[1], abs=1e-9)
    half = 1.959963984540054 * error * math.sqrt((size - 2) / (size - 1))
    assert found.interval.low == pytest.approx(max(-1, fitted.params[1] - half), abs=1e-6)
    assert found.interval.high == pytest.approx(min(1, fitted.params[1] + half), abs=1e-6)


def test_a_contrast_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="no session of b is over"):
        contrast(group("a", [(1, True)]), group("b", []))
