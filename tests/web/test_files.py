"""The explorer as one file: what is in it, and that nothing in it can run but its own script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from proofs.systems import System
from proofs.systems.paths import states_along
from pxp_fsm.web.bundles import static
from pxp_fsm.web.files import embedded, explorer_file
from pxp_fsm.web.subjects import subject_in
from pxp_fsm.web.views import Views
from tests.command_line import pxp
from tests.web.browsers import FRONTEND
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


WALK = """
import {{ FileSource }} from {module};
import {{ readFileSync }} from "node:fs";
const source = new FileSource(readFileSync(0, "utf-8"));
await source.open();
const read = (walk) => source.states(walk, 0).catch((error) => error.message);
console.log(JSON.stringify(await Promise.all(JSON.parse({walks}).map(read))));
"""
"""What the page reads from a file along traces, in the page's own code; or why it reads nothing."""


def _read(data: dict[str, Any], walks: list[list[int]]) -> Any:
    if not FRONTEND.is_dir():
        pytest.skip("the sources of the pages are not there")
    if shutil.which("node") is None:
        pytest.skip("there is no Node")
    packed = base64.b64encode(gzip.compress(json.dumps(data).encode()))
    module = FRONTEND / "explorer" / "sources.js"
    script = WALK.format(module=json.dumps(module.as_uri()), walks=json.dumps(json.dumps(walks)))
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, input=packed, check=True, capture_output=True)
    return json.loads(done.stdout)


def _walks(views: Views, number: int, length: int) -> Iterator[list[int]]:
    chance = random.Random(5)
    for _ in range(number):
        state, walk = views.start, list[int]()
        while len(walk) < length and (moves := views.composition.moves(state)):
            walk.append(chance.randrange(len(moves)))
            state += moves[walk[-1]].difference
        yield walk


@pytest.mark.deep
@pytest.mark.parametrize(
    ("names", "channel"),
    [
        (("machine=interact", "human=interact"), None),
        (("pxp",), "lossy:2"),
        pytest.param(("pxp",), "fifo:1", marks=pytest.mark.deep),
        pytest.param(("examples/contract_net/contract_net.toml",), None, marks=pytest.mark.deep),
        (("examples/with_rules/commit.toml",), None),
        pytest.param(("examples/approval/approval.toml",), None, marks=pytest.mark.deep),
    ],
)
def test_every_state_of_the_file_is_that_of_the_library(
    names: tuple[str, ...], channel: str | None
) -> None:
    views = Views(subject_in(names, channel).system())
    walks = list(_walks(views, 30, 12))
    read = _read(embedded(views, ()), walks)
    for walk, shown in zip(walks, read, strict=True):
        for state, view in zip(states_along(views.composition, walk), shown, strict=True):
            wanted = json.loads(json.dumps(asdict(views.state(state))))
            assert view.pop("beyond") is False
            assert view == wanted


@pytest.mark.parametrize("limit", [1, 2, 7, 12])
def test_what_is_beyond_the_file_is_said_to_be(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pxp_fsm.web.files.MOST_STATES", limit)
    views = Views(System.load("pxp", channel="fifo:1"))
    data = embedded(views, ())
    assert not data["complete"]
    beyond = 0
    walks = [[], [0], [1], [0, 0], [0, 1]]
    for walk, shown in zip(walks, _read(data, walks), strict=True):
        states = states_along(views.composition, walk)
        if isinstance(shown, str):
            assert "beyond this file" in shown
            beyond += 1
            continue
        for state, view in zip(states, shown, strict=True):
            if view.pop("beyond"):
                beyond += 1
                assert view["moves"] == view["blocked"] == []
            else:
                assert view["moves"] == json.loads(json.dumps(asdict(views.state(state))))["moves"]
    assert beyond or limit > 2


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
        (["nothing.toml"], "nothing.toml"),
        (["pxp", "--channel", "fifo:x"], "there is no channel 'fifo:x'"),
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
