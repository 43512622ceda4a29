"""The explorer as it is looked at: zoom, folding, selection, paper, phones, screen readers."""

from __future__ import annotations

import asyncio
import re
import runpy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as library
from backends.databases import SqlBlackboard
from pxp_fsm.web.files import explorer_file
from pxp_fsm.web.subjects import subject_of
from tests.command_line import pxp
from tests.web.browsers import AXE, ROOT, expect, opened, served

sides = pytest.importorskip("tests.plugins.gateway.sides", reason="the gateway is a plug-in")

pytestmark = pytest.mark.deep

DEBATE = str(ROOT / "examples" / "debate" / "debate.toml")
WIDE = "document.documentElement.scrollWidth - innerWidth"
SEEN = "[...document.querySelectorAll('.automaton svg')].map(one => one.viewBox.baseVal.width)"
"""How much of each automaton is seen, as a width."""


@pytest.fixture(scope="module")
def buffered() -> Iterator[str]:
    with served("pxp", "--channel", "fifo:1") as address:
        yield address


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a system of 100,000 states, of which 20,000 are read."""
    systems = runpy.run_path(str(ROOT / "benchmarks" / "bench_systems.py"))
    path = tmp_path_factory.mktemp("large") / "large.html"
    path.write_text(explorer_file(subject_of(systems["composition"](6, 4).system)), "utf-8")
    return path


@contextmanager
def running_session(folder: Path) -> Iterator[tuple[str, Any]]:
    """The address of a stored session that goes on, and what sends its next message."""
    database = str(folder / "lab.sqlite")
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

        def step() -> None:
            apart.submit(lambda: asyncio.run(session.step())).result()

        step()
        with served("lab/1", "--database", database, "--monitor", "F ended") as address:
            yield address, step


def test_a_picture_fits_the_window_and_one_comes_closer_in_every_way(
    browser: Any, buffered: str
) -> None:
    with opened(browser, buffered) as page:
        picture = page.locator(".automaton .picture").first
        narrow = picture.locator("svg").bounding_box()["width"]
        page.set_viewport_size({"width": 1000, "height": 900})
        assert picture.locator("svg").bounding_box()["width"] != narrow
        whole, other = page.evaluate(SEEN)

        def seen(wanted: str, size: float) -> float:
            """The width that is seen, as soon as it is as wanted."""
            page.wait_for_function(f"{SEEN}[0] {wanted} {size}")
            width, untouched = page.evaluate(SEEN)
            assert untouched == other
            return float(width)

        box = picture.bounding_box()
        page.mouse.move(box["x"] + 60, box["y"] + 60)
        page.evaluate("addEventListener('wheel', () => { document.turned = true; })")
        page.mouse.wheel(0, -120)
        page.wait_for_function("document.turned")
        assert page.evaluate(SEEN) == [whole, other]  # the wheel moves the page
        picture.focus()
        page.evaluate("scrollTo(0, 0)")
        page.mouse.wheel(0, -120)
        seen("<", whole)
        fit = page.get_by_role("button", name=re.compile("^fit: automaton of pxp1"))
        fit.click()
        seen("==", whole)
        page.get_by_role("button", name=re.compile("^zoom in: automaton of pxp1")).click()
        closer = seen("<", whole)
        picture.focus()
        page.keyboard.press("+")
        seen("<", closer)
        left = "document.querySelector('.automaton svg').viewBox.baseVal.x"
        before = page.evaluate(left)
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"{left} > {before}")
        expect(page).to_have_url(re.compile("[#&]t=(&|$)"))  # the arrow was the picture's
        page.keyboard.press("0")
        seen("==", whole)


def test_two_fingers_bring_a_picture_closer(browser: Any, buffered: str) -> None:
    with opened(browser, buffered, size=(390, 844)) as page:
        picture = page.locator(".automaton svg").first
        picture.scroll_into_view_if_needed()
        box, (whole, _) = picture.bounding_box(), page.evaluate(SEEN)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        devtools = page.context.new_cdp_session(page)
        for kind, apart in (("Start", 15), ("Move", 30), ("Move", 60), ("End", None)):
            points = [] if apart is None else [{"x": x - apart, "y": y}, {"x": x + apart, "y": y}]
            points = [{**point, "id": number} for number, point in enumerate(points)]
            devtools.send(
                "Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points}
            )
        page.wait_for_function(f"{SEEN}[0] < {whole / 2}")


def test_a_large_automaton_begins_at_its_present_state_and_follows_it(
    browser: Any, tmp_path: Path
) -> None:
    states = "\n".join(f'  {{ name = "S{number}" }},' for number in range(200))
    rows = "\n".join(
        f'  {{ number = {number + 1}, from = "S{number}", to = "S{number + 1}", event = "GO" }},'
        for number in range(199)
    )
    path = tmp_path / "long.toml"
    path.write_text(
        'format = 1\nname = "long"\ntitle = "Long"\ninitial = "S0"\nfinal = ["S199"]\n'
        f"states = [\n{states}\n]\nrows = [\n{rows}\n]\n",
        "utf-8",
    )
    with served(f"one={path}", f"two={path}") as address, opened(browser, address) as page:
        letters = page.locator(".automaton .state.current text").first
        assert letters.bounding_box()["height"] > 6
        for _ in range(8):
            page.keyboard.press("1")
        expect(page.locator(".now").first).to_have_text("S8")
        picture = page.locator(".automaton .picture").first.bounding_box()
        state = page.locator(".automaton .state.current").first.bounding_box()
        assert abs(state["x"] + state["width"] / 2 - picture["x"] - picture["width"] / 2) < 20


def test_a_message_is_one_object_from_sending_to_receiving(browser: Any, buffered: str) -> None:
    with opened(browser, f"{buffered}#t=0") as page:
        expect(page.locator("[id^=message-]")).to_have_count(1)
        page.get_by_role("button", name="INIT #1").click()
        expect(page.locator("#message-1")).to_have_class(re.compile("selected"))
        expect(page).to_have_url(re.compile("[#&]m=1(&|$)"))
        take = page.get_by_role("button", name="pxp2 receives INIT from pxp1 #1")
        take.click()
        expect(page.locator("[id^=message-]")).to_have_count(1)  # one arrow, now to its receiver
        line = page.locator("#message-1 line").last
        assert int(line.get_attribute("y2")) > int(line.get_attribute("y1"))
        page.get_by_text("Messages (1)").click()
        item = page.get_by_role("button", name="#1 INIT")
        expect(item).to_have_attribute("aria-pressed", "true")
        expect(item).to_contain_text("sent in step 1, received in step 2")
        item.click()
        expect(page.locator("#message-1")).not_to_have_class(re.compile("selected"))
        expect(page).not_to_have_url(re.compile("[#&]m="))


def test_an_address_restores_position_formula_and_selection(browser: Any, buffered: str) -> None:
    with opened(browser, f"{buffered}#t=0.0.1") as page:
        page.get_by_label("Checked as you type").fill("G (pxp1.INIT -> F ended)")
        expect(page.locator(".words")).to_have_text(
            "in every state from here on: if pxp1 has just sent INIT, then at some time from here "
            "on: every member is in an end state"
        )
        page.keyboard.press("Tab")
        page.get_by_label("pxp2", exact=True).uncheck()
        page.locator(".step .hit").nth(1).click(position={"x": 4, "y": 4})
        page.get_by_text("Messages (").click()
        page.get_by_role("button", name="#1 INIT").click()
        expect(page).to_have_url(re.compile("[#&]p=2&m=1&v=pxp1&f=G"))
        fragment = page.evaluate("location.hash")
        now = page.locator(".now").all_inner_texts()
    with opened(browser, buffered + fragment) as page:
        expect(page.locator(".now")).to_have_text(now)
        expect(page.get_by_label("pxp2", exact=True)).not_to_be_checked()
        expect(page.get_by_label("Checked as you type")).to_have_value("G (pxp1.INIT -> F ended)")
        expect(page.locator(".words")).to_be_visible()
        page.get_by_text("Messages (").click()
        expect(page.get_by_role("button", name="#1 INIT")).to_have_attribute("aria-pressed", "true")


def test_verdicts_are_grouped_by_subject_and_no_two_are_named_alike(
    browser: Any, tmp_path: Path
) -> None:
    done = pxp("serve", DEBATE, "--formula", "F ended", "-o", "a.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with opened(browser, (tmp_path / "a.html").as_uri(), offline=True) as page:
        for group in page.get_by_role("group", name=re.compile("^verdicts on ")).all():
            names = [
                text.strip() for text in group.locator(".verdict .what > strong").all_inner_texts()
            ]
            assert len(names) == len(set(names)) > 0
        expect(page.get_by_role("group", name="verdicts on debater")).to_have_count(1)
        expect(page.get_by_role("group", name="verdicts on judge")).to_have_count(1)
        assert page.locator("strong", has_text="F ended (the debate ends)").count() == 1


def test_a_file_of_20_000_states_is_small_and_goes_on(browser: Any, large: Path) -> None:
    assert large.stat().st_size < 400_000
    with opened(browser, large.as_uri(), offline=True) as page:
        for _ in range(3):
            page.get_by_role("button", name="Random walk").click()
            page.get_by_text("A random walk of 20 steps").wait_for()
            page.keyboard.press("End")
        assert page.evaluate("document.querySelectorAll('.step').length") == 60
        page.get_by_label("To", exact=True).fill("worker5@BUSY")
        page.get_by_role("button", name="Go").click()
        page.get_by_text("to worker5@BUSY").wait_for()


def test_calls_of_a_gateway_appear_as_they_happen(browser: Any, tmp_path: Path) -> None:
    database = str(tmp_path / "gateway.sqlite")
    with SqlBlackboard(database) as board:
        client = sides.Sides.of("read_first", board)
        arguments = ("read_first/calls", "--database", database, "--monitor", "F event.REFUSAL")
        with served(*arguments) as address, opened(browser, address) as page:
            page.get_by_text("After message 1 of 1.").wait_for()
            expect(page.locator(".now")).to_have_text("RUNNING")
            client.call("write_file", path="a")
            page.get_by_text("After message 2 of 2.").wait_for()
            expect(page.locator(".chart .note")).to_contain_text(["event START", "event REFUSAL"])
            expect(page.locator(".monitors .status")).to_have_text("true")


def test_paper_has_all_of_it(browser: Any, buffered: str) -> None:
    with opened(browser, f"{buffered}#t=0.1&f=G%20!ended") as page:
        page.get_by_text("checking …").first.wait_for(state="detached")
        page.get_by_role("button", name=re.compile("^zoom in: automaton of pxp1")).click()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 700, "height": 1000})  # A4 between its margins
        assert page.evaluate(WIDE) <= 0
        expect(page.locator(".blocked")).to_be_visible()
        expect(page.get_by_role("button", name="Restart")).to_be_hidden()
        cut = page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter(one =>"
            " one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)"
            ".map(one => one.getAttribute('aria-label'))"
        )
        assert cut == []
        assert page.evaluate(SEEN)[0] == page.evaluate(SEEN)[1]
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        expect(page.locator(".blocked")).to_be_hidden()
        pages = page.pdf(format="A4").count(b"/Type /Page\n")
        assert 3 <= pages <= 6
        expect(page.locator(".blocked")).to_be_hidden()


QUIET = """new Promise((done) => {
  let timer;
  const wait = () => { clearTimeout(timer); timer = setTimeout(done, 400); };
  new MutationObserver(wait).observe(
    document, { subtree: true, childList: true, attributes: true, characterData: true });
  wait();
})"""
"""Nothing of the page has changed for a while."""


def _check_views(page: Any, name: str) -> None:
    """No rule of axe is broken and nothing is too wide, in any theme and at any width."""
    page.get_by_text("checking …").first.wait_for(state="detached")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.evaluate(QUIET)
    page.evaluate(AXE.read_text("utf-8"))
    for theme, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 1000)):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDE) <= 0, (name, width)
        if width != 1000:
            found = page.evaluate("axe.run()")["violations"]
            told = [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
            assert told == [], (name, theme, width)


def test_axe_finds_nothing_and_nothing_is_too_wide(
    browser: Any, buffered: str, large: Path, packages: Path, tmp_path: Path
) -> None:
    assert packages
    with opened(browser, f"{buffered}#t=0.1&f=G%20!ended&m=1") as page:
        expect(page.locator(".parts")).to_be_visible()
        _check_views(page, "a deadlock, a formula, a selected message")
    long = f"#t=0.2{'.1' * 20}&f=G%20(ended%20-%3E%20event.CLOSE)"
    with served() as address, opened(browser, f"{address}#t=0.0") as page:
        page.get_by_text("claims fail under").wait_for()
        _check_views(page, "assumptions")
    with served() as address, opened(browser, f"{address}{long}") as page:
        expect(page.locator(".parts thead .here")).to_be_in_viewport()
        _check_views(page, "a formula on a long trace")
    with opened(browser, f"{large.as_uri()}#t=0.1.2", offline=True) as page:
        _check_views(page, "a file")
    table = tmp_path / "my.toml"
    table.write_text((ROOT / "pxp_fsm/automata/data/pxp.toml").read_text("utf-8"), "utf-8")
    with served("--edit", str(table)) as address, opened(browser, address) as page:
        _check_views(page, "editing")
    with running_session(tmp_path) as (address, step), opened(browser, address) as page:
        page.get_by_text("After message 1 of 1.").wait_for()
        step()
        page.get_by_text("After message 2 of 2.").wait_for()
        expect(page.locator("[id^=message-]")).to_have_count(2)
        _check_views(page, "a session that goes on")
