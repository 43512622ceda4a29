"""Who the human was: a pseudonym in plan, run, session, fingerprint and report."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.experiments import (
    files,
    members,
    openings,
    plans,
    runs,
)
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports import write
from pxp_fsm.experiments.reports.contents import gather

FILE = """format = 1
title = "ANIMALS, uncontrolled"
task = "animals"
instances = 2
[agents]
human = "terminal"
"""


@pytest.fixture
def nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task's own human in the person's place: there is no terminal in a test."""
    monkeypatch.setattr(members, "with_person", lambda human, *_: human)


def carried(path: Path, subject: str, board: SqlBlackboard) -> runs.Run[openings.TaskOpening]:
    run = files.open_run(files.load(path, {"subject": subject}), board)
    run.execute()
    return run


@pytest.mark.usefixtures("nobody_asked")
def test_two_subjects_of_one_file_are_two_runs_and_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(FILE)
    with SqlBlackboard(":memory:") as board:
        first, second = (carried(path, subject, board) for subject in ("h1", "h2"))
        assert first.name != second.name
        assert [record.subject for record in board.runs()] == ["h1", "h2"]
        assert {record.subject for record in board.sessions(first.name)} == {"h1"}
        assert len(board.sessions(second.name)) == 2
        headings = write.table1([gather(board, record) for record in board.runs()]).headings
    assert f"{first.name} (uncontrolled, h1)" in headings
    assert f"{second.name} (uncontrolled, h2)" in headings


@pytest.mark.usefixtures("nobody_asked")
def test_a_run_with_a_person_that_is_over_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(FILE)
    with SqlBlackboard(":memory:") as board:
        name = carried(path, "h1", board).name
        with pytest.raises(UsageError, match=f"run {name} is over, with h1: nobody would be asked"):
            files.open_run(files.load(path, {"subject": "h1"}), board)
        with pytest.raises(UsageError, match="is over"):
            runs.resume(name, board)
        unfinished = files.open_run(files.load(path, {"subject": "h2"}), board)
        assert runs.resume(unfinished.name, board).opening.plan.subject == "h2"
        plain = runs.run(Plan("animals", instances="1"), board)
        assert runs.resume(plain.name, board).finished == 1


def test_a_file_may_name_its_subject_and_the_command_line_another(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(FILE)
    without = files.load(path).fingerprint
    path.write_text(FILE + 'subject = "h1"\n')
    named = files.load(path)
    assert named.plan.subject == "h1"
    assert files.load(path, {"subject": "h1"}).fingerprint == named.fingerprint
    assert len({without, named.fingerprint, files.load(path, {"subject": "h2"}).fingerprint}) == 3


@given(st.builds(Plan, st.just("animals"), seed=st.integers(0, 9), n=st.integers(1, 9)))
def test_a_plan_without_a_subject_means_what_it_meant_before_there_were_any(plan: Plan) -> None:
    assert "subject" not in plan.meaning()
    assert stored_plan(_Stored(plan)) == plan


class _Stored:
    """A run as it is stored."""

    run, task = "animals-1", "animals"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan.as_json()


@pytest.mark.parametrize("wrong", ["", "a b", "../h1", "-h", "h\n", "ä", "x" * 41, "<b>"])
def test_what_is_no_pseudonym_is_refused(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a pseudonym has 1 to 40 letters"):
        plans.check_plan(Plan("animals", human="terminal", subject=wrong))
    path = tmp_path / "e.toml"
    path.write_text(FILE)
    with pytest.raises(FileError, match=r"e.toml, line 5: a pseudonym"):
        files.load(path, {"subject": wrong})


def test_a_subject_without_a_person_is_refused() -> None:
    said = CliRunner().invoke(commands, ["run", "animals", "--set", "agents.subject=h1"])
    assert said.exit_code == 2
    assert (
        "--set agents.subject: a subject is the person in the human's role: give human too"
        in said.stderr
    )
