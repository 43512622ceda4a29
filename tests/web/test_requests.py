"""The explorer and the studio under requests that are made from their own descriptions."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from pxp_fsm.web.server import application
from pxp_fsm.web.serving import Access, GuardedApp
from pxp_fsm.web.subjects import subject_in
from tests.web.explorers import BASE
from tests.web.requests import ask_every_route

pytestmark = pytest.mark.deep

EXAMPLES = 500


def test_no_request_to_the_explorer_is_a_fault_of_the_server() -> None:
    app = application(subject_in(("pxp",), "fifo:1"))
    headers = {"authorization": "Bearer secret"}
    client = TestClient(GuardedApp(app, Access(8000, "secret")), base_url=BASE, headers=headers)
    ask_every_route(client, ["secret"], {"{form}": "toml"}, EXAMPLES)
    assert client.get("/api/system").status_code == 200
