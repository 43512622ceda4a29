"""In a study a model's answer is on nobody's page while it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.plugins.studies.experts import drug
from tests.plugins.studies.studies import study_server
from tests.waiting import until
from tests.web.test_writing import PREDICTION, REPLY, SlowModel


@pytest.fixture
def model() -> Iterator[SlowModel]:
    with HTTPServer(threaded=True) as server:
        found = SlowModel(server)
        yield found
        found.goes_on.set()


def begun(model: SlowModel) -> None:
    """Wait until the model is asked."""
    until(lambda: model.asked)


@pytest.mark.deep
def test_in_a_study_nothing_is_seen_before_it_is_sent(tmp_path: Path, model: SlowModel) -> None:
    changed = {
        "blinded = true": "blinded = false",
        "k = 3": f'k = 3\nmachine = "{model.name}"',
        "providers = []": 'providers = ["a model"]',
    }
    with study_server(drug(tmp_path, **changed), tmp_path / "people.sqlite") as there:
        model.reply = REPLY.replace(json.dumps(PREDICTION), '["CCO"]')
        there.lab("POST", "/events/open")
        ann = there.arrives("ann")
        ann.carried("WAITING")
        begun(model)
        assert not model.asked[0].get("stream")
        assert "Slowly" not in str(ann.look())
        model.goes_on.set()
        page = ann.until(lambda one: (one.get("session") or {}).get("asked"))
        assert page["session"]["writing"] is None
        assert page["session"]["messages"][0]["explanation"] == "Slowly 😀 and surely."
