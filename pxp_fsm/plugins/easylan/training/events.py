"""What a training tells while it goes on: rows taken, steps, copies tried, questions asked."""

from __future__ import annotations

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.decisions import Facts
from pxp_fsm.plugins.easylan.model.history import Author
from pxp_fsm.plugins.easylan.running.events import Event
from pxp_fsm.plugins.easylan.training.developer import DeveloperQuestion
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.steps import Strategy, UpdateStep
from pxp_fsm.plugins.easylan.training.supervision import StepEnded


@dataclass(frozen=True, slots=True)
class Moved:
    """The pipeline took a row of its table, to a `state`; `facts` are what its guard looked at.

    Without a `guard` it is something that happened from outside.
    """

    label: str
    guard: str
    state: str
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


@dataclass(frozen=True, slots=True)
class StepBegun:
    """A step of the update begins, or goes on after a stop; `session` names its session."""

    step: UpdateStep
    strategy: Strategy | None
    session: str
    number: int


@dataclass(frozen=True, slots=True)
class CopyTried:
    """The strategy was applied to a copy; `fault` says why it could not be, or is empty."""

    strategy: Strategy
    agent: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """Of the `total` earlier examples so many are `done`, and so many of them `lost`."""

    done: int
    total: int
    lost: int


@dataclass(frozen=True, slots=True)
class NetworkChanged:
    """The network has a new version: who made it, and what it is about."""

    version: int
    by: Author
    about: str


@dataclass(frozen=True, slots=True)
class Asked:
    """The developer is asked; the training waits for the answer."""

    question: DeveloperQuestion


@dataclass(frozen=True, slots=True)
class Answered:
    """The question of that `id` was answered, which took `ued`, or `confirms` a step.

    An answer that was given before an edit `stands` where the edit did not concern the question.
    """

    id: str
    ued: int = 0
    confirms: bool = False
    stands: bool = False


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The question of that `id` is asked no longer; `why` says why."""

    id: str
    why: str


Told = (
    Moved
    | Event
    | StepBegun
    | StepEnded
    | Kept
    | Resumed
    | CopyTried
    | ReplayProgress
    | NetworkChanged
    | Asked
    | Answered
    | Withdrawn
)
