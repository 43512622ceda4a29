"""Networks of LLM agents (LANs), which run and are trained from few examples (EasyLAN)."""

from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.network import Agent, Control, Network
from pxp_fsm.networks.training.developer import (
    Act,
    Choice,
    Developer,
    Onward,
    RegressionChoice,
    StepView,
)
from pxp_fsm.networks.training.pipeline import Example, Limits, Trainer
from pxp_fsm.networks.training.supervision import Supervision

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
