"""Simulated developers do what they say, at the least cost that leads to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import Act, DeveloperChoice, StepView
from pxp_fsm.plugins.easylan.training.simulated import (
    Confirming,
    Editing,
    ScriptedAct,
    ScriptedDeveloper,
    act_cost,
    equal,
    value_cost,
)
from pxp_fsm.plugins.easylan.training.steps import UpdateStep, holes

REASON = {
    "reason_type": "lack_of_agent",
    "agent_name": "",
    "reason_content": "nobody rhymes",
}


def view(
    step: UpdateStep = UpdateStep.REASON, proposal: Any = None, external: str = "the input"
) -> StepView:
    shown = REASON if proposal is None else proposal
    return StepView(step, None, shown, "because", NetworkRun(external, "out", {}), "truth")


def reviewed(developer: Confirming, *views: StepView) -> list[Act]:
    return [asyncio.run(developer.review(one, Lan.new("t"))) for one in views]


def test_confirming_is_a_click() -> None:
    assert reviewed(Confirming(), view()) == [Act(DeveloperChoice.CONFIRM, None, "", 1)]


def test_an_output_will_do_if_it_is_the_one_that_was_asked_for() -> None:
    assert asyncio.run(equal(NetworkRun("x", " yes\n", {}), "yes"))
    assert not asyncio.run(Confirming().satisfied(NetworkRun("x", "no", {}), "yes", Lan.new("t")))


@pytest.mark.parametrize(
    ("changed", "spent"),
    [
        ({"reason_type": "poor_performance_of_agent"}, 1),  # a button
        ({"agent_name": "<??>"}, 2),  # the shortcut for a hole
        ({"agent_name": "Polisher"}, 1 + 8),  # click, and typed
        ({"reason_content": "nobody <??>"}, 3),  # a stretch replaced by a hole
        ({}, 0),
    ],
)
def test_editing_a_result_costs_what_the_table_says(changed: dict[str, str], spent: int) -> None:
    assert value_cost(REASON, REASON | changed) == spent


def test_a_hint_is_typed_and_every_act_ends_with_a_button() -> None:
    assert act_cost(REASON, None, "no") == (1 + 2) + 1
    assert act_cost(REASON, {**REASON, "agent_name": "<??>"}, "no") == 2 + (1 + 2) + 1


def test_a_value_with_other_keys_is_edited_as_text() -> None:
    assert value_cost({"a": "x"}, {"b": "x"}) == 3
    assert value_cost(["x"], ["x", "y"]) > 0


@pytest.mark.deep
def test_one_that_edits_by_chance_does_so_as_often_as_it_says_and_the_same_each_time() -> None:
    views = [view()] * 400
    one, other = (reviewed(Editing(0.25, seed=7), *views) for _ in range(2))
    assert one == other
    assert 60 <= sum(act.choice is DeveloperChoice.RETRY for act in one) <= 140
    retries = [act for act in one if act.choice is DeveloperChoice.RETRY]
    assert all(bool(act.hint) != any(holes(act.result)) for act in retries)
    assert reviewed(Editing(0.0, seed=7), *views) == reviewed(Confirming(), *views)


def test_a_script_is_followed_line_by_line_and_then_everything_is_confirmed() -> None:
    developer = ScriptedDeveloper(
        [
            ScriptedAct("REASON", DeveloperChoice.RETRY, "second", hint="who rhymes?"),
            ScriptedAct("REASON", DeveloperChoice.CONFIRM, "first", {"agent_name": "Polisher"}),
            ScriptedAct("GAP", DeveloperChoice.REJECT),
        ]
    )
    acts = reviewed(developer, *(view(external=x) for x in ("first", "second", "first")))
    assert [act.choice for act in acts] == [
        DeveloperChoice.CONFIRM,
        DeveloperChoice.RETRY,
        DeveloperChoice.CONFIRM,
    ]
    assert [act.result for act in acts] == [REASON | {"agent_name": "Polisher"}, None, None]
    assert [line.step for line in developer.left] == ["GAP"]
