"""The blackboard on SQLite and PostgreSQL: stored once, never changed, verifiable."""

from backends.databases.blackboard import SqlBlackboard
from backends.databases.records import RunRecord, RunSummary, SessionRecord, StoredSession

__all__ = ["RunRecord", "RunSummary", "SessionRecord", "SqlBlackboard", "StoredSession"]
