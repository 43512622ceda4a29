"""Tables and systems in the formats of other tools, and tables from them."""

from proofs.export.prism import to_prism
from proofs.export.promela import to_promela
from proofs.export.scxml import from_scxml, to_scxml
from proofs.export.smv import to_smv
from proofs.export.syntax import Written
from proofs.export.tla import to_tla
from proofs.export.traces import TRACE_FORMATS, Walk, export_trace
from pxp_fsm.automata.serialization import to_json, to_toml

__all__ = [
    "TRACE_FORMATS",
    "Walk",
    "Written",
    "export_trace",
    "from_scxml",
    "to_json",
    "to_prism",
    "to_promela",
    "to_scxml",
    "to_smv",
    "to_tla",
    "to_toml",
]
