"""Records of runs, sessions and calls, as values: what `rows` stores and `queries` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import pxp_fsm.diagrams
from pxp_fsm.automata.actions import Exchange, Send
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import stored_automaton
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Usage
from pxp_fsm.protocol.messages import Instance, Message
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.session import Session

CONCLUDED = tuple(
    ending.value for ending in (Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM)
)
"""The protocol's own endings: such sessions are counted in Table 1."""

FAULTS = tuple(
    ending.value
    for ending in Ending
    if ending.value not in CONCLUDED and ending is not Ending.FINISHED
)
"""All other endings, but for a system's own; such sessions are counted apart."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run: its task, its whole plan as JSON, and what it needs to be repeated.

    `version` is the package's; `data_fingerprint` is the SHA-256 of the instances that it is about;
    `subject` is the pseudonym of the person who takes part, if one does.
    """

    run: str
    task: str
    plan: str
    seed: int
    version: str
    data_fingerprint: str
    created: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it: how many of its sessions were started, how many are over."""

    run: str
    task: str
    created: str
    sessions: int
    over: int


class SessionLine(NamedTuple):
    """A session as a list shows it; a tuple, for lists of a hundred thousand."""

    session: str
    run: str
    instance: str
    protocol: str
    n: int | None
    k: int | None
    messages: int
    ending: str | None
    cause: str | None


class MemberRecord(NamedTuple):
    """A member of a system's session: its table, as JSON too, and what it is made of."""

    name: str
    automaton: str
    fingerprint: str
    table: str
    description: str


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: its place in its run, its protocol, its agents, and how it ended, if it has.

    `agents` maps `m` and `h` (or other names) to what each is made of, the initiator first.
    `assumptions` are those on MATCH and AGREE under which it ran; `memo` tells whether both agents
    remembered their judgements. A system's session has a `channel`, how often it has `faults`, and
    `members`, of which the first two are its `agents`. One of more than two agents, or whose agents
    do not only take turns, says in `faults` how they do; more than two are its `members` too.
    `messages` is how many events it has.
    """

    session: str
    run: str
    repetition: int
    position: int
    instance: Instance
    protocol: str
    n: int | None
    k: int | None
    automaton: str
    fingerprint: str
    memo: bool
    assumptions: tuple[str, ...]
    agents: tuple[tuple[str, str], ...]
    ending: str | None = None
    cause: str | None = None
    messages: int = 0
    subject: str = ""
    channel: str = ""
    faults: str = ""
    members: tuple[MemberRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with everything that was stored of it: its events, in order."""

    record: SessionRecord
    events: tuple[Event, ...]

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages that were sent in it, in order."""
        return tuple(
            event.carried for event in self.events if isinstance(event.action, Exchange | Send)
        )

    def diagram(self) -> pxp_fsm.diagrams.SequenceChart:
        """The session as a sequence chart."""
        record = self.record
        title, ending = f"Session {record.session}", record.ending or "not over"
        if record.channel:
            note = f"over {record.channel}; ended: {ending}"
            return pxp_fsm.diagrams.actions_chart(self.events, self.states, title=title, note=note)
        return pxp_fsm.diagrams.sequence_chart(
            self.history, title=title, note=f"{record.instance.key}; ended: {ending}"
        )

    @property
    def states(self) -> dict[str, str]:
        """The state of each member of a system after its events, by the tables that are stored."""
        live = LiveSystem(stored_system(self.record.members, self.record.channel))
        for event in self.events:
            live.take(event.action, event.message)
        return live.states


def stored_system(members: Sequence[MemberRecord], channel: str) -> System:
    """The system whose session was stored, by its tables; `TableError` where they are none."""
    tables = tuple(Member(member.name, stored_automaton(member.table)) for member in members)
    # A member alone, to which things happen, is not what a file of a system describes.
    kinds = {row.kind for member in tables for row in member.automaton.transitions}
    alone = len(tables) == 1 and kinds.isdisjoint((Kind.SEND, Kind.RECEIVE))
    return System(tables, parse_channel(channel), free_names=alone)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run's calls for one purpose to one model took; `dollars` is None if not known.

    Tokens and dollars are those that were billed: calls that the call cache answered cost nothing.
    `attempts` were sent, or about to be; `unsettled` ones have no known end, and count in full.
    """

    purpose: str
    model: str
    calls: int
    cached: int
    failed: int
    retries: int
    usage: Usage
    dollars: float | None
    seconds: float
    attempts: int = 0
    unsettled: int = 0


class Erasure(NamedTuple):
    """A session whose texts were erased: when, and how many texts and prompts there were."""

    session: str
    created: str
    texts: int
    prompts: int


SYSTEM = "system"
"""The protocol of a system's session, as its record names it."""


def own_run(session: str) -> str:
    """The run in which a session of one's own is: what its name begins with."""
    return session.partition("/")[0]


def session_record(
    session: Session, run: str, repetition: int = 1, position: int = 0
) -> SessionRecord:
    """What is recorded of `session`, in its place of `run`; position 0 is the next one there."""
    rules, agents = session.rules, session.agents
    if rules is None:
        return _system_record(session, run, repetition, position)
    table = canonical_json(rules.automaton) if len(agents) > 2 else ""
    about = rules.automaton.name, rules.automaton.fingerprint, table
    return SessionRecord(
        session=session.name,
        run=run,
        repetition=repetition,
        position=position,
        instance=session.instance,
        protocol=rules.name,
        n=rules.n,
        k=rules.k,
        automaton=rules.automaton.name,
        fingerprint=rules.automaton.fingerprint,
        memo=all(agent.memo for agent in agents.values()),
        assumptions=tuple(sorted(session.assumptions)),
        agents=tuple((agent_name, agent.describe()) for agent_name, agent in agents.items()),
        faults=session.taking_turns,
        members=tuple(
            MemberRecord(agent_name, *about, agent.describe())
            for agent_name, agent in agents.items()
            if table
        ),
    )


def _system_record(session: Session, run: str, repetition: int, position: int) -> SessionRecord:
    faults = session.faults.of(session.system.channel)
    members = tuple(
        MemberRecord(
            member.name,
            member.automaton.name,
            member.automaton.fingerprint,
            canonical_json(member.automaton),
            session.description(member.name),
        )
        for member in session.system.members
    )
    return SessionRecord(
        session=session.name,
        run=run,
        repetition=repetition,
        position=position,
        instance=session.instance,
        protocol=SYSTEM,
        n=None,
        k=None,
        automaton=session.system.name,
        fingerprint=session.system.fingerprint,
        memo=False,
        assumptions=(),
        agents=tuple((member.name, member.description) for member in members[:2]),
        channel=session.system.channel.name,
        faults=", ".join(filter(None, (f"seed {session.seed}", faults))),
        members=members,
    )


def check_same(stored: SessionRecord, now: SessionRecord) -> None:
    """Raise `UsageError` where a session would be resumed as another one than was stored."""
    parts = [
        ("protocol", stored.protocol, now.protocol),
        ("bounds n and k", (stored.n, stored.k), (now.n, now.k)),
        ("instance", stored.instance, now.instance),
        ("system" if now.members else "table", stored.automaton, now.automaton),
        ("table", stored.fingerprint, now.fingerprint),
        ("channel", stored.channel, now.channel),
        ("faults", stored.faults, now.faults),
        ("members", [name for name, _ in _members(stored)], [name for name, _ in _members(now)]),
        *(
            (f"member {name}", was, would)
            for (name, was), (_, would) in zip(_members(stored), _members(now), strict=False)
        ),
    ]
    for aspect, before, after in parts:
        if before != after:
            raise UsageError(
                f"session {stored.session} cannot be resumed: its {aspect} was "
                f"{quoted(before, 200)}, and would now be {quoted(after, 200)}"
            )


def _members(record: SessionRecord) -> list[tuple[str, str]]:
    return [(member.name, member.description) for member in record.members] or list(record.agents)


ORIGIN = "origin"
"""The key under which the plan of a run says what its sessions carry on."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Message (or action) `number` of the stored `session`; 0 is before its first.

    >>> Origin.read("drug-1/1/3@2")
    Origin(session='drug-1/1/3', number=2)
    """

    session: str
    number: int

    def __str__(self) -> str:
        return f"{self.session}@{self.number}"

    @staticmethod
    def read(text: str) -> Origin:
        """The origin that `SESSION@NUMBER` means; `UsageError` where it means none."""
        session, _, number = text.rpartition("@")
        if not session or not number.isascii() or not number.isdigit() or len(number) > 9:
            raise UsageError(f"{quoted(text)} is no message of a session; write drug-1/1/3@2")
        return Origin(session, int(number))

    @property
    def in_plan(self) -> dict[str, dict[str, str | int]]:
        """What is stored of it in the plan of a run."""
        return {ORIGIN: asdict(self)}


def origin_of(plan: str) -> Origin | None:
    """What the sessions of a run with this stored plan carry on; None where they carry on none."""
    try:
        origin = json.loads(plan).get(ORIGIN)
        session, number = origin["session"], origin["number"]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    fits = isinstance(session, str) and type(number) is int and number >= 0
    return Origin(session, number) if fits else None
