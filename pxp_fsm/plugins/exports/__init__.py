"""Tables and systems in the formats of other tools, and tables from them."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from proofs.export.traces import TRACE_FORMATS as TRACE_FORMATS
    from proofs.export.traces import Walk as Walk
    from proofs.export.traces import export_trace as export_trace
    from pxp_fsm.automata.serialization import to_json as to_json
    from pxp_fsm.automata.serialization import to_toml as to_toml
    from pxp_fsm.plugins.exports.prism import to_prism as to_prism
    from pxp_fsm.plugins.exports.promela import to_promela as to_promela
    from pxp_fsm.plugins.exports.scxml import from_scxml as from_scxml
    from pxp_fsm.plugins.exports.scxml import to_scxml as to_scxml
    from pxp_fsm.plugins.exports.smv import to_smv as to_smv
    from pxp_fsm.plugins.exports.syntax import WrittenFiles as WrittenFiles
    from pxp_fsm.plugins.exports.tla import to_tla as to_tla

__getattr__, __dir__ = attach(
    globals(),
    {
        "proofs.export.traces": "TRACE_FORMATS Walk export_trace",
        "pxp_fsm.automata.serialization": "to_json to_toml",
        "pxp_fsm.plugins.exports.prism": "to_prism",
        "pxp_fsm.plugins.exports.promela": "to_promela",
        "pxp_fsm.plugins.exports.scxml": "from_scxml to_scxml",
        "pxp_fsm.plugins.exports.smv": "to_smv",
        "pxp_fsm.plugins.exports.syntax": "WrittenFiles",
        "pxp_fsm.plugins.exports.tla": "to_tla",
    },
)
