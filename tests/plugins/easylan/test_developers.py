"""Developers by their names and from files: found before anything is asked, or refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.plugins.easylan.experiments.developers import (
    find_developer,
    hand,
    read_edits,
    read_lines,
)
from pxp_fsm.plugins.easylan.model.operations import AgentField, Connect, Edit
from pxp_fsm.plugins.easylan.training.developer import DeveloperChoice
from pxp_fsm.plugins.easylan.training.simulated import (
    AddsExamples,
    Confirming,
    Editing,
    FollowsEdits,
    HandEdit,
    ScriptedAct,
    ScriptedDeveloper,
    equal,
)

FILE = """
format = 1
act = [
  { step = "GAP", choice = "retry", about = "fox", hint = "Say what is missing." },
  { step = "REASON", choice = "confirm", sets = { agent_name = "Solver" } },
]

[[edit]]
about = "fox"
operations = [{ do = "edit", name = "Solver", field = "knowledge", value = ["x"] }]

[[edit]]
operations = [{ do = "connect", source = "A", target = "B" }]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "who.toml"
    found.write_text(FILE)
    return found


def test_each_name_is_a_developer(path: Path, tmp_path: Path) -> None:
    assert find_developer("nobody", 1, equal, tmp_path) is None
    assert type(find_developer("confirms", 1, equal, tmp_path)) is Confirming
    editing, following = (
        find_developer(x, 1, equal, tmp_path) for x in ("edits:0.25", f"follows:{path}")
    )
    assert isinstance(editing, Editing)
    assert "probability 0.25, seed 1" in editing.name
    assert isinstance(following, ScriptedDeveloper)
    assert type(hand("adds-examples")) is AddsExamples
    assert isinstance(hand(f"follows:{path}"), FollowsEdits)


def test_a_file_says_what_is_done_about_steps_and_by_hand(path: Path) -> None:
    assert read_lines(path) == (
        ScriptedAct("GAP", DeveloperChoice.RETRY, "fox", {}, "Say what is missing."),
        ScriptedAct("REASON", DeveloperChoice.CONFIRM, "", {"agent_name": "Solver"}),
    )
    assert read_edits(path) == (
        HandEdit((Edit("Solver", AgentField.KNOWLEDGE, ("x",)),), "fox"),
        HandEdit((Connect("A", "B"),)),
    )


@pytest.mark.parametrize("name", ["", "me", "edits", "edits:", "edits:2", "edits:nan", "follows:"])
def test_a_name_that_is_none_is_refused_with_those_that_are(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there are: nobody|from 0 to 1"):
        find_developer(name, 1, equal, tmp_path)


def test_a_terminal_is_asked_for_only_where_there_is_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="requires a terminal"):
        find_developer("terminal", 1, equal, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"GAP"', '"GUESS"', "line 4: .*'GUESS' is none of GAP"),
        ('"retry"', '"guess"', "'guess' is none of confirm, retry, reject"),
        ('do = "connect"', 'do = "teleport"', "'teleport' is none of"),
        (
            'do = "connect", source = "A", target = "B"',
            'do = "begin", task = "t"',
            "not done by hand",
        ),
        ("format = 1", "format = 2", "line 2"),
    ],
)
def test_a_file_with_a_fault_says_where(path: Path, old: str, new: str, said: str) -> None:
    assert old in FILE
    path.write_text(FILE.replace(old, new))
    with pytest.raises(FileError, match=said):
        read_edits(path)
