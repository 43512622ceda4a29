"""Accuracy on test data against length (NeurIPS workshop version, Figure 2).

The paper measures the machine "on test data" and does not say how. Here every session is cut after
message j, the machine is brought to where it was then (a predictor learns the messages again, a
model has them in its context), and is asked the rows that no session was about. What a machine
carries from session to session it carries here; one that carries nothing is asked after each
session by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard
from backends.models.catalogue import catalogue
from backends.models.failures import CallFailed
from backends.models.middleware.cache import CallCache, NotRecorded, replayed
from backends.models.settings import Settings
from pxp_fsm import defaults
from pxp_fsm.errors import DataError, NoAnswer, UsageError, quoted
from pxp_fsm.experiments import members
from pxp_fsm.experiments.members import Opened, Roles
from pxp_fsm.experiments.plan_data import gate_of, recorded_data
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.tallies import CurvePoint, over_repetitions
from pxp_fsm.experiments.run_kinds import check_of_two
from pxp_fsm.experiments.runs import together
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.protocol.interfaces import CopyableLearner, Learner
from pxp_fsm.protocol.messages import Answer, Episode, Instance, Message, Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import MACHINE, DataRow, DataSet, Task

LONGEST = 60
"""Curves go up to the bound n, or to the longest session, and never beyond this message."""

Normal = Callable[[str], str]
"""A prediction in the one form in which equal predictions are equal texts."""

Recorded = Sequence[tuple[DataRow, str, Sequence[Event]]]
"""The sessions of a repetition in their order: row, name, entries."""

Cut = tuple[int, tuple[int, ...]]
"""A repetition, and how many messages of each of its sessions the machine has heard."""


def normal_form(task: Task) -> Normal:
    """The task's own normal form of a prediction; the text itself where it is not one."""
    known: dict[str, str] = {}
    problem = task.problem
    own = (lambda text: text) if problem is None else problem.normal or problem.from_text

    def normal(prediction: str) -> str:
        if prediction not in known:
            try:
                made = own(prediction)
            except DataError:
                made = prediction
            known[prediction] = made
        return known[prediction]

    return normal


def recorded(board: SqlBlackboard, run: str, data: DataSet) -> Mapping[int, Recorded]:
    """What was said in every session of `run` that was not erased, by repetition."""
    erased = {erasure.session for erasure in board.erasures(run)}
    rows = {row.instance.key: row for row in data.sessions}
    by_repetition: dict[int, list[tuple[DataRow, str, Sequence[Event]]]] = {}
    names = [
        record.session
        for record in board.sessions(run)
        if record.instance.key in rows and record.session not in erased
    ]
    for stored in board.stored(names):
        record = stored.record
        of_repetition = by_repetition.setdefault(record.repetition, [])
        of_repetition.append((rows[record.instance.key], record.session, stored.events))
    return dict(sorted(by_repetition.items()))


@dataclass
class Examination:
    """The machine of a run, asked its test rows after 0, 2, 4, … messages of each session.

    After an even message the machine has heard one more. `until` is the greatest, and `every` the
    distance of two; `opened` opens its model. `right` holds, by cut and number of the row, whether
    the answer was right.
    """

    plan: Plan
    task: Task
    data: DataSet
    repetitions: Mapping[int, Recorded]
    selection: members.Selection
    opened: Opened
    until: int
    right: dict[tuple[Cut, int], bool] = field(default_factory=dict)
    every: int = 2

    def __post_init__(self) -> None:
        self._normal = normal_form(self.task)
        alone = replace(self.plan, human=None)
        about = (alone, self.task, self.data, Path(defaults.OUTPUT))
        self._sit = Roles(*about, replace(self.selection, judge=None, human=None), self.opened)

    @property
    def learns(self) -> bool:
        """Whether what the machine has heard can change its answers."""
        machine = self.task.agents(self.data, self.plan.memo)[0]
        return self.selection.machine is not None or isinstance(machine.respondent, Learner)

    @property
    def carries(self) -> bool:
        """Whether the machine goes on with what it has heard in earlier sessions."""
        return self.plan.goes_on and (self.task.at_once == 1 or self.selection.machine is not None)

    @property
    def lengths(self) -> Sequence[int]:
        """The messages after which the machine is asked."""
        return range(0, self.until + 1, self.every)

    @property
    def cuts(self) -> Sequence[Cut]:
        """Each place at which the machine is asked, once."""
        every = (self.cuts_of(number, j) for number in self.repetitions for j in self.lengths)
        return list(dict.fromkeys(cut for cuts in every for cut in cuts))

    def machine(self, repetition: int) -> Agent:
        """The machine before its first session."""
        return self._sit.agents(repetition)[MACHINE]

    def check(self) -> None:
        """Raise `UsageError`, saying why, where nothing can be measured."""
        obstacles = (
            (not self.data.test, "the data have no test set"),
            (not self.learns, "the machine does not learn"),
            (not self.repetitions, "no session was begun"),
        )
        why = next((why for holds, why in obstacles if holds), None)
        if why is not None:
            raise UsageError(why)

    async def ask(
        self,
        rows: int | None = None,
        at_once: int = 1,
        session: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Ask the first `rows` test rows (None: all) at every cut, `at_once` at a time.

        What is in `right` is not asked.
        A row that gets no usable answer counts as wrong. One whose call failed, or whose reply a
        recording lacks, is left out.
        """
        await together(self._questions(self.data.test[:rows], session), at_once)

    @property
    def answered(self) -> Sequence[int]:
        """The numbers of the test rows that were asked at every cut."""
        cuts = self.cuts
        every = range(len(self.data.test))
        return [row for row in every if all((cut, row) in self.right for cut in cuts)]

    def curve(self) -> tuple[tuple[int, CurvePoint], ...]:
        """The share of right answers after each length; empty where no row was asked throughout."""
        rows = self.answered
        if not rows:
            return ()
        series = [
            [self._share(number, j, rows) for j in self.lengths] for number in self.repetitions
        ]
        return tuple(zip(self.lengths, over_repetitions(series), strict=True))

    def _share(self, number: int, j: int, rows: Sequence[int]) -> Fraction:
        asked = [self.right[cut, row] for cut in self.cuts_of(number, j) for row in rows]
        return Fraction(sum(asked), len(asked))

    def cuts_of(self, number: int, j: int) -> Sequence[Cut]:
        """The cuts of a repetition at message `j`: one, or one for each session by itself."""
        heard = [min(j, len(entries)) for _, _, entries in self.repetitions[number]]
        if self.carries or not any(heard):
            return [(number, tuple(heard))]
        return [
            (number, tuple(many if other == place else 0 for other in range(len(heard))))
            for place, many in enumerate(heard)
            if many
        ]

    def _questions(
        self, rows: Sequence[DataRow], session: Callable[[], AbstractContextManager[object]]
    ) -> Iterator[Coroutine[None, None, None]]:
        async def asked(machine: Agent, question: Question, cut: Cut, place: int) -> None:
            with session():
                try:
                    answer = await machine.respondent.answer(question)
                except (CallFailed, NotRecorded):  # it can be asked again
                    return
                except NoAnswer:
                    self.right[cut, place] = False
                    return
            wanted = self.data.test[place].answer.prediction
            self.right[cut, place] = self._normal(answer.prediction) == self._normal(wanted)

        for number in self.repetitions:
            for cuts in self._reached_together(number):
                left = {
                    cut: open_rows
                    for cut in cuts
                    if (
                        open_rows := [
                            (place, row)
                            for place, row in enumerate(rows)
                            if (cut, place) not in self.right
                        ]
                    )
                }
                for cut, machine, earlier, name in self._brought_to(tuple(left)):
                    for place, row in left[cut]:
                        question = Question(
                            machine.query,
                            row.instance,
                            earlier=earlier,
                            session=name,
                            purpose="test",
                        )
                        yield asked(machine, question, cut, place)

    def _reached_together(self, number: int) -> Iterable[Iterable[Cut]]:
        """The cuts of a repetition, in groups of those that hear the same sessions."""
        groups = dict[object, dict[Cut, None]]()
        for j in self.lengths:
            for cut in self.cuts_of(number, j):
                sessions = self.carries or tuple(map(bool, cut[1]))
                groups.setdefault(sessions, {})[cut] = None
        return groups.values()

    def _brought_to(
        self, cuts: Sequence[Cut]
    ) -> Iterator[tuple[Cut, Agent, tuple[Episode, ...], str]]:
        """The machine at each of `cuts`, its context, and the session if it is of one alone.

        `cuts` are of one repetition. Each session is replayed once, by the very code that resumes
        a run, before the machines of all cuts, of which each hears as much as it is to.
        """
        if not cuts:
            return
        number, gate = cuts[0][0], gate_of(self.plan, self.data)
        machines = {cut: self.machine(number) for cut in cuts}
        respondents = {cut: agent.respondent for cut, agent in machines.items()}
        learners = {cut: own for cut, own in respondents.items() if isinstance(own, Learner)}
        earlier = {cut: list[Episode]() for cut in cuts}
        members = self._sit.agents(number)
        machine = members[MACHINE]
        audience = _Audience(machine.respondent)
        if isinstance(machine.respondent, Learner):
            machine = replace(machine, respondent=audience)
        members = {**members, MACHINE: replace(machine, gate=gate)}
        names = []
        for place, (row, name, entries) in enumerate(self.repetitions[number]):
            heard = {cut: cut[1][place] for cut in cuts}
            if not any(heard.values()):
                continue
            # What it is carried on from matters to who is asked, and a replay asks nobody.
            session = Session(self.plan.rules(), members, instance=row.instance, name=name)
            for many, entry in enumerate(entries[: max(heard.values())], start=1):
                audience.listening = [
                    learner for cut, learner in learners.items() if heard[cut] >= many
                ]
                session.replay([entry])
                for cut in cuts:
                    if heard[cut] == many:
                        earlier[cut].append(session.episodes()[MACHINE])
            names.append(name)
        for cut in cuts:
            alone = names[0] if len(names) == 1 and any(cut[1]) else ""
            yield cut, machines[cut], tuple(earlier[cut]), alone


class _Audience:
    """Machines that hear one session, of which some listen; whatever else, it is the `first`.

    Fills what a gate may demand (`CopyableLearner`, `Likelihood`), which a replay does not use.
    """

    def __init__(self, first: Any) -> None:
        self._first = first
        self.name: str = first.name
        self.listening: Sequence[Learner] = ()

    def learn(self, instance: Instance, message: Message) -> None:
        for machine in self.listening:
            machine.learn(instance, message)

    async def answer(self, question: Question) -> Answer:
        answer: Answer = await self._first.answer(question)
        return answer

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        return float(await self._first.log_likelihood(question, prediction))

    def copy(self) -> CopyableLearner:
        copied: CopyableLearner = self._first.copy()
        return copied


def of_run(board: SqlBlackboard, run: str, settings: Settings, opened: Opened) -> Examination:
    """The examination of `run`, whose models `opened` opens; nothing is asked yet.

    Raises `NotThere` where there is no such run, `DataError` where its data have changed, and
    `UsageError` where nothing can be measured, another machine than the run's would be asked, or
    the run is of a panel.
    """
    record = board.run(run)
    check_of_two(record, "the accuracy on test data")
    plan, task, data = recorded_data(record)
    repetitions = recorded(board, run, data)
    lengths = (len(sequence) for sessions in repetitions.values() for _, _, sequence in sessions)
    until = plan.rules().n or max(lengths, default=0)
    selection = members.models(plan, task, data, settings)
    about = (plan, task, data, repetitions, selection, opened)
    examination = Examination(*about, min(LONGEST, max(until, 1)))
    examination.check()
    machine = examination.machine(1).respondent.name
    for session in board.sessions(run, limit=1):
        if not session.agents[0][1].startswith(f"{machine} "):
            raise UsageError(
                f"the machine of run {run} was {quoted(session.agents[0][1], 200)}, and would now "
                f"be {quoted(machine, 200)}; start a new run"
            )
    return examination


def gains(
    board: SqlBlackboard, run: str, plan: Plan, task: Task, data: DataSet
) -> tuple[tuple[int, int], ...]:
    """How many test rows are right before the first session and after the last, by repetition.

    Of a run whose machine is the task's own, learns, and carries what it learns; nothing else is
    asked. Empty for others, and where the data have no test rows.
    """
    if not plan.goes_without_model or not data.test:
        return ()
    repetitions = recorded(board, run, data)
    lengths = (len(entries) for sessions in repetitions.values() for _, _, entries in sessions)
    until = max(lengths, default=0)
    if not until:
        return ()
    selection = members.Selection()
    about = (plan, task, data, repetitions, selection, _no_model, until)
    examination = Examination(*about, every=until)
    if not (examination.learns and examination.carries):
        return ()
    asyncio.run(examination.ask())

    def right(number: int, heard: int) -> int:
        (cut,) = examination.cuts_of(number, heard)  # one, as the machine carries what it learns
        return sum(examination.right[cut, row] for row in range(len(data.test)))

    return tuple((right(number, 0), right(number, until)) for number in repetitions)


def _no_model(name: str) -> LanguageModel:
    raise UsageError(f"model {name} is not asked here")


def from_record(
    board: SqlBlackboard,
    run: str,
    plan: Plan,
    task: Task,
    data: DataSet,
    until: int,
    own: Path | None = None,
) -> Examination:
    """The examination of `run` as far as it is stored: no model is asked anything.

    `own` is a catalogue of the user's that the run was asked with. Raises what
    `members.models` does.
    """
    cache = CallCache()

    def opened(name: str) -> LanguageModel:
        for asked, reply in board.replies(run):
            cache.keep(asked, reply)
        return replayed(catalogue(own).facts(name), cache)

    settings = Settings(replay=Path(board.shown), catalogue=own)
    selection = members.models(plan, task, data, settings)
    return Examination(plan, task, data, recorded(board, run, data), selection, opened, until)
