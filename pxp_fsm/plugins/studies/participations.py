"""The lifecycle of one participant as it is stored: each action in a transaction of its own.

A study is a run of the blackboard, and each participation a session of a system in it, so that
`pxp verify`, `pxp show`, `pxp monitor` and `pxp erase` take them as all others.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from backends.databases import RunRecord, SessionRecord, SqlBlackboard, queries
from backends.databases.records import SYSTEM, MemberRecord
from pxp_fsm.automata.actions import Exchange, External, SystemAction
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.defaults import SYSTEMS
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.studies.assignment import Assigned, assignment
from pxp_fsm.plugins.studies.files import Study
from pxp_fsm.plugins.studies.lifecycles import GUIDE, PARTICIPANT, PARTNER, STUDY, participation
from pxp_fsm.protocol.messages import Instance, Json, Message, text_problem
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.live import LiveSystem

NOBODY = "study"
"""Whose participation holds the state of the study itself: nobody is ever in it."""

_IS = {
    STUDY: "the study",
    GUIDE: "the server",
    PARTICIPANT: "a person",
    PARTNER: "the other side of a task",
}


@dataclass
class Participation:
    """A participation on `board`; `subject` is the participant's pseudonym.

    `place` is that in the assignment, from 1; 0 where nobody is in it, or where it was erased.

    >>> one = Participation(None, "study", "p001")
    >>> one.status, one.name
    ('INVITED', 'study/p001')
    """

    board: SqlBlackboard | None
    run: str
    subject: str
    live: LiveSystem = field(default_factory=lambda: LiveSystem(participation()), repr=False)
    history: list[Event] = field(default_factory=list, repr=False)
    place: int = 0

    @property
    def name(self) -> str:
        """The name of its session."""
        return f"{self.run}/{self.subject}"

    @property
    def status(self) -> str:
        """The participant's state."""
        return self.live.machines[PARTICIPANT].state

    def state(self, member: str) -> str:
        """The state of a member."""
        return self.live.machines[member].state

    def may_send(self, label: str) -> bool:
        """Whether the participant may send `label` now."""
        return any(
            isinstance(action, Exchange) and action.tag == label
            for row in self.live.rows(PARTICIPANT)
            for action in self.live.by_row(PARTICIPANT, row)
        )

    def send(self, member: str, label: str, payload: Any = None) -> None:
        """Let `member` send `label`, by the row of its guard if it has one.

        Raises `Refused`, with what is possible, where it cannot; `UsageError` where the payload
        does not fit. Nothing is stored then.
        """
        machine = self.live.machines[member]
        rows = [
            row
            for row in self.live.rows(member)
            if (row.kind, row.label) == (Kind.SEND, label) and row.partner
        ]
        partner = rows[0].partner if rows else GUIDE
        text = _written(label, payload)
        problem = payload_problem(machine.automaton, label, text)
        if problem is not None:
            raise UsageError(f"{label}: what was sent does not fit: {problem}")
        action = Exchange(member, partner, label)
        guard = rows[0].guard or "" if rows else ""
        message = Message(self.name, len(self.history) + 1, member, label, Json(text), partner)
        self._take(action, guard, message)

    def happen(self, label: str) -> None:
        """Let an event from outside happen; raises `Refused` where it cannot."""
        self._take(External(label))

    def _take(self, action: SystemAction, guard: str = "", message: Message | None = None) -> None:
        self.live.check(action)
        event = Event(len(self.history) + 1, action, guard, message)
        if self.board is not None:
            self.board.append(self.name, event)
        self.live.move(action, message)
        self.history.append(event)

    def messages(self, label: str) -> list[Message]:
        """What was sent under `label`, in order."""
        return [
            event.message
            for event in self.history
            if event.message is not None and event.message.tag == label
        ]

    def events(self) -> list[str]:
        """The events from outside that happened, in order."""
        return [event.action.label for event in self.history if isinstance(event.action, External)]


def begin(
    board: SqlBlackboard, run: str, subject: str, number: int, about: str, place: int = 0
) -> Participation:
    """Store a new participation, the study's `number`; `about` is in words, or as JSON."""
    system = participation()
    members = tuple(
        MemberRecord(
            member.name,
            member.automaton.name,
            member.automaton.fingerprint,
            canonical_json(member.automaton),
            _IS[member.name],
        )
        for member in system.members
    )
    record = SessionRecord(
        session=f"{run}/{subject}",
        run=run,
        repetition=1,
        position=number,
        instance=Instance(subject, about),
        protocol=SYSTEM,
        n=None,
        k=None,
        automaton=system.name,
        fingerprint=system.fingerprint,
        memo=False,
        assumptions=(),
        agents=tuple((member.name, member.description) for member in members[:2]),
        subject="" if subject == NOBODY else subject,
        channel=system.channel.name,
        members=members,
    )
    board.start_session(record)
    return Participation(board, run, subject, place=place)


def read(board: SqlBlackboard, run: str, subject: str) -> Participation:
    """The participation as it is stored; raises `NotThere` where there is none."""
    participation = Participation(board, run, subject)
    record = board.read(lambda connection: queries.session(connection, participation.name))
    participation.place = 0 if record is None else _place(record.instance.x)
    for event in board.events(participation.name):
        participation.live.take(event.action, event.message)
        participation.history.append(event)
    return participation


def assigned(study: Study, participation: Participation) -> tuple[Assigned, ...]:
    """What a participant does, in order; nothing where that was erased."""
    return assignment(study, participation.place) if participation.place else ()


def _place(about: str) -> int:
    """The place in the assignment, as it stands in what a participation is about."""
    try:
        return int(json.loads(about)["place"])
    except (ValueError, KeyError, TypeError):
        return 0


def _written(label: str, payload: Any) -> str:
    try:
        text = json.dumps(payload, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{label}: what was sent is no JSON: {quoted(str(error))}") from error
    problem = text_problem(text)
    if problem is not None:
        raise UsageError(f"{label}: what was sent cannot be stored: {problem}")
    return text


def run_name(study: Study, subject: str, place: int) -> str:
    """The name of the run of a participant's task at `place`; it tells nothing of the arm."""
    return f"{study.run}-{subject}-{place}"


def runs_of(study: Study, participation: Participation) -> tuple[str, ...]:
    """The runs of the tasks that a participant was given, in order; not all need be stored."""
    places = range(1, len(participation.messages("TASK")) + 1)
    return tuple(run_name(study, participation.subject, place) for place in places)


def began(board: SqlBlackboard, participation: Participation, place: int) -> float:
    """When a participant was given their task at `place`, in seconds since 1970; 0: never."""
    number = participation.messages("TASK")[place - 1].number
    return (
        board.read(lambda connection: queries.event_time(connection, participation.name, number))
        or 0.0
    )


def check_stored(study: Study, stored: RunRecord) -> None:
    """Raise `UsageError` where the stored run of that name is not this very study."""
    try:
        fingerprint = json.loads(stored.plan)["fingerprint"]
    except (ValueError, KeyError, TypeError):
        fingerprint = None
    if stored.task != SYSTEMS or fingerprint != study.fingerprint:
        raise UsageError(
            f"run {study.run} is of another study, or of this one before its file was changed; "
            f"give the study another name, or take the file as it was"
        )
    if stored.data_fingerprint != participation().fingerprint:
        raise UsageError(
            f"study {study.run} was begun with other lifecycles, by version {stored.version}; go "
            f"on with that version"
        )
