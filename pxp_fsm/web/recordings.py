"""Stored sessions as what is explored: the system that they follow, and what happens in it.

A session that is not over is read again and again; it is never changed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from backends.databases import FAULTS, Origin, SqlBlackboard, StoredSession, origin_of
from backends.databases.records import stored_system
from proofs.claims.certificates import coverage
from proofs.systems import Composition
from proofs.systems.paths import Choices, choices_of, states_along
from pxp_fsm import defaults
from pxp_fsm.analysis.monitoring import Monitors, listened, not_monitored
from pxp_fsm.automata.actions import Exchange, External, SystemAction
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import PXPError, Refused, UsageError
from pxp_fsm.experiments.drawings import check_table, rules_of
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.sessions.policy import CLOSE
from pxp_fsm.web.subjects import subject_of


@dataclass(frozen=True, slots=True)
class MonitorView:
    """A formula, and how it stands before the first message of a session and after each."""

    formula: str
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedSessionView:
    """A stored session as it is now: what has happened, as a trace, and how it ended, if it has.

    `happened` counts the messages or actions; the trace has one step more where a schedule has
    closed the session. `claims` are those that are proved of it, under its `assumptions`; None
    where its system is none of the built-in ones. `origin` is what it carries on. `fork` is the
    command that carries it on from a message, before and after the message's number.
    """

    name: str
    choices: Choices
    happened: int
    ending: str
    cause: str
    monitors: tuple[MonitorView, ...]
    assumptions: tuple[str, ...]
    claims: tuple[str, ...] | None
    origin: str
    fork: tuple[str, str]


class Recording:
    """The session `name` of a database, with `formulas` that are monitored, read when asked.

    `subject` is the system that it follows, which a page begins with what has happened; `latest` is
    the session as it was when it was last read.

    Raises `NotThere` where there is no such session, `UsageError` where its table was another one,
    it is of a panel that cannot be shown, or a formula cannot be read.
    """

    def __init__(self, name: str, database: str, formulas: Sequence[str] = ()) -> None:
        self._board = SqlBlackboard(database, create=False)
        hidden = self._board.engine.url.password is not None
        self._name, self._database = name, self._board.shown if hidden else database
        self._monitors = Monitors(formulas)
        stored = self._board.session(name)
        self._record = stored.record
        record = stored.record
        self._run = self._board.run(record.run)
        self._seated: Callable[[SystemAction], SystemAction] = lambda action: action
        self._claims: tuple[str, ...] | None = None
        try:
            self._system = self._system_of(stored)
            self._composition = Composition(self._system)
            if not record.channel and not record.faults:
                proof = coverage(rules_of(record), record.assumptions)
                self._claims = () if proof is None else proof.claims
            begun = subject_of(self._system, (), self._actions(stored))
        except PXPError:
            self._board.close()
            raise
        self.subject = replace(begun, bounds=(record.n, record.k))
        self.latest = self._viewed(stored)

    def read(self) -> RecordedSessionView | None:
        """The session as it is now; None where nothing has happened since it was last read."""
        record, latest = self._record, self.latest
        (now,) = self._board.sessions_at(
            record.run, record.repetition, record.position, record.position
        )
        if (now.messages, now.ending or "") == (latest.happened, latest.ending):
            return None
        self.latest = self._viewed(self._board.session(self._name))
        return self.latest

    def close(self) -> None:
        """Close the database."""
        self._board.close()

    def _viewed(self, stored: StoredSession) -> RecordedSessionView:
        record, actions = stored.record, tuple(self._actions(stored))
        return RecordedSessionView(
            record.session,
            choices_of(self._composition, actions),
            len(stored.events),
            record.ending or "",
            record.cause or "",
            self._monitored(stored),
            record.assumptions,
            self._claims,
            _words(origin_of(self._run.plan)),
            self._fork(),
        )

    def _actions(self, stored: StoredSession) -> Iterator[SystemAction]:
        if stored.record.channel:
            yield from (event.action for event in stored.events)
            return
        actions: list[SystemAction] = [
            Exchange(message.sender, message.receiver, message.tag) for message in stored.history
        ]
        actions = list(map(self._seated, actions))
        yield from actions
        ending = stored.record.ending
        if ending is not None and ending not in FAULTS and self._closes(actions):
            yield External(CLOSE)  # the schedule closed it

    def _system_of(self, stored: StoredSession) -> System:
        """The system that a stored session follows: its own, or that of its protocol's table.

        Of several agents each end of a channel is a member, as the session has it.
        """
        record = stored.record
        if record.channel:
            return stored_system(record.members, record.channel)
        check_table(record)
        if not record.faults:
            table = builtin(record.automaton)
            return System(tuple(Member(name, table) for name, _ in record.agents))
        name, kind = record.session, kind_of(self._run)
        if kind is None:
            raise UsageError(
                f"session {name} is of a panel of a program, whose rules are not stored with it; "
                f"pxp show {name} and pxp draw {name} show it"
            )
        plan = stored_plan(self._run)
        if len({*_channels(stored)}) < sum(message.tag == Tag.INIT for message in stored.history):
            raise UsageError(
                f"in session {name} a channel was opened again, which no table has; "
                f"pxp show {name} and pxp draw {name} show it"
            )
        policy = kind.policy(plan)
        self._seated = policy.seated
        return policy.system()

    def _closes(self, actions: Iterable[SystemAction]) -> bool:
        choices = choices_of(self._composition, actions)
        here = states_along(self._composition, choices)[-1]
        return any(move.action == External(CLOSE) for move in self._composition.moves(here))

    def _monitored(self, stored: StoredSession) -> tuple[MonitorView, ...]:
        if not self._monitors.formulas:
            return ()
        watch = self._monitors.of_record(stored.record, self._board)
        rows = [[str(outlook.value) for outlook in watch.outlooks]]
        try:
            for _ in listened(watch, stored.events):
                rows.append([str(outlook.value) for outlook in watch.outlooks])
        except Refused as error:  # what is known stays; from here on there is no verdict
            unread = not_monitored(stored.record.session, error).reason
            left = len(stored.events) + 1 - len(rows)
            rows += [[f"not monitored: {unread}"] * len(rows[0])] * left
        columns = zip(*rows, strict=True)
        return tuple(
            MonitorView(formula, column)
            for formula, column in zip(self._monitors.formulas, columns, strict=True)
        )

    def _fork(self) -> tuple[str, str]:
        """What carries the session on from a message, before and after the message's number."""
        task, name = self._run.task, self._name
        if task == defaults.OWN:
            return (
                f"pxp.experiments.fork(board, {json.dumps(name)[:-1]}@",
                '", members, name="…/1")',
            )
        subject = "SYSTEM.toml" if task == defaults.SYSTEMS else task
        words = ["pxp", "run", subject, "--database", self._database]
        return f"{shlex.join(words)} {shlex.quote(name)}@", ""


def _words(origin: Origin | None) -> str:
    return "" if origin is None else str(origin)


def _channels(stored: StoredSession) -> Iterator[frozenset[str]]:
    """The two agents of each message."""
    return (frozenset((message.sender, message.receiver)) for message in stored.history)
