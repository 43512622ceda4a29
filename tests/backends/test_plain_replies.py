"""Replies in plain form, by headings; and which category who is asked is told."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.databases import SqlBlackboard
from pxp_fsm.prompting.replies import headed_parts
from pxp_fsm.protocol.decisions import category
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session


@given(
    st.text(alphabet="ab :.\n", min_size=1).filter(str.strip),
    st.text(alphabet="ab :.\nExplanation", min_size=1).filter(str.strip),
)
def test_parts_that_hold_no_heading_are_read_back_as_they_were(first: str, second: str) -> None:
    written = f"Prediction: {first}\nExplanation: {second}"
    assert headed_parts(written, ("Prediction", "Explanation")) == (first.strip(), second.strip())


@pytest.mark.parametrize("match", [True, False])
@pytest.mark.parametrize("agree", [True, False])
def test_who_is_asked_knows_the_category_that_the_other_found_after_a_resume_too(
    match: bool, agree: bool
) -> None:
    asked: list[Question] = []

    def machine(question: Question) -> Answer:
        asked.append(question)
        return Answer("m", f"e{len(question.history)}")

    def human(_question: Question) -> Answer:
        return Answer("h", "because")

    members = {
        "m": Agent(machine, match=lambda _a, _b: False, agree=lambda _a, _b: False),
        "h": Agent(human, match=lambda _a, _b: match, agree=lambda _a, _b: agree),
    }
    with SqlBlackboard(":memory:") as board:
        session = Session(Interact(n=3, k=3), members, instance="x", name="s", blackboard=board)
        asyncio.run(session.step())
        asyncio.run(session.step())
        entries = board.events("s")
        again = Session(Interact(n=3, k=3), members, instance="x", name="s")
        again.replay(entries)
        asyncio.run(session.step())
        asyncio.run(again.step())
    found = str(category(match, agree))
    assert [question.categories for question in asked] == [(), ("", found), ("", found)]
    assert again.episodes()["h"].categories[:2] == ("", found)
