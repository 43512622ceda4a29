"""Replies to participants take steps of equal length."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Message

from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.plugins.studies.pages.participants import Paced
from pxp_fsm.web.guard import RESEARCHERS, Who
from pxp_fsm.web.links import EXPERTS


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    """Automata are laid out by Graphviz where browsers show them, and not here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))
        yield


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
