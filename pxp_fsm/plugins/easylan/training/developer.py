"""The interface of a developer who supervises an update.

A person at a terminal or in a browser, a script, a simulation: whatever has these methods. While
they are asked, and at any other time, they may edit the network (`Lan.edit`); whatever was made for
the network before is then made anew. What they are asked is data (`DeveloperQuestion`), which can
be shown and answered elsewhere. Source: EasyLAN (Pan, Li, Yu, Shi), section 4.2.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.regressions import Regression
from pxp_fsm.plugins.easylan.training.steps import Strategy, UpdateStep
from pxp_fsm.protocol.messages import Message


class DeveloperChoice(StrEnum):
    """What a developer does about a step's result; BACK goes back to an earlier step."""

    CONFIRM = "confirm"
    RETRY = "retry"
    REJECT = "reject"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Act:
    """A developer's act; `result` is their version of it, with holes or without, None as it is.

    `distance` is what the act took in interactions (the paper's UED), as whoever asked counted it.
    `to` is the step to which BACK goes; None is the step before.
    """

    choice: DeveloperChoice
    result: object = None
    hint: str = ""
    distance: int = 0
    to: UpdateStep | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether an output will do; where not, `truth` may say which one would."""

    satisfied: bool
    truth: str = ""


@dataclass(frozen=True, slots=True)
class OutputView:
    """The network's run on an example; `truth` is the output asked for, empty if not known yet."""

    run: NetworkRun
    truth: str


@dataclass(frozen=True, slots=True)
class StepView:
    """A step's result as the developer sees it; `proposal` is what a reset puts back.

    `rationale` is the system's for `proposal`. Where their last act was refused, `version` is what
    they wrote and `refused` says why; the proposal stays as it was. `may_reject` says whether
    REJECT is allowed by now. `back` are the earlier steps to which the developer can go back.
    """

    step: UpdateStep
    strategy: Strategy | None
    proposal: object
    rationale: str
    run: NetworkRun
    truth: str
    history: tuple[Message, ...] = ()
    may_reject: bool = True
    refused: str = ""
    version: object = None
    back: tuple[UpdateStep, ...] = ()


@dataclass(frozen=True, slots=True)
class RegressionView:
    """Earlier examples that an update would lose; `about` says which update it is."""

    regressions: tuple[Regression, ...]
    about: str


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


@dataclass(frozen=True, slots=True)
class HandedView:
    """The pipeline cannot go on by itself: why."""

    why: str


View = OutputView | StepView | RegressionView | HandedView
"""What a developer is asked about."""
Response = Judged | Act | RegressionChoice | Continuation
"""What a developer answers: to each kind of view one of these."""


@dataclass(frozen=True, slots=True)
class DeveloperQuestion:
    """What the developer is asked now.

    `id` is of what is asked: after a restart, or an edit that does not concern it, the same
    question has the same. `version` is that of the network which it is about, `number` that of the
    example, from 1.
    """

    id: str
    version: int
    number: int
    view: View


class Developer(Protocol):
    """Supervises an update."""

    @property
    def name(self) -> str:
        """Who it is, as a session records it."""

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool | Judged:
        """Whether the output will do: confirm the test case. `truth` is empty if not known yet."""

    async def review(self, view: StepView, lan: Lan) -> Act:
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

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
        return run.output == truth

    async def review(self, view: StepView, lan: Lan) -> Act:
        return Act(DeveloperChoice.CONFIRM)

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        return RegressionChoice.RETRY

    async def handed(self, why: str, lan: Lan) -> Continuation:
        return Continuation.SKIP


@dataclass(frozen=True, slots=True)
class AnswerEffort:
    """What an answer took: its UED, or that it `confirms` a step, which is counted apart.

    The paper's UED adds up what modifies a step or the network (Table 6). What takes no interaction
    is nobody's act.
    """

    ued: int = 0
    confirms: bool = False


def effort_in(view: View, response: Response) -> AnswerEffort:
    """What an answer about `view` took, as the sessions of steps and the log tell it too."""
    if not isinstance(view, StepView) or not isinstance(response, Act):
        return AnswerEffort()
    if response.choice in (DeveloperChoice.BACK, DeveloperChoice.REJECT):
        return AnswerEffort()
    edited = response.result is not None and response.result != view.proposal
    if response.choice is DeveloperChoice.CONFIRM and not edited:
        return AnswerEffort(confirms=response.distance > 0)
    return AnswerEffort(response.distance)


async def responded(
    developer: Developer, view: View, lan: Lan, copy: Network | None = None
) -> Response:
    """What `developer` answers about `view`; `copy` is the network that an update would make."""
    match view:
        case OutputView(run, truth):
            verdict = await developer.satisfied(run, truth, lan)
            return verdict if isinstance(verdict, Judged) else Judged(verdict)
        case StepView():
            return await developer.review(view, lan)
        case RegressionView(regressions):
            return await developer.weigh(regressions, copy or lan.network, lan)
        case HandedView(why):
            return await developer.handed(why, lan)
