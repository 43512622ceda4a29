"""Runs of a system: its sessions, stored, resumable, with members by their names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from backends.databases import CallsOf, Origin, RunRecord, SqlBlackboard, origin_of
from backends.databases.own_sessions import system_record
from backends.models.settings import Settings
from pxp_fsm import __version__, defaults
from pxp_fsm.automata.actions import ActionRecord, SystemAction, action_of, record_of
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.system import System, system_in
from pxp_fsm.automata.system_files import MCP, TERMINAL, MemberLine, SystemFile
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.forks import carry_over, forkable
from pxp_fsm.experiments.networks.setup import models_of
from pxp_fsm.experiments.plans import CAPS
from pxp_fsm.experiments.stored_plans import with_stored_caps
from pxp_fsm.experiments.system_members import TurnDesk, is_local, members
from pxp_fsm.experiments.units import ONE_BUDGET, ONE_SERVER, ONE_TERMINAL, Unit, together, units
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.sessions.occurrences import Faults, Occurrence
from pxp_fsm.sessions.pending import Chance, EventSource
from pxp_fsm.sessions.system_session import SystemSession


@dataclass(frozen=True, kw_only=True)
class SystemRun:
    """`sessions` sessions of `system`, with `respondents` by member, on `board`.

    `name` is the run's; `on_begin` and `on_end` are called with each session, `on_action` after
    each action. Assistants are asked at `desk`. With an `origin` each session carries on a stored
    one from there.
    """

    name: str
    system: System
    file: SystemFile
    respondents: Mapping[str, str]
    board: SqlBlackboard
    sessions: int = 1
    seed: int = 0
    follow: Sequence[SystemAction] = ()
    origin: Origin | None = None
    settings: Settings = field(default_factory=Settings)
    on_action: Callable[[str, Occurrence], None] = lambda _session, _occurrence: None
    on_end: Callable[[SystemSession], None] = lambda _session: None
    on_begin: Callable[[SystemSession], None] = lambda _session: None
    desk: TurnDesk | None = None

    @property
    def total(self) -> int:
        return self.sessions

    @property
    def finished(self) -> int:
        """How many sessions are over."""
        return self.endings().total()

    @property
    def unshared(self) -> str:
        """Why one process has to carry the run, if it has to."""
        if TERMINAL in self.respondents.values():
            return ONE_TERMINAL
        if MCP in self.respondents.values():
            return ONE_SERVER
        return "" if all(map(is_local, self.respondents.values())) else ONE_BUDGET

    def units(self) -> Iterator[Unit]:
        """The parts of the run: no session depends on another."""
        return units(1, self.sessions, carries=False)

    def endings(self) -> Counter[str]:
        """How many sessions that are over have ended how."""
        return Counter(one.ending for one in self.board.sessions(self.name) if one.ending)

    def execute(self) -> Counter[str]:
        """Carry all that is left to its end; how many sessions have ended how, earlier ones too.

        Raises `BlackboardError` where another process is working on the run.
        """
        waited_for(self.carry())
        return self.endings()

    async def carry(self) -> None:
        """Carry all that is left to its end in a loop of the caller; raises what `execute` does."""
        self.board.lock(self.name)
        try:
            await self._execute(Unit(1, 1, self.sessions))
        finally:
            self.board.unlock(self.name)

    def shares(self, _workers: int) -> tuple[Settings, ...]:
        """A run that workers carry asks no model."""
        return ()

    def execute_units(self, units: Sequence[Unit]) -> None:
        """Carry some units to their end; whoever calls sees to it that nobody else does."""
        for unit in units:
            waited_for(self._execute(unit))

    async def _execute(self, unit: Unit) -> None:
        place = unit.repetition, unit.first, unit.last
        stored = {one.session: one.ending for one in self.board.sessions_at(self.name, *place)}
        calls = CallsOf(self.board, self.name)
        async with models_of(
            self.settings,
            log=calls,
            ledger=calls,
            spent=self.board.spending(self.name),
            known=self.board.replies(self.name),
        ) as opened:

            async def carry(name: str, number: int) -> None:
                whom = (self.file, self.respondents, opened, self.seed, number)
                async with members(*whom, self.desk) as actors:
                    session = self._session(name, actors)
                    if name not in stored:
                        self.board.start_session(system_record(session, self.name, 1, number))
                    if self.origin is not None:
                        carry_over(self.board, self.origin, session)
                    elif name in stored:
                        self.board.resume(session)
                    self.on_begin(session)
                    await session.run()
                    self.on_end(session)

            def left() -> Iterator[Any]:
                for number in range(unit.first, unit.last + 1):
                    name = f"{self.name}/1/{number}"
                    if stored.get(name) is None:
                        yield carry(name, number)

            await together(left(), 1 if self.sessions == 1 else self._at_once)

    def sent(self) -> str:
        """What a worker has to be sent of the run, as JSON; `received` reads it."""
        members = [
            {**{key: getattr(one, key) for key in _OF_MEMBERS}, "table": document(one.automaton)}
            for one in self.file.members
        ]
        file = {key: getattr(self.file, key) for key in ("path", "name", "title", "about", "limit")}
        file |= {"events": dict(self.file.events), "faults": dict(self.file.faults)}
        follow = [record_of(action) for action in self.follow]
        return json.dumps(
            {
                "file": file | {"members": members, "channel": self.system.channel.name},
                "respondents": dict(self.respondents),
                "sessions": self.sessions,
                "seed": self.seed,
                "follow": follow,
            }
        )

    @property
    def _at_once(self) -> int:
        """How many sessions go on at a time: with a person one, all of them with assistants.

        With models it is as many as asked.
        """
        who = self.respondents.values()
        if TERMINAL in who:
            return 1
        if MCP in who:
            return self.sessions
        return defaults.AT_ONCE if all(map(is_local, who)) else self.settings.in_flight

    def _session(self, name: str, actors: Mapping[str, Any]) -> SystemSession:
        return SystemSession(
            self.system,
            actors,
            name=name,
            instance=Instance(self.file.name, self.file.about or self.file.title),
            blackboard=self.board,
            seed=self.seed,
            faults=Faults(**self.file.faults),
            events={label: _source(text) for label, text in self.file.events.items()},
            follow=self.follow,
            limit=self.file.limit,
            on_action=lambda occurrence: self.on_action(name, occurrence),
            record_faults=True,
        )


def _check_version(record: RunRecord) -> None:
    if record.version != __version__:
        raise UsageError(
            f"run {record.run} was begun by version {record.version}, this is {__version__}; "
            f"resume it with that version, or start a new run"
        )


_OF_MEMBERS = ("name", "respondent", "instructions", "timeout")


def received(text: str, name: str, board: SqlBlackboard) -> SystemRun:
    """The run `name` that `SystemRun.sent` describes, in a worker.

    Raises `UsageError` where another version of the package began it.
    """
    _check_version(board.run(name))
    raw = json.loads(text)
    file, lines = raw["file"], list[MemberLine]()
    for one in file.pop("members"):
        table = parse_automaton(json.dumps(one.pop("table")), "table.json")
        lines.append(MemberLine(**one, automaton=table))
    channel = parse_channel(file.pop("channel"))
    described = SystemFile(**file, channel=channel, members=tuple(lines))
    return SystemRun(
        name=name,
        system=system_in(described),
        file=described,
        respondents=raw["respondents"],
        board=board,
        sessions=raw["sessions"],
        seed=raw["seed"],
        follow=tuple(action_of(ActionRecord(*one)) for one in raw["follow"]),
    )


def _source(text: str) -> EventSource:
    """Who raises an event of a file: a timer, or chance."""
    kind, _, number = text.partition(":")
    return float(number) if kind == "after" else Chance(float(number))


def start_run(
    board: SqlBlackboard,
    file: SystemFile,
    system: System,
    respondents: Mapping[str, str],
    *,
    seed: int,
    sessions: int,
    caps: Mapping[str, float] = MappingProxyType({}),
    origin: Origin | None = None,
) -> str:
    """Store a new run, with what it depends on and the caps on its models; return its name.

    With an `origin` its sessions carry that one on. Raises `UsageError` where it is of another
    system.
    """
    stored = _plan(file, system, respondents, seed, sessions) | ({CAPS: dict(caps)} if caps else {})
    if origin is not None:
        forked = forkable(board, origin).record
        if forked.fingerprint != system.fingerprint:
            raise UsageError(
                f"session {forked.session} is of another system than {file.name}: the fingerprint "
                f"of its tables is {forked.fingerprint[:12]}, not {system.fingerprint[:12]}"
            )
        stored |= origin.in_plan
    plan = json.dumps(stored, sort_keys=True)
    record = RunRecord(file.name, defaults.SYSTEMS, plan, seed, __version__, system.fingerprint)
    return board.start_numbered_run(record).run


def check_resumed(
    board: SqlBlackboard,
    name: str,
    file: SystemFile,
    system: System,
    respondents: Mapping[str, str],
    settings: Settings,
) -> tuple[int, int, Settings, Origin | None]:
    """The seed, sessions and origin of the stored run `name`, and `settings` with its caps.

    Raises `NotThere` where there is none, and `UsageError` where it was another system's or
    version's, or had other respondents.
    """
    record = board.run(name)
    try:
        stored = json.loads(record.plan)
        seed, sessions = int(stored["seed"]), int(stored["sessions"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"run {quoted(name)} is no run of a system file; pxp run TASK --resume resumes others"
        ) from error
    _check_version(record)
    now = _plan(file, system, respondents, seed, sessions)
    for key, value in now.items():
        if stored.get(key) != value:
            raise UsageError(
                f"run {name} cannot be resumed: its {key} was {quoted(stored.get(key), 200)}, and "
                f"would now be {quoted(value, 200)}"
            )
    return seed, sessions, with_stored_caps(settings, record), origin_of(record.plan)


def _plan(
    file: SystemFile, system: System, respondents: Mapping[str, str], seed: int, sessions: int
) -> dict[str, Any]:
    return {
        "system": file.name,
        "fingerprint": system.fingerprint,
        "respondents": dict(respondents),
        "events": dict(file.events),
        "faults": dict(file.faults),
        "limit": file.limit,
        "seed": seed,
        "sessions": sessions,
    }
