"""UPDATE_CONTEXT: what a program adds to C is stored, resumed, and shown to models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.databases.verify import verify_engine
from backends.models.settings import Settings
from guards.text import exact
from pxp_fsm.errors import WrongType
from pxp_fsm.experiments import openings, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.policy import update_context
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import find_task
from tests.experiments.scripted_server import (
    Body,
    Table,
    agrees_when_convinced,
    frames,
    judging,
    stubborn_then_convinced,
)


def domain(instance: Instance, message: Message, before: tuple[str, ...]) -> str:
    return f"{instance.key}: {message.tag} after {len(before)} <b>$message</b>"


def asks(seen: list[tuple[str, ...]]) -> Agent:
    def answer(question: Question) -> Answer:
        seen.append(question.context)
        return Answer("yes" if len(seen) % 2 else "no", "so it is")

    return Agent(answer, match=exact, agree=exact)


def test_each_message_adds_to_the_context_of_the_next() -> None:
    seen = list[tuple[str, ...]]()
    agent = asks(seen)
    members = {"m": agent, "h": agent}
    session = Session(Interact(n=4, k=4), members, instance="x", update_context=domain)
    session.run_sync()
    assert session.context == tuple(
        f"x: {message.tag} after {place} <b>$message</b>"
        for place, message in enumerate(session.history)
    )
    assert seen == [session.context[:place] for place in range(len(seen))]


@pytest.mark.parametrize("wrong", [None, 7, "a\0b", "\ud800"])
def test_what_is_no_text_is_refused_and_nothing_is_sent(wrong: Any) -> None:
    agent = asks([])
    session = Session(
        Interact(), {"m": agent, "h": agent}, instance="x", update_context=lambda *_: wrong
    )
    with pytest.raises(WrongType, match="UPDATE_CONTEXT returned"):
        session.run_sync()
    assert session.history == ()


def test_without_one_the_context_is_derived_from_the_messages() -> None:
    agent = asks([])
    session = Session(Interact(n=3), {"m": agent, "h": agent}, instance="x").run_sync()
    assert session.context == tuple(map(update_context, session.history))
    assert session.context[0] == '{"number": 1, "sender": "m", "tag": "INIT"}'


@pytest.mark.parametrize("carry", [True, False])
def test_models_are_shown_it_where_it_was_added(httpserver: HTTPServer, carry: bool) -> None:
    table = Table(httpserver, stubborn_then_convinced, agrees_when_convinced)
    plan = Plan(
        "animals", instances="2", machine=table.model, judge=table.model, carry=carry, order="fixed"
    )
    task = replace(find_task("animals"), update_context=domain)

    def shown(body: Body) -> list[object]:
        return [frame["context"] for frame in frames(body) if "context" in frame]

    with SqlBlackboard(":memory:") as board:
        run = runs.start(openings.TaskOpening.read(plan, task, Settings(in_flight=1)), board)
        with pytest.raises(KeyboardInterrupt):
            run.execute(_stop_after(3))
        runs.resume(run.name, board, Settings(in_flight=1), task).execute()
        assert verify_engine(board.engine).problems == ()
        records = board.sessions(run.name)
        stored = [[e.addition for e in board.events(one.session)] for one in records]
    for record, added in zip(records, stored, strict=True):
        assert added[0] == f"{record.instance.key}: INIT after 0 <b>$message</b>"
    first, second = stored
    asked = [shown(body) for body in table.asked if not judging(body)]
    before = first if carry else []
    expected = [
        *(first[:n] for n in range(0, len(first), 2)),
        *(before + second[:n] for n in range(0, len(second), 2)),
    ]
    assert [one for one in asked if one] == [one for one in expected if one]


def _stop_after(messages: int) -> Any:
    seen = 0

    def stop(step: runs.Progress) -> None:
        nonlocal seen
        seen += step.event is not None
        if seen == messages:
            raise KeyboardInterrupt

    return stop
