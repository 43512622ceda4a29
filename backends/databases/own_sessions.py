"""The records of sessions: of a plan's, of those that a program of one's own holds, of systems'."""

from __future__ import annotations

from backends.databases.records import MemberRecord, SessionRecord
from pxp_fsm.automata.serialization import canonical_json
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.sessions.session import Session
from pxp_fsm.sessions.system_session import SystemSession

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
        agents=tuple((each, agent.describe()) for each, agent in agents.items()),
    )


def system_record(
    session: SystemSession, run: str, repetition: int = 1, position: int = 0
) -> SessionRecord:
    """What is recorded of a system's `session`, in its place of `run`."""
    members = tuple(
        MemberRecord(
            one.name,
            one.automaton.name,
            one.automaton.fingerprint,
            canonical_json(one.automaton),
            session.description(one.name),
        )
        for one in session.system.members
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
        agents=tuple((one.name, one.description) for one in members[:2]),
        channel=session.system.channel.name,
        faults=f"seed {session.seed}, {session.faults}",
        members=members,
    )


def check_same(stored: SessionRecord, now: SessionRecord) -> None:
    """Raise `UsageError` where a session would be resumed as another one than was stored."""
    parts = [
        ("protocol", stored.protocol, now.protocol),
        ("bounds n and k", (stored.n, stored.k), (now.n, now.k)),
        ("instance", stored.instance, now.instance),
        ("table", stored.fingerprint, now.fingerprint),
        ("channel", stored.channel, now.channel),
        ("faults", stored.faults, now.faults),
        ("members", [name for name, _ in _members(stored)], [name for name, _ in _members(now)]),
        *(
            (f"member {name}", was, would)
            for (name, was), (_, would) in zip(_members(stored), _members(now), strict=False)
        ),
    ]
    for what, before, after in parts:
        if before != after:
            raise UsageError(
                f"session {stored.session} cannot be resumed: its {what} was "
                f"{quoted(before, 200)}, and would now be {quoted(after, 200)}"
            )


def _members(record: SessionRecord) -> list[tuple[str, str]]:
    return [(one.name, one.description) for one in record.members] or list(record.agents)
