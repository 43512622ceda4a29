"""What a running network tells: runs, agents' turns, calls of models, their texts as they come."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import NOTHING_USED, Usage


class RunReason(StrEnum):
    """Why a network is run."""

    INPUT = "an input was sent"
    EXAMPLE = "an example begins"
    EDITED = "the network changed"
    UPDATED = "an update was committed"
    RESUMED = "the developer resumed"


@dataclass(frozen=True, slots=True)
class RunBegun:
    """The network, in its `version`, begins to run on the input `external`."""

    external: str
    version: int
    reason: RunReason


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A model is asked: for which purpose (`control`, `execution`, `gap`, …), by which agent.

    `call` counts the calls from 1; `agent` is empty where no agent of the network asks.
    """

    call: int
    purpose: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class TextWritten:
    """A model has written a further piece of its reply to `call`.

    With `begins` it is the first piece: of a call that is tried again, what came before is void.
    """

    call: int
    text: str
    begins: bool = False


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A model has replied, or has not: `failure` says why then.

    `dollars` is what it was counted for; 0 where no price is known.
    """

    call: int
    purpose: str
    agent: str
    seconds: float
    usage: Usage = NOTHING_USED
    dollars: float = 0.0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Activation:
    """An agent of a run was found active or not; `guard` is the one of the table that said so."""

    agent: str
    active: bool
    guard: str
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Produced:
    """An active agent of a run has its result."""

    agent: str
    result: str
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run is over; `output` is the network's."""

    output: str


CallEvent = CallBegun | TextWritten | CallEnded
Event = RunBegun | CallEvent | Activation | Produced | Finished
Listener = Callable[[Event], None]
