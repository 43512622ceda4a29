"""Runs: repetitions of a session for every instance, written to a blackboard, resumable.

Within a repetition the machine carries what it has learned from session to session, so order
matters; it is drawn from the seed. Each repetition starts with a machine that has learned nothing.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from pxp_fsm import __version__
from pxp_fsm.agent import Agent
from pxp_fsm.decisions import check_bound
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.messages import Message
from pxp_fsm.rules import Interact, Pxp, Rules
from pxp_fsm.session import Session
from pxp_fsm.workbench.tasks import DataSet, Row, Task, find_task

DEFAULT_INSTANCES = ""
DEFAULT_NUMBER = 20
MOST = 10**9
"""How many instances a run has where it is not said, if there are so many (the papers' number)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run depends on, as it is stored with the run.

    `instances` is a number (the first so many rows), `all`, or keys joined by commas; left out, 20
    or as many as there are. `data` is the folder of the authors' data, or None for the bundled
    set. For PXP `n` is None and `k` bounds the
    self-loops. `timeout`, in seconds, bounds each question to an agent or its relations; a session
    whose question stays without an answer ends as late.
    """

    task: str
    protocol: str = "interact"
    n: int | None = 10
    k: int | None = 3
    repetitions: int = 1
    seed: int = 0
    instances: str = DEFAULT_INSTANCES
    data: str | None = None
    memo: bool = True
    timeout: float | None = None

    def rules(self) -> Rules:
        """The protocol's rules; `UsageError` where a bound is out of range."""
        if self.protocol == "interact":
            return Interact(
                self.n if self.n is not None else 10, self.k if self.k is not None else 3
            )
        if self.protocol == "pxp":
            return Pxp(self.k)
        raise UsageError(f"there is no protocol {self.protocol!r}; there are: interact, pxp")


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
            if stored.fingerprint != self._rules.automaton.fingerprint:
                raise UsageError(
                    f"{name} ran on another {stored.automaton} table (fingerprint "
                    f"{stored.fingerprint[:12]}); start a new run"
                )
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


def start(plan: Plan, blackboard: SqlBlackboard, data: DataSet | None = None) -> Run:
    """A new run, recorded under the next free name `TASK-NUMBER`; nothing is run yet.

    `data` may be given where it has been read already. Raises `UsageError`, `DataError` or
    `BlackboardError` before anything is stored.
    """
    task = find_task(plan.task)
    check(plan)
    chosen = choose(plan, data or task.load(Path(plan.data) if plan.data else None))
    numbers = (record.run.rpartition("-")[2] for record in blackboard.runs())
    name = f"{plan.task}-{max((int(n) for n in numbers if n.isdigit()), default=0) + 1}"
    record = RunRecord(
        name, plan.task, json.dumps(asdict(plan)), plan.seed, __version__, chosen.fingerprint
    )
    blackboard.start_run(record)
    return Run(name, plan, task, chosen, blackboard)


def resume(name: str, blackboard: SqlBlackboard) -> Run:
    """The run `name`, to be carried on at the next message.

    Raises `UsageError` where there is no such run, where another version of the package wrote it,
    or where its data have changed: what the machine has learned could not be rebuilt.
    """
    records = {record.run: record for record in blackboard.runs()}
    if name not in records:
        raise UsageError(
            f"{blackboard.shown} has no run {name!r}; there are: {', '.join(records) or 'none'}"
        )
    record = records[name]
    if record.version != __version__:
        raise UsageError(
            f"run {name} was begun by version {record.version}, this is {__version__}; "
            f"resume it with that version, or start a new run"
        )
    try:
        plan = Plan(**json.loads(record.plan))
    except (ValueError, TypeError) as error:
        raise UsageError(f"the plan of run {name} cannot be read: {error}") from error
    task = find_task(plan.task)
    data = choose(plan, task.load(Path(plan.data) if plan.data else None))
    if data.fingerprint != record.data_fingerprint:
        raise DataError(f"the data of run {name} have changed since it began; start a new run")
    return Run(name, plan, task, data, blackboard)


def choose(plan: Plan, data: DataSet) -> DataSet:
    """`data` with the session rows that the plan asks for, or `UsageError`."""
    chosen = tuple(_chosen(plan.instances, data.sessions))
    return replace(data, sessions=chosen, whole=data.sessions)


def _chosen(instances: str, rows: tuple[Row, ...]) -> Iterator[Row]:
    if instances == "all":
        yield from rows
        return
    if instances == DEFAULT_INSTANCES:
        yield from rows[:DEFAULT_NUMBER]
        return
    if re.fullmatch(r"-?[0-9]+", instances.strip()):
        number = int(instances) if len(instances) < 12 else 0
        if not 1 <= number <= len(rows):
            raise UsageError(f"there are {len(rows)} instances; give 1 to {len(rows)}, or all")
        yield from rows[:number]
        return
    by_key = {row.instance.key: row for row in rows}
    for key in dict.fromkeys(part.strip() for part in instances.split(",")):
        if key not in by_key:
            raise UsageError(
                f"there is no instance {key!r}; there are: {', '.join(list(by_key)[:20])}"
                + (", …" if len(by_key) > 20 else "")
            )
        yield by_key[key]


def check(plan: Plan) -> None:
    """Raise `UsageError` where a number of the plan is out of its range."""
    plan.rules()
    check_bound(plan.repetitions, "repetitions are")
    for name, value in (("n", plan.n), ("k", plan.k), ("repetitions", plan.repetitions)):
        if value is not None and value > MOST:
            raise UsageError(f"{name} is at most {MOST}; give a smaller one")
    if abs(plan.seed) >= 2**63:
        raise UsageError("a seed is a whole number of at most 18 digits")
    if plan.timeout is not None and not plan.timeout > 0:
        raise UsageError(f"a timeout is more than 0 seconds; it was {plan.timeout}")
