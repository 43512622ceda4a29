"""The explorer in a browser: steps, reasons, verdicts, formulas, files, the keyboard, axe rules."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as library
from pxp_fsm.web.files import explorer_file
from pxp_fsm.web.subjects import subject_in
from tests.command_line import pxp
from tests.web.browsers import ROOT, expect, opened, served
from tests.web.hostile import hostile_system

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def interact() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="module")
def buffered() -> Iterator[str]:
    with served("pxp", "--channel", "fifo:1") as address:
        yield address


def at(page: Any, *states: str) -> None:
    """The members that are shown are in these states."""
    expect(page.locator(".now")).to_have_text(list(states))


def has_trace(page: Any, trace: str) -> None:
    """The address has this trace."""
    expect(page).to_have_url(re.compile(rf"[#&]t={re.escape(trace)}(&|$)"))


def wait(page: Any, text: str) -> None:
    expect(page.locator("body")).to_contain_text(text, use_inner_text=True)


def checked(page: Any) -> None:
    """All verdicts have come."""
    expect(page.get_by_text("checking …")).to_have_count(0)


def play(page: Any, name: str) -> None:
    """Play the trace of a verdict, once it has come."""
    page.get_by_role("button", name=f"Play the trace of {name}", exact=True).click()


def test_moves_by_mouse_and_by_keys(browser: Any, interact: str) -> None:
    with opened(browser, interact) as page:
        expect(page).not_to_have_url(re.compile("token"))
        at(page, "IDLE", "IDLE")
        page.get_by_role("button", name="machine → human: INIT").click()
        wait(page, "Step 1: machine → human: INIT")
        at(page, "WAIT", "DECIDE")
        page.keyboard.press("3")
        wait(page, "Step 2: human → machine: REVISE")
        page.locator(".row.possible", has_text="+REJECT").first.click()
        wait(page, "Step 3: machine → human: REJECT")
        has_trace(page, "0.2.3")
        for key, place in (("ArrowLeft", 2), ("Home", 0), ("ArrowRight", 1), ("End", 3)):
            page.keyboard.press(key)
            wait(page, f"At step {place} of 3")
        page.keyboard.press("Home")
        wait(page, "At step 0 of 3")
        page.keyboard.press("1")  # the same move keeps what was after it
        wait(page, "Step 1")
        has_trace(page, "0.2.3")
        page.keyboard.press("1")  # another one does not
        wait(page, "Step 2: human → machine: RATIFY")
        has_trace(page, "0.0")


def test_a_link_opens_the_same_state_elsewhere(browser: Any, interact: str, buffered: str) -> None:
    with opened(browser, interact) as page:
        page.keyboard.press("1")
        page.keyboard.press("4")
        wait(page, "Step 2")
        at(page, "DECIDE", "WAIT")
        has_trace(page, "0.3")
        fragment = page.evaluate("location.hash.slice(1)")
    with served() as other, opened(browser, f"{other}#{fragment}") as page:
        at(page, "DECIDE", "WAIT")
    with opened(browser, f"{buffered}#{fragment}") as page:
        expect(page.get_by_role("status")).to_contain_text("address is of another system")
        at(page, "IDLE", "IDLE")
    for bad in ("t=9.9.9", "t=0.x", "t=99999999999999999999", "t=0&l=7&p=999999", "%%%"):
        with opened(browser, f"{interact}#{bad}") as page:
            expect(page.locator(".now")).to_have_count(2)


def test_walks_goals_and_the_end(browser: Any, interact: str) -> None:
    with opened(browser, interact) as page:
        page.get_by_role("button", name="To the end").click()
        wait(page, "2 steps to an end")
        at(page, "END", "END")
        wait(page, "Every member is in an end state")
        page.get_by_role("button", name="Restart").click()
        page.get_by_label("To", exact=True).fill("human.REFUTE & machine@DECIDE")
        page.get_by_role("button", name="Go").click()
        wait(page, "2 steps to human.REFUTE & machine@DECIDE")
        page.get_by_label("To", exact=True).fill("F ended")
        page.get_by_role("button", name="Go").click()
        wait(page, "a goal is a proposition of one state")
        page.get_by_role("button", name="Random walk").click()
        wait(page, "A random walk of")


def test_what_cannot_happen_says_why_and_a_deadlock_names_the_message(
    browser: Any, buffered: str
) -> None:
    with opened(browser, buffered) as page:
        page.keyboard.press("1")
        expect(page.locator(".blocked")).to_be_hidden()
        page.get_by_text("What cannot happen, and why").click()
        wait(page, "not sent yet: no RATIFY is on the way from pxp2 to pxp1")
        wait(page, "0 of 1")
        checked(page)
        expect(page.locator(".verdict", has_text="no-deadlock")).to_contain_text("FAILS")
        play(page, "no-deadlock")
        wait(page, "The trace of no-deadlock")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("pxp2 sends INIT; pxp1 in WAIT does not receive it")
        expect(page.locator(".message.refused")).to_have_count(2)
        expect(page.locator(".tag")).to_have_text(["INIT #1", "INIT #2"])


def test_a_formula_is_checked_and_colored_as_one_types(browser: Any, interact: str) -> None:
    with opened(browser, interact) as page:
        field = page.get_by_label("Checked as you type")
        field.press_sequentially("G (ended -> ")
        wait(page, "ends too early")
        field.press_sequentially("F machine@IDLE)")
        play(page, "G (ended -> F machine@IDLE)")
        wait(page, "The trace of G (ended -> F machine@IDLE)")
        part = page.locator(".parts tbody tr", has_text="F machine@IDLE").last.locator("td")
        expect(part).to_have_text(["✓holds", "✕fails", "✕fails"])
        field.fill("F ended")
        play(page, "F ended")
        expect(page.locator(".loop")).to_be_visible()
        wait(page, "for ever")
        expect(page).to_have_url(re.compile("[#&]l=2(&|$)"))
        at(page, "WAIT", "DECIDE")
        page.keyboard.press("ArrowRight")
        wait(page, "the cycle begins again")
        page.keyboard.press("End")
        at(page, "WAIT", "DECIDE")
        field.focus()
        page.keyboard.press("1")  # in a field, a digit is a digit
        expect(field).to_have_value("F ended1")


def test_members_that_are_not_shown(browser: Any, interact: str) -> None:
    with opened(browser, f"{interact}#t=0.2") as page:
        page.get_by_label("human", exact=True).uncheck()
        at(page, "DECIDE")
        expect(page.locator(".lifeline")).to_have_count(1)
        page.get_by_label("machine", exact=True).click()  # the last one stays
        at(page, "DECIDE")


def test_what_is_seen_is_saved(browser: Any, interact: str, tmp_path: Path) -> None:
    with opened(browser, f"{interact}#t=0.2.1") as page:
        for name, file, holds in (
            ("SVG", "trace.svg", b"REFUTE"),
            ("Mermaid", "trace.mmd", b"sequenceDiagram"),
            ("ITF", "trace.itf.json", b"REVISE"),
            ("PNG", "trace.png", b"PNG"),
        ):
            with page.expect_download() as waiting:
                page.get_by_role("button", name=f"save the trace as {name}").click()
            assert waiting.value.suggested_filename == file
            waiting.value.save_as(tmp_path / file)
            assert holds in (tmp_path / file).read_bytes()


def test_a_trace_plays_and_stops(browser: Any, buffered: str) -> None:
    with opened(browser, buffered, calm=False) as page:
        checked(page)
        play(page, "no-deadlock")
        expect(page.get_by_role("alert")).to_be_visible()
        wait(page, "At step 2 of 2")


def test_a_file_plays_without_any_network(browser: Any, tmp_path: Path) -> None:
    done = pxp("serve", "pxp", "--channel", "fifo:1", "-o", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    address = (tmp_path / "a.html").as_uri()
    with opened(browser, address, offline=True) as page:
        page.keyboard.press("1")
        page.get_by_text("What cannot happen, and why").click()
        wait(page, "not sent yet: no RATIFY is on the way from pxp2 to pxp1")
        page.get_by_label("To", exact=True).fill("pxp2@END")
        page.get_by_role("button", name="Go").click()
        wait(page, "steps to pxp2@END")
        expect(page.locator(".now").last).to_have_text("END")
        play(page, "no-deadlock")
        wait(page, "Deadlock.")
        expect(page.locator(".message.refused")).to_have_count(2)
        fragment = page.evaluate("location.hash.slice(1)")
    with opened(browser, f"{address}#{fragment}", offline=True) as page:
        wait(page, "Deadlock.")


def test_a_file_says_where_its_states_end(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pxp_fsm.web.files.MOST_STATES", 3)
    path = tmp_path / "a.html"
    path.write_text(explorer_file(subject_in(("pxp",), None)), "utf-8")
    with opened(browser, path.as_uri(), offline=True) as page:
        page.get_by_role("button", name="Random walk").click()
        wait(page, "Beyond this file.")


def test_hostile_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    path = hostile_system(tmp_path)
    done = pxp("serve", path, "-o", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with served(path) as address:
        for one in (address, (tmp_path / "a.html").as_uri()):
            with opened(browser, f"{one}#f=%3Cimg%20src%3Dx%20onerror%3Dhurt()%3E") as page:
                page.keyboard.press("1")
                wait(page, "window.hurt=1")
                expect(page.locator("img, iframe, object, embed")).to_have_count(0)
                page.get_by_label("To", exact=True).fill("__proto__")
                page.get_by_role("button", name="Go").click()
                wait(page, "__proto__")
                assert page.evaluate("window.hurt") is None


def test_the_picture_of_all_states_shows_the_trace_and_leads_to_each(
    browser: Any, buffered: str, tmp_path: Path
) -> None:
    done = pxp("serve", "pxp", "--channel", "fifo:1", "-o", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for address in (buffered, (tmp_path / "a.html").as_uri()):
        with opened(browser, f"{address}#t=0") as page:
            page.locator(".graph summary").click()
            wait(page, "17 states, 26 steps: all are drawn.")
            current = page.locator(".graph .current")
            expect(current).to_have_text(re.compile("1 WAIT, IDLE . INIT"))
            expect(page.locator(".graph .passed")).to_have_count(1)
            page.get_by_label("One node is").select_option("by control")
            wait(page, "17 states in 9 groups")
            dead = page.locator(".graph .dead").first
            dead.focus()
            page.keyboard.press("Enter")
            wait(page, "Deadlock.")
            expect(dead).to_have_class(re.compile("current"))
            page.get_by_label("One node is").select_option("up to symmetry")
            wait(page, "17 states in 10 groups")
            page.locator(".graph .state").first.click()
            at(page, "IDLE", "IDLE")


def test_everything_is_reached_by_the_keyboard(browser: Any, buffered: str) -> None:
    with opened(browser, buffered) as page:
        checked(page)
        wanted = set(
            page.evaluate(
                "[...document.querySelectorAll('button:not(:disabled), input, summary')]"
                ".filter(one => one.checkVisibility())"
                ".map(one => one.id || one.innerText || one.parentElement.innerText)"
            )
        )
        seen = set[str]()
        for _ in range(len(wanted) + 30):
            page.keyboard.press("Tab")
            seen.add(
                page.evaluate(
                    "document.activeElement.id || document.activeElement.innerText || "
                    "document.activeElement.parentElement.innerText"
                )
            )
        assert wanted <= seen


def test_a_switch_turned_off_makes_claims_fall_and_the_matrix_moves(
    browser: Any, interact: str
) -> None:
    with opened(browser, interact + "#t=0.0") as page:
        wait(page, "1 of 23 claims fail")
        panel = page.locator("section[aria-labelledby=assumptions-title]")
        expect(panel.locator(".matrix .open")).to_have_text(["A RATIFY"])
        panel.get_by_label("symmetric").uncheck()
        wait(page, "5 of 23 claims fail")
        expect(panel.locator(".matrix .open")).not_to_have_text(["A RATIFY"])
        play(panel, "refuted-never")
        wait(page, "The trace of refuted-never")
        has_trace(page, "0.1.1.0")
        page.keyboard.press("Home")
        wait(page, "MATCH and AGREE are not asked here")


def test_a_table_is_edited_drawn_checked_and_saved(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    shutil.copy(ROOT / "pxp_fsm" / "automata" / "data" / "pxp.toml", path)
    text = path.read_text("utf-8")
    arguments = ("--edit", str(path), "--channel", "fifo:1")
    with served(*arguments) as address, opened(browser, address + "#t=0.1") as page:
        area = page.locator("textarea")
        expect(area).to_have_value(text)
        area.fill(text.replace('to = "WAIT"', 'to = "NOWHERE"', 1))
        page.get_by_role("button", name="line ").first.click()
        page.wait_for_function(
            "() => { const a = document.activeElement;"
            " return a.value?.slice(a.selectionStart, a.selectionEnd).includes('NOWHERE'); }"
        )
        save = page.get_by_role("button", name="Save", exact=True)
        expect(save).to_be_disabled()
        hostile = text.replace('name = "DECIDE"', 'name = "DECIDE"', 1).replace(
            'title = "PXP"', "title = '<img src=x onerror=\"window.hurt=1\">'", 1
        )
        assert hostile != text
        area.fill(hostile)
        wait(page, "no fault")
        wait(page, "<img src=x onerror")
        has_trace(page, "0.1")
        assert page.evaluate("window.hurt") is None
        assert path.read_text("utf-8") == text
        page.keyboard.press("Tab")  # away from the text, where keys are moves again
        save.click()
        wait(page, "Written:")
        assert path.read_text("utf-8") == hostile
        checked(page)
        expect(page.get_by_role("button", name="Play the trace of no-deadlock")).to_be_visible()


def test_a_running_session_is_followed_until_one_leaves_it(browser: Any, tmp_path: Path) -> None:
    database = str(tmp_path / "lab.sqlite")
    agent = library.Agent(
        lambda question: library.Answer(str(min(len(question.history), 5)), "so it is"),
        match=library.exact,
        agree=library.exact,
    )
    apart = ThreadPoolExecutor(1)  # the browser has a loop in this thread
    with library.open_blackboard(database) as board:
        session = library.Session(
            library.Interact(k=9),
            {"m": agent, "h": agent},
            instance="x",
            name="lab/1",
            blackboard=board,
        )
        apart.submit(lambda: asyncio.run(session.step())).result()
        arguments = ("lab/1", "--database", database, "--monitor", "F ended")
        with served(*arguments) as address, opened(browser, address) as page:
            wait(page, "After message 1 of 1.")
            apart.submit(lambda: asyncio.run(session.step())).result()
            wait(page, "After message 2 of 2.")
            wait(page, "lab/1@2")
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("4")
            wait(page, "it leaves what happened after message 1")
            apart.submit(session.run_sync).result()
            wait(page, "ended: ")
            expect(page.locator(".now")).to_have_count(2)
            wait(page, "it leaves what happened after message 1")
            page.get_by_role("button", name="To what happened last").click()
            assert session.ending is not None
            wait(page, f"After message {len(session.history)} of {len(session.history)}.")
            at(page, "END", "END")
