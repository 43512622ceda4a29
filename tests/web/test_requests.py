"""The explorer and the studio under requests that are made from their own descriptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pxp_fsm.web.security import Access, Guarded
from pxp_fsm.web.server import application
from pxp_fsm.web.subjects import subject_in
from tests.web.requests import ask_every_route
from tests.web.studios import BASE, network_file, page, script_file, studio

pytestmark = pytest.mark.deep

EXAMPLES = 500


def test_no_request_to_the_explorer_is_a_fault_of_the_server() -> None:
    app = application(subject_in(("pxp",), "fifo:1"))
    headers = {"authorization": "Bearer secret"}
    client = TestClient(Guarded(app, Access(8000, "secret")), base_url=BASE, headers=headers)
    ask_every_route(client, ["secret"], {"{form}": "toml"}, EXAMPLES)
    assert client.get("/api/system").status_code == 200


def test_no_request_to_the_studio_is_a_fault_of_the_server(tmp_path: Path) -> None:
    model = script_file(tmp_path, {"purpose": "solve", "reply": "fine"})
    with studio(network_file(tmp_path), model) as client:
        ask_every_route(client, ["secret"], {"{form}": "svg", "{version}": "1"}, EXAMPLES)
        with page(client) as one:
            assert one.network["agents"]
