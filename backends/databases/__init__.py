"""The blackboard on SQLite, and through SQLAlchemy's URLs on other databases."""

from backends.databases.blackboard import SqlBlackboard
from backends.databases.records import RunRecord, SessionRecord, StoredSession

__all__ = ["RunRecord", "SessionRecord", "SqlBlackboard", "StoredSession"]
