"""The interface of a developer who supervises an update.

A person at a terminal or in a browser, a script, a simulation: whatever has these methods. While
they are asked, and at any other time, they may edit the network (`Lan.edit`); whatever was made for
the network before is then made anew. Source: EasyLAN (Pan, Yu, Li, Shi), section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.network import Network
from pxp_fsm.networks.running.execution import Run
from pxp_fsm.networks.training.regressions import Regression
from pxp_fsm.networks.training.steps import Strategy, UpdateStep
from pxp_fsm.protocol.messages import Message


class Choice(StrEnum):
    """What a developer does about a step's result."""

    CONFIRM = "confirm"
    RETRY = "retry"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Act:
    """A developer's act; `result` is their version of it, with holes or without, None as it is.

    `distance` is what the act took in interactions (the paper's UED), as whoever asked counted it.
    """

    choice: Choice
    result: object = None
    hint: str = ""
    distance: int = 0


@dataclass(frozen=True, slots=True)
class StepView:
    """A step's result as the developer sees it; `proposal` is what a reset puts back.

    `rationale` is the system's for `proposal`. Where their last act was refused, `version` is what
    they wrote and `refused` says why; the proposal stays as it was. `may_reject` says whether
    REJECT is allowed by now.
    """

    step: UpdateStep
    strategy: Strategy | None
    proposal: object
    rationale: str
    run: Run
    truth: str
    lan: Lan = field(repr=False)
    history: tuple[Message, ...] = field(default=(), repr=False)
    may_reject: bool = True
    refused: str = ""
    version: object = None


class RegressionChoice(StrEnum):
    """What a developer says of earlier examples that would no longer be right.

    ACCEPT: the new output will do, and is recorded (an example without one is forgotten). FORGET:
    the examples go. Neither is asked about again.
    """

    ACCEPT = "ACCEPT"
    FORGET = "FORGET"
    RETRY = "RETRY"
    TAKE_OVER = "TAKE_OVER"


class Continuation(StrEnum):
    """How the pipeline goes on after the developer has taken over."""

    RESUME = "RESUME"
    SKIP = "SKIP"


class Developer(Protocol):
    """Supervises an update."""

    @property
    def name(self) -> str:
        """Who it is, as a session records it."""

    async def satisfied(self, run: Run, truth: str, lan: Lan) -> bool:
        """Whether the output will do: confirm the test case."""

    async def review(self, view: StepView) -> Act:
        """What they do about a step's result; asked again after each of the system's answers."""

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        """What is to be done with an update that breaks earlier examples."""

    async def handed(self, why: str, lan: Lan) -> Continuation:
        """The pipeline cannot go on by itself; called once they have done what they want to do."""


class Confirms:
    """A developer who confirms whatever is shown, and accepts no regression."""

    name = "nobody"

    async def satisfied(self, run: Run, truth: str, lan: Lan) -> bool:
        return run.output == truth

    async def review(self, view: StepView) -> Act:
        return Act(Choice.CONFIRM)

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        return RegressionChoice.RETRY

    async def handed(self, why: str, lan: Lan) -> Continuation:
        return Continuation.SKIP
