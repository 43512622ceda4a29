"""Outcomes of the sessions of a run, by repetition and instance, and their statistics.

`statistics.py` counts repetitions as the papers do; here are the sessions one by one, which
intervals, comparisons and the effect of order need.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from backends.databases import SqlBlackboard
from backends.databases.recordings import Details, RecordedSession, recorded_sessions
from backends.databases.records import CONCLUDED
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.statistics import (
    ROWS,
    Estimate,
    Interval,
    clustered_error,
    estimate,
    mcnemar,
    sign_flips,
)
from pxp_fsm.lazy_dataclasses import dataclass

Place = tuple[int, str]
"""The repetition, and the key of the instance."""

_Z95 = 1.959963984540054
_DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The sessions of a run that the protocol ended: where each stood, in which classes it is.

    `positions` and `classes` go by repetition and instance; a session's classes are in the order of
    `rows`: those of `statistics.ROWS`, or of panels the verdicts. `left_out` sessions are not over,
    or were ended by a fault. `lengths` are the numbers of messages of panels' sessions, `endings`
    how they ended.
    """

    run: str
    positions: Mapping[Place, int]
    classes: Mapping[Place, tuple[bool, ...]]
    left_out: int
    rows: tuple[str, ...] = ROWS
    lengths: Mapping[Place, int] = field(default_factory=dict)
    endings: Mapping[Place, str] = field(default_factory=dict)

    def of(self, row: str) -> dict[Place, bool]:
        """Which sessions are in the class `row`."""
        place = self.rows.index(row)
        return {where: classes[place] for where, classes in self.classes.items()}


def outcomes_of(blackboard: SqlBlackboard, run: str) -> Outcomes:
    """The outcomes of `run`; `NotThere` where there is no such run."""
    sessions = list(recorded_sessions(blackboard, run, Details.CLASSES, messages=False))
    if not sessions:
        blackboard.run(run)
    over = [session for session in sessions if session.ending in CONCLUDED]
    return Outcomes(
        run,
        {(session.repetition, session.instance): session.position for session in over},
        {(session.repetition, session.instance): _classes(session) for session in over},
        len(sessions) - len(over),
    )


def _classes(session: RecordedSession) -> tuple[bool, ...]:
    """The classes of a session in the order of `ROWS`."""
    machine, human = session.classes
    return (
        human.one_way,
        machine.one_way,
        human.one_way and machine.one_way,
        human.strong,
        machine.strong,
        human.ultra_strong,
        machine.ultra_strong,
    )


def estimates(outcomes: Outcomes) -> dict[str, Estimate]:
    """An estimate for each of `ROWS`; none where no session is over."""
    return {row: estimate(outcomes.of(row)) for row in ROWS} if outcomes.classes else {}


@dataclass(frozen=True, slots=True)
class RunComparison:
    """One class in two runs, over the `pairs` of sessions that are about the same.

    `first` and `second` are the shares; `only_first` and `only_second` the unequal pairs. `p` is
    exact, McNemar's for one repetition; for several, and of `MESSAGES`, whose numbers are means,
    that of flipping whole instances. `interval`
    is of the difference second - first, from its error clustered over instances; None where no pair
    differs, and where all are about one instance, which says nothing of others.
    """

    row: str
    pairs: int
    first: float
    second: float
    only_first: int
    only_second: int
    p: Fraction
    interval: Interval | None


def compare(first: Outcomes, second: Outcomes) -> tuple[RunComparison, ...]:
    """Each class in two runs; sessions are paired by repetition and instance.

    Of panels the last row is their messages, in numbers. Raises `UsageError` where the runs have no
    session in common, or only one is of panels.
    """
    if first.rows != second.rows:
        raise UsageError(
            f"{first.run} and {second.run} have no classes in common: one is of panels, the other "
            f"of a machine and a human"
        )
    pairs = [where for where in first.classes if where in second.classes]
    if not pairs:
        raise UsageError(
            f"{first.run} and {second.run} have no finished session about the same instance in the "
            f"same repetition; compare runs of the same data"
        )
    comparisons = [_compared(row, first.of(row), second.of(row), pairs) for row in first.rows]
    if first.lengths:
        comparisons.append(_compared(MESSAGES, first.lengths, second.lengths, pairs))
    return tuple(comparisons)


def _compared(
    row: str, first: Mapping[Place, int], second: Mapping[Place, int], pairs: list[Place]
) -> RunComparison:
    differences = [int(second[where]) - int(first[where]) for where in pairs]
    instances = [where[1] for where in pairs]
    by_instance: dict[str, int] = defaultdict(int)
    for instance, difference in zip(instances, differences, strict=True):
        by_instance[instance] += difference
    only_first, only_second = (
        sum(sign * difference > 0 for difference in differences) for sign in (-1, 1)
    )
    several = len({where[0] for where in pairs}) > 1 or row == MESSAGES
    p = sign_flips(by_instance.values()) if several else mcnemar(only_first, only_second)
    mean = sum(differences) / len(pairs)
    interval = None
    if len(by_instance) > 1 and only_first + only_second:
        half = _Z95 * clustered_error(differences, instances)
        interval = Interval(mean - half, mean + half)
        if row != MESSAGES:  # a difference of shares
            interval = Interval(max(-1.0, interval.low), min(1.0, interval.high))
    return RunComparison(
        row,
        len(pairs),
        sum(first[where] for where in pairs) / len(pairs),
        sum(second[where] for where in pairs) / len(pairs),
        only_first,
        only_second,
        p,
        interval,
    )


MESSAGES = "messages"
"""The row of a comparison of panels that has no shares: how many messages sessions have."""


def pooled(name: str, by_person: Mapping[int, Sequence[Outcomes]]) -> Outcomes:
    """The sessions of several people as those of one group; a person's number is the repetition.

    The runs of one person are about different instances.
    """
    runs = [(number, run) for number, several in by_person.items() for run in several]
    return Outcomes(
        name,
        {(number, key): at for number, run in runs for (_, key), at in run.positions.items()},
        {
            (number, key): classes
            for number, run in runs
            for (_, key), classes in run.classes.items()
        },
        sum(run.left_out for _number, run in runs),
    )


@dataclass(frozen=True, slots=True)
class Contrast:
    """One class in two groups of sessions, which are not paired; `first` and `second` are shares.

    `interval` is of the difference second - first, from its error clustered over people, who may
    have sessions in both groups.
    """

    row: str
    first: float
    second: float
    interval: Interval


def contrast(first: Outcomes, second: Outcomes) -> tuple[Contrast, ...]:
    """Each class of `ROWS` in two groups made by `pooled`.

    Raises `UsageError` where one of them has no session that is over.
    """
    for group in (first, second):
        if not group.classes:
            raise UsageError(f"no session of {group.run} is over")
    return tuple(_contrast(row, first.of(row), second.of(row)) for row in ROWS)


def _contrast(row: str, first: Mapping[Place, bool], second: Mapping[Place, bool]) -> Contrast:
    """The error is that of a mean: of each session's pull on the difference, times all of them."""
    means = [sum(group.values()) / len(group) for group in (first, second)]
    together, pulls, people = len(first) + len(second), list[float](), list[int]()
    for sign, mean, group in ((-1, means[0], first), (1, means[1], second)):
        pulls += [sign * together * (value - mean) / len(group) for value in group.values()]
        people += [number for number, _instance in group]
    difference, half = means[1] - means[0], _Z95 * clustered_error(pulls, people)
    interval = Interval(max(-1.0, difference - half), min(1.0, difference + half))
    return Contrast(row, means[0], means[1], interval)


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """How far the order of instances decides whether a session is in the class `row`.

    `early` and `late` are the shares in the first and the second half of the positions. `varying`
    of the `instances` do not come to the same in all repetitions. `slope` is the change from one
    position to the next with the instance held fixed, and `p` how often chance, which hands each
    instance's outcomes to its own positions anew, gives one at least as steep; None where nothing
    varies, and so nothing can be said.
    """

    row: str
    early: float
    late: float
    varying: int
    instances: int
    slope: float | None
    p: float | None


def order_effect(outcomes: Outcomes, row: str, seed: int = 0) -> OrderEffect | None:
    """The effect of order on a class; None where fewer than two repetitions can be compared."""
    if len({repetition for repetition, _ in outcomes.classes}) < 2:
        return None
    outcome_of = outcomes.of(row)
    middle = (max(outcomes.positions.values()) + 1) / 2
    halves = [
        [
            value
            for where, value in outcome_of.items()
            if (outcomes.positions[where] > middle) is late
        ]
        for late in (False, True)
    ]
    early, late = (sum(half) / len(half) if half else 0.0 for half in halves)
    by_instance: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for where, value in outcome_of.items():
        by_instance[where[1]].append((float(outcomes.positions[where]), value))
    centred = {key: _centred(rows) for key, rows in by_instance.items()}
    spread = sum(position**2 for rows in centred.values() for position, _ in rows)
    varying = [rows for rows in centred.values() if len({value for _, value in rows}) > 1]
    if not varying or not spread:
        return OrderEffect(row, early, late, len(varying), len(by_instance), None, None)
    slope = sum(p * value for rows in varying for p, value in rows)
    drawn = random.Random(seed)
    as_steep = sum(abs(_handed_out(varying, drawn)) >= abs(slope) - 1e-9 for _ in range(_DRAWS))
    p = (as_steep + 1) / (_DRAWS + 1)
    return OrderEffect(row, early, late, len(varying), len(by_instance), slope / spread, p)


def _centred(rows: list[tuple[float, bool]]) -> list[tuple[float, bool]]:
    mean = sum(position for position, _ in rows) / len(rows)
    return [(position - mean, value) for position, value in rows]


def _handed_out(varying: list[list[tuple[float, bool]]], drawn: random.Random) -> float:
    total = 0.0
    for rows in varying:
        values = [value for _, value in rows]
        drawn.shuffle(values)
        total += sum(position * value for (position, _), value in zip(rows, values, strict=True))
    return total
