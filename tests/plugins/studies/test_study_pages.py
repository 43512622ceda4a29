"""A study in browsers: every status is reached, and its page is one that can be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from backends.databases.records import CONCLUDED
from pxp_fsm.plugins.studies.views import PAGES
from tests.plugins.studies.experts import drug
from tests.plugins.studies.studies import StudyProcess
from tests.web.browsers import AXE, expect, opened

pytestmark = pytest.mark.deep

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
PICTURES = os.environ.get("PXP_PICTURES", "")
"""A folder for a picture of each page, in both themes and on a phone."""


class Visitor:
    """Somebody with a page of the study open; `seen` are the statuses whose page was looked at."""

    def __init__(self, page: Any, seen: set[str]) -> None:
        self.page, self.seen = page, seen

    @property
    def status(self) -> str:
        self.page.wait_for_selector("main[data-status]")
        return str(self.page.get_attribute("main[data-status]", "data-status"))

    def at(self, status: str) -> None:
        """Wait for the page of a status; the first time, look at it."""
        self.page.locator(f"main[data-status={status}]").wait_for()
        if status not in self.seen:
            self.seen.add(status)
            self.look(status)

    def look(self, name: str) -> None:
        """The page keeps the rules of accessibility, in both themes, and fits on a phone."""
        page = self.page
        for theme, size in (("light", DESK), ("dark", DESK), ("light", PHONE)):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.set_viewport_size(size)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
            if PICTURES:
                path = Path(PICTURES) / f"study-{name}-{theme}-{size['width']}.png"
                page.screenshot(path=str(path), full_page=True)
            if AXE.is_file() and size is DESK:
                page.evaluate(AXE.read_text("utf-8"))
                found = page.evaluate("axe.run()")["violations"]
                told = [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
                assert told == [], name
        page.set_viewport_size(DESK)

    def comes(self) -> None:
        """Go on from the page of the panel's address, which is looked at the first time."""
        self.page.get_by_role("button", name="Go on").wait_for()
        if "arrival" not in self.seen:
            self.seen.add("arrival")
            self.look("arrival")
        self.press("Go on")

    def press(self, text: str) -> None:
        self.page.get_by_role("button", name=text).click()

    def begins(self) -> None:
        """Consent, read, practise, and answer the questions before."""
        self.at("CONSENTING")
        self.press("I agree")
        self.at("READING")
        self.press("I have read this")
        self.at("TRAINING")
        self.page.get_by_label("product", exact=True).check()
        self.press("Send")
        self.page.get_by_text("The answer is: reactants.").wait_for()
        self.page.get_by_label("reactants", exact=True).check()
        self.press("Send")
        self.at("BEFORE")
        self.page.get_by_label("For how many years").fill("7")
        self.press("Send")

    def answers(self) -> None:
        """Say something in the session that waits, and send it."""
        page = self.page
        self.at("ANSWERING")
        page.get_by_label("Your prediction").fill("CC(=O)Cl.Nc1ccc(O)cc1")
        page.get_by_label("Your explanation").fill("Acylation.")
        self.press("Continue")
        while True:
            page.locator(".choices input, .look").first.wait_for()
            if page.locator(".look").count():
                break
            heading = page.locator("#form-title").inner_text()
            page.get_by_label("No", exact=True).check()
            self.press("Continue")
            page.wait_for_function(
                "before => document.querySelector('#form-title')?.innerText !== before",
                arg=heading,
            )
        self.press("Send")
        page.locator(".look").wait_for(state="detached")

    def withdraws(self) -> None:
        self.press("Withdraw, and have")
        self.press("Yes, withdraw and erase")


def test_every_status_is_reached_and_its_page_is_good(browser: Any, tmp_path: Path) -> None:
    study = drug(
        tmp_path, **{'instances = ["paracetamol", "lidocaine"]': 'instances = ["sotalol"]'}
    )
    seen = set[str]()
    with StudyProcess(study.path) as server:

        def visit(who: str) -> Any:
            return opened(browser, server.address(who), wait=False, lenient=True)

        with visit("a") as a, visit("b") as b, visit("c") as c:
            ann, bea, cid = (Visitor(page, seen) for page in (a, b, c))
            for each in (ann, bea, cid):
                each.comes()
            ann.at("INVITED")
            server.lab("events/open")
            cid.at("CONSENTING")
            cid.press("I do not want to take part")
            cid.at("DECLINED")
            assert c.get_by_role("link", name="Go back").get_attribute("href").endswith("C2NONE")
            server.lab("events/pause")
            ann.begins()
            ann.at("READY")
            server.lab("events/resume")
            bea.begins()
            bea.at("ANSWERING")
            server.end()
            with SqlBlackboard(str(server.database)) as other:
                other.lock("drug-experts-p002-1")  # so that its partner cannot go on
                server.start()
                bea.at("ABANDONED")
                bea.withdraws()
                bea.at("WITHDRAWN")
                other.unlock("drug-experts-p002-1")
            bea.at("ERASED")
            assert b.get_by_role("link", name="Go back").get_attribute("href").endswith("C3WITH")
            b.reload()
            b.get_by_text("If you have withdrawn from the study").wait_for()
            bea.look("link-ended")
            while True:
                a.locator(".form, main[data-status=BREAK]").first.wait_for()
                if ann.status == "BREAK":
                    break
                ann.answers()
            ann.at("BREAK")
            server.lab("participants/p001/reassign")
            ann.at("LAPSED")
            ann.press("Read what the study was about")
            ann.at("DEBRIEF")
            assert "The other side was" in a.inner_text("main")
            assert "Molecules: arXiv" in a.inner_text("main")
            ann.press("I have read this")
            ann.at("DONE")
            assert a.get_by_role("link", name="Go back").get_attribute("href").endswith("C1DONE")
            server.lab("events/close")
            server.lab("events/anonymise")
            ann.at("ANONYMISED")
    assert seen - {"arrival"} == set(PAGES) - {"WAITING", "AFTER"}  # which the next tests see


def test_who_waits_for_the_end_of_a_slot_sees_so(browser: Any, tmp_path: Path) -> None:
    study = drug(tmp_path, **{"least = 0.001, most = 0.002": "least = 3000, most = 3600"})
    with StudyProcess(study.path) as server:
        server.lab("events/open")
        with opened(browser, server.address("a"), wait=False) as page:
            ann = Visitor(page, {"arrival", "CONSENTING", "READING", "TRAINING", "BEFORE"})
            ann.comes()
            ann.begins()
            ann.at("WAITING")
            page.locator(".session").wait_for()
            assert page.locator(".messages li, .form").count() == 0


def test_tasks_about_networks_end_with_questions_and_a_debrief(
    browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "easylan.toml"
    path.write_text(Path("examples/studies/easylan.toml").read_text("utf-8"), "utf-8")
    with StudyProcess(path) as server:
        server.lab("events/open")
        with (
            opened(browser, server.address("a"), wait=False) as page,
            opened(browser, server.links["researcher"], wait=False) as lab,
        ):
            ann = Visitor(page, {"arrival", "CONSENTING", "READING", "BREAK", "DEBRIEF", "DONE"})
            ann.comes()
            ann.press("I agree")
            ann.press("I have read this")
            page.get_by_label("I correct it, or write a hint").check()
            ann.press("Send")
            page.get_by_label("4", exact=True).check()
            ann.press("Send")
            ann.at("ANSWERING")
            for _ in range(4):
                ann.at("ANSWERING")
                ann.press("This task is done")
                ann.at("BREAK")
                ann.press("Go on")
            ann.at("AFTER")
            page.get_by_label("neither").check()
            ann.press("Send")
            ann.at("DEBRIEF")
            assert page.locator(".arms li").count() == 4
            lab.get_by_text("DEBRIEF", exact=True).wait_for()
            Visitor(lab, set()).look("researcher")
            assert "manual" not in lab.inner_text("main")
            lab.get_by_role("button", name="More of p001").click()
            lab.get_by_role("button", name="Show the arms").click()
            lab.get_by_text(": manual").wait_for()


def test_the_researcher_sees_results_and_two_sessions_side_by_side(
    browser: Any, tmp_path: Path
) -> None:
    one = {
        'instances = ["paracetamol", "lidocaine"]': 'instances = ["paracetamol"]',
        'instances = ["sotalol", "propranolol"]': 'instances = ["propranolol"]',
    }
    study = drug(tmp_path, **one)
    with StudyProcess(study.path) as server:
        server.lab("events/open")
        for who in ("a", "b"):
            assert server.arrives(who).carried()["status"] == "DONE"
        gone = server.arrives("c")
        gone.carried("BREAK")
        with SqlBlackboard(str(server.database), create=False) as board:
            over = sum(record.ending in CONCLUDED for record in board.sessions() if record.subject)
        gone.act("WITHDRAW")
        with opened(browser, server.links["researcher"], wait=False) as page:
            results = page.get_by_role("group", name="results of drug-experts so far")
            expect(results.get_by_role("row").nth(1)).to_have_text(f"in all{over - 1}")
            expect(page.locator(".curves > svg polyline")).to_have_count(3)
            expect(page.get_by_role("img", name="two-way: ")).to_be_visible()
            for subject in ("p001", "p002"):
                page.get_by_role("button", name=f"More of {subject}").click()
                page.get_by_role("button", name="Task 2").click()
            expect(page.get_by_role("heading", name="Two sessions side by side")).to_be_visible()
            for subject in ("p001", "p002"):
                beside = page.locator(f'.pair article[aria-label^="{subject}, task 2"]')
                expect(beside.locator(".messages li").first).to_contain_text("INIT")
            Visitor(page, set()).look("researcher-results")
            asks = page.get_by_role("button", name="Compare the arms")
            asks.click()
            expect(page.get_by_role("alert")).to_contain_text("once the study is closed")
            assert "short" not in page.inner_text("main")
            expect(page.get_by_text("places left")).to_be_visible()
            server.lab("events/close")
            expect(page.get_by_role("alert")).to_have_count(0)
            expect(page.get_by_text("places left")).to_have_count(0)
            asks.click()
            for arm in ("interact", "short"):
                beside = page.get_by_role("article", name=f"arm {arm}")
                expect(beside.locator(".curves > svg polyline")).to_have_count(3)
            rows = page.get_by_role("group", name="differences").get_by_role("row")
            expect(rows).to_have_count(8)
            expect(rows.nth(3).get_by_role("cell")).to_have_count(4)
            expect(page.get_by_text("of 2 participants")).to_be_visible()
            Visitor(page, set()).look("researcher-arms")
