"""The picture of the reachable states: where a trace is in it, and what is not drawn is counted."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from proofs.systems import Composition, System
from proofs.systems.folding import Fold, reach
from proofs.systems.paths import states_along
from pxp_fsm.web.files import embedded
from pxp_fsm.web.subjects import subject_in
from pxp_fsm.web.views import MOST_ARROWS, MOST_NODES, MOST_STATES, StatePicture, Views
from tests.web.explorers import client_of
from tests.web.hostile import hostile_system

BUFFERED = subject_in(("pxp",), "fifo:1")


def _graph(client: TestClient, fold: str, *choices: int) -> dict[str, Any]:
    answer = client.post("/api/graph", json={"choices": choices, "fold": fold})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("fold", Fold)
def test_a_node_leads_to_itself_and_a_trace_goes_along_arrows(fold: str) -> None:
    client = client_of(BUFFERED)
    shown = _graph(client, fold)
    names = [state["name"] for state in shown["layout"]["states"]]
    arrows = {(one["source"], one["target"]) for one in shown["layout"]["arrows"]}
    assert "all are drawn" in shown["count"]
    assert len(names) == len(shown["nodes"])
    for number, node in enumerate(shown["nodes"]):
        path = _graph(client, fold, *node["choices"])["path"]
        assert (path[0], path[-1]) == (0, number)
        assert all((names[one], names[next_]) in arrows for one, next_ in pairwise(path))


def test_what_is_not_drawn_is_counted() -> None:
    composition = Composition(System.load("examples/contract_net/contract_net.toml"))
    picture = StatePicture(reach(composition, MOST_STATES), Fold.NONE)
    numbers = [int(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", picture.count)]
    states, steps, drawn, shown, left, left_arrows, *_ = numbers
    arrows = steps  # each leads elsewhere, so the sentence counts them once
    assert (states, steps) == (172, 397)
    assert drawn == len(picture.diagram.nodes) <= MOST_NODES
    assert shown == len(picture.diagram.edges) <= MOST_ARROWS
    assert (drawn + left, shown + left_arrows) == (states, arrows)
    beyond = sum(node.more for node in picture.nodes)
    assert 0 < beyond <= left_arrows
    assert any(
        node.name.endswith(f"(+{picture.nodes[0].more or 1})") for node in picture.diagram.nodes
    )


def test_a_large_system_is_cut_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pxp_fsm.web.explorer.MOST_STATES", 6)
    client = client_of(BUFFERED)
    assert _graph(client, "none")["count"].startswith("The nearest 6 states, ")
    assert "there are more" in _graph(client, "none")["count"]
    assert None in _graph(client, "none", 0, 0, 0)["path"]


def test_a_picture_is_written_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    client = client_of(BUFFERED)
    drawn = client.post("/api/export/svg", json={"fold": "control"})
    assert b"17 states in 9 groups" in drawn.content
    assert client.post("/api/export/itf", json={"fold": "control"}).status_code == 422
    assert client.post("/api/graph", json={"fold": "everything"}).status_code == 422
    assert client.post("/api/graph", json={"choices": [99]}).status_code == 422
    bargain = client_of(subject_in(("examples/own_protocol/bargain.toml",), None))
    assert bargain.post("/api/graph", json={"fold": "symmetry"}).status_code == 422
    client = client_of(subject_in((hostile_system(tmp_path),), None))
    hostile = client.post("/api/export/svg", json={"fold": "none"})
    assert hostile.status_code == 200
    assert b"<script" not in hostile.content


def test_a_file_has_the_same_pictures() -> None:
    views, client = Views(BUFFERED.system()), client_of(BUFFERED)
    data = json.loads(json.dumps(embedded(views, ())))
    for fold, kept in data["graphs"].items():
        numbers, on = kept.pop("numbers"), kept.pop("on")
        served = _graph(client, fold, 0, 0)
        states = states_along(views.composition, (0, 0))
        parts = views.composition.encoding.parts
        keys = [",".join(str(parts[part].of(state)) for part in on) for state in states]
        assert [numbers[key] for key in keys] == served.pop("path")
        assert kept.pop("path") == [0]
        assert kept == served
