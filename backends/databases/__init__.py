"""The blackboard on SQLite and PostgreSQL: append-only and verifiable."""

from backends.databases.blackboard import Proxy, SqlBlackboard
from backends.databases.calls import (
    CallsOf,
    RecordedCall,
    SessionUsage,
    calls_of_session,
    usage_of_sessions,
)
from backends.databases.records import (
    FAULTS,
    Cost,
    Origin,
    RunRecord,
    RunSummary,
    SessionLine,
    SessionRecord,
    StoredSession,
    origin_of,
)

__all__ = [
    "FAULTS",
    "CallsOf",
    "Cost",
    "Origin",
    "Proxy",
    "RecordedCall",
    "RunRecord",
    "RunSummary",
    "SessionLine",
    "SessionRecord",
    "SessionUsage",
    "SqlBlackboard",
    "StoredSession",
    "calls_of_session",
    "origin_of",
    "usage_of_sessions",
]
