"""What the sessions of a run are, and who sits in them: those of a task, or of a system.

A `Run` carries them on; an `Opening` knows nothing of processes, locks and progress.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

from backends.databases import Origin, RunRecord, SessionRecord, SqlBlackboard, origin_of
from backends.databases.records import check_same, session_record
from backends.models.registry import Serving
from backends.models.settings import Settings
from backends.people.browser import Desk
from guards.judge import Scope
from pxp_fsm import __version__, defaults
from pxp_fsm.automata.actions import ActionRecord, SystemAction, action_of, record_of
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.system import running_system
from pxp_fsm.automata.system_files import (
    MCP,
    TERMINAL,
    MemberLine,
    SystemFile,
)
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments import members
from pxp_fsm.experiments.drawings import check_agents, check_table, rules_of
from pxp_fsm.experiments.forks import copies, forkable
from pxp_fsm.experiments.members import check_guests, is_local
from pxp_fsm.experiments.plan_data import (
    data_fingerprint,
    gate_of,
    placed,
    read_plan,
    recorded_data,
    stored_plan,
    with_stored_caps,
)
from pxp_fsm.experiments.plans import CAPS, Order, Plan, ordered
from pxp_fsm.experiments.telemetry import TracedBoard
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.protocol.messages import Answer, Episode, Instance
from pxp_fsm.sessions.agent import Members
from pxp_fsm.sessions.events import Event, Faults
from pxp_fsm.sessions.learning import Keep
from pxp_fsm.sessions.pending import Chance, EventSource
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import HUMAN, DataRow, DataSet, Task

_PARTS = 256
"""Sessions that depend on no other are dealt out in about so many parts."""


ONE_TERMINAL = "a person works at one terminal, so such a run cannot be spread over workers"


ONE_SERVER = "assistants work with one server, so such a run cannot be spread over workers"


ONE_BATCH = "each round of all sessions is one batch, so such a run cannot be spread over workers"


ONE_MEMORY = (
    "verdicts of the judge are remembered in the whole run, by one process, so such a run cannot "
    "be spread over workers; give --set agents.scope=session"
)


ONE_MACHINE = (
    "the limits and caps of a run with models are divided among the processes of one machine; "
    "write processes://NUMBER"
)
"""Why one process has to carry a run."""


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

    With an `origin` they carry a stored session on from there; `single` is the unit of a run of one
    session, which it ends with: that of another run, carried on at its place, or a training.
    `carries` says that a session depends on those before it in its repetition, `asks_models` that
    models take part.
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


class Resumable(Opening, Protocol):
    """One that says itself what a stored run of it is."""

    def resumed(self, record: RunRecord, settings: Settings | None = None) -> Self:
        """The same as a stored run has it, with its caps where `settings` set none.

        Raises `UsageError` where it was another.
        """


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
        if plan.answer is not None and origin is None:
            raise UsageError("this is of a fork: give SESSION@MESSAGE too", "answer")
        self._instead = plan.replacing
        if self._instead is not None and task.problem is not None:
            prediction = task.problem.from_text(self._instead.prediction)
            self._instead = replace(self._instead, prediction=prediction)
        self.selection = members.models(plan, task, data, settings)
        self._forked = forked
        self._subject = plan.talks()
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
        plan, task, data = plan_as_recorded(record, board, task)
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
            origin = f"carried on from message {self.origin.number} of {self.origin.session}"
            told = (*told, f"one session, {origin}")
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
                roles.remember(record.session, entries)
            if not stored and self.origin is not None and self._forked is not None:
                # the judges were asked in the messages that are to be copied, too
                forked = self._forked
                name = f"{around.run}/{forked.repetition}/{forked.position}"
                entries = copies(forkable(around.board, self.origin), self.origin, name)
                roles.remember(name, entries)
        self._roles = roles

    def before(self, unit: Unit) -> Sequence[SessionRecord]:
        if self._forked is None or self._around is None or unit.first == unit.last:
            return ()
        place = self._forked.run, unit.repetition, unit.first, unit.last - 1
        earlier = self._around.board.sessions_at(*place)
        if len(earlier) < unit.last - unit.first or not all(record.ending for record in earlier):
            raise UsageError(
                f"a session before {self._forked.session} is not over, so that it is not known "
                f"what the machine had learned; resume run {self._forked.run} first"
            )
        return earlier

    @asynccontextmanager
    async def open(self, slot: Slot, past: Past) -> AsyncIterator[Session]:
        around = self._around
        assert around is not None  # noqa: S101 - `begin` comes first
        seated = past.members or self._agents(slot.repetition)
        if self.carries or (self.plan.goes_on and self.plan.learn == Keep.ALWAYS):
            past.members = seated
        board, stored = TracedBoard(around.board), slot.stored
        session = Session(
            self._followed(stored, around),
            seated,
            instance=self._rows(slot.repetition)[slot.position - 1].instance,
            name=slot.session,
            blackboard=None if slot.is_over else board,
            on_event=slot.on_event,
            earlier=past.episodes,
            record_faults=True,
            update_context=self.task.update_context,
            instead=self._replaced(stored, around),
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

    def _followed(self, stored: SessionRecord | None, around: Surroundings) -> Any:
        """What a session follows; one before a forked one keeps to the plan of its own run.

        A rule that the fork adds, such as an agent left out after a message, is not of those.
        """
        if stored is None or stored.run == around.run:
            return self._subject
        if stored.faults:
            return stored_plan(around.board.run(stored.run)).talks()
        return rules_of(stored)

    def _replaced(self, stored: SessionRecord | None, around: Surroundings) -> Mapping[int, Answer]:
        """What the first new message of a fork carries, where the plan says so."""
        is_other = stored is not None and stored.run != around.run
        if self._instead is None or self.origin is None or is_other:
            return {}
        return {self.origin.number + 1: self._instead}

    def record(self, session: Session, slot: Slot) -> SessionRecord:
        run = slot.session.rsplit("/", 2)[0]
        record = session_record(session, run, slot.repetition, slot.position)
        return replace(record, subject=self.plan.subject or "")

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
        for name in timed:
            gate = gate_of(self.plan, self.data) if name != HUMAN else None
            if gate is not None:
                timed[name] = replace(timed[name], gate=gate)
        return timed

    def _ordered(self, repetition: int) -> Sequence[DataRow]:
        return ordered(self.data.sessions, Order(self.plan.order), self.plan.seed, repetition)


def plan_as_recorded(
    record: RunRecord, board: SqlBlackboard, task: Task | None
) -> tuple[Plan, Task, DataSet]:
    """The plan of a stored run, and what it means today, which is what it meant then."""
    plan, task, data = recorded_data(record, task)
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
        self.system = running_system(file)
        # Who answers for a member reads the states that it will be in, registers included.
        tables = [member.automaton for member in self.system.members]
        self.running = replace(
            file,
            members=tuple(
                replace(line, automaton=table)
                for line, table in zip(file.members, tables, strict=True)
            ),
        )
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
        for member in file.pop("members"):
            table = parse_automaton(json.dumps(member.pop("table")), "table.json")
            lines.append(MemberLine(**member, table="", automaton=table))
        channel = parse_channel(file.pop("channel"))
        described = SystemFile(**file, channel=channel, members=tuple(lines))
        return SystemOpening(
            described,
            raw["respondents"],
            sessions=raw["sessions"],
            seed=raw["seed"],
            follow=[action_of(ActionRecord(*action)) for action in raw["follow"]],
            settings=settings,
        )

    def resumed(self, record: RunRecord, settings: Settings | None = None) -> Self:
        """The same as a stored run has it: with its seed, sessions, origin and caps.

        Raises `UsageError` where it was another system's, or had other respondents.
        """
        try:
            stored = json.loads(record.plan)
            seed, sessions = int(stored["seed"]), int(stored["sessions"])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"run {quoted(record.run)} is no run of a system file; pxp run TASK RUN "
                f"resumes others"
            ) from error
        opening = type(self)(
            self.file,
            self.respondents,
            sessions=sessions,
            seed=seed,
            follow=self.follow,
            origin=origin_of(record.plan),
            settings=with_stored_caps(settings or self.settings, record),
        )
        for key, value in opening.meaning().items():
            if stored.get(key) != value:
                raise UsageError(
                    f"run {record.run} cannot be resumed: its {key} was "
                    f"{quoted(stored.get(key), 200)}, and would now be {quoted(value, 200)}"
                )
        return opening

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
        counting = {"parameters": dict(self.file.parameters)} if self.file.parameters else {}
        return counting | {
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
            {**{key: getattr(member, key) for key in parts}, "table": document(member.automaton)}
            for member in self.file.members
        ]
        file = {key: getattr(self.file, key) for key in ("path", "name", "title", "about", "limit")}
        file |= {"parameters": dict(self.file.parameters)}
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
        whom = (self.running, self.respondents, around.model, self.seed, slot.position, around.desk)
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
