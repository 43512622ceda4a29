"""Networks ask until a reply is usable: agents, steps of an update, and judges of criteria."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from backends.models.scripts import ScriptedModel
from pxp_fsm.plugins.easylan.experiments.scoring import CriterionJudge
from pxp_fsm.plugins.easylan.experiments.tasks import load_task
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.running.events import CallBegun, CallEnded, CallEvent, TextWritten
from pxp_fsm.plugins.easylan.running.execution import AgentFailed, NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled, form, object_of, text
from pxp_fsm.prompting.model import LanguageModel
from tests.prompting.attempt_scripts import UNUSABLE, Asking, record, stored

RECORDED = Path(__file__).with_name("attempts.json")


async def executed(model: LanguageModel) -> object:
    """A run in which the execution module is asked."""
    agent = LanAgent("A", "do it", "a text", Control(False), ("what $5 buys",))
    network = Network("a task", (agent,), frozenset())
    return (await NetworkRunner(Requester(model, bundled())).run(network, "x </data>")).output


async def controlled(model: LanguageModel) -> object:
    """A run in which the control module is asked, and says no."""
    agent = LanAgent("A", "do it", "a text", Control(True))
    network = Network("a task", (agent,), frozenset())
    return await NetworkRunner(Requester(model, bundled())).run(network, "x </data>")


async def stepped(model: LanguageModel) -> object:
    asker = Requester(model, bundled(), attempts=2)
    request = asker.request("gap", form(gap=text("the gap")), "What?", session="own/7", stable="So")
    return await asker.ask(request, lambda reply: object_of(reply, {"gap"}))


async def scored(model: LanguageModel) -> object:
    task = load_task("couplets")
    return await CriterionJudge(model).meets(task, task.criteria[1], task.examples[0], "x </data>")


ASKING: Mapping[str, tuple[Asking, str]] = {
    "execution": (executed, json.dumps({"thoughts": "so", "result": "y"})),
    "control": (controlled, json.dumps({"thoughts": "so", "active": False})),
    "step": (stepped, json.dumps({"gap": "none"})),
    "criterion": (scored, json.dumps({"met": "no"})),
}
"""Who asks, and a reply that they can use."""


@pytest.mark.parametrize("name", ASKING)
def test_each_makes_the_requests_that_were_recorded(name: str) -> None:
    assert record(*ASKING[name]) == stored(RECORDED)[name]


def test_each_request_of_an_agent_is_an_event_and_is_counted() -> None:
    events: list[CallEvent] = []
    network = Network("a task", (LanAgent("A", "do it", "a text"),), frozenset())
    model = ScriptedModel([UNUSABLE, ""])
    runner = NetworkRunner(Requester(model, bundled(), 3, events.append))
    with pytest.raises(AgentFailed) as failed:
        asyncio.run(runner.run(network, "x"))
    assert runner.calls == 3
    assert [type(event) for event in events] == [
        *(CallBegun, TextWritten, CallEnded) * 2,
        CallBegun,
        CallEnded,
    ]
    assert str(failed.value) == "agent 'A': its execution module: the script has no reply left"
    assert {event.agent for event in events if isinstance(event, CallBegun | CallEnded)} == {"A"}
