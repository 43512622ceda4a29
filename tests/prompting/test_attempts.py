"""Asking until a reply is usable: the requests that each who asks makes, attempt by attempt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.models.member import ModelMember
from backends.models.respondent import ModelRespondent
from backends.models.scripts import ScriptedModel
from guards.judge import Judge
from pxp_fsm.errors import DataError, NoAnswer, UsageError
from pxp_fsm.experiments.summaries import summarize, summary_prompt
from pxp_fsm.prompting.attempts import (
    MOST_ATTEMPTS,
    Attempts,
    ask_until_usable,
    check_attempts,
    first_epoch,
)
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import ChatRole, ChatTurn, LanguageModel, ModelRequest, Reply
from pxp_fsm.prompting.prompts import Problem, Prompt, read_prompts
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.sessions.actors import Turn
from tests.prompting.attempt_scripts import Asking, record, stored

RECORDED = Path(__file__).with_name("attempts.json")

PROMPTS = read_prompts(
    """
[answer]
max_tokens = 100
system = "What is it? $form"
question = "This is asked: $instance"
received = "This was said: $message"
again = "This is of no use: $reason Again."
[judge]
max_tokens = 100
system = "Judge. $form"
question = "$first or $second"
again = "That is no verdict: $reason Again."
""",
    "own.toml",
)
TABLE = pxp.build_automaton(
    "grants",
    [
        {"from": "IDLE", "to": "CHOOSE", "receive": "ASK"},
        {"from": "CHOOSE", "to": "OVER", "send": "GRANT"},
    ],
    final=["OVER"],
    peer="asks",
)


def text_of(value: object) -> str:
    if not isinstance(value, str):
        raise DataError(f"a prediction must be a text, not {value!r}")
    return value


PROBLEM = Problem("colours", "Which colour?", {"type": "string"}, text_of, text_of)


async def answered(model: LanguageModel) -> object:
    history = (
        Message("own/7", 1, "m", "INIT", Answer("red", "it is warm"), "h"),
        Message("own/7", 2, "h", "REFUTE", Answer("blue", "it is cold"), "m"),
    )
    question = Question(PROBLEM.query, Instance("1", "the sea"), history=history, session="own/7")
    return await ModelRespondent(model, PROBLEM, PROMPTS, repetition=2).answer(question)


async def chosen(model: LanguageModel) -> object:
    turn = Turn("own/7", Instance("1", "a cinema"), "grants", "CHOOSE", (), ("GRANT",))
    return await ModelMember(model, TABLE, "You sell seats for $5.", repetition=3)(turn)


async def judged(model: LanguageModel) -> object:
    return await Judge(model, PROMPTS).for_session("own/7").holds("it is cold", "it is warm")


async def sampled(model: LanguageModel) -> object:
    return await Judge(model, PROMPTS).sample("it is cold", "it is warm", 16)


async def summarized(model: LanguageModel) -> object:
    return await summarize(model, summary_prompt(), "A long\nreport </data> of $5.")


ASKING: Mapping[str, tuple[Asking, str]] = {
    "respondent": (answered, json.dumps({"prediction": "blue", "explanation": "cold"})),
    "member": (chosen, json.dumps({"do": "GRANT", "to": "", "payload": 3})),
    "judge": (judged, json.dumps({"consistent": "no"})),
    "sample": (sampled, json.dumps({"consistent": "yes"})),
    "summary": (summarized, " In\nshort. "),
}
"""Who asks, and a reply that they can use."""


def number(reply: Reply) -> int:
    if not reply.text.isdigit():
        raise DataError(f"it is no number: {reply.text}")
    return int(reply.text)


ASKED = ModelRequest("Count.", (ChatTurn(ChatRole.USER, "How many?", stable=3),), epoch=40)
PROMPT = Prompt({"again": "You said $reply, but $reason"}, max_tokens=10)


def test_a_retry_adds_the_last_reason_alone_and_may_quote_the_reply() -> None:
    model = ScriptedModel(["one", "</data>", "3"])
    usable = asyncio.run(ask_until_usable(model.reply, ASKED, number, PROMPT))
    assert (usable.value, usable.reply.text) == (3, "3")
    assert [request.epoch for request in model.requests] == [40, 41, 42]
    assert usable.request == replace(model.requests[2], epoch=40)
    (turn,) = usable.request.turns
    assert turn.text.startswith("How many?\n\nYou said ")
    assert turn.stable == 3
    assert unframed(turn.text) == ({"reply": "</data>"}, {"reason": "it is no number: </data>"})


def test_attempts_are_made_one_by_one_by_whoever_decides_about_the_next() -> None:
    model = ScriptedModel(["one", "two"])
    tried = Attempts(model.reply, ASKED, number, PROMPT, wanted="number", attempts=2)
    for left in (1, 0):
        assert asyncio.run(tried.once()) is None
        assert (tried.left, len(model.requests)) == (left, 2 - left)
    assert str(tried.failure) == "no usable number in 2 attempts; the last: it is no number: two"


def test_what_a_model_raises_is_not_asked_again() -> None:
    model = ScriptedModel([])
    with pytest.raises(NoAnswer, match="the script has no reply left"):
        asyncio.run(ask_until_usable(model.reply, ASKED, number, PROMPT))
    assert len(model.requests) == 1


def test_an_error_of_the_one_who_reads_is_not_taken_for_an_unusable_reply() -> None:
    def read(_reply: Reply) -> object:
        raise ValueError("a defect")

    model = ScriptedModel(["1", "2"])
    with pytest.raises(ValueError, match="a defect"):
        asyncio.run(ask_until_usable(model.reply, ASKED, read, PROMPT))
    assert len(model.requests) == 1


@pytest.mark.parametrize("attempts", [0, -1, MOST_ATTEMPTS + 1])
def test_a_number_of_attempts_out_of_range_is_refused(attempts: int) -> None:
    with pytest.raises(UsageError, match=f"attempts must be 1 to {MOST_ATTEMPTS}, not {attempts}"):
        check_attempts(attempts)


def test_no_two_repetitions_share_an_epoch() -> None:
    epochs = [first_epoch(turn) + attempt for turn in (1, 2, 3) for attempt in range(MOST_ATTEMPTS)]
    assert len(set(epochs)) == len(epochs)


@pytest.mark.parametrize("name", ASKING)
def test_each_makes_the_requests_that_were_recorded(name: str) -> None:
    assert record(*ASKING[name]) == stored(RECORDED)[name]
