"""The blackboard on SQLite and PostgreSQL: stored once, never changed, verifiable."""

from backends.databases.blackboard import SqlBlackboard
from backends.databases.records import (
    FAULTS,
    RunRecord,
    RunSummary,
    SessionRecord,
    StoredSession,
)

__all__ = [
    "FAULTS",
    "RunRecord",
    "RunSummary",
    "SessionRecord",
    "SqlBlackboard",
    "StoredSession",
]
