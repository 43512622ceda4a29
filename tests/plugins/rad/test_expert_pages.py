"""An X-ray in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.test_experts_pages import at_desk, begin, go_on, tags, wait

pytestmark = pytest.mark.deep


def test_a_whole_session_about_an_x_ray(browser: Any, tmp_path: Path) -> None:
    with at_desk(browser, tmp_path, "rad", "browser:relations") as (page, _):
        begin(page)
        frame = page.locator(".frame")
        page.wait_for_function("() => document.querySelector('.frame img').naturalWidth > 100")
        frame.focus()
        for key in ("+", "ArrowLeft", "i"):
            page.keyboard.press(key)
        style = frame.locator("img").evaluate("one => one.style.transform + one.style.filter")
        assert "scale(1.25)" in style
        assert "invert(1)" in style
        page.get_by_label("Contrast").fill("180")
        page.get_by_role("button", name="Reset").click()
        page.get_by_label("Find a label").fill("pneumon")
        page.keyboard.press("Enter")
        wait(page, "Chosen: Pneumonia")
        page.get_by_label("Your explanation").fill("An opacity in the right lower zone.")
        go_on(page, "Is it the same prediction?")
        while (asked := page.inner_text("#form-title")) != "A last look before it is sent":
            page.get_by_label("No", exact=True).check()
            page.get_by_role("button", name="Continue").click()
            page.wait_for_function(
                "asked => ![asked, undefined].includes("
                "document.querySelector('#form-title')?.innerText)",
                arg=asked,
            )
        page.get_by_role("button", name="Send").click()
        page.wait_for_function("() => document.querySelectorAll('.messages li').length >= 2")
    assert tags(tmp_path)[0][:2] == ["INIT", "REFUTE"]
