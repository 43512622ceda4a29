"""What pages of people hear, and when: nothing is lost, and replies take steps of equal length."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.web import news
from pxp_fsm.web.news import LOST, News, NewsItem
from tests.web.experts import BASE, served


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    """Automata are laid out by Graphviz where browsers show them, and not here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))
        yield


def test_whoever_is_too_far_behind_hears_that_something_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(news, "_MOST", 3)

    async def listen() -> list[NewsItem]:
        found = News()
        found.begin()
        with found.listening() as slow:
            for name in ("a", "b", "c", "d", "e"):
                found.tell(name)
            await asyncio.sleep(0)
            return [await slow.get() for _ in range(slow.qsize())]

    assert asyncio.run(listen()) == [LOST, NewsItem("e")]


def test_a_page_that_is_too_far_behind_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what filled its queue was news of others, which it is not told."""
    monkeypatch.setattr(news, "_MOST", 3)
    with served(tmp_path / "lab.sqlite", "ann", "bea") as found:
        for subject in ("ann", "bea"):
            found.expert(subject).waiting()
        headers = {"origin": BASE, "authorization": f"Bearer {found.tokens['ann']}"}
        address = "ws://127.0.0.1:8000/api/events"
        with found.client.websocket_connect(address, headers=headers) as heard:
            assert heard.receive_json() == {"type": "begin"}

            def burst() -> None:
                for name in ("run-bea", "run-bea", "run-bea", "run-ann", "run-bea"):
                    found.host.on_change(f"{name}/1/1")

            assert found.client.portal is not None
            found.client.portal.call(burst)
            assert heard.receive_json() == {"type": "begin"}
