"""The audit of a recorded session: what of it no correct agent, or no good judge, can have done."""

from proofs.audit.findings import Finding, Judged, Kind, Possible, Recording, Said
from proofs.audit.sessions import Audited, audited

__all__ = ["Audited", "Finding", "Judged", "Kind", "Possible", "Recording", "Said", "audited"]
