"""The explorer and the studio under requests that are made from their own descriptions."""

from __future__ import annotations

import pytest

from tests.web.explorers import PXP, client_of
from tests.web.requests import ask_every_route

pytestmark = pytest.mark.deep

EXAMPLES = 500


def test_no_request_to_the_explorer_is_a_fault_of_the_server() -> None:
    client = client_of(PXP)
    ask_every_route(client, ["secret"], {"{form}": "toml"}, EXAMPLES)
    assert client.get("/api/system").status_code == 200
