"""pxp-fsm: state machines for protocols between agents that predict and explain.

`import pxp_fsm as pxp` is the one door: each of its names is loaded when it is first used.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and completion, the same names as in _MODULES
    from backends.databases.blackboard import open_blackboard as open_blackboard
    from guards.text import exact as exact
    from guards.text import normalised_text as normalised_text
    from proofs.checks import check as check
    from proofs.checks import prove as prove
    from proofs.odds.exact import odds as odds
    from proofs.systems.wiring import System as System
    from proofs.verdicts import Result as Result
    from pxp_fsm.agent import Agent as Agent
    from pxp_fsm.automaton import Automaton as Automaton
    from pxp_fsm.channel import Channel as Channel
    from pxp_fsm.diagrams.notebook import draw as draw
    from pxp_fsm.errors import NoAnswer as NoAnswer
    from pxp_fsm.errors import PXPError as PXPError
    from pxp_fsm.functions import respondent as respondent
    from pxp_fsm.intelligibility import classify as classify
    from pxp_fsm.machine import Machine as Machine
    from pxp_fsm.messages import Answer as Answer
    from pxp_fsm.messages import Instance as Instance
    from pxp_fsm.messages import Message as Message
    from pxp_fsm.messages import Question as Question
    from pxp_fsm.rules import Interact as Interact
    from pxp_fsm.rules import Pxp as Pxp
    from pxp_fsm.session import Session as Session
    from pxp_fsm.situation import Derived as Derived
    from pxp_fsm.tables import build_automaton as build_automaton
    from pxp_fsm.tables import load_automaton as load_automaton
    from pxp_fsm.workbench.operands import language as language
    from pxp_fsm.workbench.plans import Plan as Plan
    from pxp_fsm.workbench.runs import run as run

try:
    __version__ = version("pxp-fsm")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

_MODULES = {
    "Agent": "pxp_fsm.agent",
    "Answer": "pxp_fsm.messages",
    "Automaton": "pxp_fsm.automaton",
    "Channel": "pxp_fsm.channel",
    "Derived": "pxp_fsm.situation",
    "Instance": "pxp_fsm.messages",
    "Interact": "pxp_fsm.rules",
    "Machine": "pxp_fsm.machine",
    "Message": "pxp_fsm.messages",
    "NoAnswer": "pxp_fsm.errors",
    "PXPError": "pxp_fsm.errors",
    "Plan": "pxp_fsm.workbench.plans",
    "Pxp": "pxp_fsm.rules",
    "Question": "pxp_fsm.messages",
    "Result": "proofs.verdicts",
    "Session": "pxp_fsm.session",
    "System": "proofs.systems.wiring",
    "build_automaton": "pxp_fsm.tables",
    "check": "proofs.checks",
    "classify": "pxp_fsm.intelligibility",
    "draw": "pxp_fsm.diagrams.notebook",
    "exact": "guards.text",
    "language": "pxp_fsm.workbench.operands",
    "load_automaton": "pxp_fsm.tables",
    "normalised_text": "guards.text",
    "odds": "proofs.odds.exact",
    "open_blackboard": "backends.databases.blackboard",
    "prove": "proofs.checks",
    "respondent": "pxp_fsm.functions",
    "run": "pxp_fsm.workbench.runs",
}
"""The public names, and the module that each is in."""

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("pxp_fsm.diagrams.notebook")  # automata and sessions can show themselves
    globals()[name] = value = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
