"""Questions to a developer elsewhere: identity, late answers, restarts, edits, back, cancel."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from pxp_fsm.documents import faults
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.easylan import serialization
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import Author
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit
from pxp_fsm.plugins.easylan.serialization import to_json
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    DeveloperQuestion,
    HandedView,
    Judged,
    OutputView,
    Response,
    StepView,
)
from pxp_fsm.plugins.easylan.training.events import Asked, NetworkChanged, StepBegun, Withdrawn
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.questions import NotAsked
from pxp_fsm.plugins.easylan.training.steps import UpdateStep
from tests.plugins.easylan.remote_developers import CONFIRM, Page, carried, nothing, obvious
from tests.plugins.easylan.scripted_models import Frames, Speaking
from tests.plugins.easylan.trainings import (
    FIRST,
    GAP,
    NOBODY,
    POET,
    Same,
    forgets,
    labels,
    new_agent,
    parameters,
    poor,
    scripted,
    weak,
)
from tests.waiting import PATIENCE


def test_a_training_is_carried_by_answers_from_elsewhere_and_told_as_json() -> None:
    page = Page(scripted(GAP, NOBODY, POET))
    (outcome,) = carried(page, nothing)
    assert outcome.handled and page.lan.network.names == ("Solver", "Poet")
    schema = serialization.schema()
    for event in page.told:
        found = json.loads(json.dumps(to_json(event)))
        wanted = {"$ref": "#/$defs/Event", "$defs": schema["$defs"]}
        assert not faults(found, wanted), found
        assert found["kind"] == type(event).__name__
    kinds = {type(event).__name__ for event in page.told}
    assert kinds >= {"RunBegun", "CallBegun", "TextWritten", "CallEnded", "StepBegun", "Asked"}
    assert kinds >= {"CopyTried", "NetworkChanged", "Moved", "StepEnded", "Activation"}
    assert [one.by for one in page.told if isinstance(one, NetworkChanged)] == [Author.SYSTEM] * 2


def test_a_double_answer_and_one_to_nothing_are_refused() -> None:
    async def play(page: Page) -> None:
        question = await page.until("GAP")
        page.answer(CONFIRM)
        with pytest.raises(NotAsked, match="answered before"):
            page.trainer.answer(question.id, CONFIRM)
        after = await page.asked()
        assert after.id != question.id
        with pytest.raises(NotAsked, match="not asked now"):
            page.trainer.answer(question.id, CONFIRM)
        with pytest.raises(UsageError, match="the answer to this is Act"):
            page.trainer.answer(after.id, Continuation.SKIP)
        with pytest.raises(UsageError, match="surrogate"):
            page.trainer.answer(after.id, Act(DeveloperChoice.RETRY, None, "\ud800"))
        assert page.trainer.question == after

    page = Page(scripted(GAP, NOBODY, POET))
    assert carried(page, play)[0].handled


def test_the_same_hint_twice_is_one_hint() -> None:
    """The system proposes the same again: the second click is to a question that is gone."""

    async def play(page: Page) -> None:
        question = await page.until("GAP")
        hint = Act(DeveloperChoice.RETRY, None, "metre")
        page.answer(hint)
        again = await page.asked()
        assert isinstance(again.view, StepView) and again.view.proposal == {"gap": GAP["gap"]}
        assert again.id != question.id
        with pytest.raises(NotAsked):
            page.trainer.answer(question.id, hint)

    page = Page(scripted(GAP, GAP, NOBODY, POET))
    assert carried(page, play)[0].handled and page.model.asked["gap"] == 2


def test_an_edit_withdraws_the_question_and_the_late_answer_says_that_the_network_moved() -> None:
    async def play(page: Page) -> None:
        question = await page.until("GAP")
        page.lan.edit(Edit("Solver", AgentField.TASK, "sing"), about="sing")
        assert page.trainer.question is None
        with pytest.raises(NotAsked, match="the network changed: sing"):
            page.trainer.answer(question.id, CONFIRM)
        anew = await page.until("GAP")
        assert anew.id != question.id and anew.version == 2

    page = Page(scripted(GAP, GAP, NOBODY, POET))
    carried(page, play, Example("x", "never"))
    (gone,) = (one for one in page.told if isinstance(one, Withdrawn))
    assert gone.why == "the network changed: sing"


def test_an_edit_that_does_not_concern_the_question_asks_the_same_again() -> None:
    async def play(page: Page) -> None:
        question = await page.until("GAP")
        page.lan.edit(Edit("Solver", AgentField.OUTPUT, "verse"))
        again = await page.asked()
        assert (again.id, again.view) == (question.id, question.view)
        assert (question.version, again.version) == (1, 2)
        page.trainer.answer(question.id, CONFIRM)

    page = Page(scripted(GAP, NOBODY, POET))
    (outcome,) = carried(page, play)
    assert outcome.handled and outcome.iterations == 1 and page.model.asked["gap"] == 1
    begun = [one.session for one in page.told if isinstance(one, StepBegun)]
    assert begun == ["lan/1/1", "lan/1/1", "lan/1/2", "lan/1/3"]


def test_an_edit_after_the_pipeline_was_handed_over_leaves_the_question() -> None:
    async def play(page: Page) -> None:
        await page.until("GAP")
        page.answer(Act(DeveloperChoice.REJECT))
        question = await page.asked()
        assert isinstance(question.view, HandedView)
        page.lan.edit(Edit("Solver", AgentField.NAME, "Mine"))
        again = await page.asked()
        assert (again.id, again.version) == (question.id, 2)
        page.answer(Continuation.RESUME)

    (outcome,) = carried(Page(scripted(GAP)), play, Example("x", "Mine(x)"))
    assert outcome.handled


def test_going_back_shows_what_was_agreed_and_makes_anew_what_depends_on_it() -> None:
    other = {**NOBODY, "reason_content": "nobody knows metre"}

    async def play(page: Page) -> None:
        first = await page.until("PARAMETERS")
        assert isinstance(first.view, StepView)
        assert first.view.back == (UpdateStep.GAP, UpdateStep.REASON)
        page.trainer.back()
        question = await page.asked()
        assert isinstance(question.view, StepView) and question.view.step == "REASON"
        assert question.view.proposal == {k: v for k, v in NOBODY.items() if k != "rationale"}
        mine = {key: one for key, one in other.items() if key != "rationale"}
        page.answer(Act(DeveloperChoice.CONFIRM, mine))
        with pytest.raises(NotAsked):
            page.trainer.answer(first.id, CONFIRM)

    page = Page(scripted(GAP, NOBODY, POET, POET))
    (outcome,) = carried(page, play)
    assert outcome.handled and outcome.iterations == 1
    assert page.model.asked["gap"] == page.model.asked["reason"] == 1
    assert page.model.asked["parameters"] == 2
    assert labels(page.told).count("BACK_TO_REASON") == 1


def test_going_back_and_changing_nothing_asks_nothing_else_again() -> None:
    async def play(page: Page) -> None:
        await page.until("PARAMETERS")
        page.trainer.back(UpdateStep.GAP)
        question = await page.asked()
        assert isinstance(question.view, StepView) and question.view.step == "GAP"
        page.answer(CONFIRM)

    page = Page(
        scripted(GAP, poor("Solver"), weak("lack_of_knowledge"), KNOW), limits=TrainingLimits(1, 1)
    )
    carried(page, play, Example("x", "never"))
    asked = page.model.asked
    assert (asked["gap"], asked["reason"], asked["weakness"]) == (1, 1, 1)


KNOW = parameters(knowledge="k")


def test_there_is_no_going_back_where_no_step_is_before() -> None:
    async def play(page: Page) -> None:
        question = await page.asked()
        with pytest.raises(UsageError, match="no step is reviewed"):
            page.trainer.back()
        page.answer(obvious(question))
        await page.until("GAP")
        for to in (None, UpdateStep.GAP, UpdateStep.PARAMETERS):
            with pytest.raises(UsageError, match="no such step"):
                page.trainer.back(to)

    assert carried(Page(scripted(GAP, NOBODY, POET)), play)[0].handled


def test_cancelling_stops_a_call_and_hands_the_pipeline_over() -> None:
    hangs = asyncio.Event()

    class Hanging(Speaking):
        hangs = True

        async def reply(self, request: Any) -> Any:
            if request.purpose == "gap" and self.hangs:
                hangs.set()
                await asyncio.Event().wait()
            return await super().reply(request)

    async def play(page: Page) -> None:
        page.answer(obvious(await page.asked()))
        await asyncio.wait_for(hangs.wait(), PATIENCE)
        page.trainer.cancel()
        question = await page.asked()
        assert isinstance(question.view, HandedView) and "cancelled" in question.view.why
        with pytest.raises(UsageError, match="nothing is under way"):
            page.trainer.cancel()
        model.hangs = False
        page.answer(Continuation.RESUME)

    script = scripted(GAP, NOBODY, POET)
    model = Hanging(script._say)
    page = Page(model)
    assert carried(page, play)[0].handled
    assert labels(page.told)[2:6] == ["BEGIN", "CANCEL", "RESUME", "RAN"]


def test_cancelling_withdraws_the_question() -> None:
    async def play(page: Page) -> None:
        question = await page.until("REASON")
        page.trainer.cancel()
        after = await page.asked()
        assert isinstance(after.view, HandedView)
        with pytest.raises(NotAsked, match="cancelled"):
            page.trainer.answer(question.id, CONFIRM)

    (outcome,) = carried(Page(scripted(GAP, NOBODY)), play)
    assert not outcome.handled and "cancelled" in outcome.why


def test_nobody_cancels_what_nobody_supervises() -> None:
    trainer = Trainer(Lan.new("t"), scripted(), Same())
    with pytest.raises(UsageError, match="no developer"):
        trainer.cancel()
    with pytest.raises(UsageError, match="no developer"):
        trainer.answer("x", CONFIRM)
    with pytest.raises(UsageError, match="requires a developer"):
        asyncio.run(trainer.train([Example("x")]))


def test_an_output_is_judged_after_the_run_and_the_right_one_said_then() -> None:
    async def play(page: Page) -> None:
        question = await page.asked()
        assert isinstance(question.view, OutputView)
        assert (question.view.run.output, question.view.truth) == ("Solver(x)", "")
        page.answer(Judged(False, "Poet(Solver(x))"))
        step = await page.until("GAP")
        assert isinstance(step.view, StepView) and step.view.truth == "Poet(Solver(x))"

    page = Page(scripted(GAP, NOBODY, POET))
    (outcome,) = carried(page, play, Example("x"))
    assert outcome.handled and outcome.example == FIRST
    assert page.lan.network.handled[0].truth == FIRST.truth


def test_a_page_goes_on_with_the_example_that_is_unfinished() -> None:
    """Examples come one at a time; after a restart the trainer knows which one it was in."""
    page = Page(scripted(GAP, NOBODY, POET))

    async def begin() -> None:
        assert page.trainer.unfinished is None
        training = asyncio.create_task(page.trainer.handle(FIRST))
        await page.until("REASON")
        training.cancel()
        with suppress(asyncio.CancelledError):
            await training

    async def resume() -> None:
        page.trainer = page.opened()
        assert page.trainer.unfinished == FIRST
        training = asyncio.create_task(page.trainer.handle(page.trainer.unfinished))
        await page.until("PARAMETERS")
        while not training.done():
            if page.trainer.question is not None:
                page.answer(obvious(page.trainer.question))
            await asyncio.sleep(0)
        assert (await training).handled and page.trainer.unfinished is None

    asyncio.run(begin())
    asyncio.run(asyncio.wait_for(resume(), PATIENCE))
    assert page.model.asked["gap"] == page.model.asked["reason"] == 1


def test_an_output_that_will_do_is_the_right_one() -> None:
    async def play(page: Page) -> None:
        await page.asked()
        page.answer(Judged(True))

    page = Page(scripted())
    carried(page, play, Example("x"))
    (handled,) = page.lan.network.handled
    assert (handled.truth, handled.output) == ("Solver(x)", "Solver(x)")


def say(purpose: str, frames: Frames) -> Any:
    """Steps by what they are shown; agents that honour nothing, so that examples are lost."""
    if purpose in ("control", "execution"):
        return forgets(purpose, frames)
    if purpose == "gap":
        return {**GAP, "gap": "no metre"} if frames.get("hint") else GAP
    found = {"reason": poor("Solver"), "weakness": weak("lack_of_knowledge")}
    return found.get(
        purpose, parameters(knowledge="l" if frames.get("agent", {}).get("knowledge") else "k")
    )


class Busy:
    """Hints, edits, goes back once, and confirms the rest."""

    def __init__(self) -> None:
        self.left = [
            ("GAP", Act(DeveloperChoice.RETRY, None, "think of metre")),
            ("REASON", Act(DeveloperChoice.BACK)),
            ("PARAMETERS", Act(DeveloperChoice.BACK, to=UpdateStep.REASON)),
            ("PARAMETERS", Act(DeveloperChoice.CONFIRM, {"parameters": {"knowledge": "k"}})),
        ]

    def __call__(self, question: DeveloperQuestion) -> Response:
        for place, (step, act) in enumerate(self.left):
            if isinstance(question.view, StepView) and question.view.step == step:
                del self.left[place]
                return act
        return obvious(question)


def everywhere(stops: bool) -> tuple[Page, list[tuple[str, Any]]]:
    """A training with a restart at each question, or none; what was asked, without repetition."""
    page = Page(Speaking(say), limits=TrainingLimits(1, 1))
    examples = [Example("a", "a"), Example("x", "kx"), Example("y", "never")]
    asked: dict[str, Any] = {}
    busy = Busy()

    async def carry() -> Any:
        page.lan = Lan(files.parse(json.dumps(files.of_history(page.lan.history))))
        page.trainer = page.opened()
        training = asyncio.create_task(page.trainer.train(examples))
        for _ in range(20_000):
            question = page.trainer.question
            if training.done():
                break
            if question is not None:
                fresh = question.id not in asked
                asked[question.id] = to_json(question)
                if stops and fresh:
                    training.cancel()
                    with suppress(asyncio.CancelledError):
                        await training
                    return await carry()
                page.answer(busy(question))
            await asyncio.sleep(0)
        return await training

    asyncio.run(carry())
    return page, list(asked.items())


@pytest.mark.deep
def test_a_developer_who_reloads_at_each_question_loses_nothing() -> None:
    """The questions, their identities, the network and the calls are those without a stop."""
    whole, asked = everywhere(stops=False)
    stopped, again = everywhere(stops=True)
    assert again == asked and len(asked) > 10
    assert stopped.lan.history == whole.lan.history
    steps = ("gap", "reason", "weakness", "parameters")
    assert [stopped.model.asked[one] for one in steps] == [whole.model.asked[one] for one in steps]
    assert stopped.trainer.outcomes == whole.trainer.outcomes


def test_a_question_tells_its_example_and_is_told_to_whoever_listens() -> None:
    page = Page(scripted(GAP, NOBODY, POET))
    carried(page, nothing, Example("a", "Solver(a)"), FIRST)
    numbers = [one.question.number for one in page.told if isinstance(one, Asked)]
    assert numbers == [1, 2, 2, 2, 2, 2]
    assert new_agent("Poet")["name"] == "Poet"
