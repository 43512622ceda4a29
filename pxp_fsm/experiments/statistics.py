"""Table 1 of the papers, computed from the SQL views of the blackboard alone."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from statistics import median

from backends.databases import SqlBlackboard
from backends.databases.recordings import run_counts

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
class Class:
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

    def classes(self) -> tuple[Class, ...]:
        """The row `in all`, then each of `ROWS`, over the repetitions; none where none has any."""
        repetitions = self.repetitions
        if not repetitions:
            return ()
        columns = [
            ("in all", [repetition.total for repetition in repetitions]),
            *zip(ROWS, zip(*(each.counts for each in repetitions), strict=True), strict=True),
        ]
        totals = [repetition.total for repetition in repetitions]
        return tuple(
            Class(
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
    each = defaultdict[int, list[tuple[int, ...]]](list)
    for run in runs:
        found = run_counts(blackboard, run)
        endings.update(found.endings)
        tags.update(found.tags)
        for row in found.table1:
            each[row.repetition].append(row[1:])
    sums = {number: tuple(map(sum, zip(*rows, strict=True))) for number, rows in each.items()}
    repetitions = (Repetition(number, one[0], one[1:]) for number, one in sorted(sums.items()))
    return Statistics(tuple(repetitions), endings, tags)


def published(task: str) -> Sequence[Published]:
    """The published columns of a task; empty for a task that the papers do not have."""
    resource = resources.files("pxp_fsm.experiments").joinpath("published.toml")
    raw = tomllib.loads(resource.read_text("utf-8"))
    return tuple(
        Published(column["task"], column["title"], tuple(column["counts"]), column["controlled"])
        for column in raw["column"]
        if column["task"] == task
    )
