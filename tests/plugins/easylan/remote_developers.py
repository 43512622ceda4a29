"""A developer elsewhere, for tests: sees JSON, answers with JSON, and may reload at any time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from pxp_fsm.documents import faults
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.serialization import response_from_json, to_json
from pxp_fsm.plugins.easylan.training import progress
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    DeveloperQuestion,
    HandedView,
    Judged,
    OutputView,
    RegressionChoice,
    RegressionView,
    Response,
    StepView,
)
from pxp_fsm.plugins.easylan.training.pipeline import Trainer
from pxp_fsm.plugins.easylan.training.progress import Example, TrainingProgress
from pxp_fsm.plugins.easylan.training.questions import Remote
from tests.plugins.easylan.scripted_models import Speaking
from tests.plugins.easylan.trainings import FIRST, Same

CONFIRM = Act(DeveloperChoice.CONFIRM)


def obvious(question: DeveloperQuestion) -> Response:
    """Confirms, accepts, and finds right what was asked for."""
    match question.view:
        case OutputView(run, truth):
            return Judged(run.output == truth)
        case StepView():
            return CONFIRM
        case RegressionView():
            return RegressionChoice.ACCEPT
        case HandedView():
            return Continuation.SKIP


class Page:
    """A developer in a browser: sees events and questions as JSON, answers with JSON."""

    def __init__(self, model: Speaking, lan: Lan | None = None, **more: Any) -> None:
        self.lan = lan or Lan.new("translate")
        self.told: list[Any] = []
        self.kept: dict[str, Any] | None = None
        self.model = model
        self.more = more
        self.trainer = self.opened()

    def opened(self) -> Trainer:
        """A trainer that knows what was written down, and no more."""
        found = None if self.kept is None else progress.from_json(json.loads(json.dumps(self.kept)))
        return Trainer(
            self.lan,
            self.model,
            Same(),
            Remote(),
            on_event=self.told.append,
            keep=self.keep,
            progress=found,
            **self.more,
        )

    def keep(self, now: TrainingProgress) -> None:
        self.kept = progress.to_json(now)
        assert not faults(json.loads(json.dumps(self.kept)), progress.schema())

    async def asked(self) -> DeveloperQuestion:
        """The next question, once it is there."""
        for _ in range(1000):
            await asyncio.sleep(0)
            if self.trainer.question is not None:
                return self.trainer.question
        raise AssertionError("nothing is asked")

    def answer(self, response: Response) -> None:
        question = self.trainer.question
        assert question is not None
        sent = json.loads(json.dumps(to_json(response)))
        self.trainer.answer(question.id, response_from_json(sent))

    async def until(self, step: str) -> DeveloperQuestion:
        """Answer the obvious until a step is reviewed."""
        for _ in range(100):
            question = await self.asked()
            if isinstance(question.view, StepView) and question.view.step == step:
                return question
            self.answer(obvious(question))
            await asyncio.sleep(0)
        raise AssertionError(f"{step} is not reviewed")


def carried(page: Page, play: Callable[[Page], Any], *examples: Example) -> Any:
    """Train on the examples while `play` acts; what the training ends with."""

    async def both() -> Any:
        training = asyncio.create_task(page.trainer.train(examples or [FIRST]))
        await play(page)
        for _ in range(5000):
            if training.done():
                break
            if page.trainer.question is not None:
                page.answer(obvious(page.trainer.question))
            await asyncio.sleep(0)
        assert training.done()
        return await training

    return asyncio.run(both())


async def nothing(_page: Page) -> None:
    """Only the obvious is answered."""
