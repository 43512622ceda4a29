"""An X-ray by the keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.test_experts_keys import at_heading, send, tab_to
from tests.web.test_experts_pages import PHONE, at_desk, tags, wait

pytestmark = pytest.mark.deep


def test_a_session_about_an_x_ray_by_the_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    with at_desk(browser, tmp_path, "rad", "browser:relations", size=PHONE) as (page, _):
        tab_to(page, "Case 1")
        page.keyboard.press("Enter")
        page.wait_for_selector(".form")
        while not page.evaluate("document.activeElement.matches('.frame')"):
            page.keyboard.press("Tab")
        for key in ("+", "ArrowLeft", "i", "0"):
            page.keyboard.press(key)
        style = page.locator(".frame img").evaluate("one => one.style.cssText")
        assert "scale(1)" in style
        assert "invert(1)" in style
        tab_to(page, "100")  # contrast
        page.keyboard.press("ArrowRight")
        assert "contrast(101%)" in page.locator(".frame img").evaluate("one => one.style.filter")
        tab_to(page, "label")
        page.keyboard.type("pneumot")
        page.keyboard.press("Enter")
        page.keyboard.type("effus")
        page.keyboard.press("Enter")
        wait(page, "Chosen: Pneumothorax, Pleural Effusion")
        tab_to(page, "Pneumothorax")
        page.keyboard.press("Space")
        wait(page, "Chosen: Pleural Effusion")
        tab_to(page, "explanation")
        page.keyboard.type("The right costophrenic angle is blunted.")
        tab_to(page, "Continue")
        page.keyboard.press("Enter")
        for heading in ("Is it the same prediction?", "Do the explanations say the same?"):
            at_heading(page, heading)
            page.keyboard.press("Tab")
            page.keyboard.press("Space")
            page.keyboard.press("ArrowDown")  # no
            tab_to(page, "Continue")
            page.keyboard.press("Enter")
        send(page)
    assert tags(tmp_path)[0][1] == "REFUTE"
