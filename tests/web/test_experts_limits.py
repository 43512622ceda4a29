"""How many requests an expert may make, and at which address a server is."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pxp_fsm.errors import UsageError
from pxp_fsm.web.experts.pages import expert_pages
from pxp_fsm.web.guard import RequestBudget
from pxp_fsm.web.links import Links, checked_url
from pxp_fsm.web.news import News
from pxp_fsm.web.pages import application
from tests.web.experts import served


def test_requests_are_limited_for_each_holder_apart() -> None:
    now = 0.0
    budget = RequestBudget(2.0, 3.0, lambda: now)
    assert [budget.takes("a") for _ in range(4)] == [True, True, True, False]
    assert budget.takes("b")
    now = 0.5
    assert [budget.takes("a") for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    "url",
    ["", "lab.example", "ftp://lab.example", "https://lab.example/x", "https://a b", "https://u@h"],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="no address of a server"):
        checked_url(url)


def test_behind_tls_links_host_and_cookie_are_those_of_the_address(tmp_path: Path) -> None:
    with served(tmp_path / "lab.sqlite", "ann") as found:
        links = Links(found.host.board, 1, "https://Lab.example/")
        app = application(links, expert_pages(found.host, links, News()))
        link = links.link("expert", "ann")
        assert link.startswith("https://lab.example/?token=")
        client = TestClient(app, base_url="https://lab.example")
        assert "Secure" in client.get(link).headers["set-cookie"]
        assert client.get("/api/me").json()["subject"] == "ann"
        for origin, code in (("https://lab.example", 200), ("http://lab.example", 403)):
            answer = client.post("/api/pairing", json={}, headers={"origin": origin})
            assert answer.status_code == code
        assert client.get("/api/me", headers={"host": "127.0.0.1:1"}).status_code == 403
