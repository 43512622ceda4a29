"""Machine performance against length (NeurIPS workshop version, Figure 2).

The paper measures the machine "on test data" against the length of interaction and does not say
how. Two readings are given, each under its name. *On the sessions' own instances*: how often the
machine's latest prediction, when a session is cut after message j, is the right one. *On the test
set*: a fresh machine learns again what was recorded, each session cut after message j, and is then
asked about the rows that no session was about.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate

from backends.databases import SqlBlackboard
from pxp_fsm.errors import DataError, NoAnswer, PXPError
from pxp_fsm.experiments.plans import Plan, gate_of
from pxp_fsm.experiments.reports.observed import Observed
from pxp_fsm.experiments.reports.tallies import Point, over_repetitions
from pxp_fsm.protocol.interfaces import Learner
from pxp_fsm.protocol.messages import Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Entry, Session
from pxp_fsm.tasks.task import HUMAN, MACHINE, DataSet, Row, Task

Normal = Callable[[str], str]
"""A prediction in the one form in which equal predictions are equal texts."""


def normal_form(task: Task) -> Normal:
    """The task's own normal form of a prediction; the text itself where it is not one."""
    known: dict[str, str] = {}

    def normal(prediction: str) -> str:
        if prediction not in known:
            try:
                made = task.problem.from_text(prediction) if task.problem else prediction
            except DataError:
                made = prediction
            known[prediction] = made
        return known[prediction]

    return normal


@dataclass
class CorrectPredictions:
    """How many sessions' latest machine prediction is right after each message, by repetition.

    `right` are the right predictions by instance, normal; `texts` finds a prediction by digest.
    Sessions about an instance without a right answer are not counted.
    """

    right: Mapping[str, str]
    normal: Normal
    texts: Callable[[str], str]
    changes: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    totals: Counter[int] = field(default_factory=Counter)

    def add(self, session: Observed) -> None:
        """Count one more session."""
        wanted = self.right.get(session.instance)
        if wanted is None or not session.steps:
            return
        self.totals[session.repetition] += 1
        was = False
        for number, step in enumerate(session.steps, start=1):
            if step.machine:
                now = self.normal(self.texts(step.prediction)) == wanted
                if now != was:
                    self.changes[session.repetition][number] += 1 if now else -1
                was = now

    def curve(self, until: int) -> tuple[Point, ...]:
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


Recorded = Sequence[tuple[Row, str, Sequence[Entry]]]
"""The sessions of a repetition in their order: row, name, entries."""


def on_test_set(
    plan: Plan, task: Task, data: DataSet, repetitions: Sequence[Recorded], until: int
) -> tuple[tuple[int, Point], ...] | str:
    """The share of test rows that the machine is right about, having heard j messages a session.

    For j = 0 (untaught) and every even j, after which the machine has heard one more message. A
    text says why it cannot be measured.
    """
    why_not = _not_measurable(plan, task, data, repetitions)
    if why_not is not None:
        return why_not
    normal = normal_form(task)
    lengths = range(0, until + 1, 2)
    try:
        series = [
            [_accuracy(_taught(plan, task, data, recorded, j), data.test, normal) for j in lengths]
            for recorded in repetitions
        ]
    except PXPError as error:
        return f"what was recorded could not be learned again: {error}"
    return tuple(zip(lengths, over_repetitions(series), strict=True))


def _not_measurable(
    plan: Plan, task: Task, data: DataSet, repetitions: Sequence[Recorded]
) -> str | None:
    learns = isinstance(task.agents(data, plan.memo)[0].respondent, Learner)
    found = (
        (plan.machine is not None, f"the machine ({plan.machine}) is not in this process"),
        (not data.test, "the task has no test set"),
        (not learns, "the machine does not learn"),
        (not plan.goes_on, "the machine carries nothing from session to session"),
        (not repetitions, "no session was begun"),
    )
    return next((why for holds, why in found if holds), None)


def _taught(plan: Plan, task: Task, data: DataSet, recorded: Recorded, j: int) -> Agent:
    """The machine after the sessions, each cut after message `j`: the very code that resumes."""
    machine, human = task.agents(data, plan.memo)
    machine = replace(machine, gate=gate_of(plan, data))
    for row, name, entries in recorded if j else ():
        members = {MACHINE: machine, HUMAN: human}
        session = Session(plan.rules(), members, instance=row.instance, name=name)
        session.replay(entries[:j])
    return machine


def _accuracy(machine: Agent, rows: Sequence[Row], normal: Normal) -> Fraction:
    async def right() -> int:
        found = 0
        for row in rows:
            try:
                answer = await machine.respondent.answer(Question(machine.query, row.instance))
            except NoAnswer:
                continue
            found += normal(answer.prediction) == normal(row.answer.prediction)
        return found

    return Fraction(asyncio.run(right()), len(rows))


def recorded(board: SqlBlackboard, run: str, data: DataSet) -> Sequence[Recorded]:
    """What was said in every session of `run`, by repetition."""
    rows = {row.instance.key: row for row in data.sessions}
    found: dict[int, list[tuple[Row, str, Sequence[Entry]]]] = {}
    for record in board.sessions(run):
        if record.instance.key in rows:
            of_repetition = found.setdefault(record.repetition, [])
            entries = board.entries(record.session)
            of_repetition.append((rows[record.instance.key], record.session, entries))
    return [found[repetition] for repetition in sorted(found)]
