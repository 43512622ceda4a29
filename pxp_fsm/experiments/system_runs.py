"""Runs of a system: its sessions, stored, resumable, with members by their names."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backends.databases import CallsOf, RunRecord, SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm import __version__, defaults
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.automata.system_files import TERMINAL, SystemFile
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.networks.setup import models_of
from pxp_fsm.experiments.system_members import members
from pxp_fsm.experiments.units import together
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.sessions.occurrences import Faults, Occurrence
from pxp_fsm.sessions.pending import EventSource
from pxp_fsm.sessions.system_session import SystemSession


@dataclass(frozen=True, kw_only=True)
class SystemRun:
    """`sessions` sessions of `system`, with `respondents` by member, on `board`.

    `name` is the run's; `on_action` is called after each action, `on_end` after each session.
    """

    name: str
    system: System
    file: SystemFile
    respondents: Mapping[str, str]
    board: SqlBlackboard
    sessions: int = 1
    seed: int = 0
    follow: Sequence[SystemAction] = ()
    settings: Settings = field(default_factory=Settings)
    on_action: Callable[[str, Occurrence], None] = lambda _session, _occurrence: None
    on_end: Callable[[SystemSession], None] = lambda _session: None

    def execute(self) -> Counter[str]:
        """Carry all that is left to its end; how many sessions have ended how, earlier ones too."""
        return waited_for(self._execute())

    async def _execute(self) -> Counter[str]:
        stored = {one.session: one.ending for one in self.board.sessions(self.name)}
        counted = Counter(ending for ending in stored.values() if ending is not None)
        calls = CallsOf(self.board, self.name)
        async with models_of(self.settings, log=calls, ledger=calls) as opened:

            async def carry(name: str) -> None:
                async with members(self.file, self.respondents, opened, self.seed) as actors:
                    session = self._session(name, actors)
                    if name in stored:
                        self.board.resume(session)
                    await session.run()
                    counted[str(session.ending)] += 1
                    self.on_end(session)

            def left() -> Iterator[Any]:
                for number in range(1, self.sessions + 1):
                    name = f"{self.name}/1/{number}"
                    if stored.get(name) is None:
                        yield carry(name)

            alone = TERMINAL in self.respondents.values() or self.sessions == 1
            await together(left(), 1 if alone else defaults.AT_ONCE)
        return counted

    def _session(self, name: str, actors: Mapping[str, Any]) -> SystemSession:
        history = list[SystemSession]()
        events = {
            label: self._event(label, text, name, history)
            for label, text in self.file.events.items()
        }
        session = SystemSession(
            self.system,
            actors,
            name=name,
            instance=Instance(self.file.name, self.file.about or self.file.title),
            blackboard=self.board,
            seed=self.seed,
            faults=Faults(**self.file.faults),
            events=events,
            follow=self.follow,
            limit=self.file.limit,
            on_action=lambda occurrence: self.on_action(name, occurrence),
            record_faults=True,
        )
        history.append(session)
        return session

    def _event(
        self, label: str, text: str, name: str, history: Sequence[SystemSession]
    ) -> EventSource:
        """Who raises an event: a timer, or chance, the same one where the session is resumed."""
        kind, _, number = text.partition(":")
        if kind == "after":
            return float(number)

        def chance() -> bool:
            place = f"{name.partition('/')[2]}/{len(history[0].actions)}"
            return random.Random(f"{self.seed}/{place}/{label}").random() < float(number)

        return chance


def start_run(
    board: SqlBlackboard,
    file: SystemFile,
    system: System,
    respondents: Mapping[str, str],
    *,
    seed: int,
    sessions: int,
) -> str:
    """Store a new run, with what it depends on, and return its name."""
    plan = json.dumps(_plan(file, system, respondents, seed, sessions), sort_keys=True)
    record = RunRecord(file.name, defaults.OWN, plan, seed, __version__, system.fingerprint)
    return board.start_numbered_run(record).run


def check_resumed(
    board: SqlBlackboard,
    name: str,
    file: SystemFile,
    system: System,
    respondents: Mapping[str, str],
) -> tuple[int, int]:
    """The seed and the number of sessions of the stored run `name`.

    Raises `NotThere` where there is none, and `UsageError` where it was another system's, or had
    other respondents.
    """
    record = board.run(name)
    try:
        stored = json.loads(record.plan)
        seed, sessions = int(stored["seed"]), int(stored["sessions"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"run {quoted(name)} is no run of a system file; pxp run TASK --resume resumes others"
        ) from error
    now = _plan(file, system, respondents, seed, sessions)
    for key, value in now.items():
        if stored.get(key) != value:
            raise UsageError(
                f"run {name} cannot be resumed: its {key} was {quoted(stored.get(key), 200)}, and "
                f"would now be {quoted(value, 200)}"
            )
    return seed, sessions


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
