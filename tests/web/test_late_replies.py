"""Pages whose requests, replies and news come late, in any order: quick acts, two windows, cuts."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.web.browsers import PATIENCE, ROOT, expect, opened, served
from tests.web.experts import MINE, Server

pytestmark = pytest.mark.deep

LATE = 0.6
NEWS = (
    """sockets.at(-1).dispatchEvent(new MessageEvent("message", { data: '{"type":"changed"}' }))"""
)
TABLE = ROOT / "pxp_fsm" / "automata" / "data" / "pxp.toml"
ANIMALS = 'format = 1\ntask = "animals"\ninstances = ["sparrow"]\n[agents]\nhuman = "browser"\n'


@contextmanager
def edited(folder: Path) -> Iterator[tuple[str, Path]]:
    """The address of an explorer of a table that is edited, and the table."""
    path = folder / "my.toml"
    shutil.copy(TABLE, path)
    with served("--edit", str(path), "--channel", "fifo:1") as address:
        yield address, path


def renamed(text: str, title: str) -> str:
    """The table with another tag, so that its system is another one, and with a title."""
    return text.replace('"REFUTE"', '"DOUBT"').replace('title = "PXP"', f'title = "{title}"', 1)


def test_keys_act_on_what_the_key_before_has_left(browser: Any) -> None:
    with served() as address, opened(browser, address, late=LATE) as page:
        for key in ("1", "3", "Home", "End", "ArrowLeft", "ArrowLeft", "ArrowRight"):
            page.keyboard.press(key)
        expect(page.get_by_role("status")).to_contain_text("At step 1 of 2")
        expect(page).to_have_url(re.compile(r"t=0\.2&p=1"))
        move = page.locator(".move").first
        move.dblclick()  # the second click finds the list of moves that the first has left behind
        page.keyboard.press("End")
        expect(page.get_by_role("status")).to_contain_text("At step 2 of 2")
        expect(page).to_have_url(re.compile(r"t=0\.0(&|$)"))


def test_a_table_is_edited_while_its_system_is_walked(browser: Any, tmp_path: Path) -> None:
    with (
        edited(tmp_path) as (address, path),
        opened(browser, f"{address}#t=0.1", late=LATE) as page,
        opened(browser, address) as other,
    ):
        text = path.read_text("utf-8")
        area = page.locator("textarea")
        before = page.evaluate("begun.length")
        area.fill(renamed(text, "first"))
        page.get_by_role("button", name="← Back").click()
        page.wait_for_function("before => begun.length > before", arg=before)  # it is on its way
        area.fill(text.replace('to = "WAIT"', 'to = "NOWHERE"', 1))
        page.get_by_role("button", name="line ").first.wait_for()
        area.fill(renamed(text, "second"))
        expect(page.locator("figcaption").first).to_contain_text("second")
        expect(page.get_by_role("status")).not_to_contain_text("another window")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Written:")
        assert path.read_text("utf-8") == renamed(text, "second")
        expect(other.get_by_role("status")).to_contain_text("another window")
        other.keyboard.press("1")
        expect(other.get_by_role("status")).to_contain_text("reload this page")
        expect(other.locator(".now")).to_have_text(["IDLE", "IDLE"])
        other.reload()
        expect(other.locator("figcaption").first).to_contain_text("second")


def test_a_person_is_shown_each_step_and_all_news(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "animals.toml").write_text(ANIMALS, "utf-8")
    with (
        Server(tmp_path, "animals.toml", "--subject", "ann") as lab,
        opened(browser, lab.links["ann"], wait=False) as page,
        opened(browser, lab.links["researcher"], late=LATE, wait=False) as desk,
    ):
        page.locator(".queue a", has_text="waits for you").click()
        page.get_by_label("Your prediction").fill(MINE["prediction"])
        page.get_by_label("Your explanation").fill(MINE["explanation"])
        page.get_by_role("button", name="Continue").click()
        page.get_by_label("REFUTE").check()
        page.get_by_role("button", name="Continue").click()
        box = page.get_by_role("button", name="Send").bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 5)
        page.mouse.down(click_count=2)  # the second click of a double click
        page.mouse.up(click_count=2)
        page.get_by_role("button", name="Edit").click()
        page.get_by_role("heading", name="Your answer").wait_for()
        expect(page.locator(".messages li")).to_have_count(1)
        desk.get_by_role("button", name="Sessions").click()
        desk.get_by_text("1 message").wait_for()
        page.get_by_role("button", name="Continue").click()
        page.get_by_label("REFUTE").check()
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Send").click()
        ends = time.monotonic() + PATIENCE / 1000
        while not desk.get_by_text("3 messages").count():
            assert time.monotonic() < ends, "what is shown stays behind the news"
            desk.evaluate(NEWS)  # more of them than there are replies
            desk.wait_for_timeout(100)
