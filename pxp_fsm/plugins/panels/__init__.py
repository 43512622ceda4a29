"""Panels: INTERACT and PXP among several agents, in a channel for each two of them."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.panels.board import PanelBoard as PanelBoard
    from pxp_fsm.plugins.panels.board import PanelLayout as PanelLayout
    from pxp_fsm.plugins.panels.panel import Panel as Panel
    from pxp_fsm.plugins.panels.policy import PanelPolicy as PanelPolicy
    from pxp_fsm.plugins.panels.verdicts import verdicts_of as verdicts_of

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.panels.board": "PanelBoard PanelLayout",
        "pxp_fsm.plugins.panels.panel": "Panel",
        "pxp_fsm.plugins.panels.policy": "PanelPolicy",
        "pxp_fsm.plugins.panels.verdicts": "verdicts_of",
    },
)
