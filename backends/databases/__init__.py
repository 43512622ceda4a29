"""The blackboard on SQLite and PostgreSQL: append-only and verifiable."""

from backends.databases.blackboard import SqlBlackboard
from backends.databases.calls import (
    CallsOf,
    RecordedCall,
    SessionUsage,
    calls_of_session,
    usage_of_sessions,
)
from backends.databases.origins import Origin, origin_of
from backends.databases.proxy import Proxy
from backends.databases.records import (
    FAULTS,
    Cost,
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
