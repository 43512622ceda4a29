"""Panels: INTERACT and PXP among several agents, in a channel for each two of them."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.panels.board import PanelBoard as PanelBoard
    from pxp_fsm.plugins.panels.board import PanelLayout as PanelLayout
    from pxp_fsm.plugins.panels.forks import TurnChange as TurnChange
    from pxp_fsm.plugins.panels.panel import Panel as Panel
    from pxp_fsm.plugins.panels.policy import PanelPolicy as PanelPolicy
    from pxp_fsm.plugins.panels.sql import stored_verdicts as stored_verdicts
    from pxp_fsm.plugins.panels.verdicts import agent_classes as agent_classes
    from pxp_fsm.plugins.panels.verdicts import directions as directions
    from pxp_fsm.plugins.panels.verdicts import first_correct as first_correct
    from pxp_fsm.plugins.panels.verdicts import overview_of as overview_of
    from pxp_fsm.plugins.panels.verdicts import persuasions as persuasions
    from pxp_fsm.plugins.panels.verdicts import verdicts_of as verdicts_of
    from pxp_fsm.plugins.panels.verdicts import window_start as window_start

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.panels.board": "PanelBoard PanelLayout",
        "pxp_fsm.plugins.panels.forks": "TurnChange",
        "pxp_fsm.plugins.panels.panel": "Panel",
        "pxp_fsm.plugins.panels.policy": "PanelPolicy",
        "pxp_fsm.plugins.panels.sql": "stored_verdicts",
        "pxp_fsm.plugins.panels.verdicts": (
            "agent_classes directions first_correct overview_of persuasions verdicts_of "
            "window_start"
        ),
    },
)
