"""Stored sessions as what is explored: the system that they followed, and what happened in it."""

from __future__ import annotations

from backends.databases import FAULTS, SqlBlackboard, StoredSession
from backends.databases.records import stored_system
from proofs.systems import Composition
from proofs.systems.paths import states_along
from pxp_fsm.automata.actions import Exchange, External, SystemAction
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import builtin
from pxp_fsm.experiments.drawings import check_table
from pxp_fsm.sessions.session import CLOSE
from pxp_fsm.web.subjects import Subject, subject_of


def subject_recorded(session: str, database: str) -> Subject:
    """The system of a stored session, with what happened in it as the trace.

    Raises `NotThere` where there is no such session, `UsageError` where its table was another one.
    """
    with SqlBlackboard(database, create=False) as board:
        stored = board.session(session)
    if stored.record.channel:
        system = stored_system(stored.record.members, stored.record.channel)
        return subject_of(system, (), (one.action for one in stored.actions))
    return _of_protocol(stored)


def _of_protocol(stored: StoredSession) -> Subject:
    """A session of INTERACT or PXP: each message is sent and received in one step."""
    record = stored.record
    check_table(record)
    table = builtin(record.automaton)
    system = System(tuple(Member(name, table) for name, _ in record.agents))
    actions: list[SystemAction] = [
        Exchange(one.sender, one.receiver, one.tag) for one in stored.history
    ]
    subject, close = subject_of(system, (), actions), External(CLOSE)
    if record.ending is None or record.ending in FAULTS:
        return subject
    composition = Composition(system)
    here = states_along(composition, subject.choices)[-1]
    if any(move.action == close for move in composition.moves(here)):
        return subject_of(system, (), [*actions, close])  # the schedule closed it
    return subject
