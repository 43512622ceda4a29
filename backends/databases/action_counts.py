"""Counts of the actions in the sessions of systems, for reports: none of their texts is read."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import text

from backends.databases.blackboard import SqlBlackboard
from pxp_fsm.automata.actions import ActionRecord


def action_counts(board: SqlBlackboard, run: str) -> dict[ActionRecord, int]:
    """How often each action happened in the sessions of `run`, in alphabetical order."""
    found = board.read(lambda connection: connection.execute(_COUNTS, {"run": run}).all())
    return {ActionRecord(*words): times for *words, times in found}


def durations(board: SqlBlackboard, run: str) -> dict[str, float]:
    """Seconds from the opening of each session to its last action; what one waited is in them."""
    found = board.read(lambda connection: connection.execute(_TIMES, {"run": run}).all())
    return {session: _seconds(begun, latest) for session, begun, latest in found}


def _seconds(begun: str, latest: str) -> float:
    elapsed = datetime.fromisoformat(latest) - datetime.fromisoformat(begun)
    return max(0.0, elapsed.total_seconds())


_COUNTS = text(
    """
    SELECT kind, member, partner, label, guard, COUNT(*)
    FROM actions JOIN sessions ON sessions.session = actions.session
    WHERE sessions.run = :run
    GROUP BY kind, member, partner, label, guard
    ORDER BY kind, member, partner, label, guard
    """
)

_TIMES = text(
    """
    SELECT sessions.session, sessions.created, MAX(actions.created)
    FROM actions JOIN sessions ON sessions.session = actions.session
    WHERE sessions.run = :run
    GROUP BY sessions.session, sessions.created
    """
)
