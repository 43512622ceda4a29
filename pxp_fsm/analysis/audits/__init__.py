"""Audits of recorded sessions: databases and the published code's own files, as text and pages."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.analysis.audits.records import AuditReport as AuditReport
    from pxp_fsm.analysis.audits.records import audit_database as audit_database
    from pxp_fsm.analysis.audits.records import audit_published as audit_published

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.analysis.audits.records": "AuditReport audit_database audit_published",
    },
)
