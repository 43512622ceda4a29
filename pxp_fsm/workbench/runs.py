"""Runs: repetitions of a session for every instance, written to a blackboard, resumable.

Within a repetition the machine carries what it has learned from session to session, so order
matters; it is drawn from the seed. Each repetition starts with a machine that has learned nothing.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from pxp_fsm import __version__
from pxp_fsm.agent import Agent
from pxp_fsm.errors import DataError, NotThere, UsageError
from pxp_fsm.messages import Message
from pxp_fsm.session import Session
from pxp_fsm.workbench.plans import Plan, read, stored_plan
from pxp_fsm.workbench.recorded import check_table
from pxp_fsm.workbench.tasks import DataSet, Row, Task

__all__ = ["Plan", "Run", "Step", "resume", "start"]

_NUMBER = re.compile(r"-([0-9]{1,18})$")


@dataclass(frozen=True, slots=True)
class Step:
    """What a progress display is told: a message sent, or (None) a session that is over."""

    session: str
    repetition: int
    position: int
    instance: str
    message: Message | None
    ending: str | None = None


class Run:
    """A run on a blackboard, new or resumed; `start` and `resume` make one.

    `total` is the number of sessions planned.
    """

    def __init__(
        self, name: str, plan: Plan, task: Task, data: DataSet, blackboard: SqlBlackboard
    ) -> None:
        self.name = name
        self.plan = plan
        self.task = task
        self.data = data
        self._blackboard = blackboard
        self._rules = plan.rules()
        self._stored = {record.session: record for record in blackboard.sessions(name)}

    @property
    def total(self) -> int:
        return self.plan.repetitions * len(self.data.sessions)

    @property
    def finished(self) -> int:
        """How many sessions were over when the run was opened."""
        return sum(record.ending is not None for record in self._stored.values())

    def execute(self, on_step: Callable[[Step], None] = lambda _step: None) -> None:
        """Carry the run to its end; can be interrupted at any instant and resumed.

        Raises `BlackboardError` where another process is working on the run.
        """
        self._blackboard.claim(self.name)
        try:
            self._stored = {r.session: r for r in self._blackboard.sessions(self.name)}
            asyncio.run(self._execute(on_step))
        finally:
            self._blackboard.release(self.name)

    async def _execute(self, on_step: Callable[[Step], None]) -> None:
        for repetition in range(1, self.plan.repetitions + 1):
            machine, human = map(self._timed, self.task.agents(self.data, self.plan.memo))
            order = list(self.data.sessions)
            random.Random(f"{self.plan.seed}/{repetition}").shuffle(order)
            sessions = (
                self._session(repetition, position, row, (machine, human), on_step)
                for position, row in enumerate(order, start=1)
            )
            if self.task.at_once > 1:
                await _together(sessions, self.task.at_once)
            else:
                for session in sessions:
                    await session

    def _timed(self, agent: Agent) -> Agent:
        return agent if self.plan.timeout is None else replace(agent, timeout=self.plan.timeout)

    async def _session(
        self,
        repetition: int,
        position: int,
        row: Row,
        agents: tuple[Agent, Agent],
        on_step: Callable[[Step], None],
    ) -> None:
        name = f"{self.name}/{repetition}/{position}"
        place = (name, repetition, position, row.instance.key)
        stored = self._stored.get(name)
        session = Session(
            name,
            row.instance,
            *agents,
            self._rules,
            blackboard=self._blackboard if stored is None or stored.ending is None else None,
            on_message=lambda message: on_step(Step(*place, message)),
        )
        if stored is None:
            record = self._record(session, repetition, position, row, agents)
            self._blackboard.start_session(record)
        else:
            session.replay(self._blackboard.entries(name), self._blackboard.closing(name))
            if stored.ending is not None:
                return
        while session.ending is None:
            await session.step()
            await asyncio.sleep(0)
        on_step(Step(*place, None, session.ending.value))

    def _record(
        self,
        session: Session,
        repetition: int,
        position: int,
        row: Row,
        agents: tuple[Agent, Agent],
    ) -> SessionRecord:
        automaton = self._rules.automaton
        return SessionRecord(
            session=session.name,
            run=self.name,
            repetition=repetition,
            position=position,
            instance=row.instance,
            protocol=self._rules.name,
            n=self._rules.n,
            k=self._rules.k,
            automaton=automaton.name,
            fingerprint=automaton.fingerprint,
            memo=self.plan.memo,
            assumptions=tuple(sorted(session.assumptions)),
            agents=tuple((agent.name, agent.describe()) for agent in agents),
        )


async def _together(sessions: Iterator[Coroutine[None, None, None]], at_once: int) -> None:
    """Carry all to their end, `at_once` of them at a time: one that waits holds up no other."""

    async def carry() -> None:
        for session in sessions:
            await session

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(carry())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from failed


def start(plan: Plan, blackboard: SqlBlackboard, found: tuple[Task, DataSet] | None = None) -> Run:
    """A new run, recorded under the next free name `TASK-NUMBER`; nothing is run yet.

    `found` is what `plans.read` says of the plan, where it has been read already. Raises
    `UsageError`, `DataError` or `BlackboardError` before anything is stored.
    """
    task, data = found or read(plan)
    if plan.data is not None:
        plan = replace(plan, data=str(Path(plan.data).absolute()))
    taken = (_NUMBER.search(record.run) for record in blackboard.runs())
    name = f"{plan.task}-{max((int(match[1]) for match in taken if match), default=0) + 1}"
    record = RunRecord(name, plan.task, plan.as_json(), plan.seed, __version__, data.fingerprint)
    blackboard.start_run(record)
    return Run(name, plan, task, data, blackboard)


def resume(name: str, blackboard: SqlBlackboard) -> Run:
    """The run `name`, to be carried on at the next message.

    Raises `NotThere` where there is no such run, and `UsageError` or `DataError` where another
    version of the package wrote it, or where its plan, data or automaton are not what they were:
    what the machine has learned could not be rebuilt.
    """
    records = {record.run: record for record in blackboard.runs()}
    if name not in records:
        raise NotThere(
            f"{blackboard.shown} has no run {name!r}; there are: {', '.join(records) or 'none'}"
        )
    record = records[name]
    if record.version != __version__:
        raise UsageError(
            f"run {name} was begun by version {record.version}, this is {__version__}; "
            f"resume it with that version, or start a new run"
        )
    plan = stored_plan(name, record.plan)
    task, data = read(plan)
    if data.fingerprint != record.data_fingerprint:
        raise DataError(f"the data of run {name} have changed since it began; start a new run")
    for session in blackboard.sessions(name):
        check_table(session)
    return Run(name, plan, task, data, blackboard)
