"""A message is acknowledged once it is stored, also where it ends its run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from backends.people.waiting import SessionMoved
from pxp_fsm.web.experts import answers
from pxp_fsm.web.hosting import RunState, SeatPlace
from pxp_fsm.web.news import News

PLACE = SeatPlace("a", 1, "animals-1", 1, 1)


def acknowledged(monkeypatch: pytest.MonkeyPatch, *, stores: bool, gone: bool) -> None:
    """Wait for a message whose run ends while it is looked for the first time."""
    hosted = SimpleNamespace(state=RunState.RUNNING)
    host: Any = SimpleNamespace(hosted={PLACE.run: hosted}, board=None)
    looks = list[int]()

    def look(_host: Any, _place: SeatPlace, number: int) -> bool:
        looks.append(number)
        hosted.state = RunState.OVER if stores else RunState.STOPPED
        if gone:
            host.hosted.clear()
        return stores and len(looks) > 1

    async def wait() -> None:
        news = News()
        news.begin()
        await answers.stored(host, news, PLACE, 5)

    monkeypatch.setattr(answers, "_is_stored", look)
    monkeypatch.setattr(answers, "drop_draft", lambda *_given: None)
    monkeypatch.setattr(answers, "PATIENCE", 0.01)
    asyncio.run(wait())
    assert looks == [5, 5]


@pytest.mark.parametrize("gone", [False, True])
def test_the_message_that_ends_a_run_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    acknowledged(monkeypatch, stores=True, gone=gone)


@pytest.mark.parametrize("gone", [False, True])
def test_a_message_of_a_run_that_stopped_before_it_is_not(
    monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    with pytest.raises(SessionMoved, match="not stored yet"):
        acknowledged(monkeypatch, stores=False, gone=gone)
