"""pxp-fsm: state machines for protocols between agents that predict and explain.

`import pxp_fsm as pxp` is the one door: each of its names is loaded when it is first used, and so
is each of the rooms behind it (`pxp.guards`, `pxp.models`, ...), which have further names.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from sys import modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and completion, the same names as in _MODULES and _ROOMS
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

_MODULES = {
    "Actor": "pxp_fsm.sessions.actors",
    "Agent": "pxp_fsm.sessions.agent",
    "Answer": "pxp_fsm.protocol.messages",
    "Automaton": "pxp_fsm.automata.automaton",
    "Channel": "pxp_fsm.sessions.channel",
    "Derived": "pxp_fsm.protocol.situation",
    "Faults": "pxp_fsm.sessions.occurrences",
    "Instance": "pxp_fsm.protocol.messages",
    "Intent": "pxp_fsm.sessions.actors",
    "Interact": "pxp_fsm.protocol.rules",
    "Machine": "pxp_fsm.sessions.machine",
    "Message": "pxp_fsm.protocol.messages",
    "NoAnswer": "pxp_fsm.errors",
    "PXPError": "pxp_fsm.errors",
    "Plan": "pxp_fsm.experiments.plans",
    "Pxp": "pxp_fsm.protocol.rules",
    "Question": "pxp_fsm.protocol.messages",
    "Result": "proofs.core.results",
    "Session": "pxp_fsm.sessions.opening",
    "System": "pxp_fsm.automata.system",
    "Turn": "pxp_fsm.sessions.actors",
    "build_automaton": "pxp_fsm.automata.tables",
    "check": "proofs.checks",
    "classify": "pxp_fsm.protocol.intelligibility",
    "draw": "pxp_fsm.diagrams.notebook",
    "exact": "guards.relations.text",
    "language": "pxp_fsm.analysis.languages.operands",
    "load_automaton": "pxp_fsm.automata.tables",
    "normalised_text": "guards.relations.text",
    "odds": "proofs.probability.exact",
    "open_blackboard": "backends.databases.blackboard",
    "prove": "proofs.checks",
    "respondent": "pxp_fsm.sessions.functions",
    "run": "pxp_fsm.experiments.runs",
}
"""The public names, and the module that each is in."""

_ROOMS = {
    "audits": "pxp_fsm.analysis.audits",
    "conformance": "proofs.conformance",
    "databases": "backends.databases",
    "diagrams": "pxp_fsm.diagrams",
    "experiments": "pxp_fsm.experiments",
    "export": "proofs.export",
    "guards": "guards",
    "logic": "proofs.logic",
    "models": "backends.models",
    "networks": "pxp_fsm.networks",
    "proofs": "proofs",
    "tasks": "pxp_fsm.tasks",
}
"""The rooms behind the door, and the package that each is."""

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _ROOMS and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("pxp_fsm.diagrams.notebook")  # automata and sessions can show themselves
        found = import_module(_ROOMS.get(name) or _MODULES[name])
    except ModuleNotFoundError as error:
        raise _shadowed(error) from None
    if found.__name__ == "guards" and not hasattr(found, "__all__"):
        raise _shadowed(ModuleNotFoundError(name="guards"))
    globals()[name] = value = found if name in _ROOMS else getattr(found, name)
    return value


def _shadowed(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error that says which file of somebody else's stands in a package's place."""
    package = (error.name or "").partition(".")[0]
    other = getattr(modules.get(package), "__file__", None)
    if package not in ("guards", "backends", "proofs") or other is None:
        return error
    return ModuleNotFoundError(
        f"{other} stands in the place of pxp-fsm's package {package!r}; call that file or folder "
        f"otherwise, or run from another folder",
        name=error.name,
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
