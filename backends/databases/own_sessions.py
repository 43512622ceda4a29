"""The record of a session that a program of one's own holds, outside of any plan."""

from __future__ import annotations

from backends.databases.records import SessionRecord
from pxp_fsm.sessions.session import Session


def own_record(session: Session, run: str, position: int) -> SessionRecord:
    """What is recorded of `session`, in the place `position` of `run`."""
    rules, agents = session.rules, session.agents
    return SessionRecord(
        session=session.name,
        run=run,
        repetition=1,
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
