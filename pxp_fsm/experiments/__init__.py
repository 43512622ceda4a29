"""Experiments: plans, runs, statistics and reports."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from pxp_fsm.experiments.forks import fork as fork
    from pxp_fsm.experiments.plans import Plan as Plan
    from pxp_fsm.experiments.runs import run as run
    from pxp_fsm.experiments.statistics import Interval as Interval
    from pxp_fsm.experiments.statistics import estimate as estimate
    from pxp_fsm.experiments.statistics import wilson as wilson

__getattr__, __dir__ = door(globals())
