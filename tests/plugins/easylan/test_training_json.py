"""Answers as JSON: read strictly, written as read; the published schema."""

from __future__ import annotations

import json

import pytest

from pxp_fsm.documents import faults
from pxp_fsm.errors import DataError
from pxp_fsm.plugins.easylan import serialization
from pxp_fsm.plugins.easylan.distance.lmd import network_distance
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    HandledExample,
    LanAgent,
    Network,
    Piece,
    initial,
)
from pxp_fsm.plugins.easylan.running.execution import LanTurn, NetworkRun
from pxp_fsm.plugins.easylan.serialization import response_from_json, to_json
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    Judged,
    RegressionChoice,
    Response,
)
from pxp_fsm.plugins.easylan.training.regressions import Regression
from pxp_fsm.plugins.easylan.training.steps import UpdateStep


def test_the_published_schema_is_what_the_classes_say() -> None:
    assert serialization.schema() == serialization.described()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "object whose kind"),
        ({}, "one of Act, Continuation"),
        ({"kind": "Judged"}, "satisfied"),
        ({"kind": "Act", "choice": "explode"}, "explode"),
        ({"kind": "Act", "choice": "confirm", "more": 1}, "more"),
        ({"kind": "Continuation", "choice": "ACCEPT"}, "ACCEPT"),
    ],
)
def test_an_answer_that_is_none_is_refused(raw: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        response_from_json(raw)


@pytest.mark.parametrize(
    "response",
    [
        Judged(True),
        Judged(False, "this"),
        Act(DeveloperChoice.CONFIRM),
        Act(DeveloperChoice.RETRY, {"gap": ["<??>"]}, "hint", 7),
        Act(DeveloperChoice.BACK, to=UpdateStep.REASON),
        *RegressionChoice,
        *Continuation,
    ],
)
def test_answers_go_through_json(response: Response) -> None:
    assert response_from_json(json.loads(json.dumps(to_json(response)))) == response


def test_runs_regressions_and_distances_are_of_the_published_form() -> None:
    defs = serialization.schema()["$defs"]
    received = AgentInput("x", (Piece("A", "a"),))
    run = NetworkRun("x", "y", {"A": LanTurn(received, "ACTIVE", "ALWAYS", "y", "", "so")})
    handled = HandledExample("x", "y", "y", (("A", "y"), ("B", None)))
    before, after = initial("t"), Network("t", (LanAgent("A", "a", "b"), LanAgent("B", "a", "b")))
    for value in (
        run,
        Regression(handled, run, "another output"),
        Regression(handled, None, "no output"),
        network_distance(before, after),
    ):
        found = json.loads(json.dumps(to_json(value)))
        form = {**defs[type(value).__name__], "$defs": defs}
        assert not faults(found, form), found
        assert faults({**found, "more": 1}, form)
    assert to_json(run)["turns"]["A"]["received"]["pieces"] == [{"author": "A", "text": "a"}]
