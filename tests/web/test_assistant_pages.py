"""A person in a browser and an assistant, in one session of one server."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from tests.web.assistants import connected, my_turn, printed, said, started
from tests.web.browsers import opened
from tests.web.test_experts_pages import begin, send, wait

pytestmark = pytest.mark.deep

GIVEN = {"prediction": "bird", "explanation": "It has wings."}


def gives(lines: str, *words: str) -> dict[str, Any]:
    """Let the machine's assistant answer its next questions, one after the other; its view then.

    In a thread of its own: the browser has a loop in this one.
    """

    async def answers() -> dict[str, Any]:
        async with connected(*printed(lines)["animals-1/machine"]) as client:
            for word in words:
                view = await my_turn(client)
                payload = GIVEN if word == "answer" else None
                told = {"question": view["question"], "do": word, "payload": payload}
                await said(client, "answer", **told)
            return await my_turn(client) if not words else await said(client, "turn")

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, answers()).result()


def link(lines: str, whose: str) -> str:
    found = re.search(rf"^{whose}: (http\S+token=\S+)$", lines, re.MULTILINE)
    assert found is not None, lines
    return found[1]


def sets(*assignments: str) -> list[str]:
    return [word for one in assignments for word in ("--set", one)]


def test_a_person_in_a_browser_meets_an_assistant(browser: Any, tmp_path: Path) -> None:
    about = ("animals", *sets("instances=sparrow", "agents.machine=mcp", "agents.human=browser"))
    with started(tmp_path, *about) as (lines, process):
        gives(lines, "answer")
        with opened(browser, link(lines, "expert"), wait=False, lenient=True) as page:
            page.locator(".queue a", has_text="waits for you").wait_for()
            begin(page)
            wait(page, "It has wings.")
            page.get_by_label("Your prediction").fill("mammal")
            page.get_by_label("Your explanation").fill("It has a snout.")
            page.get_by_role("button", name="Continue").click()
            page.get_by_role("heading", name="What do you say").wait_for()
            send(page, "REFUTE")
            view = gives(lines, "answer")
            assert [one["tag"] for one in view["messages"]] == ["INIT", "REFUTE"]
            assert view["messages"][1]["explanation"] == "It has a snout."
            assert {one["do"] for one in view["options"]} == {"RAT", "REF", "REV"}
            process.kill()
            process.wait()
    again = ("animals-1", "--port", "0")
    with started(tmp_path, *again) as (lines, process):
        assert gives(lines)["options"][0]["do"] == "answer"  # what was not sent is asked again
        view = gives(lines, "answer", "REF")
        assert view["status"] == "others act"
        with opened(browser, link(lines, "expert"), wait=False) as page:
            begin(page)
            answer(page)
            gives(lines, "answer", "RAT")
            wait(page, "This session is over")
    with SqlBlackboard(str(tmp_path / "blackboard.sqlite"), create=False) as board:
        stored = board.session("animals-1/1/1")
    tags = ["INIT", "REFUTE", "REFUTE", "RATIFY", "RATIFY"]
    assert [one.tag for one in stored.history] == tags
    assert dict(stored.record.agents)["m"].startswith("assistant guards=assistant")


def answer(page: Any) -> None:
    page.get_by_role("button", name="Take their answer").click()
    page.get_by_role("heading", name="What do you say").wait_for()
    send(page, "RATIFY")
