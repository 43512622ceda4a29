"""A person in a panel, on a page: the whole board, and one message at a time to whom it is due."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.protocol.messages import Answer, Question
from tests.web.browsers import expect, opened
from tests.web.browsers import served as explored
from tests.web.experts import MINE, Expert, Served, Server, served
from tests.web.test_experts_pages import PHONE, begin, go_on

ROOT = Path(__file__).parents[3]
LABELS = ROOT / "examples" / "labels"
BIRD, FISH = Answer("bird", "It has wings."), Answer("fish", "It swims.")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Automata are laid out by Graphviz where browsers show them, and not here."""
    monkeypatch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))


def apart(question: Question) -> Answer:
    """m1 says bird to all, and m2 fish."""
    overview = question.overview
    assert overview is not None
    assert overview.next is not None
    return {"m1": BIRD, "m2": FISH}[overview.next[0]]


@contextmanager
def panel(place: Path, **plan: Any) -> Iterator[tuple[Served, Expert]]:
    given = {"agents": 3, "n": 4, "answers": apart, **plan}
    with served(place / "lab.sqlite", "ann", **given) as found:
        yield found, found.expert("ann")


def pairs(view: dict[str, Any]) -> dict[str, str | None]:
    agents = view["board"]["agents"]
    return {one["name"]: one["pair"] and one["pair"]["prediction"] for one in agents}


def test_a_person_sees_the_board_and_answers_one_agent_at_a_time(
    quick: None, tmp_path: Path
) -> None:
    with panel(tmp_path) as (found, ann):
        view = ann.waiting()
        assert view["board"]["to"] == "m1"
        assert pairs(view) == {"m1": "bird", "m2": "fish", "h": None}
        owes = {one["name"]: one["owes"] for one in view["board"]["agents"]}
        assert "m1" in owes["h"]
        said = [(one["sender"], one["receiver"], one["tag"]) for one in view["messages"]]
        assert ("m1", "m2", "INIT") in said  # what others say to each other is seen
        assert (view["asked"]["step"], list(view["asked"]["offers"])) == ("answer", ["theirs"])
        assert view["asked"]["number"] == len(said) + 1
        view = ann.gives(view, "own", **MINE)
        assert (view["asked"]["step"], view["board"]["to"]) == ("tag", "m1")
        view = ann.gives(ann.gives(view, "REF"), "send")
        assert view["board"]["to"] == "m2"
        assert pairs(view)["h"] == MINE["prediction"]
        # what ann has told m1 is what she may keep for m2, who has heard nothing of her
        assert view["asked"]["offers"]["mine"] == MINE
        assert view["asked"]["offers"]["theirs"]["prediction"] == "fish"
        assert {one["guard"]: one["allowed"] for one in view["moves"]}["REF"]
        while view["asked"]:
            view = ann.gives(ann.gives(ann.gives(view, "mine"), "REF"), "send")
        assert view["standing"] == "over"
        assert view["board"]["to"] == ""
        assert view["ending"] == "The session is over: m1-m2 rejected, m1-h bound, m2-h bound."
        history = found.host.board.session("run-ann/1/1").history
        assert {(m.sender, m.receiver) for m in history if m.sender == "h"} == {
            ("h", "m1"),
            ("h", "m2"),
        }


@pytest.mark.deep
def test_match_is_asked_of_the_pair_that_is_answered(quick: None, tmp_path: Path) -> None:
    with panel(tmp_path, human="browser:relations", stop="consensus") as (_found, ann):
        view = ann.gives(ann.waiting(), "own", **MINE)
        assert (view["asked"]["step"], view["board"]["to"]) == ("match", "m1")
        assert sorted(view["asked"]["texts"]) == sorted(["bird", MINE["prediction"]])


@pytest.mark.deep
def test_a_server_that_was_started_again_asks_for_the_same_message(
    quick: None, tmp_path: Path
) -> None:
    with panel(tmp_path) as (_found, ann):
        before = ann.waiting()
    with panel(tmp_path) as (_found, ann):
        after = ann.waiting()
        assert (after["asked"], after["board"]) == (before["asked"], before["board"])


@pytest.mark.deep
def test_a_person_takes_part_in_a_panel_in_a_browser(
    browser: Any, packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "panel.toml").write_text(
        f'format = 1\ntask = "labels"\ndata = "{LABELS}"\ninstances = 1\nn = 4\n'
        '[agents]\nhuman = "browser"\n[panel]\nagents = 3\nstop = "consensus"\n'
    )
    with (
        Server(tmp_path, "panel.toml") as server,
        opened(browser, server.links["expert"], wait=False) as page,
    ):
        page.locator(".queue a", has_text="waits for you").wait_for()
        begin(page)
        board = page.get_by_role("region", name="The board")
        expect(board.get_by_role("listitem")).to_have_count(3)
        expect(board).to_contain_text("You (h)")
        expect(page.get_by_role("heading", name="Your answer to m1")).to_be_visible()
        for width, height in ((1440, 950), PHONE):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            page.evaluate((packages / "axe-core" / "axe.min.js").read_text("utf-8"))
            assert page.evaluate("axe.run()")["violations"] == []
        while page.get_by_role("button", name=re.compile("Take the answer of")).count():
            to = page.get_by_role("heading", name=re.compile("^Your answer to")).inner_text()
            partner = to.removeprefix("Your answer to ")
            go_on(page, f"What do you say to {partner}?", f"Take the answer of {partner}")
            page.get_by_label("RATIFY").check()
            go_on(page, "A last look before it is sent")
            page.get_by_role("button", name="Send").click()
            page.get_by_role("heading", name="A last look before it is sent").wait_for(
                state="detached"
            )
            page.wait_for_function(
                "() => document.querySelector('.offers button') ||"
                "document.body.innerText.includes('is over')"
            )
        expect(page.get_by_text("This session is over").first).to_be_visible()


@pytest.mark.deep
def test_the_explorer_shows_a_panel_as_it_happens(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "panel.toml").write_text(
        f'format = 1\ntask = "labels"\ndata = "{LABELS}"\ninstances = 1\nn = 4\n'
        '[agents]\nhuman = "browser"\n[panel]\nagents = 3\nstop = "consensus"\n'
    )
    database = str(tmp_path / "runs" / "blackboard.sqlite")
    with (
        Server(tmp_path, "panel.toml") as server,
        opened(browser, server.links["expert"], wait=False) as page,
    ):
        page.locator(".queue a", has_text="waits for you").wait_for()
        begin(page)
        page.get_by_role("heading", name="Your answer to m1").wait_for()
        with SqlBlackboard(database) as board:
            (run,) = board.runs()
        with (
            explored(f"{run.run}/1/1", "--database", database) as address,
            opened(browser, address) as explorer,
        ):
            explorer.get_by_text("not over, followed").wait_for()
            before = explorer.locator(".step").count()
            expect(explorer.locator(".automaton")).to_have_count(6)
            go_on(page, "What do you say to m1?", "Take the answer of m1")
            page.get_by_label("RATIFY").check()
            go_on(page, "A last look before it is sent")
            page.get_by_role("button", name="Send").click()
            expect(explorer.locator(".step")).not_to_have_count(before)
            expect(explorer.get_by_role("status").first).to_contain_text("has happened")
