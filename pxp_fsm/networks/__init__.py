"""Networks of LLM agents (LANs), which run and are trained from few examples (EasyLAN)."""

from pxp_fsm.networks.distance.costs import operations, text_cost
from pxp_fsm.networks.distance.lmd import network_distance
from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.network import Agent, Control, Network
from pxp_fsm.networks.model.operations import Connect, Create
from pxp_fsm.networks.training.developer import (
    Act,
    Choice,
    Confirms,
    Continuation,
    Developer,
    RegressionChoice,
    StepView,
)
from pxp_fsm.networks.training.pipeline import Limits, Trainer
from pxp_fsm.networks.training.progress import Example
from pxp_fsm.networks.training.supervision import Agreement, Supervision

__all__ = [
    "Act",
    "Agent",
    "Agreement",
    "Choice",
    "Confirms",
    "Connect",
    "Continuation",
    "Control",
    "Create",
    "Developer",
    "Example",
    "Lan",
    "Limits",
    "Network",
    "RegressionChoice",
    "StepView",
    "Supervision",
    "Trainer",
    "network_distance",
    "operations",
    "text_cost",
]
