"""A message is acknowledged once it is stored, also where it ends its run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from backends.people.waiting import Moved
from pxp_fsm.web.experts import answers
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.experts.runner import Place, RunState

PLACE = Place("a", 1, "drug-1", 1, 1)


def acknowledged(monkeypatch: pytest.MonkeyPatch, *, stores: bool, gone: bool) -> None:
    """Wait for a message whose run ends while it is looked for the first time."""
    hosted = SimpleNamespace(state=RunState.RUNNING)
    runner: Any = SimpleNamespace(hosted={PLACE.run: hosted}, board=None)
    looks = list[int]()

    def look(_runner: Any, _place: Place, number: int) -> bool:
        looks.append(number)
        hosted.state = RunState.OVER if stores else RunState.STOPPED
        if gone:
            runner.hosted.clear()
        return stores and len(looks) > 1

    async def wait() -> None:
        news = News()
        news.begin()
        await answers.stored(runner, news, PLACE, 5)

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
    with pytest.raises(Moved, match="not stored yet"):
        acknowledged(monkeypatch, stores=False, gone=gone)
