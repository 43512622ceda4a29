"""Plain functions as parts of an agent: what they are called, and what is taken for one."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.protocol.relations import NOISY, Outcome
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.functions import (
    FunctionRelation,
    as_guards,
    as_relation,
    as_respondent,
    traceback_of,
    waited_for,
)
from tests.sessions.agents import EXACT, Asked, Deciding, Saying, now

QUESTION = Question("", Instance("x", "x"))


@pxp.respondent
def expert(question: Question) -> Answer:
    return Answer("mammal", question.instance.key)


class Near:
    """A function of two texts that is no `function`."""

    def __call__(self, left: str, right: str) -> bool:
        return left[:1] == right[:1]


def test_a_function_that_became_a_respondent_is_still_the_function() -> None:
    def whale(question: Question) -> Answer:
        """Knows all about whales."""
        return Answer("whale", question.instance.key)

    wrapped: Any = pxp.respondent(whale)
    assert wrapped(QUESTION) == now(wrapped.answer(QUESTION)) == Answer("whale", "x")
    assert (wrapped.name, wrapped.__name__) == ("whale", "whale")
    assert wrapped.__doc__ == "Knows all about whales."


def test_the_parts_of_an_agent_are_called_as_their_functions() -> None:
    def rule(_situation: Situation) -> str:
        return "REF"

    agent = pxp.Agent(expert, match=Near(), agree=partial(str.__eq__), guards=rule)
    assert agent.describe() == "expert guards=rule MATCH=Near AGREE=partial"
    assert (agent.match.assumptions, agent.guards.follows_relations) == (NOISY, False)
    assert [now(agent.match.holds(*pair)) for pair in ("aa", "ab")] == [Outcome.YES, Outcome.NO]
    named = FunctionRelation("close", str.__eq__)
    assert pxp.Agent(expert, match=named, agree=EXACT).describe() == (
        "expert guards=derived MATCH=close AGREE=exact"
    )


def test_an_agent_is_asked_with_its_query() -> None:
    told: list[Question] = []

    def say(question: Question) -> Answer:
        told.append(question)
        return Answer("y", "e")

    m, h = (pxp.Agent(say, match=EXACT, agree=EXACT, query=query) for query in ("why?", ""))
    pxp.Session(pxp.Interact(n=2), {"m": m, "h": h}, instance="x", name="talk").run_sync()
    asked = [(one.query, one.instance.key, one.session, one.purpose) for one in told]
    assert asked == [("why?", "x", "talk", "answer"), ("", "x", "talk", "answer")]


@pytest.mark.parametrize(
    ("take", "given"),
    [
        (as_respondent, Saying(lambda _: Answer("y", "e"))),
        (as_respondent, expert),
        (as_relation, Asked(lambda *_: Outcome.NO)),
        (as_guards, Deciding(lambda _: {})),
    ],
)
def test_what_has_the_interface_is_taken_as_it_is(take: Any, given: Any) -> None:
    assert take(given) is given


@pytest.mark.parametrize(
    ("take", "kind", "what"),
    [
        (as_respondent, Saying, "respondent"),
        (as_relation, Asked, "relation"),
        (as_relation, Near, "relation"),
        (as_guards, Deciding, "source of guards"),
    ],
)
def test_a_class_is_no_part_and_is_to_be_called(take: Any, kind: type[Any], what: str) -> None:
    with pytest.raises(UsageError, match=rf"is not a {what}; write {kind.__name__}\(\)\. A "):
        take(kind)
    with pytest.raises(UsageError, match=rf"^3 is not a {what}\. A {what} has a name"):
        take(3)


def test_guards_by_a_function_name_a_guard_of_the_state() -> None:
    guards = as_guards(lambda situation: situation.guards[0])
    situation: Any = type(
        "Here", (), {"guards": ("RAT", "REF"), "choosing": lambda _self, guard: {guard: True}}
    )()
    decided: Valuation = now(_decided(guards, situation))
    assert decided == {"RAT": True}


async def _decided(guards: Any, situation: Any) -> Valuation:
    valuation: Valuation = await guards.decide(situation)
    return valuation


def test_work_is_waited_for_beside_a_running_loop_and_what_it_raises_is_raised() -> None:
    async def fails() -> None:
        raise LookupError("nothing there")

    async def beside() -> None:
        waited_for(fails())

    for work in (fails, beside):
        with pytest.raises(LookupError, match="nothing there") as caught:
            waited_for(work())
        shown = traceback_of(caught.value)
        assert shown.startswith("Traceback (most recent call last):\n")
        assert "in fails" in shown
        assert shown.endswith("LookupError: nothing there\n")
