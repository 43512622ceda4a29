"""`--json`: standard output is one document, of every command that lists or answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from tests.command_line import pxp

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database of two runs, and the examples."""
    made = tmp_path_factory.mktemp("stored")
    (made / "examples").symlink_to(EXAMPLES)
    with SqlBlackboard(str(made / "b.sqlite")) as board:
        for _ in range(2):
            runs.run(Plan("animals", instances="2"), board)
    (made / "mine.toml").write_text('format = 1\ntask = "animals"\ninstances = 1\n', "utf-8")
    return made


def document(folder: Path, command: str, code: int = 0) -> Any:
    """The document that a command prints; nothing else is on standard output."""
    done = pxp(*command.split(), "--json", cwd=folder)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


STORED = "--database b.sqlite"


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("audit b.sqlite", {"format", "findings", "sessions"}),
        (f"compare animals-1 animals-2 {STORED}", {"runs", "sessions", "remarks"}),
        (f"monitor animals-1 F(ended) {STORED}", {"verdicts", "not_monitored"}),
        (f"show animals-1/1/1 {STORED}", {"session", "messages", "closing"}),
        (f"test animals-1 {STORED}", {"run", "right", "rows", "answered"}),
        ("verify b.sqlite", {"runs", "changed", "erased", "not compared"}),
        ("check mine.toml", {"data"}),
        ("doctor", set[str]()),
        ("check pxp --property never-stuck", set[str]()),
        ("list tasks", set[str]()),
        (f"list runs {STORED}", set[str]()),
        ("show b.sqlite", set[str]()),
        (f"show animals-2 {STORED}", set[str]()),
    ],
)
def test_what_is_answered_is_one_document(command: str, keys: set[str], folder: Path) -> None:
    told = document(folder, command)
    if keys:
        assert keys <= told.keys()
    else:
        assert told


def test_a_run_of_a_task_is_told_when_it_is_over(folder: Path) -> None:
    (told,) = document(folder, "run animals --instances 2 --repetitions 2 --output new")
    assert (told["run"], told["task"], told["sessions"]) == ("animals-1", "animals", 4)
    assert sum(told["endings"].values()) == 4
    two_way = told["classes"]["two-way"]
    assert 0 <= two_way["low"] <= two_way["sessions"] / two_way["of"] <= two_way["high"] <= 1
    assert all((folder / path).exists() for path in told["files"].values())


def test_both_settings_are_two_runs(folder: Path) -> None:
    told = document(folder, "run animals --instances 1 --both --output two")
    assert [run["run"] for run in told] == ["animals-1", "animals-2"]
    assert len({run["setting"] for run in told}) == 2


@pytest.mark.deep
def test_an_experiment_that_is_over_is_told_again(folder: Path) -> None:
    first = document(folder, "run mine.toml --output experiment")
    assert document(folder, "run mine.toml --output experiment") == first


def test_a_run_of_a_system_is_told_by_its_endings(folder: Path) -> None:
    who = "--set buyer.respondent=random --set seller.respondent=random"
    command = f"run examples/own_protocol/bargain.toml {who} --repetitions 3 --output system"
    (told,) = document(folder, f"{command} --monitor F(ended)")
    assert (told["run"], told["system"], told["sessions"]) == ("bargain-1", "bargain", 3)
    assert sum(told["endings"].values()) == 3
    assert len(told["monitored"]) > 0


def test_a_run_that_cannot_begin_prints_no_document(folder: Path) -> None:
    done = pxp("run", "animals", "--n", "0", "--json", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
