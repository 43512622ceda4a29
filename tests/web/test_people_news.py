"""What pages of people hear, and when: nothing is lost, and replies take steps of equal length."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from pxp_fsm.diagrams.placement import Placement
from pxp_fsm.web.experts import news
from pxp_fsm.web.experts.admission import EXPERTS, RESEARCHERS, Who
from pxp_fsm.web.experts.news import LOST, News
from pxp_fsm.web.participants.server import Paced
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
    monkeypatch.setattr(news, "MOST", 3)

    async def listen() -> list[str]:
        found = News()
        found.begin()
        with found.listening() as slow:
            for name in ("a", "b", "c", "d", "e"):
                found.tell(name)
            await asyncio.sleep(0)
            return [await slow.get() for _ in range(slow.qsize())]

    assert asyncio.run(listen()) == [LOST, "e"]


def test_a_page_that_is_too_far_behind_asks_for_everything_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what filled its queue was news of others, which it is not told."""
    monkeypatch.setattr(news, "MOST", 3)
    with served(tmp_path / "lab.sqlite", "ann", "bea") as found:
        for subject in ("ann", "bea"):
            found.expert(subject).waiting()
        headers = {"origin": BASE, "authorization": f"Bearer {found.tokens['ann']}"}
        address = "ws://127.0.0.1:8000/api/events"
        with found.client.websocket_connect(address, headers=headers) as heard:

            def burst() -> None:
                for name in ("run-bea", "run-bea", "run-bea", "run-ann", "run-bea"):
                    found.runner.on_change(f"{name}/1/1")

            assert found.client.portal is not None
            found.client.portal.call(burst)
            assert heard.receive_json() == {"type": "lost"}


@pytest.mark.parametrize("takes", [0.0, 0.1, 0.25, 0.3, 1.6])
def test_a_participant_is_replied_to_after_whole_steps(takes: float) -> None:
    now = [100.0]

    async def sleep(seconds: float) -> None:
        assert 0 <= seconds < 0.25
        now[0] += seconds

    async def work(_scope: Any, _receive: Any, send: Any) -> None:
        now[0] += takes
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def replied(who: Who) -> float:
        sent = list[float]()

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent.append(now[0])

        async def receive() -> Message:
            return {"type": "http.request"}

        began, scope = now[0], {"type": "http", "state": {"who": who}}
        asyncio.run(Paced(work, 0.25, lambda: now[0], sleep)(scope, receive, send))
        return sent[0] - began

    took = replied(Who(EXPERTS, "p001"))
    assert took == pytest.approx(0.25 * -(-takes // 0.25))
    assert replied(Who(RESEARCHERS, "")) == pytest.approx(takes)
