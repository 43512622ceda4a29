"""Nothing that a peer, a data set or a model says is ever more than data, in either direction."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.databases import SqlBlackboard, StoredSession
from backends.databases.records import session_record
from backends.models import ModelRespondent, ScriptedModel
from backends.models.respondent import assemble
from guards import Derived, NormalisedText
from guards.judge import Judge
from pxp_fsm.cli import show
from pxp_fsm.errors import NoAnswer
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import start
from pxp_fsm.plugins.drug import Reactants
from pxp_fsm.plugins.drug.task import PROBLEM
from pxp_fsm.prompting.attempts import with_reason
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import ChatRole, ModelRequest, Reply
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.plugins.drug.prompt_attacks import REFUSED, TEXTS, UNSTORABLE
from tests.plugins.drug.prompt_fixtures import (
    ASPIRIN,
    GOOD,
    PROMPTS,
    Talking,
    message,
    now,
    question,
    said,
)
from tests.sampling import sampled

ANYTHING = TEXTS | UNSTORABLE


def test_there_are_enough_attacks_and_no_two_are_the_same() -> None:
    assert len(set(ANYTHING.values())) >= 30
    assert len(set(REFUSED.values())) >= 30


def talk(text: str) -> ModelRequest:
    """A prompt in which `text` stands wherever a text of others can."""
    history = (
        message(1, "m", "INIT", "CCO", text),
        message(2, "h", "REFUTE", text, text),
        message(3, "m", "REVISE", "CC.O", text),
        message(4, "h", text, text, text),
    )
    asked = assemble(question(*history, instance=Instance(text, text)), PROBLEM, PROMPTS)
    return with_reason(asked, PROMPTS.answer, text, Reply(text))


def heard(request: ModelRequest) -> list[object]:
    """Everything in a prompt that is data, in its order."""
    found: list[object] = []
    for turn in request.turns:
        assistant = turn.role is ChatRole.ASSISTANT
        found += [json.loads(turn.text)] if assistant else unframed(turn.text)
    return found


def expected(text: str) -> list[object]:
    return [
        {"instance": text},
        {"prediction": ["CCO"], "explanation": text},
        {"tag": "REFUTE", "prediction": text, "explanation": text},
        {"prediction": ["CC", "O"], "explanation": text},
        {"tag": text, "prediction": text, "explanation": text},
        {"reason": text},
    ]


def check_prompt(text: str) -> None:
    """The prompt is that of a harmless text, but for the data; and the data are there exactly."""
    harmless, attacked = talk("harmless"), talk(text)
    assert heard(attacked) == expected(text)
    assert attacked.system == harmless.system
    assert [turn.role for turn in attacked.turns] == [turn.role for turn in harmless.turns]
    for one, other in zip(attacked.turns, harmless.turns, strict=True):
        assert _frames_out(one.text) == _frames_out(other.text)
        assert one.text.count("<data>") == one.text.count("</data>")


def _frames_out(text: str) -> list[str]:
    """The words around the data: they are ours, and none of anybody else's."""
    if text.startswith("{"):
        return []
    assert text.replace("\n", " ").isprintable()
    return [part.partition("</data>")[2] for part in text.split("<data>")[1:]]


@pytest.mark.parametrize("attack", ANYTHING)
def test_no_text_of_others_leaves_its_frame_in_a_models_prompt(attack: str) -> None:
    check_prompt(ANYTHING[attack])


PIECES = st.sampled_from([*TEXTS.values(), "<", "</", "data>", '"', "\\", "\n", "}", "{", "$form"])


@given(st.lists(PIECES | st.text(st.characters()), max_size=4).map("".join))
def test_any_text_is_read_back_exactly_from_the_assembled_prompt(text: str) -> None:
    check_prompt(text)


@pytest.mark.parametrize("attack", ANYTHING)
def test_no_explanation_leaves_its_frame_in_a_judges_prompt(attack: str) -> None:
    text = ANYTHING[attack]
    model = ScriptedModel(['{"consistent": "no"}'] * 2)
    judge = Judge(model, PROMPTS)
    now(judge.holds(text, "harmless"))
    now(judge.holds("harmless", text))
    for request, pair in zip(model.requests, ((text, "harmless"), ("harmless", text)), strict=True):
        (turn,) = request.turns
        assert [frame["explanation"] for frame in unframed(turn.text)] == list(pair)
        assert _frames_out(turn.text) == _frames_out(judge_turn())
        assert request.system == model.requests[0].system


def judge_turn() -> str:
    model = ScriptedModel(['{"consistent": "no"}'])
    now(Judge(model, PROMPTS).holds("one", "two"))
    return model.requests[0].turns[0].text


@pytest.mark.parametrize("attack", REFUSED)
def test_nothing_of_a_reply_is_believed_that_is_not_an_answer_and_that_only(attack: str) -> None:
    model = ScriptedModel([REFUSED[attack]] * 3)
    with pytest.raises(NoAnswer, match="no usable answer in 3 attempts"):
        now(ModelRespondent(model, PROBLEM, PROMPTS).answer(question()))
    for request in model.requests:
        assert [turn.role for turn in request.turns] == [ChatRole.USER]
        for frame in unframed(request.turns[0].text):
            assert frame.keys() in ({"instance"}, {"reason"})


@pytest.mark.parametrize("attack", sampled(REFUSED, 3))
def test_such_a_reply_ends_its_session_without_an_answer_and_stores_none(attack: str) -> None:
    model = ScriptedModel([GOOD, *[REFUSED[attack]] * 3])
    found = session(model)
    assert [entry.carried.tag for entry in found.events] == ["INIT", "REFUTE"]
    assert found.record.ending == "no answer"
    assert "no usable answer in 3 attempts" in str(found.record.cause)


def session(
    model: ScriptedModel | Talking, human: str = "Hydrolysis, the other way."
) -> StoredSession:
    """A session on a blackboard between `model` and one who always says the same."""

    class Peer:
        name = "peer"

        async def answer(self, _question: object) -> Answer:
            return Answer("CCO", human)

    match, agree = Reactants(), NormalisedText()
    respondent = ModelRespondent(model, PROBLEM, PROMPTS)
    m = Agent(respondent, match=match, agree=agree, query=PROBLEM.query)
    members = {"m": m, "h": replace(m, respondent=Peer(), guards=Derived(revises=False))}
    name = "drug-1/1/1"
    with SqlBlackboard(":memory:") as board:
        run = start(Plan("drug", instances="1"), board)
        planned = Session(Interact(), members, instance=ASPIRIN, name=name)
        record = session_record(planned, run.name, 1, 1)
        board.start_session(record)
        session = Session(Interact(4), members, instance=ASPIRIN, name=name, blackboard=board)
        now(session.run())
        return board.session("drug-1/1/1")


@cache
def harmless() -> StoredSession:
    """A session with harmless words."""
    return session(Talking(lambda _request: said(["CC"], "harmless words")))


@pytest.mark.parametrize("attack", sampled(TEXTS, 2))
def test_what_an_explanation_says_sets_no_tag_and_changes_nothing_else(attack: str) -> None:
    """The same session with harmless words has the same tags; the texts are stored as they are."""
    text = TEXTS[attack]
    attacked = session(Talking(lambda _request: said(["CC"], text)), human=text + " it says")
    assert [e.carried.tag for e in attacked.events] == [e.carried.tag for e in harmless().events]
    assert {e.carried.answer.explanation for e in attacked.events if e.carried.sender == "m"} == {
        text.strip()
    }
    assert attacked.record.ending == harmless().record.ending
    shown = io.StringIO()
    with redirect_stdout(shown):
        show.show(attacked)
    assert shown.getvalue().replace("\n", " ").isprintable()


@pytest.mark.parametrize("attack", TEXTS)
def test_a_verdict_that_is_more_than_a_verdict_is_none(attack: str) -> None:
    for plain in (False, True):
        model = ScriptedModel([TEXTS[attack]] * 3)
        prompts = (
            PROMPTS if not plain else replace(PROMPTS, judge=replace(PROMPTS.judge, max_tokens=10))
        )
        with pytest.raises(NoAnswer, match="no usable verdict in 3 attempts"):
            now(Judge(model, prompts).holds("one", "two"))
