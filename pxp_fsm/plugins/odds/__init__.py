"""Probabilities of the outcomes of INTERACT, where each agent's judgements are random."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.odds.behaviour import Behaviour as Behaviour
    from pxp_fsm.plugins.odds.behaviour import Player as Player
    from pxp_fsm.plugins.odds.rationals import exact as exact
    from pxp_fsm.plugins.odds.rationals import lengths as lengths
    from pxp_fsm.plugins.odds.results import Odds as Odds

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.odds.behaviour": "Behaviour Player",
        "pxp_fsm.plugins.odds.rationals": "exact lengths",
        "pxp_fsm.plugins.odds.results": "Odds",
    },
)
