"""Experiments: plans, runs, statistics and reports."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from pxp_fsm.experiments.forks import fork as fork
    from pxp_fsm.experiments.intervals import Interval as Interval
    from pxp_fsm.experiments.intervals import estimate as estimate
    from pxp_fsm.experiments.intervals import wilson as wilson
    from pxp_fsm.experiments.networks.scoring import scored as scored
    from pxp_fsm.experiments.networks.tasks import LanTask as LanTask
    from pxp_fsm.experiments.networks.tasks import load_task as load_task
    from pxp_fsm.experiments.plans import Plan as Plan
    from pxp_fsm.experiments.runs import run as run

__getattr__, __dir__ = door(globals())
