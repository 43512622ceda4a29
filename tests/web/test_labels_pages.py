"""A classification of one's own in a browser: texts and pictures from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tasks.test_labels import pictures, several
from tests.web.browsers import opened
from tests.web.experts import Server
from tests.web.test_experts_pages import PICTURES, begin, go_on, tags, wait

pytestmark = pytest.mark.deep


def experiment(folder: Path, human: str) -> str:
    text = (
        f'format = 1\ntask = "labels"\ndata = "mine"\ninstances = 1\n[agents]\nhuman = "{human}"\n'
    )
    (folder / "labels.toml").write_text(text, "utf-8")
    return "labels.toml"


def show(page: Any, name: str) -> None:
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def test_a_text_is_given_its_labels_and_ratified(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    several(tmp_path / "mine")
    with (
        Server(tmp_path, experiment(tmp_path, "browser"), "--subject", "ann") as server,
        opened(browser, server.links["ann"], wait=False) as page,
    ):
        begin(page)
        wait(page, "Which of these labels fit this text, one, several or none of them")
        wait(page, "Order ")
        page.get_by_label("Find a label").fill("lat")
        page.keyboard.press("Enter")
        wait(page, "Chosen: late")
        page.get_by_label("Find a label").fill("brok")
        page.keyboard.press("Enter")
        wait(page, "Chosen: late, broken")
        page.get_by_label("Your explanation").fill("It came too late and is broken.")
        show(page, "labels-text")
        go_on(page, "What do you say")
        page.get_by_label("REFUTE").check()
        go_on(page, "A last look before it is sent")
        show(page, "labels-text-look")
        page.get_by_role("button", name="Send").click()
        page.wait_for_function("() => document.querySelectorAll('.messages li').length >= 2")
    assert tags(tmp_path)[0][:2] == ["INIT", "REFUTE"]


def test_a_picture_is_shown_and_given_one_label(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    pictures(tmp_path / "mine")
    with (
        Server(tmp_path, experiment(tmp_path, "browser:relations"), "--subject", "ann") as server,
        opened(browser, server.links["ann"], wait=False) as page,
    ):
        begin(page)
        page.wait_for_function("() => document.querySelector('.frame img').naturalWidth == 64")
        wait(page, "Which one of these labels fits this picture: blue, red?")
        page.get_by_label("Find a label").fill("re")
        page.keyboard.press("Enter")
        wait(page, "Chosen: red")
        page.get_by_label("Find a label").fill("blu")
        page.keyboard.press("Enter")
        show(page, "labels-picture")
        page.get_by_label("Your explanation").fill("The bar is red.")
        page.get_by_role("button", name="Continue").click()
        show(page, "labels-picture-two")
