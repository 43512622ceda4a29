"""The experts' page by keys alone: Tab, arrows, Enter and what is typed; no mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.test_experts_pages import PREDICTION, WORDS, at_desk, tags

pytestmark = pytest.mark.deep


def tab_to(page: Any, wanted: str) -> None:
    """Press Tab until something is reached, by its id, value or text."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate("(e => e.id || e.value || e.innerText)(document.activeElement)")
        if found and found.startswith(wanted):
            return
    raise AssertionError(f"{wanted} is not reached")


def at_heading(page: Any, heading: str) -> None:
    """Wait for the next step, whose heading has the focus."""
    page.get_by_role("heading", name=heading).wait_for()
    page.wait_for_function("() => document.activeElement.id === 'form-title'")


def send(page: Any) -> None:
    """Send what is shown, once more, and wait until it is a message."""
    at_heading(page, "A last look")
    tab_to(page, "Send")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.messages li').length >= 2")


def test_a_session_by_the_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    with at_desk(browser, tmp_path) as (page, _):
        tab_to(page, "Case 1")
        page.keyboard.press("Enter")
        page.wait_for_selector(".form")
        tab_to(page, "prediction")
        page.keyboard.type(PREDICTION)
        tab_to(page, "explanation")
        page.keyboard.type(WORDS)
        tab_to(page, "Continue")
        page.keyboard.press("Enter")
        at_heading(page, "What do you say")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        tab_to(page, "Continue")
        page.keyboard.press("Enter")
        send(page)
    assert tags(tmp_path)[0][1] == "REFUTE"
