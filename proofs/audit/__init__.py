"""The audit of a recorded session: what no correct agent, or no sound judge, could have done."""

from proofs.audit.findings import (
    AuditedMessage,
    AuditedSession,
    AuditFinding,
    FindingKind,
    Possible,
)
from proofs.audit.sessions import Audited, audited

__all__ = [
    "AuditFinding",
    "Audited",
    "AuditedMessage",
    "AuditedSession",
    "FindingKind",
    "Possible",
    "audited",
]
