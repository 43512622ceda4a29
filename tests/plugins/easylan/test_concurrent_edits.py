"""Edits of one network by several at once: none is lost, and none is written over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pxp_fsm.errors import DataError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import LanAgent
from pxp_fsm.plugins.easylan.model.operations import Create


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Lan.new("a task").save(tmp_path / "n.lan.json")
    return tmp_path / "n.lan.json"


@pytest.mark.deep
def test_edits_in_parallel_are_all_in_the_log(path: Path) -> None:
    def edit(number: int) -> subprocess.Popen[str]:
        words = ["create", f"Agent {number}", "a task", "an output"]
        command = [sys.executable, "-m", "pxp_fsm.cli", "lan", "edit", str(path), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    editors = [edit(number) for number in range(4)]
    printed = [editor.communicate()[0].strip() for editor in editors]
    assert sorted(printed) == [f"Change {number}" for number in range(2, 6)]
    assert set(Lan.load(path).network.names) == {"Solver"} | {f"Agent {n}" for n in range(4)}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_somebody_else_has_changed_is_not_written_over(path: Path) -> None:
    mine, theirs = Lan.load(path), Lan.load(path)
    theirs.edit(Create(LanAgent("Theirs", "t", "o")))
    theirs.save(path)
    theirs.edit(Create(LanAgent("Theirs too", "t", "o")))
    theirs.save(path)
    mine.edit(Create(LanAgent("Mine", "t", "o")))
    with pytest.raises(DataError, match="was changed since it was read, so nothing was written"):
        mine.save(path)
    assert Lan.load(path).network == theirs.network
    mine.save(path.with_name("other.lan.json"))
    assert Lan.load(path.with_name("other.lan.json")).network == mine.network


def test_what_is_refused_is_not_written(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), Lan.editing(path) as lan:
        lan.edit(Create(LanAgent("Mine", "t", "o")))
        raise ZeroDivisionError
    assert path.read_bytes() == before
