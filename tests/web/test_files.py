"""The explorer as one file: what is in it, and that nothing in it can run but its own script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from proofs.systems import System
from pxp_fsm.web.files import embedded, explorer_file
from pxp_fsm.web.pages import static
from pxp_fsm.web.subjects import subject_in
from pxp_fsm.web.views import Views
from tests.command_line import pxp
from tests.web.hostile import hostile_system


class _Tags(HTMLParser):
    """The tags of a page, and the text in its elements of raw text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style") and data.strip():
            self.raw.append(data)


def _data(page: str) -> dict[str, Any]:
    packed = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert packed is not None
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    return found


def test_the_file_runs_its_own_script_and_nothing_else(tmp_path: Path) -> None:
    page = explorer_file(subject_in((hostile_system(tmp_path),), None))
    parser = _Tags()
    parser.feed(page)
    assert [tag for tag, _ in parser.tags] == (
        [
            "html",
            "head",
            "meta",
            "meta",
            "meta",
            "title",
            "style",
            "body",
            "div",
            "script",
            "script",
        ]
    )
    assert all(not name.startswith("on") for _, given in parser.tags for name in given)
    style, data, script = parser.raw
    policy = next(given["content"] for tag, given in parser.tags if "http-equiv" in given)
    assert policy is not None
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", data)
    assert "window.hurt" not in page
    assert "window.hurt" in _data(page)["system"]["members"][0]["title"]


def test_scripts_and_styles_do_not_end_their_elements() -> None:
    for name, end in (("explorer.js", "</script"), ("explorer.css", "</style")):
        text = static(name).lower()
        assert end not in text
        assert "<!--" not in text
    assert "eval(" not in static("explorer.js")
    assert "new Function" not in static("explorer.js")


def test_every_state_of_the_file_is_that_of_the_library() -> None:
    views = Views(System.load("pxp", channel="lossy:1"))
    data = json.loads(json.dumps(embedded(views, (), 1000)))
    chance, composition = random.Random(5), views.composition
    for _ in range(20):
        state, number = views.start, 0
        for _ in range(8):
            view, kept = views.state(state), data["states"][number]
            assert [data["texts"][one] for one in kept["at"]] == list(view.at)
            assert [data["texts"][one] for one in kept["propositions"]] == list(view.propositions)
            buffers = [[data["texts"][one] for one in buffer] for buffer in kept["buffers"]]
            assert buffers == list(map(list, view.buffers))
            texts = [data["moves"][one]["text"] for one in kept["moves"]]
            assert texts == [move.text for move in view.moves]
            reasons = [tuple(data["blocked"][one]["reasons"]) for one in kept["blocked"]]
            assert reasons == [one.reasons for one in view.blocked]
            assert kept.get("ended", False) is view.ended
            assert (kept.get("deadlock") is None) is (view.deadlock is None)
            if not texts:
                break
            choice = chance.randrange(len(texts))
            state += composition.moves(state)[choice].difference
            number = kept["targets"][choice]


@pytest.mark.parametrize("limit", [1, 2, 7, 12])
def test_more_states_than_are_asked_for_are_cut_and_said_to_be(limit: int) -> None:
    data = embedded(Views(System.load("pxp", channel="fifo:1")), (), limit)
    states = data["states"]
    assert len(states) <= limit
    assert any(state.get("cut") for state in states)
    for state in states:
        assert all(target < len(states) for target in state["targets"])
        assert len(state["targets"]) == len(state["moves"])
        assert not (state.get("cut") and state["moves"])


@pytest.mark.deep
def test_the_command_writes_the_same_file_twice(tmp_path: Path) -> None:
    texts = []
    for name in ("a.html", "b.html"):
        done = pxp("serve", "pxp", "-o", name, "--formula", "F ended", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Written: {name} (")
        texts.append(re.sub(rb'id="data">[^<]*', b"", (tmp_path / name).read_bytes()))
    assert texts[0] == texts[1]
    results = {one["name"]: one for one in _data((tmp_path / "a.html").read_text())["results"]}
    assert (results["F ended"]["status"], results["F ended"]["cycle"]) == ("FAILS", 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "a.svg"], "--output: a.svg does not end in .html"),
        (["-o", "no/a.html"], "there is no folder no"),
        (["--formula", "F ended"], "--formula: this has no effect without --output"),
        (["--limit", "5"], "--limit: this has no effect without --output"),
        (["nothing.toml"], "nothing.toml"),
        (["pxp", "--channel", "fifo:x"], "there is no channel 'fifo:x'"),
        (["pxp", "-o", "a.html", "--formula", "F ((", "--limit", "0"], "--limit"),
        (["pxp", "-o", "a.html", "--formula", "F (("], "ends too early"),
        (["pxp", "--edit"], "no table of this system is in a file"),
        (["pxp", "--monitor", "F ended"], "--monitor has no effect: pxp is a table"),
    ],
)
def test_what_cannot_be_explored_is_refused(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = pxp("serve", "--no-browser", *arguments, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.iterdir())
