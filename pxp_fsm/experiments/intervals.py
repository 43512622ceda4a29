"""Intervals and tests for proportions of sessions: short formulas, checked against SciPy's.

Sources: Wilson (1927); Liang and Zeger (1986) for the clustered error; Kish (1965) for the
effective sample size; McNemar (1947), exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both between 0 and 1 for a proportion."""

    low: float
    high: float


def wilson(successes: float, total: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a proportion; `total` may be an effective size, above 0."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if successes == total else min(1.0, middle + half))


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """The standard error of the mean of `values`, those of one cluster depending on each other.

    Clusters are independent of each other; with G of them the factor G/(G-1) is applied. Infinite
    for a single cluster: it says nothing of others.
    """
    mean = sum(values) / len(values)
    sums = dict[Hashable, float]()
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    count = len(sums)
    if count < 2:
        return float("inf")
    spread = sum(each * each for each in sums.values())
    return sqrt(count / (count - 1) * spread) / len(values)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A proportion over all repetitions, its errors, and the interval that allows for them.

    `by_repetition` is the standard error clustered over repetitions, `by_instance` over instances;
    infinite where there is one cluster only. `size` is the effective number of sessions.
    """

    share: float
    by_repetition: float
    by_instance: float
    size: float
    interval: Interval


def estimate(outcomes: Mapping[tuple[int, str], bool], confidence: float = CONFIDENCE) -> Estimate:
    """What `outcomes`, by (repetition, instance), say of a proportion; at least one is needed.

    The interval is Wilson's for the effective number of sessions: as many independent ones as would
    have the larger of the two clustered errors, never more than there are; of one repetition, all.
    Where all outcomes are alike no error can be seen, and every instance counts once.
    """
    values = [float(value) for value in outcomes.values()]
    share = sum(values) / len(values)
    by_repetition = clustered_error(values, [place[0] for place in outcomes])
    by_instance = clustered_error(values, [place[1] for place in outcomes])
    seen = [error for error in (by_repetition, by_instance) if error != float("inf")]
    size = float(len(values))
    if share in (0.0, 1.0):
        size = float(len({place[1] for place in outcomes}))
    elif by_repetition != float("inf") and max(seen) > 0:
        size = min(size, share * (1 - share) / max(seen) ** 2)
    return Estimate(share, by_repetition, by_instance, size, wilson(share * size, size, confidence))


def mcnemar(only_first: int, only_second: int) -> Fraction:
    """The exact two-sided p-value of McNemar's test, from the two numbers of unequal pairs."""
    count = only_first + only_second
    tail = sum(comb(count, number) for number in range(min(only_first, only_second) + 1))
    return min(Fraction(1), Fraction(2 * tail, 2**count))


def sign_flips(differences: Iterable[int]) -> Fraction:
    """The exact two-sided p-value that independent `differences` are symmetric about nothing.

    Each is flipped or not; the share of all ways whose sum is at least as far from 0. Differences
    of -1, 0 and 1 make it McNemar's exact test, so that it is that test for clusters of pairs.
    """
    given = tuple(differences)
    steps = [abs(difference) for difference in given if difference]
    ways = {0: 1}
    for step in steps:
        after = dict[int, int]()
        for total, count in ways.items():
            for moved in (total + step, total - step):
                after[moved] = after.get(moved, 0) + count
        ways = after
    far = abs(sum(given))
    return Fraction(
        sum(count for total, count in ways.items() if abs(total) >= far), 2 ** len(steps)
    )
