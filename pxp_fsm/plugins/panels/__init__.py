"""Panels: INTERACT and PXP among several agents, in a channel for each two of them."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.panels.board import Layout as Layout
    from pxp_fsm.plugins.panels.board import PanelBoard as PanelBoard
    from pxp_fsm.plugins.panels.panel import Panel as Panel
    from pxp_fsm.plugins.panels.policy import PanelPolicy as PanelPolicy

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.panels.board": "PanelBoard Layout",
        "pxp_fsm.plugins.panels.panel": "Panel",
        "pxp_fsm.plugins.panels.policy": "PanelPolicy",
    },
)
