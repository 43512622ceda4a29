"""Analysis of recordings: audits, monitors, counterexamples, files of other tools."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.analysis import audits as audits
    from pxp_fsm.analysis import counterexamples as counterexamples

__getattr__, __dir__ = attach(
    globals(),
    {},
    {
        "audits": "pxp_fsm.analysis.audits",
        "counterexamples": "pxp_fsm.analysis.counterexamples",
    },
)
