"""Orders of instances, and what order does to outcomes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest

from backends.databases import RunRecord
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.comparison import comparison_lines, comparison_sheet, seed_lines
from pxp_fsm.experiments.outcomes import Outcomes, compare, order_effect
from pxp_fsm.experiments.plans import Order, check_order, ordered
from pxp_fsm.experiments.statistics import ROWS


def test_fixed_is_as_given_and_shuffled_differs_by_repetition_and_seed() -> None:
    rows = range(20)
    assert ordered(rows, Order.FIXED, 1, 2) == list(rows)
    drawn = [tuple(ordered(rows, Order.SHUFFLED, s, r)) for s in (0, 1) for r in (1, 2, 3)]
    assert len(set(drawn)) == 6
    assert tuple(ordered(rows, Order.SHUFFLED, 1, 3)) == drawn[-1]


def test_as_many_sampled_repetitions_as_there_are_orders_are_all_orders() -> None:
    drawn = [tuple(ordered("abcd", Order.SAMPLED, 7, r)) for r in range(1, 25)]
    assert set(drawn) == set(permutations("abcd"))
    other = [tuple(ordered("abcd", Order.SAMPLED, 8, r)) for r in range(1, 25)]
    assert drawn != other


def test_sampled_orders_of_many_instances_differ() -> None:
    drawn = {tuple(ordered(range(50), Order.SAMPLED, 0, r)) for r in range(1, 31)}
    assert len(drawn) == 30


def test_more_repetitions_than_orders_are_refused() -> None:
    check_order(Order.SAMPLED, 3, 6)
    with pytest.raises(UsageError, match="3 instances have 6 orders"):
        check_order(Order.SAMPLED, 3, 7)
    with pytest.raises(UsageError, match="at most 1000"):
        check_order(Order.SAMPLED, 30, 1001)
    check_order(Order.SHUFFLED, 3, 7)


def outcomes(made: dict[tuple[int, str], tuple[int, bool]]) -> Outcomes:
    return Outcomes(
        "r",
        {where: position for where, (position, _) in made.items()},
        {where: (value,) * len(ROWS) for where, (_, value) in made.items()},
        0,
    )


@pytest.mark.deep
def test_an_effect_of_order_is_found_where_there_is_one_and_not_where_there_is_none() -> None:
    """Ten instances in forty shuffled orders; late ones succeed, or odd ones do."""
    places = {
        (r, f"i{i}"): ordered(range(10), Order.SHUFFLED, 0, r).index(i) + 1
        for r in range(1, 41)
        for i in range(10)
    }
    late = outcomes({where: (p, p > 5) for where, p in places.items()})
    found = order_effect(late, "two-way")
    assert found is not None
    assert (found.early, found.late, found.varying) == (0.0, 1.0, 10)
    assert found.slope is not None
    assert found.p is not None
    assert found.slope > 0.1
    assert found.p < 0.01
    odd = outcomes({(r, i): (p, int(i[1:]) % 2 == 1) for (r, i), p in places.items()})
    still = order_effect(odd, "two-way")
    assert still is not None
    assert (still.varying, still.slope, still.p) == (0, None, None)
    chance = outcomes(
        {(r, i): (p, (r * 7 + int(i[1:]) * 3) % 5 < 2) for (r, i), p in places.items()}
    )
    by_chance = order_effect(chance, "two-way")
    assert by_chance is not None
    assert by_chance.p is not None
    assert by_chance.p > 0.05
    assert order_effect(outcomes({(1, "a"): (1, True)}), "two-way") is None


def test_runs_are_compared_over_what_they_have_in_common() -> None:
    first = outcomes({(1, f"i{i}"): (i + 1, i < 8) for i in range(10)})
    second = outcomes({(1, f"i{i}"): (i + 1, i < 2) for i in range(12)})
    found = compare(first, second)[0]
    assert (found.pairs, found.only_first, found.only_second) == (10, 6, 0)
    assert (found.first, found.second) == (0.8, 0.2)
    assert float(found.p) == 2 / 2**6
    with pytest.raises(UsageError, match="have no finished session about the same instance"):
        compare(first, outcomes({(2, "i1"): (1, True)}))


def test_repetitions_of_an_instance_are_one_when_runs_are_compared() -> None:
    first = outcomes({(r, f"i{i}"): (i + 1, True) for r in (1, 2, 3) for i in range(4)})
    second = outcomes({(r, f"i{i}"): (i + 1, i > 0) for r in (1, 2, 3) for i in range(4)})
    found = compare(first, second)[0]
    assert (found.only_first, found.p) == (3, Fraction(1))


@pytest.mark.parametrize("repetitions", [1, 3])
def test_one_instance_has_no_interval_in_text_or_json(repetitions: int) -> None:
    """Its error is unknown; infinity is no number of JSON, and no width of an interval."""
    places = range(1, repetitions + 1)
    first, second = (
        replace(
            outcomes({(r, "a"): (1, value) for r in places}),
            rows=(*ROWS, "more"),
            classes={(r, "a"): (value,) * (len(ROWS) + 1) for r in places},
            lengths={(r, "a"): 4 + value for r in places},
        )
        for value in (True, False)
    )
    compared = compare(first, second)
    assert compared[-1].row == "messages"
    assert [one.interval for one in compared] == [None] * len(compared)
    assert all(row[4] == "-" for row in comparison_sheet(compared, "one", "other").rows)
    lines = comparison_lines(first, second, compared)
    assert "Of one instance there is no interval of the difference." in lines
    assert not any("disagree" in line for line in lines)


@pytest.mark.parametrize(("differing", "disagrees"), [(5, True), (6, False), (0, False)])
def test_an_interval_and_a_p_value_that_disagree_are_explained(
    differing: int, disagrees: bool
) -> None:
    """Five of ten pairs: the interval ends at -0.17, the exact p is 2/2^5; six: both say so."""
    first = outcomes({(1, f"i{i}"): (i + 1, True) for i in range(10)})
    second = outcomes({(1, f"i{i}"): (i + 1, i >= differing) for i in range(10)})
    found = compare(first, second)
    said = " ".join(comparison_lines(first, second, found))
    assert ("Interval and p disagree about" in said) is disagrees
    assert "10 pairs" in said


def test_a_comparison_says_that_seeds_differ_and_that_rows_are_not_corrected() -> None:
    first, second = (
        outcomes({(1, f"i{i}"): (i + 1, i >= many) for i in range(10)}) for many in (0, 4)
    )
    text = " ".join(comparison_lines(first, second, compare(first, second)))
    assert "Of 7 rows each has a p of its own, which is not corrected" in text
    records = [RunRecord(f"r{seed}", "animals", "{}", seed, "0", "") for seed in (0, 7, 0)]
    assert seed_lines(records[:1], records[2:]) == ()
    (line,) = seed_lines(records[:1], records[1:2])
    assert line.startswith("Their seeds differ (0 and 7):")
    (line,) = seed_lines(records[:1], records[1:])
    assert line.startswith("Their seeds differ (0 and 0, 7):")
