"""People in browsers: whole sessions, several at once, killed servers, the keyboard, axe rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from backends.databases.verify import verify_engine
from tests.sampling import WHOLE
from tests.web.browsers import AXE, Theme, expect, opened
from tests.web.experts import MINE, QuickServer, Server

pytestmark = pytest.mark.deep

PHONE = (390, 844)
PICTURES = os.environ.get("PXP_PICTURES", "")
"""A folder for pictures of pages."""
PREDICTION, WORDS = MINE["prediction"], MINE["explanation"]


def experiment(folder: Path, task: str, human: str = "browser") -> str:
    instances = {"animals": '["sparrow"]', "drug": '["paracetamol"]'}.get(task, "1")
    text = f'format = 1\ntask = "{task}"\ninstances = {instances}\n[agents]\nhuman = "{human}"\n'
    (folder / f"{task}.toml").write_text(text, "utf-8")
    return f"{task}.toml"


@contextmanager
def at_desk(
    browser: Any, folder: Path, task: str = "animals", human: str = "browser", **look: Any
) -> Iterator[tuple[Any, Server]]:
    """A page on which a session waits for its expert, and its server."""
    with (
        Server(folder, experiment(folder, task, human), "--subject", "ann") as server,
        opened(browser, server.links["ann"], wait=False, **look) as page,
    ):
        page.locator(".queue a", has_text="waits for you").wait_for()
        yield page, server


def wait(page: Any, text: str) -> None:
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)


def begin(page: Any) -> None:
    page.locator(".queue a", has_text="waits for you").first.click()
    page.wait_for_selector(".form")


def go_on(page: Any, heading: str, button: str = "Continue") -> None:
    """Press a button, once."""
    page.get_by_role("button", name=button).click()
    page.get_by_role("heading", name=heading).wait_for()


def send(page: Any, tag: str) -> None:
    """Name a tag, look at the message, and send it."""
    page.get_by_label(tag).check()
    go_on(page, "A last look before it is sent")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="A last look before it is sent").wait_for(state="detached")


def agree(page: Any) -> None:
    """Take the other side's answer until the session is over."""
    while True:
        page.wait_for_function(
            "() => document.querySelector('.offers button') ||"
            "document.body.innerText.includes('is over')"
        )
        if "This session is over" in page.inner_text("body"):
            return
        length = page.locator(".messages li").count()
        go_on(page, "What do you say", "Take their answer")
        send(page, "RATIFY")
        page.wait_for_function(
            "length => document.querySelectorAll('.messages li').length > length ||"
            "document.body.innerText.includes('is over')",
            arg=length,
        )


def tags(folder: Path) -> list[list[str]]:
    with SqlBlackboard(str(folder / "runs" / "blackboard.sqlite"), create=False) as board:
        return [
            [message.tag for message in board.session(one.session).history]
            for one in board.sessions()
        ]


def test_two_experts_side_by_side(browser: Any, tmp_path: Path) -> None:
    names = ("--subject", "ann", "--subject", "bea")
    with (
        Server(tmp_path, experiment(tmp_path, "animals"), *names) as server,
        opened(browser, server.links["ann"], wait=False) as ann,
        opened(browser, server.links["bea"], wait=False) as bea,
        opened(browser, server.links["researcher"], wait=False) as lab,
    ):
        for page in (ann, bea):
            page.wait_for_selector(".queue")
            begin(page)
        bea.get_by_label("Your explanation").fill("typed by bea")
        agree(ann)
        assert bea.get_by_label("Your explanation").input_value() == "typed by bea"
        agree(bea)
        wait(lab, "1 of 1 over")
        assert "typed by bea" not in ann.content()
    assert len(tags(tmp_path)) == 2


def test_the_researcher_sees_curves_and_two_sessions_side_by_side(
    browser: Any, tmp_path: Path
) -> None:
    with QuickServer(tmp_path, 1, cases=3) as server:
        expert = server.expert("e1")
        for _ in range(2):
            assert expert.says(expert.waiting(), "RAT")["standing"] == "over"
        with opened(browser, server.links["researcher"], wait=False) as page:
            results = page.get_by_role("group", name="results of run-e1 so far")
            expect(results.get_by_role("row").nth(1)).to_have_text("in all2")
            expect(page.locator(".curves > svg polyline")).to_have_count(3)
            curves = page.get_by_role("img", name="intelligible sessions of run-e1 by message")
            expect(curves).to_have_attribute("aria-label", re.compile("one-way, expert: 0, 2"))
            page.get_by_role("button", name="Sessions of run-e1").click()
            for chosen, shown in (("Case 1", 1), ("Case 2", 2), ("Case 3", 2)):
                page.get_by_role("button", name=chosen).click()
                expect(page.locator(".pair > article, div > article")).to_have_count(shown)
                expect(page.locator(f'article[aria-label="{chosen}"]')).to_be_visible()
            expect(page.locator('article[aria-label="Case 1"]')).to_have_count(0)
            beside = page.locator('.pair > article[aria-label="Case 2"] .messages li')
            expect(beside).to_have_count(3)


def test_the_researcher_compares_two_runs(browser: Any, tmp_path: Path) -> None:
    with QuickServer(tmp_path, 3, cases=2) as server:
        for number, tags in ((1, ("RAT",)), (3, ("REF", "REF", "REF", "REF", "REF"))):
            expert = server.expert(f"e{number}")
            for _ in range(2):
                view = expert.waiting()
                for tag in tags:
                    if view["standing"] != "over":
                        view = expert.says(view, tag, **(MINE if tag == "REF" else {}))
                assert view["standing"] == "over"
        with opened(browser, server.links["researcher"], wait=False) as page:
            section = page.get_by_role("region", name="Two runs compared")
            expect(section).to_contain_text("no finished session about the same instance")
            section.get_by_label("With").select_option("run-e3")
            row = section.get_by_role("group", name="differences").get_by_role(
                "row", name="two-way"
            )
            expect(row.get_by_role("cell")).to_have_text(
                ["1.00", "0.00", "-1.00", "-1.00 to -1.00", "2", "0", "0.5000"]
            )
            for name in ("run-e1", "run-e3"):
                beside = section.get_by_role("article", name=f"compared: {name}")
                expect(beside).to_contain_text("2 of 2 over")
                expect(beside.locator(".curves > svg polyline")).to_have_count(3)
            for theme, (width, height) in (("light", (1440, 950)), ("dark", PHONE)):
                page.emulate_media(color_scheme=theme)
                page.set_viewport_size({"width": width, "height": height})
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                if AXE.is_file():
                    page.evaluate(AXE.read_text("utf-8"))
                    assert page.evaluate("axe.run()")["violations"] == []
                if PICTURES:
                    path = Path(PICTURES) / f"compared-{theme}-{width}.png"
                    page.screenshot(path=str(path), full_page=True)


@pytest.mark.parametrize("late", [0.0, 0.6])
def test_a_server_that_is_killed_in_the_middle_loses_nothing(
    browser: Any, tmp_path: Path, late: float
) -> None:
    with at_desk(browser, tmp_path, lenient=True, late=late) as (page, server):
        begin(page)
        page.get_by_label("Your prediction").fill(PREDICTION)
        page.get_by_label("Your explanation").fill("half a")
        wait(page, "Your draft is kept.")
        server.end()
        wait(page, "The server is away")
        page.get_by_label("Your explanation").fill(WORDS)
        server.start()
        page.locator(".away").wait_for(state="detached")
        assert page.get_by_label("Your explanation").input_value() == WORDS
        go_on(page, "What do you say")
        server.end()
        server.start()
        page.locator(".away").wait_for(state="detached")
        page.get_by_role("heading", name="Your answer").wait_for()
        assert page.get_by_label("Your explanation").input_value() == WORDS
        go_on(page, "What do you say")
        send(page, "REFUTE")
        server.end()
        server.start()
        agree(page)
    (said,) = tags(tmp_path)
    assert said[:2] == ["INIT", "REFUTE"]
    assert said[-1] == "RATIFY"


def test_many_kills_in_the_middle_of_a_session_lose_nothing(browser: Any, tmp_path: Path) -> None:
    """While an answer is typed, at each later step, and while the other side answers."""
    typed = ""
    with at_desk(browser, tmp_path, lenient=True) as (page, server):

        def killed() -> None:
            server.end()
            server.start()
            page.locator(".away").wait_for(state="detached")

        begin(page)
        page.get_by_label("Your prediction").fill(PREDICTION)
        page.get_by_label("Your explanation").evaluate("one => { one.stays = true }")
        for number in range(40 if WHOLE else 8):
            typed += f"{number}. "
            page.get_by_label("Your explanation").fill(typed)
            if number % 2:  # else the draft may not be stored yet
                wait(page, "Your draft is kept.")
            killed()
            assert page.get_by_label("Your explanation").input_value() == typed
        assert page.get_by_label("Your explanation").evaluate("one => one.stays")
        page.get_by_label("Your explanation").fill(WORDS)
        for looks in [False, True] * (3 if WHOLE else 1):
            go_on(page, "What do you say")
            if looks:
                page.get_by_label("REFUTE").check()
                go_on(page, "A last look before it is sent")
            killed()
            page.get_by_role("heading", name="Your answer").wait_for()
            assert page.get_by_label("Your explanation").input_value() == WORDS
        go_on(page, "What do you say")
        send(page, "REFUTE")
        for _ in range(4 if WHOLE else 2):
            killed()
        agree(page)
    (said,) = tags(tmp_path)
    assert said[:2] == ["INIT", "REFUTE"]
    assert said[-1] == "RATIFY"
    with SqlBlackboard(str(tmp_path / "runs" / "blackboard.sqlite"), create=False) as board:
        assert verify_engine(board.engine).problems == ()
        entries = board.events(board.sessions()[0].session)
    assert [one.carried.answer.explanation for one in entries].count(WORDS) == 1


@pytest.mark.parametrize("task", ["animals"])
def test_axe_finds_nothing_and_nothing_is_too_wide(browser: Any, tmp_path: Path, task: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe is not here: npm ci in pxp_fsm/web/frontend")
    with Server(tmp_path, experiment(tmp_path, task), "--subject", "ann") as server:
        looks: list[tuple[Theme, tuple[int, int]]] = [
            ("light", (1440, 950)),
            ("dark", (1440, 950)),
            ("dark", PHONE),
        ]
        for theme, size in looks:
            for who in ("ann", "researcher"):
                with opened(browser, server.links[who], theme=theme, size=size, wait=False) as page:
                    page.wait_for_selector(".queue, .research")
                    if who == "ann":
                        begin(page)
                        page.locator(".where summary").click()
                    page.evaluate(AXE.read_text("utf-8"))
                    found = page.evaluate("axe.run()")["violations"]
                    told = [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
                    assert told == []
                    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert wide <= 0


def test_hostile_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror='window.hurt=1'><script>window.hurt=1</script>"
    with at_desk(browser, tmp_path) as (page, _):
        begin(page)
        page.get_by_label("Your prediction").fill(PREDICTION)
        page.get_by_label("Your explanation").fill(hostile)
        go_on(page, "What do you say")
        send(page, "REFUTE")
        wait(page, "window.hurt=1")
        assert page.evaluate("window.hurt") is None
        assert page.locator("iframe, object, embed, script:not([src])").count() == 0
