"""The audit of a recorded session: what no correct agent, or no sound judge, could have done."""

from proofs.audit.findings import Finding, Judged, Kind, Possible, Recording, Said
from proofs.audit.sessions import Audited, audited

__all__ = ["Audited", "Finding", "Judged", "Kind", "Possible", "Recording", "Said", "audited"]
