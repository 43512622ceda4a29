"""Networks of LLM agents (LANs), which run and are trained from few examples (EasyLAN)."""

from pxp_fsm.networks.distance.costs import operations, text_cost
from pxp_fsm.networks.distance.lmd import network_distance
from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.files import draft_faults
from pxp_fsm.networks.model.history import Conflict
from pxp_fsm.networks.model.network import Agent, Control, Network
from pxp_fsm.networks.model.operations import Connect, Create
from pxp_fsm.networks.serialization import response_from_json, to_json
from pxp_fsm.networks.training.developer import (
    Act,
    Choice,
    Confirms,
    Continuation,
    Developer,
    Judged,
    Question,
    RegressionChoice,
    StepView,
)
from pxp_fsm.networks.training.pipeline import Limits, Trainer
from pxp_fsm.networks.training.progress import Example
from pxp_fsm.networks.training.questions import NotAsked, Remote
from pxp_fsm.networks.training.supervision import Agreement, Supervision

__all__ = [
    "Act",
    "Agent",
    "Agreement",
    "Choice",
    "Confirms",
    "Conflict",
    "Connect",
    "Continuation",
    "Control",
    "Create",
    "Developer",
    "Example",
    "Judged",
    "Lan",
    "Limits",
    "Network",
    "NotAsked",
    "Question",
    "RegressionChoice",
    "Remote",
    "StepView",
    "Supervision",
    "Trainer",
    "draft_faults",
    "network_distance",
    "operations",
    "response_from_json",
    "text_cost",
    "to_json",
]
