"""The blackboard on SQLite and PostgreSQL: append-only and verifiable."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from backends.databases.blackboard import Proxy as Proxy
    from backends.databases.blackboard import SqlBlackboard as SqlBlackboard
    from backends.databases.calls import CallsOf as CallsOf
    from backends.databases.calls import RecordedCall as RecordedCall
    from backends.databases.calls import SessionUsage as SessionUsage
    from backends.databases.calls import calls_of_session as calls_of_session
    from backends.databases.calls import calls_of_sessions as calls_of_sessions
    from backends.databases.calls import usage_of_sessions as usage_of_sessions
    from backends.databases.records import FAULTS as FAULTS
    from backends.databases.records import Cost as Cost
    from backends.databases.records import Origin as Origin
    from backends.databases.records import RunRecord as RunRecord
    from backends.databases.records import RunSummary as RunSummary
    from backends.databases.records import SessionLine as SessionLine
    from backends.databases.records import SessionRecord as SessionRecord
    from backends.databases.records import StoredSession as StoredSession
    from backends.databases.records import origin_of as origin_of

__getattr__, __dir__ = attach(
    globals(),
    {
        "backends.databases.blackboard": "Proxy SqlBlackboard",
        "backends.databases.calls": "CallsOf RecordedCall SessionUsage calls_of_session "
        "calls_of_sessions usage_of_sessions",
        "backends.databases.records": "FAULTS Cost Origin RunRecord RunSummary SessionLine "
        "SessionRecord StoredSession origin_of",
    },
)
