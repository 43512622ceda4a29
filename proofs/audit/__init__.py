"""The audit of a recorded session: what of it no correct agent, or no good judge, can have done."""

from proofs.audit.auditing import Audited, audited
from proofs.audit.findings import Finding, Kind, Possible
from proofs.audit.recording import Judged, Recording, Said

__all__ = ["Audited", "Finding", "Judged", "Kind", "Possible", "Recording", "Said", "audited"]
