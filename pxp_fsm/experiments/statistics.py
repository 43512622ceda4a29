"""Statistics of runs: Table 1 of the papers, from the SQL views alone, and what the papers print.

Intervals and tests are short formulas, checked against SciPy's. Sources: Wilson (1927); Liang and
Zeger (1986) for the clustered error; Kish (1965) for the effective sample size; McNemar (1947),
exact.
"""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from math import comb, sqrt
from statistics import NormalDist, median
from typing import Any

from backends.databases import SqlBlackboard
from backends.databases.recordings import run_counts
from pxp_fsm.lazy_dataclasses import dataclass

ROWS = (
    "one-way, human",
    "one-way, machine",
    "two-way",
    "strong, human",
    "strong, machine",
    "ultra-strong, human",
    "ultra-strong, machine",
)
"""The rows of Table 1 below the total, in its order."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """One repetition: how many sessions the protocol ended, and how many are in each of `ROWS`."""

    number: int
    total: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """How many sessions are in a class: median, median share of a repetition's own, and range."""

    name: str
    median: Fraction
    share: Fraction
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is reported of a run.

    `endings` and `tags` count sessions by ending (None: not over) and messages by (sender, tag).
    """

    repetitions: tuple[Repetition, ...]
    endings: Counter[str | None]
    tags: Counter[tuple[str, str]]

    def classes(self) -> tuple[ClassCounts, ...]:
        """The row `in all`, then each of `ROWS`, over the repetitions; none where none has any."""
        repetitions = self.repetitions
        if not repetitions:
            return ()
        columns = [
            ("in all", [repetition.total for repetition in repetitions]),
            *zip(
                ROWS,
                zip(*(repetition.counts for repetition in repetitions), strict=True),
                strict=True,
            ),
        ]
        totals = [repetition.total for repetition in repetitions]
        return tuple(
            ClassCounts(
                name,
                median(map(Fraction, counts)),
                median(map(Fraction, counts, totals)),
                min(counts),
                max(counts),
            )
            for name, counts in columns
        )


@dataclass(frozen=True, slots=True)
class Published:
    """A published column: counts out of 20 sessions, in the order of `ROWS`.

    `controlled` says that the machine's lessons were weighed on a validation set.
    """

    task: str
    title: str
    counts: tuple[int, ...]
    controlled: bool = False


def statistics_of(blackboard: SqlBlackboard, *runs: str) -> Statistics:
    """The statistics of a run as far as it has got, or of several: repetitions are added up."""
    endings, tags = Counter[str | None](), Counter[tuple[str, str]]()
    by_repetition = defaultdict[int, list[tuple[int, ...]]](list)
    for run in runs:
        counts = run_counts(blackboard, run)
        endings.update(counts.endings)
        tags.update(counts.tags)
        for row in counts.table1:
            by_repetition[row.repetition].append(row[1:])
    sums = {
        number: tuple(map(sum, zip(*rows, strict=True))) for number, rows in by_repetition.items()
    }
    repetitions = (
        Repetition(number, total[0], total[1:]) for number, total in sorted(sums.items())
    )
    return Statistics(tuple(repetitions), endings, tags)


def published(task: str) -> Sequence[Published]:
    """The published columns of a task; empty for a task that the papers do not have."""
    return tuple(
        Published(column["task"], column["title"], tuple(column["counts"]), column["controlled"])
        for column in _data()["column"]
        if column["task"] == task
    )


def rounded(number: float | Fraction, digits: int = 2) -> str:
    """A number as every table and text shows it: with `digits` decimals, half away from zero.

    A float is taken as the fraction of counts that it is nearest to, so that 3/40 is 0.08 whichever
    of the two it is stored as.

    >>> rounded(Fraction(3, 40)), rounded(3 / 40), rounded(17 / 40 - 20 / 40), rounded(-0.001)
    ('0.08', '0.08', '-0.08', '0.00')
    """
    exact = Fraction(number).limit_denominator(_MOST_COUNTED)
    scaled = Decimal(exact.numerator) * 10**digits / exact.denominator
    return f"{scaled.to_integral_value(ROUND_HALF_UP).scaleb(-digits) + 0:.{digits}f}"


_MOST_COUNTED = 10**9
"""A larger denominator is of no count."""


CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both between 0 and 1 for a proportion.

    >>> str(Interval(0.125, 0.5))
    '0.13 to 0.50'
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{rounded(self.low)} to {rounded(self.high)}"


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
    spread = sum(deviation * deviation for deviation in sums.values())
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
    values = tuple(differences)
    steps = [abs(difference) for difference in values if difference]
    ways = {0: 1}
    for step in steps:
        after = dict[int, int]()
        for total, count in ways.items():
            for moved in (total + step, total - step):
                after[moved] = after.get(moved, 0) + count
        ways = after
    far = abs(sum(values))
    return Fraction(
        sum(count for total, count in ways.items() if abs(total) >= far), 2 ** len(steps)
    )


SESSIONS = 20
"""Sessions in each published column."""


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A point of a published curve: so many sessions of 20 are in the class by that message."""

    task: str
    title: str
    kind: str
    message: int
    sessions: int
    source: str


@dataclass(frozen=True, slots=True)
class PublishedRatified:
    """Sessions of 20 that both ratified within three messages, and after more."""

    task: str
    title: str
    within_3: int
    later: int


@dataclass(frozen=True, slots=True)
class PublishedTag:
    """A case of the tag-category table; None where the tag does not depend on it."""

    category: str
    tag: str
    late: bool | None = None
    changed: bool | None = None


def points(task: str) -> Sequence[PublishedPoint]:
    """The points of a task's curves that the text gives in numbers."""
    return tuple(PublishedPoint(**row) for row in _data()["point"] if row["task"] == task)


def ratified(task: str) -> Sequence[PublishedRatified]:
    """What the text says of ratified sessions of a task."""
    return tuple(PublishedRatified(**row) for row in _data()["ratified"] if row["task"] == task)


def tags() -> Sequence[PublishedTag]:
    """The tag-category table."""
    return tuple(PublishedTag(**row) for row in _data()["tag"])


@cache
def _data() -> dict[str, Any]:
    resource = resources.files("pxp_fsm.experiments").joinpath("published.toml")
    return tomllib.loads(resource.read_text("utf-8"))
