"""Answers as JSON: read strictly, written as read; the published schema."""

from __future__ import annotations

import json

import pytest

from pxp_fsm.errors import DataError
from pxp_fsm.networks import serialization
from pxp_fsm.networks.serialization import response_from_json, to_json
from pxp_fsm.networks.training.developer import (
    Act,
    Choice,
    Continuation,
    Judged,
    RegressionChoice,
    Response,
)
from pxp_fsm.networks.training.steps import UpdateStep


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
        Act(Choice.CONFIRM),
        Act(Choice.RETRY, {"gap": ["<??>"]}, "hint", 7),
        Act(Choice.BACK, to=UpdateStep.REASON),
        *RegressionChoice,
        *Continuation,
    ],
)
def test_answers_go_through_json(response: Response) -> None:
    assert response_from_json(json.loads(json.dumps(to_json(response)))) == response
