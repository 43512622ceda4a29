"""Molecules in browsers, drawn and typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rdkit.Chem import MolFromSmiles, MolToSmiles

from backends.databases import SqlBlackboard
from backends.databases.drafts import timings_of
from tests.web.browsers import expect
from tests.web.test_experts_pages import PHONE, agree, at_desk, begin, go_on, send, tags, wait

pytestmark = pytest.mark.deep

SMILES, WORDS = "CC(=O)Cl.Nc1ccc(O)cc1", "Acylation with acetyl chloride."


@pytest.mark.parametrize("size", [(1440, 950), PHONE], ids=["desk", "phone"])
def test_a_whole_session_about_a_molecule(
    browser: Any, tmp_path: Path, size: tuple[int, int]
) -> None:
    with at_desk(browser, tmp_path, "drug", size=size) as (page, _):
        assert "token" not in page.url
        begin(page)
        wait(page, "For research only, not for diagnosis or treatment.")
        page.wait_for_function("() => document.querySelector('.frame img').naturalWidth > 0")
        page.get_by_role("button", name="zoom in").click()
        wait(page, "125%")
        page.get_by_label("Your prediction").fill(SMILES)
        page.wait_for_selector(".preview img")
        page.get_by_role("button", name="Draw").click()
        page.wait_for_function("() => !document.querySelector('.editor [role=status]')")
        page.get_by_label("Your explanation").fill(WORDS)
        wait(page, "Your draft is kept.")
        page.reload()
        begin(page)
        assert page.get_by_label("Your prediction").input_value() == SMILES
        assert page.get_by_label("Your explanation").input_value() == WORDS
        go_on(page, "What do you say")
        assert page.locator("input[type=radio]:checked").count() == 0
        page.get_by_role("button", name="Continue").click()
        wait(page, "Choose one of them.")
        assert page.get_by_label("REJECT").is_disabled()
        page.get_by_label("REFUTE").check()
        go_on(page, "A last look before it is sent")
        page.get_by_role("button", name="Why does").click()
        page.wait_for_selector(".why")
        page.get_by_role("button", name="Edit").click()
        page.get_by_role("heading", name="Your answer").wait_for()
        assert page.get_by_label("Your prediction").input_value() == SMILES
        go_on(page, "What do you say")
        send(page, "REFUTE")
        agree(page)
    (said,) = tags(tmp_path)
    assert said[:2] == ["INIT", "REFUTE"]
    assert said[-1] == "RATIFY"
    with SqlBlackboard(str(tmp_path / "runs" / "blackboard.sqlite"), create=False) as board:
        timing = timings_of(board, board.sessions()[0].session)[2]
        assert timing.edits >= 2
        assert timing.active + timing.idle > 0


def test_a_molecule_is_drawn_by_hand_from_the_one_in_question(browser: Any, tmp_path: Path) -> None:
    """The editor shows what is asked about; it is a prediction once something is changed in it."""
    with at_desk(browser, tmp_path, "drug") as (page, _):
        begin(page)
        asked = MolFromSmiles(page.locator(".described").inner_text())
        page.get_by_role("button", name="Draw").click()
        page.wait_for_selector(".editor canvas")
        typed = page.get_by_label("Your prediction")
        assert typed.input_value() == ""
        canvas = page.locator(".editor .canvas")
        box = canvas.bounding_box()
        canvas.click(position={"x": 0.9 * box["width"], "y": 0.9 * box["height"]})
        page.wait_for_function("() => document.querySelector('#prediction').value")
        kept, drawn = sorted(typed.input_value().split("."), key=len, reverse=True)
        assert MolToSmiles(MolFromSmiles(kept)) == MolToSmiles(asked)
        assert re.fullmatch("C+", drawn)


def test_an_editor_that_could_not_be_loaded_is_loaded_later(browser: Any, tmp_path: Path) -> None:
    """A browser never asks again for a module that failed, by the same address."""
    answers = iter((503, 503))

    def busy_at_first(route: Any) -> None:
        status = next(answers, 200)
        route.continue_() if status == 200 else route.fulfill(status=status)

    with at_desk(browser, tmp_path, "drug", lenient=True) as (page, _):
        page.route(re.compile(r"/molecules\.js"), busy_at_first)
        begin(page)
        page.get_by_role("button", name="Draw").click()
        wait(page, "could not be loaded and is tried again")
        page.get_by_label("Your prediction").fill(SMILES)
        page.wait_for_selector(".editor canvas")
        expect(page.locator(".editor [role=status]")).to_have_count(0)
