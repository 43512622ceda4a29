"""pxp-fsm: state machines for protocols between agents that predict and explain.

`import pxp_fsm as pxp` is the one door: each of its names is loaded when it is first used, and so
is each of the rooms behind it (`pxp.guards`, `pxp.models`, ...), which have further names.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from pxp_fsm.doors import door

if TYPE_CHECKING:
    import guards as guards
    import proofs as proofs
    from backends import databases as databases
    from backends import models as models
    from backends.databases.blackboard import open_blackboard as open_blackboard
    from guards.relations.text import exact as exact
    from guards.relations.text import normalised_text as normalised_text
    from proofs import conformance as conformance
    from proofs import export as export
    from proofs import logic as logic
    from proofs.checks import check as check
    from proofs.checks import prove as prove
    from proofs.core.results import Result as Result
    from proofs.probability.exact import odds as odds
    from pxp_fsm import diagrams as diagrams
    from pxp_fsm import experiments as experiments
    from pxp_fsm import networks as networks
    from pxp_fsm import studies as studies
    from pxp_fsm import tasks as tasks
    from pxp_fsm.analysis import audits as audits
    from pxp_fsm.analysis.languages.operands import language as language
    from pxp_fsm.automata.automaton import Automaton as Automaton
    from pxp_fsm.automata.system import System as System
    from pxp_fsm.automata.tables import build_automaton as build_automaton
    from pxp_fsm.automata.tables import load_automaton as load_automaton
    from pxp_fsm.diagrams.notebook import draw as draw
    from pxp_fsm.errors import NoAnswer as NoAnswer
    from pxp_fsm.errors import PXPError as PXPError
    from pxp_fsm.experiments.plans import Plan as Plan
    from pxp_fsm.experiments.runs import run as run
    from pxp_fsm.protocol.intelligibility import classify as classify
    from pxp_fsm.protocol.messages import Answer as Answer
    from pxp_fsm.protocol.messages import Instance as Instance
    from pxp_fsm.protocol.messages import Message as Message
    from pxp_fsm.protocol.messages import Question as Question
    from pxp_fsm.protocol.rules import Interact as Interact
    from pxp_fsm.protocol.rules import Pxp as Pxp
    from pxp_fsm.protocol.situation import Derived as Derived
    from pxp_fsm.sessions.actors import Actor as Actor
    from pxp_fsm.sessions.actors import Intent as Intent
    from pxp_fsm.sessions.actors import Turn as Turn
    from pxp_fsm.sessions.agent import Agent as Agent
    from pxp_fsm.sessions.channel import Channel as Channel
    from pxp_fsm.sessions.functions import respondent as respondent
    from pxp_fsm.sessions.machine import Machine as Machine
    from pxp_fsm.sessions.occurrences import Faults as Faults
    from pxp_fsm.sessions.opening import Session as Session

try:
    __version__ = version("pxp-fsm")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

_load, __dir__ = door(globals())


def __getattr__(name: str) -> Any:
    value = _load(name)
    if name != "__all__":
        import_module("pxp_fsm.diagrams.notebook")  # automata and sessions can show themselves
    return value
