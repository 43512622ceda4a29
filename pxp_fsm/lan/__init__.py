"""Networks of LLM agents (LANs), run and trained from few examples (EasyLAN)."""

from pxp_fsm.lan.developer import Act, Choice, Developer, Onward, RegressionChoice, StepView
from pxp_fsm.lan.lan import Lan
from pxp_fsm.lan.network import Agent, Control, Network
from pxp_fsm.lan.pipeline import Example, Limits, Trainer
from pxp_fsm.lan.supervision import Supervision

__all__ = [
    "Act",
    "Agent",
    "Choice",
    "Control",
    "Developer",
    "Example",
    "Lan",
    "Limits",
    "Network",
    "Onward",
    "RegressionChoice",
    "StepView",
    "Supervision",
    "Trainer",
]
