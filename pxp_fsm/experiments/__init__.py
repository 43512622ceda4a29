"""Experiments: plans, runs, statistics and reports."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.experiments.drawings import session_diagram as session_diagram
    from pxp_fsm.experiments.forks import fork as fork
    from pxp_fsm.experiments.plans import Plan as Plan
    from pxp_fsm.experiments.runs import run as run
    from pxp_fsm.experiments.statistics import Interval as Interval
    from pxp_fsm.experiments.statistics import estimate as estimate
    from pxp_fsm.experiments.statistics import wilson as wilson

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.experiments.drawings": "session_diagram",
        "pxp_fsm.experiments.forks": "fork",
        "pxp_fsm.experiments.plans": "Plan",
        "pxp_fsm.experiments.runs": "run",
        "pxp_fsm.experiments.statistics": "Interval estimate wilson",
    },
)
