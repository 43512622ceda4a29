"""What an error says of a table that was forgotten: which file of the folder it is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import toml_files
from tests.command_line import pxp

AUTHOR = """format = 1
name = "author"
title = "Author"
peer = "reviewer"
initial = "A"
final = ["B"]
states = [{ name = "A" }, { name = "W" }, { name = "B" }]
rows = [
  { from = "A", to = "W", send = "SUBMIT" },
  { from = "W", to = "B", receive = "CONFIRM" },
]
"""
REVIEWER = (
    AUTHOR.replace('"author"', '"X"')
    .replace('"reviewer"', '"author"')
    .replace('"X"', '"reviewer"')
    .replace('send = "SUBMIT"', 'receive = "SUBMIT"')
    .replace('receive = "CONFIRM"', 'send = "CONFIRM"')
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "author.toml").write_text(AUTHOR, "utf-8")
    (tmp_path / "its reviewer.toml").write_text(REVIEWER, "utf-8")
    (tmp_path / "a note.toml").write_text("rows = 1\n", "utf-8")
    (tmp_path / "a loop.toml").symlink_to("a loop.toml")
    (tmp_path / "a folder.toml").mkdir()
    os.mkfifo(tmp_path / "a pipe.toml")
    (tmp_path / "broken.toml").write_text("name = 'reviewer\n", "utf-8")
    return tmp_path


BOTH = "give both, as in pxp check author.toml 'its reviewer.toml'\n"


@pytest.mark.parametrize(
    ("written", "line", "says"),
    [
        (AUTHOR, 4, "author names reviewer as its peer, but is joined with author"),
        (
            AUTHOR.replace('peer = "reviewer"\n', ""),
            8,
            'write peer = "reviewer" below the name in author',
        ),
        (
            AUTHOR.replace('peer = "reviewer"\n', "").replace(
                'send = "SUBMIT"', 'partner = "reviewer", send = "SUBMIT"'
            ),
            8,
            "there is no member reviewer",
        ),
    ],
    ids=["peer", "no peer", "partner"],
)
def test_the_file_of_the_forgotten_partner_is_suggested(
    folder: Path, written: str, line: int, says: str, request: pytest.FixtureRequest
) -> None:
    (folder / "author.toml").write_text(written, "utf-8")
    done = pxp("check", "author.toml", cwd=folder)
    if "no peer" in request.node.name:  # it can be joined with itself, which is hardly meant
        assert done.returncode == 1
        said = next(line for line in done.stdout.splitlines() if "no-finding" in line) + "\n"
    else:
        assert done.returncode == 2
        said = done.stderr
    assert f"author.toml, line {line}: " in said
    assert says in said
    assert said.endswith(BOTH)


def test_the_partner_is_the_table_whose_tags_fit_best(folder: Path) -> None:
    """A table that sends and receives SUBMIT is joined with itself; and both files lack a peer."""
    for name in ("author.toml", "its reviewer.toml"):
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text(re.sub(r"peer = .*\n", "", text), "utf-8")
    own = AUTHOR.replace("author", "a pair").replace('peer = "reviewer"\n', "")
    row = '  { from = "A", to = "B", receive = "SUBMIT" },\n  { from = "W", to'
    (folder / "a pair.toml").write_text(own.replace('  { from = "W", to', row, 1), "utf-8")
    done = pxp("check", "author.toml", cwd=folder)
    assert done.returncode == 1
    assert (
        'its reviewer.toml receives it: write peer = "reviewer" below the name in author.toml and '
        'peer = "author" below the name in its reviewer.toml, then give both'
    ) in done.stdout


def test_what_is_suggested_works(folder: Path) -> None:
    done = pxp("check", "author.toml", "its reviewer.toml", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_nothing_is_suggested_where_no_file_fits(folder: Path) -> None:
    (folder / "its reviewer.toml").unlink()
    done = pxp("check", "author.toml", cwd=folder)
    assert done.stderr.endswith("give the table of reviewer beside it\n")


@pytest.mark.parametrize("sender", ["author.toml", "its reviewer.toml"])
def test_a_tag_that_nobody_receives_has_file_and_line(folder: Path, sender: str) -> None:
    text = (folder / sender).read_text("utf-8")
    number = 1 + [bool(re.search("send =", line)) for line in text.splitlines()].index(True)
    (folder / sender).write_text(re.sub(r'(send = "\w+)"', r'\1S"', text), "utf-8")
    (fault,) = System.load(folder / "author.toml", folder / "its reviewer.toml").findings
    assert (fault.file, fault.line) == (str(folder / sender), number)
    assert "receives in no state" in fault.message


def test_files_that_are_large_or_may_not_be_looked_at_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("hidden.toml", 1), ("large.toml", 1_000_001), ("small.toml", 1_000_000)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    usual = Path.stat

    def stat(path: Path, **options: Any) -> Any:
        if path.name == "hidden.toml":
            raise PermissionError(13, "permission denied")
        return usual(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    assert [path.name for path in toml_files(tmp_path)] == ["small.toml"]
