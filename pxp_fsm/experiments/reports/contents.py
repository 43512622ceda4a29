"""The contents of a report on one run, from the blackboard and the run's plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

from backends.databases import FAULTS, RunRecord, SqlBlackboard
from backends.databases.recordings import predictions
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments import accuracy
from pxp_fsm.experiments.accuracy import LONGEST, Normal, normal_form
from pxp_fsm.experiments.outcomes import Outcomes, estimates, outcomes_of
from pxp_fsm.experiments.plan_data import data_fingerprint, read_plan, run_title, stored_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports import tallies
from pxp_fsm.experiments.reports.tallies import (
    KINDS,
    NOT_OVER,
    CurvePoint,
    ObservedSession,
    Rule,
    RunTally,
    observed,
    over_repetitions,
)
from pxp_fsm.experiments.statistics import Estimate, Statistics, statistics_of
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.tasks.task import DataSet, Task


@dataclass
class CorrectPredictions:
    """How many sessions' latest prediction is right after each message, by repetition.

    It is the machine's, or the human's where `machine` is False. `right` are the right predictions
    by instance, normal; `texts` finds a prediction by digest. Sessions about an instance without a
    right answer, and those that were erased, are not counted.
    """

    right: Mapping[str, str]
    normal: Normal
    texts: Callable[[str], str | None]
    machine: bool = True
    changes: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    totals: Counter[int] = field(default_factory=Counter)

    def add(self, session: ObservedSession) -> None:
        """Count one more session."""
        wanted = self.right.get(session.instance)
        if wanted is None or not session.steps:
            return
        own = [
            (number, self.texts(step.prediction))
            for number, step in enumerate(session.steps, start=1)
            if step.machine is self.machine
        ]
        if any(prediction is None for _, prediction in own):
            return
        self.totals[session.repetition] += 1
        was = False
        for number, prediction in own:
            now = prediction is not None and self.normal(prediction) == wanted
            if now != was:
                self.changes[session.repetition][number] += 1 if now else -1
            was = now

    def curve(self, until: int) -> tuple[CurvePoint, ...]:
        """The share of sessions with a right prediction after message 1, 2, … `until`."""
        return over_repetitions(
            [
                [Fraction(count, total) for count in self._cumulated(repetition, until)]
                for repetition, total in sorted(self.totals.items())
            ]
        )

    def _cumulated(self, repetition: int, until: int) -> Iterator[int]:
        changes = self.changes[repetition]
        return accumulate(changes[number] for number in range(1, until + 1))


REPLAYED = 500
"""Runs of more sessions are not learned again for the test set unless that is asked for."""


@dataclass(frozen=True, slots=True)
class Performance:
    """Performance against length; a text says why a curve is not there.

    The machine's in both readings, and the human's on the sessions' own instances, which says
    something only where the human is a person or a model.
    """

    in_sessions: tuple[CurvePoint, ...] | str
    on_test_set: tuple[tuple[int, CurvePoint], ...] | str
    human: tuple[CurvePoint, ...] | str


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run as it is reported.

    `task` and `data` are None where they cannot be had any more; `missing` says in sentences what
    is not there, and why. `planned` is the number of sessions the plan asks for, if that is known.
    `estimates` are of the rows of Table 1, none where no session is over.
    """

    record: RunRecord
    plan: Plan
    task: Task | None
    data: DataSet | None
    planned: int | None
    statistics: Statistics
    outcomes: Outcomes
    estimates: Mapping[str, Estimate]
    tally: RunTally
    curves: dict[str, tuple[CurvePoint, ...]]
    rules: tuple[Rule, ...]
    performance: Performance
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.record.run

    @property
    def title(self) -> str:
        """The run as tables call it: with its setting, and the pseudonym of who took part."""
        return run_title(self.record)

    @property
    def sessions(self) -> int:
        """How many sessions have been started."""
        return sum(counts.total() for counts in self.tally.by_repetition.values())


def gather(
    board: SqlBlackboard,
    record: RunRecord,
    *,
    test_set: bool | None = None,
    catalogue: Path | None = None,
) -> RunReport:
    """Everything that is reported of a run, finished or not.

    `test_set` says whether to let a fresh machine learn again; None: if the run is not too large.
    `catalogue` is the user's own that its models were asked with. Raises `UsageError` where the
    plan stored with the run is none, and `BlackboardError`.
    """
    plan = stored_plan(record)
    task, data, away = _data(plan, record)
    tally, *rightness = _counted(board, record.run, task, data)
    rules, outcomes = plan.rules(), outcomes_of(board, record.run)
    until = min(LONGEST, max(rules.n or tally.longest, 1))
    planned = plan.repetitions * len(data.sessions) if data else None
    asked = (plan, task, data, tally, until, test_set, catalogue)
    tested, short = _on_test_set(board, record.run, *asked)
    own, theirs = (
        correct_predictions.curve(until) or "no session has a prediction"
        for correct_predictions in rightness
    )
    if plan.human is None:
        theirs = "the human is the task's own, whose predictions are taken to be right"
    measured = Performance(away or own, tested or away, away or theirs)
    return RunReport(
        record,
        plan,
        task,
        data,
        planned,
        statistics_of(board, record.run),
        outcomes,
        estimates(outcomes),
        tally,
        {kind: tally.curve(kind, until) for kind in KINDS},
        tallies.rows(rules, tally),
        measured,
        (*_missing(plan, data, tally, away), *([short] if short else [])),
    )


def _data(plan: Plan, record: RunRecord) -> tuple[Task | None, DataSet | None, str]:
    """The task and its data, if they can still be had and are what they were."""
    try:
        task, data = read_plan(plan)
    except PXPError as error:
        return None, None, f"the run's task or data cannot be read: {error}"
    if data_fingerprint(plan, data) != record.data_fingerprint:
        return task, None, "the run's data have changed since it began"
    return task, data, ""


def _counted(
    board: SqlBlackboard, run: str, task: Task | None, data: DataSet | None
) -> tuple[RunTally, CorrectPredictions, CorrectPredictions]:
    """What is counted of the sessions, and of the machine's and the human's predictions."""
    right, texts = dict[str, str](), dict[str, str]()
    normal: Normal = str
    if task is not None and data is not None:
        normal, texts = normal_form(task), dict(predictions(board, run))
        right = {row.instance.key: normal(row.answer.prediction) for row in data.sessions}
    own, theirs = (CorrectPredictions(right, normal, texts.get, role) for role in (True, False))
    tally = RunTally()
    for session in observed(board, run):
        tally.add(session)
        own.add(session)
        theirs.add(session)
    return tally, own, theirs


def _on_test_set(
    board: SqlBlackboard,
    run: str,
    plan: Plan,
    task: Task | None,
    data: DataSet | None,
    tally: RunTally,
    until: int,
    wanted: bool | None,
    catalogue: Path | None,
) -> tuple[tuple[tuple[int, CurvePoint], ...] | str, str]:
    """The curve on the test set or why there is none; and what is missing of it."""
    if task is None or data is None:
        return "", ""
    sessions = sum(counts.total() for counts in tally.by_repetition.values())
    try:
        if wanted is False or (wanted is None and sessions > REPLAYED):
            many = f" for {sessions:,} sessions" if wanted is None else ""
            raise UsageError(f"it was not measured{many}; it can be requested")
        examined = accuracy.from_record(board, run, plan, task, data, until, catalogue)
        examined.check()
        if not (wanted or examined.carries or examined.selection.machine):
            raise UsageError(
                "the machine carries nothing from session to session, and is not asked after each "
                "unless that is requested"
            )
        waited_for(examined.ask())
        asked, curve = len(examined.answered), examined.curve()
        if not curve:
            raise UsageError(f"the model was not asked its test rows; pxp test {run} does that")
    except PXPError as error:
        return str(error), ""
    if asked < len(data.test):
        return curve, f"Of {len(data.test):,} test rows {asked:,} were asked after every message."
    return curve, ""


def _missing(plan: Plan, data: DataSet | None, tally: RunTally, away: str) -> Sequence[str]:
    """What a reader must know is not in the numbers."""
    lines = []
    if away:
        lines.append(f"How many sessions were planned is not known: {away}.")
    for repetition in range(1, plan.repetitions + 1) if data else sorted(tally.by_repetition):
        counts = tally.by_repetition.get(repetition, Counter())
        begun = sum(counts.values())
        parts = []
        if data and begun < len(data.sessions):
            parts.append(f"{len(data.sessions) - begun:,} of {len(data.sessions):,} not begun")
        if counts.get(NOT_OVER):
            parts.append(f"{counts[NOT_OVER]:,} not over")
        failed = sum(counts.get(ending, 0) for ending in FAULTS)
        if failed:
            parts.append(f"{failed:,} ended by a fault")
        if parts:
            lines.append(f"Repetition {repetition}: {', '.join(parts)}; not counted in the tables.")
    return lines
