"""Every server of pages under requests that are made from its own description."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sampling import swept
from tests.web.described import SERVERS
from tests.web.requests import ask_every_route


@pytest.mark.deep
@pytest.mark.parametrize("name", SERVERS)
def test_no_request_is_a_fault_of_the_server(name: str, tmp_path: Path) -> None:
    with SERVERS[name](tmp_path) as there:
        ask_every_route(there.client, there.tokens, there.known, swept(there.examples))
        assert there.works()
