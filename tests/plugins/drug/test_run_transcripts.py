"""What `pxp run` prints of a task: new, resumed, forked; kept word by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import plans, runs
from tests.cli.test_run_transcripts import Commands, check

TASK: Commands = {
    "task-new": ("drug", "--instances", "2", "--repetitions", "2", "--seed", "3"),
    "task-over": ("drug", "drug-1"),
    "task-forked": ("drug", "drug-1/1/1@2", "--set", "learning.keep=never", "--verbose"),
    "task-monitored": (
        "drug",
        "--instances",
        "1",
        "--monitor",
        "F ended.ratified",
        "--monitor",
        "G !m.INIT",
    ),
    "task-wrong": ("drug", "trace.json"),
    "task-unknown": ("drug", "drug-9"),
}

LEARNING: Commands = {
    "task-learning": (
        *("drug", "--instances", "2"),
        *("--set", "learning.keep=better", "--set", "learning.carry=false"),
    )
}
BOTH: Commands = {"task-both": ("drug", "--repetitions", "2", "--both", "--seed", "3")}
STOPPED: Commands = {"task-stopped": ("drug", "drug-1")}


@pytest.mark.deep
def test_runs_of_a_task_print_what_they_printed(tmp_path: Path) -> None:
    check(tmp_path, TASK)


@pytest.mark.deep
def test_a_run_that_was_stopped_prints_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    seen = 0

    def stop(_step: runs.Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == 7:
            raise KeyboardInterrupt

    with SqlBlackboard(str(tmp_path / "runs/blackboard.sqlite")) as board:
        begun = runs.start(plans.Plan("drug", instances="3", seed=4), board)
        with pytest.raises(KeyboardInterrupt):
            begun.execute(stop)
    check(tmp_path, STOPPED)


@pytest.mark.deep
def test_a_run_whose_lessons_are_weighed_prints_what_it_printed(tmp_path: Path) -> None:
    check(tmp_path, LEARNING)


@pytest.mark.deep
def test_both_settings_print_the_table_that_they_printed(tmp_path: Path) -> None:
    check(tmp_path, BOTH)
