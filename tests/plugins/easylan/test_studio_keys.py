"""The studio by keys alone: Tab, arrows, Enter and what is typed; no mouse, no script's focus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from tests.plugins.easylan.studios import network_file
from tests.plugins.easylan.test_studio_pages import MODEL, TRUTH, french
from tests.web.browsers import expect, opened, server

pytestmark = pytest.mark.deep

MOST_TABS = 80
NAME = """() => {
  const { activeElement: one } = document;
  return one.ariaLabel ?? one.labels?.[0]?.innerText ?? one.dataset?.agent ?? one.innerText ?? '';
}"""


def tab_to(page: Any, name: str, most: int = MOST_TABS) -> None:
    """Press Tab until what begins with that name has the focus."""
    passed = list[str]()
    while not str(page.evaluate(NAME)).strip().startswith(name):
        assert len(passed) < most, passed
        page.keyboard.press("Tab")
        passed.append(page.evaluate(NAME))


def press(page: Any, name: str, most: int = MOST_TABS) -> None:
    tab_to(page, name, most)
    page.keyboard.press("Enter")


def test_a_network_is_trained_from_the_first_to_the_last_step(browser: Any, tmp_path: Path) -> None:
    """Each question has the focus when it comes, so that its buttons are a few keys away."""
    path, examples = french(tmp_path)
    arguments = ("serve", str(path), "--machine", MODEL, str(examples))
    with server(*arguments, cwd=tmp_path) as (address, _), opened(browser, address) as page:
        expect(page.locator(".example-list li")).to_have_count(7)
        press(page, "Train on Vienne")
        judge = page.get_by_role("group", name="output")
        expect(judge).to_be_focused()
        tab_to(page, "Else, the right output", 5)
        page.keyboard.press("Control+a")
        page.keyboard.type(TRUTH)
        press(page, "Not yet", 5)
        for step in ("GAP", "REASON", "WEAKNESS", "PARAMETERS"):
            expect(page.get_by_role("group", name=f"step {step}")).to_be_focused()
            if step == "GAP":
                tab_to(page, "Your version", 5)
                page.keyboard.press("Control+a")
                page.keyboard.type('{"gap": "It rhymes in French."}')
            press(page, "Confirm", 12)
        expect(judge).to_be_focused()
        press(page, "Satisfied", 5)
        expect(page.get_by_text("Handled: 1 of 1.")).to_be_focused()
    network = Lan.load(path).network
    assert network.names == ("Literal Translator", "Rhyming Polisher")
    assert len(network.handled) == 1


def test_arrow_keys_go_from_agent_to_agent_and_move_them(browser: Any, tmp_path: Path) -> None:
    some = tuple(LanAgent(name, "do", "text") for name in ("First", "One", "Two"))
    edges = frozenset({("First", "One"), ("First", "Two")})
    path = network_file(tmp_path, Network("a task", some, edges))
    kept = path.with_name(f"{path.name}.studio")
    with (
        server("serve", str(path), cwd=tmp_path) as (address, _),
        opened(browser, address) as page,
    ):
        tab_to(page, "First")
        upper, lower = sorted(("One", "Two"), key=lambda name: _height(page, name))
        page.keyboard.press("ArrowRight")
        for key, name in (
            ("ArrowDown", lower),
            ("ArrowUp", upper),
            ("ArrowUp", upper),  # there is none farther
            ("ArrowLeft", "First"),
        ):
            page.keyboard.press(key)
            expect(page.locator(f'[data-agent="{name}"]')).to_be_focused()
        page.keyboard.down("Shift")
        for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowRight"):
            page.keyboard.press(key)
        page.keyboard.up("Shift")
        expect(page.get_by_role("button", name="Tidy up")).to_be_enabled()
        expect(page.locator('[data-agent="First"]')).to_be_focused()
        placed = json.loads(kept.read_text("utf-8"))["positions"]["First"]
        press(page, "Tidy up", 200)
        expect(page.get_by_role("button", name="Tidy up")).to_be_disabled()
        tab_to(page, "First")
        page.keyboard.press("Shift+ArrowDown")
        expect(page.get_by_role("button", name="Tidy up")).to_be_enabled()
        again = json.loads(kept.read_text("utf-8"))["positions"]["First"]
        assert [placed[0] - again[0], placed[1] - again[1]] == [30, -20]


def _height(page: Any, name: str) -> float:
    return float(page.locator(f'[data-agent="{name}"] text').bounding_box()["y"])
