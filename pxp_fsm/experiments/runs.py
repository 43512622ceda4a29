"""Runs: sessions of a task or of a system, stored, resumable, spread over processes.

One `Run` plans, carries on and counts all of them; what its sessions are, and who sits in them, an
`Opening` says. Sessions that hand on what was learned in them go one after the other; the others
go on together. What must stay together is a unit, which any process may carry.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, overload

from backends.databases import FAULTS as UNCOUNTED
from backends.databases import Origin, RunRecord, SessionRecord, SqlBlackboard, origin_of
from backends.databases.records import check_same, session_record
from backends.models.middleware.budget import Budget
from backends.models.registry import Serving
from backends.models.settings import Settings
from backends.people.browser import Desk
from guards.judge import Scope
from pxp_fsm import __version__, defaults
from pxp_fsm.automata.actions import ActionRecord, SystemAction, action_of, record_of
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.system import System, system_in
from pxp_fsm.automata.system_files import (
    MCP,
    TERMINAL,
    MemberLine,
    SystemFile,
    is_system_file,
    read_system,
)
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.experiments import costs, members
from pxp_fsm.experiments.drawings import check_agents, check_table, rules_of
from pxp_fsm.experiments.forks import carry_over, copies, forkable, restore
from pxp_fsm.experiments.members import Part, check_guests, is_local
from pxp_fsm.experiments.plan_data import (
    data_fingerprint,
    gate_of,
    placed,
    read_plan,
    stored_plan,
    with_stored_caps,
)
from pxp_fsm.experiments.plans import CAPS, Order, Plan, ordered
from pxp_fsm.experiments.telemetry import TracedBoard
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.protocol.messages import Episode, Instance, printable
from pxp_fsm.protocol.rules import FAULTS, Ending
from pxp_fsm.sessions.agent import Members
from pxp_fsm.sessions.events import Event, Faults
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.sessions.learning import Keep
from pxp_fsm.sessions.pending import Chance, EventSource
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import MACHINE, DataRow, DataSet, Task, find_task

__all__ = [
    "Opening",
    "Plan",
    "Progress",
    "Run",
    "SystemOpening",
    "TaskOpening",
    "fork",
    "resume",
    "run",
    "start",
]

_PARTS = 256
"""Sessions that depend on no other are dealt out in about so many parts."""

ONE_TERMINAL = "a person works at one terminal, so such a run cannot be spread over workers"
ONE_SERVER = "assistants work with one server, so such a run cannot be spread over workers"
ONE_BATCH = "each round of all sessions is one batch, so such a run cannot be spread over workers"
ONE_MEMORY = (
    "verdicts of the judge are remembered in the whole run, by one process, so such a run cannot "
    "be spread over workers; give --judge-scope session"
)
ONE_MACHINE = (
    "the limits and caps of a run with models are divided among the processes of one machine; "
    "write processes://NUMBER"
)
"""Why one process has to carry a run."""

_MOST = 20
"""Causes of faults that are reported while a run goes on; a cause is reported once."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The sessions of a repetition at the positions `first` to `last`, both included."""

    repetition: int
    first: int
    last: int

    @property
    def name(self) -> str:
        """What distinguishes it in its run."""
        return f"{self.repetition}/{self.first}-{self.last}"


def units(repetitions: int, sessions: int, carries: bool) -> Iterator[Unit]:
    """The units of a run: whole repetitions where sessions depend on those before them.

    They follow from the run alone, so that whoever carries it on has the same.
    """
    size = sessions if carries else min(sessions, max(1, repetitions * sessions // _PARTS))
    for repetition in range(1, repetitions + 1):
        for first in range(1, sessions + 1, size):
            yield Unit(repetition, first, min(first + size - 1, sessions))


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress display is told: what has happened, or (None) that a session is over.

    `event` is a message, or an action of a system; `cause` says why it ended.
    """

    session: str
    repetition: int
    position: int
    instance: str
    event: Event | None
    ending: str | None = None
    cause: str = ""


OnStep = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a session in its run, by its name, and what is `stored` of it.

    `on_event` is called with each message or action once it is stored.
    """

    session: str
    repetition: int
    position: int
    stored: SessionRecord | None
    on_event: Callable[[Event], None]

    @property
    def is_over(self) -> bool:
        return self.stored is not None and self.stored.ending is not None


@dataclass(slots=True)
class Past:
    """What the sessions of a unit hand on to the next: who sits in them, and their contexts."""

    members: Members | None = None
    episodes: dict[str, tuple[Episode, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the sessions of a run take place.

    `serving` is None where no models are asked. People are asked at the desk `where`, or at the
    terminal, and then what they look at and leave unsent is kept in the folder `where`.
    """

    run: str
    board: SqlBlackboard
    serving: Serving | None
    where: Path | Desk

    def model(self, name: str) -> LanguageModel:
        """The model of that name, or of a script; raises `UsageError` where it cannot be opened."""
        if self.serving is None:
            raise UsageError(f"this run has no model, so it cannot use {name}")
        return self.serving.model(name)

    @property
    def desk(self) -> Desk | None:
        return None if isinstance(self.where, Path) else self.where


class Opening(Protocol):
    """What the sessions of a run are, and who sits in them: of a task, or of a system.

    With an `origin` they carry a stored session on from there; `single` is the unit of a run that
    is one session of another run, carried on at its place. `carries` says that a session depends on
    those before it in its repetition, `asks_models` that models take part.
    """

    settings: Settings
    origin: Origin | None

    @property
    def repetitions(self) -> int: ...
    @property
    def sessions(self) -> int:
        """How many sessions a repetition has."""

    @property
    def single(self) -> Unit | None: ...
    @property
    def carries(self) -> bool: ...
    @property
    def asks_models(self) -> bool: ...
    @property
    def unshared(self) -> str:
        """Why one process has to carry the run, if it has to."""

    @property
    def at_once(self) -> int:
        """How many sessions go on at a time."""

    def run_record(self, board: SqlBlackboard) -> RunRecord:
        """What is recorded of a new run, under the first part of a numbered name.

        Raises `UsageError` or `DataError` for what could not be carried out.
        """

    def sent(self) -> str:
        """What a worker has to be sent of it besides the name of its run; `received` reads it."""

    def begin(self, around: Surroundings) -> None:
        """Get ready to open sessions there."""

    def before(self, unit: Unit) -> Sequence[SessionRecord]:
        """Sessions of another run that come before those of a unit, from which it has learned."""

    def open(self, slot: Slot, past: Past) -> AbstractAsyncContextManager[Session]:
        """The session of a slot, before its first event; nobody in it is asked after the context.

        What is over is opened so that it can be replayed, and is not stored again.
        """

    def record(self, session: Any, slot: Slot) -> SessionRecord:
        """What is recorded of a new session."""

    def check(self, session: Any, slot: Slot) -> None:
        """Raise `UsageError` where a stored session of the run would go on as another one."""


OpeningT = TypeVar("OpeningT", bound=Opening)


class Run(Generic[OpeningT]):
    """A run on a blackboard, new or resumed; `start` and `resume` make one.

    `meter` counts what its models cost, as it goes on; `on_wait` is called with the reason when a
    server keeps it waiting, `on_fault` with each line on what ended a session by a fault,
    `on_begin` with each session that is to go on.
    """

    def __init__(self, name: str, opening: OpeningT, board: SqlBlackboard) -> None:
        self.name = name
        self.opening = opening
        self.board = board
        self.meter = costs.Meter()
        self.on_wait: Callable[[str], None] = lambda _why: None
        self.on_fault: Callable[[str], None] = log
        self.on_begin: Callable[[Session], None] = lambda _session: None
        self._faults = Reporter()

    @property
    def total(self) -> int:
        """The number of sessions planned."""
        return 1 if self.opening.single else self.opening.repetitions * self.opening.sessions

    @cached_property
    def finished(self) -> int:
        """How many sessions were over when this was first asked."""
        found = (each.over for each in self.board.summaries() if each.run == self.name)
        return next(found, 0)

    @property
    def left(self) -> Counter[int]:
        """How many sessions of each repetition are not over."""
        single, size = self.opening.single, self.opening.sessions
        if single is not None:
            found = Counter({single.repetition: 1})
        else:
            found = Counter(dict.fromkeys(range(1, self.opening.repetitions + 1), size))
        stored = self.board.sessions(self.name)
        found.subtract(each.repetition for each in stored if each.ending is not None)
        return found

    def endings(self) -> Counter[str]:
        """How many sessions that are over have ended how."""
        return Counter(one.ending for one in self.board.sessions(self.name) if one.ending)

    def units(self) -> Iterator[Unit]:
        """The parts of the run that depend on no other, in order."""
        opening = self.opening
        if opening.single is not None:
            return iter([opening.single])
        return units(opening.repetitions, opening.sessions, opening.carries)

    def shares(self, workers: int) -> tuple[Settings, ...]:
        """What each of at most so many `workers` may ask models; none where it asks none."""
        if not self.opening.asks_models:
            return ()
        spent, settings = self.board.spending(self.name), self.opening.settings
        Budget(settings.dollars, settings.calls, spent=spent)  # raises where they cannot be kept
        return settings.shares(workers, spent)

    def execute(
        self, on_step: OnStep = lambda _step: None, folder: Path = Path(defaults.OUTPUT)
    ) -> None:
        """Carry the run to its end; can be interrupted at any instant and resumed.

        What a person looks at, and what they leave unsent, is kept in `folder`. Raises
        `BlackboardError` where another process is working on the run.
        """
        with self._claimed():
            waited_for(self._execute(self._whole, folder, on_step))

    async def carry(self, desk: Desk, on_step: OnStep = lambda _step: None) -> None:
        """Carry the run to its end in the loop of a server; whoever it serves is asked at `desk`.

        A session that waits for them holds up none that does not depend on it. Raises what
        `execute` raises.
        """
        with self._claimed():
            await self._execute(self._whole, desk, on_step)

    def execute_units(self, chosen: Sequence[Unit], on_step: OnStep = lambda _step: None) -> None:
        """Carry some units to their end; whoever calls sees to it that nobody else does."""
        waited_for(self._execute(chosen, Path(defaults.OUTPUT), on_step))

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """While no other process may work on the run."""
        self.board.lock(self.name)
        try:
            yield
        finally:
            self.board.unlock(self.name)

    @property
    def _whole(self) -> Sequence[Unit]:
        """All sessions, one unit a repetition."""
        opening = self.opening
        if opening.single is not None:
            return (opening.single,)
        return [Unit(each, 1, opening.sessions) for each in range(1, opening.repetitions + 1)]

    async def _execute(self, chosen: Sequence[Unit], where: Path | Desk, on_step: OnStep) -> None:
        async with self._serving() as serving:
            self.opening.begin(Surroundings(self.name, self.board, serving, where))
            lanes = chain.from_iterable(self._lanes(unit, on_step) for unit in chosen)
            await together(lanes, self.opening.at_once)

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[Serving | None]:
        """The models of the run while it is carried on; none where it names none."""
        if not self.opening.asks_models:
            yield None
            return
        self.meter = costs.meter_of(self.board, self.name)
        stored = (self.board, self.name, self.opening.settings, self.meter)
        async with costs.serving_of(*stored, self.on_wait) as serving:
            yield serving

    def _lanes(self, unit: Unit, on_step: OnStep) -> Iterator[Coroutine[None, None, object]]:
        """The parts of a unit that depend on no other: each session, or all of them in a row."""
        place = self.name, unit.repetition, unit.first, unit.last
        stored = [*self.opening.before(unit), *self.board.sessions_at(*place)]
        known = {record.position: record for record in stored}
        past = Past()
        places = [
            (unit.repetition, position, known.get(position))
            for position in range(unit.first, unit.last + 1)
        ]

        async def carry_on() -> None:
            for each in places:
                await self._session(*each, past, on_step)

        if self.opening.carries:
            yield carry_on()
            return
        # what is over is not replayed: nobody needs what was learned in it
        for repetition, position, record in places:
            if record is None or record.ending is None:
                yield self._session(repetition, position, record, past, on_step)

    async def _session(
        self,
        repetition: int,
        position: int,
        stored: SessionRecord | None,
        past: Past,
        on_step: OnStep,
    ) -> None:
        """Carry a session to its end, from where it is stored to be."""
        name = f"{self.name}/{repetition}/{position}" if stored is None else stored.session

        def told(event: Event) -> None:
            on_step(Progress(name, repetition, position, session.instance.key, event))

        slot = Slot(name, repetition, position, stored, told)
        async with self.opening.open(slot, past) as session:
            self._restore(session, slot)
            if slot.is_over:
                return
            self.on_begin(session)
            await session.run()
        for line in self._faults.lines(session):
            self.on_fault(line)
        assert session.ending is not None  # noqa: S101 - it has run to its end
        over = session.ending.value, session.cause
        on_step(Progress(name, repetition, position, session.instance.key, None, *over))

    def _restore(self, session: Session, slot: Slot) -> None:
        """Record a new session; bring one that was begun, or carries another on, to where it is."""
        if slot.stored is None:
            self.board.start_session(self.opening.record(session, slot))
        elif slot.stored.run == self.name:
            self.opening.check(session, slot)
        if self.opening.origin is not None and not slot.is_over:
            carry_over(self.board, self.opening.origin, session)
        elif slot.stored is not None:
            restore(self.board, session)


async def together(sessions: Iterator[Coroutine[None, None, object]], at_once: int) -> None:
    """Carry all to their end, `at_once` of them at a time: one that waits holds up no other."""

    if at_once == 1:  # in this task: what stops it is told by nobody else
        for session in sessions:
            await session
        return

    async def carry() -> None:
        for session in sessions:
            await session

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(carry())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from failed


class EndedSession(Protocol):
    """A session that is over."""

    name: str
    ending: Ending | None
    cause: str
    fault: Exception | None


class Reporter:
    """Reports what ended sessions by a fault, each cause once, line by line."""

    def __init__(self) -> None:
        self._known = set[str]()

    def lines(self, session: EndedSession) -> Iterator[str]:
        """The cause, if it is a new one, and the traceback of what a user's own code raised."""
        new = session.cause not in self._known and len(self._known) < _MOST
        if session.ending is None or session.ending not in FAULTS or not new:
            return
        self._known.add(session.cause)
        yield f"Session {session.name} ended by a fault, {session.ending.value}: {session.cause}"
        if session.fault is not None:
            for text in traceback.format_exception(session.fault):
                yield from text.splitlines()


def log(line: str) -> None:
    """Report a line to whoever calls from Python: on standard error, unless logging says else."""
    logging.getLogger("pxp_fsm").warning("%s", printable(line))


def causes(board: SqlBlackboard, run: str, most: int = 3) -> Iterator[str]:
    """The most frequent causes that ended sessions of `run` by a fault, and how often they did."""
    ended = [one for one in board.sessions(run) if one.ending in UNCOUNTED]
    counts = Counter(f"{one.ending}: {one.cause}" for one in ended)
    for cause, many in counts.most_common(most):
        yield f"  {cause} ({many} session{'' if many == 1 else 's'})"
    if len(counts) > most:
        yield f"  and {len(counts) - most} other causes"


class TaskOpening:
    """The sessions of a plan: of its task, about its `data`, between the agents that it names.

    With an `origin` it is one session, which carries on `forked`, that of another run. Raises what
    `members.models` raises.
    """

    def __init__(
        self,
        plan: Plan,
        task: Task,
        data: DataSet,
        settings: Settings | None = None,
        origin: Origin | None = None,
        forked: SessionRecord | None = None,
    ) -> None:
        check_guests(plan, task)
        self.plan = plan = placed(plan)
        self.task = task
        self.data = data
        self.settings = settings or Settings()
        self.origin = origin
        self.selection = members.models(plan, task, data, settings)
        self._forked = forked
        self._rules = plan.rules()
        self._around: Surroundings | None = None
        self._roles: members.Roles | None = None
        self._rows = lru_cache(8)(self._ordered)

    @staticmethod
    def read(plan: Plan, task: Task | None = None, settings: Settings | None = None) -> TaskOpening:
        """The sessions of a plan, whose task may be one that is not installed; raises `UsageError`
        or `DataError` for whatever cannot be used.
        """
        return TaskOpening(plan, *read_plan(plan, task), settings)

    @staticmethod
    def stored(
        record: RunRecord,
        board: SqlBlackboard,
        settings: Settings | None = None,
        task: Task | None = None,
    ) -> TaskOpening:
        """Those of a stored run, which can be carried on, with its caps where `settings` set none.

        Raises `UsageError` or `DataError` where plan, data or automaton are not what they were.
        """
        plan, task, data = _as_it_was(record, board, task)
        origin = origin_of(record.plan)
        forked = None if origin is None else board.session(origin.session).record
        held = with_stored_caps(settings, record)
        return TaskOpening(plan, task, data, held, origin, forked)

    @property
    def repetitions(self) -> int:
        return self.plan.repetitions

    @property
    def sessions(self) -> int:
        return len(self.data.sessions)

    @property
    def single(self) -> Unit | None:
        """Its unit begins where that of the forked session does: its machine learned from there."""
        if self._forked is None:
            return None
        place = self._forked.position
        return Unit(self._forked.repetition, 1 if self.carries else place, place)

    @property
    def carries(self) -> bool:
        return self.plan.goes_on and (self.task.at_once == 1 or self.selection.machine is not None)

    @property
    def asks_models(self) -> bool:
        return self.selection.any

    @property
    def unshared(self) -> str:
        if self.plan.person is not None:
            return ONE_TERMINAL
        if self.plan.assistants:
            return ONE_SERVER
        if self.selection.any and self.settings.batches:
            return ONE_BATCH
        remembers = members.scope_of(self.plan) in (Scope.RUN, Scope.PAIR)
        return ONE_MEMORY if self.selection.judge is not None and remembers else ""

    @property
    def at_once(self) -> int:
        """All of them in batches, one with a person at a terminal, as many as asked with models."""
        if self.plan.is_served:
            return defaults.AT_ONCE
        if self.plan.person is not None:
            return 1
        if not self.selection.any:
            if self.carries:
                return 1
            return self.task.at_once if self.plan.goes_on else defaults.AT_ONCE
        if self.settings.batches:
            return 1 if self._forked else self.repetitions * self.sessions
        return self.settings.in_flight

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know of who sat in its sessions."""
        return members.notes(self.plan, self.selection, self.task)

    def run_record(self, board: SqlBlackboard) -> RunRecord:
        plan, told = self.plan, self.selection.deviations
        gate = gate_of(plan, self.data)
        if gate is not None:
            gate.check(self.task.agents(self.data, plan.memo)[0].respondent)
        if self.origin is not None:
            said = f"carried on from message {self.origin.number} of {self.origin.session}"
            told = (*told, f"one session, {said}")
        stored = plan.as_json(told, self.settings.caps, self.origin.in_plan if self.origin else {})
        held = data_fingerprint(plan, self.data)
        about = (plan.task, plan.task, stored, plan.seed, __version__, held)
        return RunRecord(*about, subject=plan.subject or "")

    def sent(self) -> str:
        """Nothing: plan and data are stored by their names."""
        return ""

    def begin(self, around: Surroundings) -> None:
        self._around = around
        about = (self.plan, self.task, self.data)
        roles = members.Roles(*about, around.where, self.selection, around.model)
        if self.selection.judge is not None:
            stored = around.board.sessions(around.run)
            for record in stored:
                entries = around.board.events(record.session)
                roles.remember(record.session, record.agents[0][0], entries)
            if not stored and self.origin is not None and self._forked is not None:
                # the judges were asked in the messages that are to be copied, too
                forked = self._forked
                name = f"{around.run}/{forked.repetition}/{forked.position}"
                entries = copies(forkable(around.board, self.origin), self.origin, name)
                roles.remember(name, forked.agents[0][0], entries)
        self._roles = roles

    def before(self, unit: Unit) -> Sequence[SessionRecord]:
        if self._forked is None or self._around is None or unit.first == unit.last:
            return ()
        place = self._forked.run, unit.repetition, unit.first, unit.last - 1
        found = self._around.board.sessions_at(*place)
        if len(found) < unit.last - unit.first or not all(each.ending for each in found):
            raise UsageError(
                f"a session before {self._forked.session} is not over, so that it is not known "
                f"what the machine had learned; resume run {self._forked.run} first"
            )
        return found

    @asynccontextmanager
    async def open(self, slot: Slot, past: Past) -> AsyncIterator[Session]:
        around = self._around
        assert around is not None  # noqa: S101 - `begin` comes first
        seated = past.members or self._agents(slot.repetition)
        if self.carries or (self.plan.goes_on and self.plan.learn == Keep.ALWAYS):
            past.members = seated
        board, stored = TracedBoard(around.board), slot.stored
        session = Session(
            self._rules if stored is None or stored.run == around.run else rules_of(stored),
            seated,
            instance=self._rows(slot.repetition)[slot.position - 1].instance,
            name=slot.session,
            blackboard=None if slot.is_over else board,
            on_event=slot.on_event,
            earlier=past.episodes,
            record_faults=True,
            update_context=self.task.update_context,
        )
        serving = None if self.plan.is_served or slot.is_over else around.serving
        record = stored or self.record(session, slot)
        with (
            nullcontext() if serving is None else serving.session(),  # batches wait for it
            nullcontext()
            if slot.is_over
            else board.session(record, lambda: around.board.events(slot.session)),
        ):
            yield session
        if self.carries:
            for name, episode in session.episodes().items():
                past.episodes[name] = (*past.episodes.get(name, ()), episode)

    def record(self, session: Session, slot: Slot) -> SessionRecord:
        run = slot.session.rsplit("/", 2)[0]
        found = session_record(session, run, slot.repetition, slot.position)
        return replace(found, subject=self.plan.subject or "")

    def check(self, session: Session, slot: Slot) -> None:
        if slot.stored is not None:
            check_table(slot.stored)
            check_agents(slot.stored, session.agents)

    def _agents(self, repetition: int) -> Members:
        """Fresh agents, with the plan's timeout, and the gate before what the machine learns."""
        assert self._roles is not None  # noqa: S101 - `begin` comes first
        timed, limit = dict(self._roles.agents(repetition)), self.plan.timeout
        if limit is not None:
            timed = {name: replace(agent, timeout=limit) for name, agent in timed.items()}
        gate = gate_of(self.plan, self.data)
        return timed if gate is None else timed | {MACHINE: replace(timed[MACHINE], gate=gate)}

    def _ordered(self, repetition: int) -> Sequence[DataRow]:
        return ordered(self.data.sessions, Order(self.plan.order), self.plan.seed, repetition)


def _as_it_was(
    record: RunRecord, board: SqlBlackboard, task: Task | None
) -> tuple[Plan, Task, DataSet]:
    """The plan of a stored run, and what it means today, which is what it meant then."""
    plan = stored_plan(record)
    task, data = read_plan(plan, task)
    if data_fingerprint(plan, data) != record.data_fingerprint:
        raise DataError(
            f"the data of run {record.run} have changed since it began; start a new run"
        )
    for session in board.sessions(record.run, limit=1):
        check_table(session)
    return plan, task, data


class SystemOpening:
    """`sessions` sessions of the system in `file`, with `respondents` by member.

    With an `origin` each session carries on a stored one from there; `follow` is a trace whose
    actions happen first.
    """

    repetitions, carries = 1, False
    single: Unit | None = None

    def __init__(
        self,
        file: SystemFile,
        respondents: Mapping[str, str],
        *,
        sessions: int = 1,
        seed: int = 0,
        follow: Sequence[SystemAction] = (),
        origin: Origin | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.file = file
        self.system: System = system_in(file)
        self.respondents = dict(respondents)
        self.sessions = sessions
        self.seed = seed
        self.follow = tuple(follow)
        self.origin = origin
        self.settings = settings or Settings()
        self._around: Surroundings | None = None

    @staticmethod
    def received(text: str, settings: Settings | None = None) -> SystemOpening:
        """What `sent` describes, in a worker."""
        raw = json.loads(text)
        file, lines = raw["file"], list[MemberLine]()
        for one in file.pop("members"):
            table = parse_automaton(json.dumps(one.pop("table")), "table.json")
            lines.append(MemberLine(**one, automaton=table))
        channel = parse_channel(file.pop("channel"))
        described = SystemFile(**file, channel=channel, members=tuple(lines))
        return SystemOpening(
            described,
            raw["respondents"],
            sessions=raw["sessions"],
            seed=raw["seed"],
            follow=[action_of(ActionRecord(*one)) for one in raw["follow"]],
            settings=settings,
        )

    def resumed(self, record: RunRecord, settings: Settings | None = None) -> SystemOpening:
        """The same as a stored run has it: with its seed, sessions, origin and caps.

        Raises `UsageError` where it was another system's, or had other respondents.
        """
        try:
            stored = json.loads(record.plan)
            seed, sessions = int(stored["seed"]), int(stored["sessions"])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"run {quoted(record.run)} is no run of a system file; pxp run TASK --resume "
                f"resumes others"
            ) from error
        found = SystemOpening(
            self.file,
            self.respondents,
            sessions=sessions,
            seed=seed,
            follow=self.follow,
            origin=origin_of(record.plan),
            settings=with_stored_caps(settings or self.settings, record),
        )
        for key, value in found.meaning().items():
            if stored.get(key) != value:
                raise UsageError(
                    f"run {record.run} cannot be resumed: its {key} was "
                    f"{quoted(stored.get(key), 200)}, and would now be {quoted(value, 200)}"
                )
        return found

    @property
    def asks_models(self) -> bool:
        return not all(who in (TERMINAL, MCP) or is_local(who) for who in self._who)

    @property
    def unshared(self) -> str:
        if TERMINAL in self._who:
            return ONE_TERMINAL
        if MCP in self._who:
            return ONE_SERVER
        return ONE_BATCH if self.asks_models and self.settings.batches else ""

    @property
    def at_once(self) -> int:
        """With a person one, all of them with assistants, as many as asked with models."""
        if TERMINAL in self._who or self.sessions == 1:
            return 1
        if MCP in self._who:
            return self.sessions
        return self.settings.in_flight if self.asks_models else defaults.AT_ONCE

    @property
    def _who(self) -> Sequence[str]:
        return tuple(self.respondents.values())

    def meaning(self) -> dict[str, Any]:
        """Everything that the run depends on, as it is stored with it."""
        return {
            "system": self.file.name,
            "fingerprint": self.system.fingerprint,
            "respondents": self.respondents,
            "events": dict(self.file.events),
            "faults": dict(self.file.faults),
            "limit": self.file.limit,
            "seed": self.seed,
            "sessions": self.sessions,
        }

    def run_record(self, board: SqlBlackboard) -> RunRecord:
        file, system, caps = self.file, self.system, self.settings.caps
        stored = self.meaning() | ({CAPS: caps} if caps else {})
        if self.origin is not None:
            forked = forkable(board, self.origin).record
            if forked.fingerprint != system.fingerprint:
                raise UsageError(
                    f"session {forked.session} is of another system than {file.name}: the "
                    f"fingerprint of its tables is {forked.fingerprint[:12]}, not "
                    f"{system.fingerprint[:12]}"
                )
            stored |= self.origin.in_plan
        plan = json.dumps(stored, sort_keys=True)
        about = (file.name, defaults.SYSTEMS, plan, self.seed, __version__, system.fingerprint)
        return RunRecord(*about)

    def sent(self) -> str:
        """The whole run, as JSON: its tables are in no database that a worker could ask first."""
        parts = ("name", "respondent", "instructions", "timeout")
        lines = [
            {**{key: getattr(one, key) for key in parts}, "table": document(one.automaton)}
            for one in self.file.members
        ]
        file = {key: getattr(self.file, key) for key in ("path", "name", "title", "about", "limit")}
        file |= {"events": dict(self.file.events), "faults": dict(self.file.faults)}
        return json.dumps(
            {
                "file": file | {"members": lines, "channel": self.system.channel.name},
                "respondents": self.respondents,
                "sessions": self.sessions,
                "seed": self.seed,
                "follow": [record_of(action) for action in self.follow],
            }
        )

    def begin(self, around: Surroundings) -> None:
        self._around = around

    def before(self, unit: Unit) -> Sequence[SessionRecord]:
        """None: no session depends on another."""
        return ()

    @asynccontextmanager
    async def open(self, slot: Slot, past: Past) -> AsyncIterator[Session]:
        around = self._around
        assert around is not None  # noqa: S101 - `begin` comes first
        file = self.file
        whom = (file, self.respondents, around.model, self.seed, slot.position, around.desk)
        async with members.members(*whom) as actors:
            yield Session(
                self.system,
                actors,
                name=slot.session,
                instance=Instance(file.name, file.about or file.title),
                blackboard=around.board,
                seed=self.seed,
                faults=Faults(**file.faults),
                events={label: _source(text) for label, text in file.events.items()},
                follow=self.follow,
                limit=file.limit,
                on_event=slot.on_event,
                record_faults=True,
            )

    def record(self, session: Session, slot: Slot) -> SessionRecord:
        run = slot.session.rsplit("/", 2)[0]
        return session_record(session, run, slot.repetition, slot.position)

    def check(self, session: Session, slot: Slot) -> None:
        if slot.stored is not None:
            check_same(slot.stored, session_record(session, slot.stored.run))


def _source(text: str) -> EventSource:
    """Who raises an event of a file: a timer, or chance."""
    kind, _, number = text.partition(":")
    return float(number) if kind == "after" else Chance(float(number))


@overload
def start(
    subject: Plan,
    board: SqlBlackboard,
    settings: Settings | None = None,
    name: str | None = None,
) -> Run[TaskOpening]: ...
@overload
def start(
    subject: OpeningT, board: SqlBlackboard, settings: None = None, name: str | None = None
) -> Run[OpeningT]: ...
def start(
    subject: Plan | Opening,
    board: SqlBlackboard,
    settings: Settings | None = None,
    name: str | None = None,
) -> Run[Any]:
    """A new run, recorded as `name` or the next free `TASK-NUMBER`; nothing is run yet.

    Its sessions are those of a plan, whose models are asked by `settings`, or of an opening. Raises
    `UsageError`, `DataError` or `BlackboardError` before anything is.
    """
    opening: Opening = (
        TaskOpening.read(subject, settings=settings) if isinstance(subject, Plan) else subject
    )
    record = opening.run_record(board)
    if name is None:
        name = board.start_numbered_run(record).run
    else:
        board.start_run(replace(record, run=name))
    return Run(name, opening, board)


@overload
def run(
    subject: Plan,
    board: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run[TaskOpening]: ...
@overload
def run(
    subject: str | Path,
    board: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    respondents: Mapping[str, str] = MappingProxyType({}),
    sessions: int = 1,
    seed: int = 0,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run[Any]: ...
def run(
    subject: Plan | str | Path,
    board: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    respondents: Mapping[str, str] = MappingProxyType({}),
    sessions: int = 1,
    seed: int = 0,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run[Any]:
    """Run a task, `drug`, `rad` or an installed one, or a system's file, to its end.

    The sessions go to `board`. Of a task: `task` is one that is not installed; `machine` and
    `human` take the place of the task's own: an agent, or a respondent (a function of the question,
    too) with the relations of the task's own; a learner is copied for each repetition. Of a system:
    so many `sessions`, whose channels draw from `seed`; `respondents` say who answers for its
    members in place of whom the file names. `name` is the run's, else the next free one; a run that
    is there under it, of the same plan, is carried on. `settings` are how models are asked.

    >>> import pxp_fsm as pxp
    >>> def chemist(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("CO", "I would begin with methanol.")
    >>> with pxp.open_blackboard(":memory:") as board:
    ...     done = pxp.run(pxp.Plan("drug", instances="1"), board)
    ...     mine = pxp.run(pxp.Plan("drug", instances="1"), board, machine=chemist)
    ...     [record.ending for record in board.sessions()]
    ['ratified', 'rejected']

    Raises `UsageError` or `DataError` for what cannot be carried out.
    """
    if not isinstance(board, SqlBlackboard):
        raise UsageError(f"a run needs a pxp.open_blackboard(FILE), not {quoted(board)}")
    known = name is not None and name in {record.run for record in board.runs()}
    begun: Run[Any]
    if not isinstance(subject, Plan) and is_system_file(str(subject)):
        for option, value in (("task", task), ("machine", machine), ("human", human)):
            if value is not None:
                raise UsageError("this applies to a task, not to a system", option)
        file = read_system(subject)
        chosen = [f"{member}={who}" for member, who in respondents.items()]
        given = members.respondents(file, chosen, settings=settings)
        system = SystemOpening(file, given, sessions=sessions, seed=seed, settings=settings)
        if name is not None and known:
            begun = resume(name, board, settings, system)
            if begun.opening.meaning() != system.meaning():
                raise UsageError(f"run {name} has another plan; give this one another name", "name")
        else:
            begun = start(system, board, name=name)
    else:
        if respondents:
            raise UsageError("this applies to a system, not to a task", "respondents")
        plan = subject if isinstance(subject, Plan) else Plan(str(subject))
        seated = members.seated(task or find_task(plan.task), plan, machine, human)
        if name is not None and known:
            begun = resume(name, board, settings, seated)
            if begun.opening.plan != placed(plan):
                raise UsageError(f"run {name} has another plan; give this one another name", "name")
        else:
            begun = start(TaskOpening.read(plan, seated, settings), board, name=name)
    begun.execute()
    return begun


@overload
def resume(
    name: str,
    board: SqlBlackboard,
    settings: Settings | None = None,
    subject: Task | None = None,
    *,
    may_be_over: bool = False,
) -> Run[TaskOpening]: ...
@overload
def resume(
    name: str, board: SqlBlackboard, settings: Settings | None, subject: SystemOpening
) -> Run[SystemOpening]: ...
def resume(
    name: str,
    board: SqlBlackboard,
    settings: Settings | None = None,
    subject: Task | SystemOpening | None = None,
    *,
    may_be_over: bool = False,
) -> Run[Any]:
    """The run `name`, to be carried on at the next message or action.

    `subject` is its task where that is not installed; of a run of a system it says who its members
    are. It keeps the caps that it was begun with where `settings` set none. Where it `may_be_over`,
    one with a person may be too, and nobody is asked anything.

    Raises `NotThere` where there is no such run, and `UsageError` or `DataError` where the package,
    its plan, data, tables or members are not what they were (what was learned could not be
    rebuilt), or a run with a person is over.
    """
    record = _resumable(name, board)
    if isinstance(subject, SystemOpening):
        return Run(name, subject.resumed(record, settings), board)
    opening = TaskOpening.stored(record, board, settings, subject)
    found, plan = Run(name, opening, board), opening.plan
    if plan.person is not None and not may_be_over and found.finished == found.total:
        raise UsageError(
            f"run {name} is over, with {plan.subject or 'a person who has no pseudonym'}: nobody "
            f"would be asked anything; for somebody else give another subject, and to see what "
            f"came of it pxp report",
            "subject",
        )
    return found


def _resumable(name: str, board: SqlBlackboard) -> RunRecord:
    """What is recorded of a run that can be carried on."""
    record = board.run(name)
    if record.version != __version__:
        raise UsageError(
            f"run {name} was begun by version {record.version}, this is {__version__}; "
            f"resume it with that version, or start a new run"
        )
    erased = board.erasures(name)
    if erased:
        raise UsageError(
            f"session {erased[0].session} was erased: what was said in it cannot be carried on "
            f"from; start a new run"
        )
    return record


def fork(
    origin: Origin,
    board: SqlBlackboard,
    given: Mapping[str, Any] = MappingProxyType({}),
    settings: Settings | None = None,
    task: Task | None = None,
) -> Run[TaskOpening]:
    """A new run of one session, which carries on a stored one of a task from `origin`.

    It is recorded, and nothing is run yet. Its plan is that of the stored run, but for what is
    `given` by the names of a plan's fields. Raises what `resume` and `forks.forkable` raise.
    """
    stored = forkable(board, origin)
    forked = stored.record
    record = _resumable(forked.run, board)
    plan, task, _ = _as_it_was(record, board, task)
    before = origin_of(record.plan)
    if before is not None:
        raise UsageError(
            f"session {origin.session} carries on {before}, and what its machine had learned is "
            f"not known here; carry on {before.session} instead"
        )
    if given.get("task", plan.task) != plan.task:
        raise UsageError(f"session {origin.session} is of task {plan.task}, not {given['task']}")
    for field_name in _KEPT:
        if field_name in given and given[field_name] != getattr(plan, field_name):
            raise UsageError(
                "a fork keeps this of the run that it carries on; leave it out", field_name
            )
    plan = replace(plan, **given)
    ending = plan.rules().ending(stored.history[: origin.number]) if origin.number else None
    if ending is not None:
        raise UsageError(
            f"with these bounds session {forked.session} ends by message {origin.number} "
            f"({ending.value}); carry it on from an earlier one"
        )
    held = read_plan(plan, task)
    return start(TaskOpening(plan, *held, settings, origin, forked), board)


_KEPT = (
    *("protocol", "data", "instances", "test", "validation", "label"),
    *("order", "seed", "repetitions"),
)
"""The fields of a plan on which it depends which session has which place."""
