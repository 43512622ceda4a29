"""The questions of a training to its developer, one at a time, as data with an identity.

Whoever answers may sit in this process (`Developer`), or anywhere else (`Remote`): a question is
open until it is answered by its identity, or withdrawn because the network has moved on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.serialization import to_json
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    Developer,
    DeveloperChoice,
    DeveloperQuestion,
    HandedView,
    Judged,
    OutputView,
    RegressionChoice,
    RegressionView,
    Response,
    StepView,
    View,
    effort_in,
    responded,
)
from pxp_fsm.plugins.easylan.training.events import Answered, Asked, Withdrawn
from pxp_fsm.plugins.easylan.training.steps import written
from pxp_fsm.protocol.messages import text_problem


class NotAsked(DataError):
    """What was answered is not asked: it was answered before, or the network has moved on."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A developer who is somewhere else, and answers by `Trainer.answer`."""

    name: str = "developer"


class TrainingQuestions:
    """The questions of one training; `on_event` is told what becomes of each.

    `pending` is the one that is asked now; None where nothing is.
    """

    def __init__(
        self,
        developer: Developer | Remote,
        lan: Lan,
        on_event: Callable[[Asked | Answered | Withdrawn], None],
    ) -> None:
        self.developer = developer
        self.pending: DeveloperQuestion | None = None
        self._lan = lan
        self._on_event = on_event
        self._future: asyncio.Future[Response] | None = None
        self._withdrawn: dict[str, str] = {}
        self._early: tuple[str, Response] | None = None

    async def ask(
        self, question: DeveloperQuestion, copy: Network | None = None
    ) -> Response | None:
        """The answer to `question`; None where it was withdrawn meanwhile."""
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.pending, self._future = question, future
        self._withdrawn.pop(question.id, None)
        try:
            self._on_event(Asked(question))
            if not isinstance(self.developer, Remote):
                early, self._early = self._early, None
                if early is not None and early[0] == question.id:
                    self._on_event(_answered(question, early[1], stands=True))
                    return early[1]
                response = await responded(self.developer, question.view, self._lan, copy)
                if future.cancelled():  # kept for the same question, if it is asked again
                    self._early = question.id, response
                    return None
                self.answer(question.id, response)
            return await future
        except asyncio.CancelledError:
            if future.cancelled() and self.pending is None:
                return None
            raise
        finally:
            if self._future is future:
                self.pending = self._future = None

    def answer(self, question_id: str, response: Response) -> None:
        """Answer the pending question.

        Raises `NotAsked` where it is not the pending one, and `UsageError` for an answer that is
        none to it.
        """
        question, future = self.pending, self._future
        if question is None or future is None or question.id != question_id:
            why = self._withdrawn.get(question_id)
            if why is not None:
                raise NotAsked(f"this is asked no longer: {why}; look at what is asked now")
            raise NotAsked("this is not asked now, or was answered before; look at what is asked")
        _check(question.view, response)
        future.set_result(response)
        self.pending = None
        self._on_event(_answered(question, response))

    def moved_to(self, version: int) -> bool:
        """Whether what is asked is asked still, now that the network is in `version`.

        The pipeline that was handed over may be resumed after any edit.
        """
        question = self.pending
        if question is None or not isinstance(question.view, HandedView):
            return False
        self.pending = replace(question, version=version)
        self._on_event(Asked(self.pending))
        return True

    def withdraw(self, why: str) -> None:
        """Take the pending question back, if there is one, with the reason."""
        question, future = self.pending, self._future
        if question is None or future is None or future.done():
            return
        self._withdrawn[question.id] = why
        self.pending = None
        future.cancel()
        self._on_event(Withdrawn(question.id, why))


_ANSWERS: tuple[tuple[type, type], ...] = (
    (OutputView, Judged),
    (StepView, Act),
    (RegressionView, RegressionChoice),
    (HandedView, Continuation),
)


def _check(view: View, response: Response) -> None:
    """Raise `UsageError` for a response that is none to what is asked."""
    wanted = next(answer for kind, answer in _ANSWERS if isinstance(view, kind))
    if not isinstance(response, wanted):
        raise UsageError(f"the answer to this is {wanted.__name__}, not {quoted(response)}")
    if isinstance(response, Judged):
        problem = text_problem(response.truth)
    elif isinstance(response, Act) and isinstance(view, StepView):
        problem = text_problem(response.hint) or text_problem(written(response.result))
        if response.choice is DeveloperChoice.BACK and back_to(view, response) is None:
            problem = "there is no such step to go back to"
    else:
        return
    if problem is not None:
        raise UsageError(problem)


def _answered(question: DeveloperQuestion, response: Response, stands: bool = False) -> Answered:
    effort = effort_in(question.view, response)
    return Answered(question.id, effort.ued, effort.confirms, stands)


def back_to(view: StepView, act: Act) -> object:
    """The step to which `act` goes back from `view`; None where it cannot."""
    if act.to is None:
        return view.back[-1] if view.back else None
    return act.to if act.to in view.back else None


def identity(number: int, asked: int, view: View) -> str:
    """The identity of what is asked about example `number`, after so many answers.

    A question that is asked again after a stop, or after an edit that does not concern it, has the
    one that it had.
    """
    encoded = json.dumps([number, asked, type(view).__name__, to_json(view)], sort_keys=True)
    return hashlib.sha256(encoded.encode()).hexdigest()[:16]
