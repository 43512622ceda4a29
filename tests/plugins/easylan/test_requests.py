"""The studio under requests that are made from its own description."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.easylan.studios import network_file, page, script_file, studio
from tests.web.requests import ask_every_route
from tests.web.test_requests import EXAMPLES

pytestmark = pytest.mark.deep


def test_no_request_to_the_studio_is_a_fault_of_the_server(tmp_path: Path) -> None:
    model = script_file(tmp_path, {"purpose": "solve", "reply": "fine"})
    with studio(network_file(tmp_path), model) as client:
        ask_every_route(client, ["secret"], {"{form}": "svg", "{version}": "1"}, EXAMPLES)
        with page(client) as one:
            assert one.network["agents"]
