"""The blackboard on SQLite and PostgreSQL: stored once, never changed, verifiable."""

from backends.databases.blackboard import SqlBlackboard
from backends.databases.calls import CallsOf, Cost
from backends.databases.records import (
    FAULTS,
    RunRecord,
    RunSummary,
    SessionLine,
    SessionRecord,
    StoredSession,
)

__all__ = [
    "FAULTS",
    "CallsOf",
    "Cost",
    "RunRecord",
    "RunSummary",
    "SessionLine",
    "SessionRecord",
    "SqlBlackboard",
    "StoredSession",
]
