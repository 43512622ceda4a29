"""The audit of a recorded session: what no correct agent, or no sound judge, could have done."""

from proofs.audit.findings import AuditedMessage, Finding, Judged, Kind, Possible, Recording
from proofs.audit.sessions import Audited, audited

__all__ = [
    "Audited",
    "AuditedMessage",
    "Finding",
    "Judged",
    "Kind",
    "Possible",
    "Recording",
    "audited",
]
