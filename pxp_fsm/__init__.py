"""pxp-fsm: state machines for protocols between agents that predict and explain.

`import pxp_fsm as pxp` is the one door: each of its names is loaded when it is first used, and so
is each of the rooms behind it (`pxp.guards`, `pxp.models`, ...), which have further names.
"""

from __future__ import annotations

from importlib import import_module

from pxp_fsm.lazy import attach

__version__ = "0.1.0"

TYPE_CHECKING = False  # `typing` takes longer to load than all else here
if TYPE_CHECKING:
    from typing import Any

    import guards as guards
    import proofs as proofs
    from backends import databases as databases
    from backends import models as models
    from backends.databases.blackboard import open_blackboard as open_blackboard
    from guards.text import exact as exact
    from guards.text import normalised_text as normalised_text
    from proofs import logic as logic
    from proofs.check import check as check
    from proofs.check import prove as prove
    from proofs.compare import compare as compare
    from proofs.core.results import Result as Result
    from pxp_fsm import diagrams as diagrams
    from pxp_fsm import experiments as experiments
    from pxp_fsm import registry as registry
    from pxp_fsm import tasks as tasks
    from pxp_fsm.analysis import audits as audits
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
    from pxp_fsm.sessions.events import Event as Event
    from pxp_fsm.sessions.events import Faults as Faults
    from pxp_fsm.sessions.functions import respondent as respondent
    from pxp_fsm.sessions.machine import Machine as Machine
    from pxp_fsm.sessions.session import Session as Session

if TYPE_CHECKING:  # the names of our plug-ins, which the registry loads
    from pxp_fsm.plugins import conformance as conformance
    from pxp_fsm.plugins import drug as drug
    from pxp_fsm.plugins import easylan as networks  # noqa: F401 - by the name that the face gives it
    from pxp_fsm.plugins import exports as exports
    from pxp_fsm.plugins import panels as panels
    from pxp_fsm.plugins import rad as rad
    from pxp_fsm.plugins import scribble as scribble
    from pxp_fsm.plugins import studies as studies
    from pxp_fsm.plugins.languages.operands import language as language
    from pxp_fsm.plugins.odds.rationals import odds as odds
    from pxp_fsm.plugins.panels.panel import Panel as Panel

_load, _names = attach(
    globals(),
    {
        "backends.databases.blackboard": "open_blackboard",
        "guards.text": "exact normalised_text",
        "proofs.check": "check prove",
        "proofs.compare": "compare",
        "proofs.core.results": "Result",
        "pxp_fsm.automata.automaton": "Automaton",
        "pxp_fsm.automata.system": "System",
        "pxp_fsm.automata.tables": "build_automaton load_automaton",
        "pxp_fsm.diagrams.notebook": "draw",
        "pxp_fsm.errors": "NoAnswer PXPError",
        "pxp_fsm.experiments.plans": "Plan",
        "pxp_fsm.experiments.runs": "run",
        "pxp_fsm.protocol.intelligibility": "classify",
        "pxp_fsm.protocol.messages": "Answer Instance Message Question",
        "pxp_fsm.protocol.rules": "Interact Pxp",
        "pxp_fsm.protocol.situation": "Derived",
        "pxp_fsm.sessions.actors": "Actor Intent Turn",
        "pxp_fsm.sessions.agent": "Agent",
        "pxp_fsm.sessions.events": "Event Faults",
        "pxp_fsm.sessions.functions": "respondent",
        "pxp_fsm.sessions.machine": "Machine",
        "pxp_fsm.sessions.session": "Session",
    },
    {
        "guards": "guards",
        "proofs": "proofs",
        "databases": "backends.databases",
        "models": "backends.models",
        "logic": "proofs.logic",
        "diagrams": "pxp_fsm.diagrams",
        "experiments": "pxp_fsm.experiments",
        "registry": "pxp_fsm.registry",
        "tasks": "pxp_fsm.tasks",
        "audits": "pxp_fsm.analysis.audits",
    },
)


def __dir__() -> list[str]:
    return sorted({*_names(), *_plugged()})


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_load(name), *_plugged()]
    if name.startswith("_") or name in _names():
        value = _load(name)
    elif where := _registry().contribution("names", name):
        value = globals()[name] = _registry().load(where)
    else:
        value = _load(name)
    if name != "registry":  # which what is imported there imports
        import_module("pxp_fsm.diagrams.notebook")  # automata and sessions can show themselves
    return value


def _plugged() -> dict[str, str]:
    """Where the names are that plug-ins add."""
    names: dict[str, str] = _registry().contributions("names")
    return names


def _registry() -> Any:
    """The registry, which takes longer to import than all else here."""
    return import_module("pxp_fsm.registry")
