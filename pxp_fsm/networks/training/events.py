"""What a training tells while it goes on: rows taken, steps ended, agents' turns."""

from __future__ import annotations

from dataclasses import dataclass

from pxp_fsm.automata.automaton import Transition
from pxp_fsm.networks.running.execution import Event
from pxp_fsm.networks.training.progress import Example
from pxp_fsm.networks.training.steps import UpdateStep
from pxp_fsm.networks.training.supervision import Agreement
from pxp_fsm.protocol.network_decisions import Facts


@dataclass(frozen=True, slots=True)
class Moved:
    """The pipeline took a row of its table; `facts` are what its guard looked at."""

    row: Transition
    facts: Facts | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an earlier step agreed on stands: what it was made from has not changed."""

    step: UpdateStep
    value: object


@dataclass(frozen=True, slots=True)
class Resumed:
    """A training that was stopped goes on: in which state, about which example."""

    example: Example
    number: int
    state: str


Told = Moved | Event | Agreement | Kept | Resumed
