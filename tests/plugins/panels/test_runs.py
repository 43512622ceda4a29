"""Runs of tasks among several agents: stored, counted by direction, forked without an agent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.databases import Origin
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs, sheets
from pxp_fsm.experiments.drawings import session_diagram
from pxp_fsm.experiments.plans import check_plan
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.plugins.panels.report import gather_panel
from pxp_fsm.plugins.panels.results import panel_sessions
from tests.backends.scripted_task import open_run, task

TABLE = str(Path(__file__).parents[3] / "examples" / "labels")


def test_a_task_runs_among_three_machines_and_is_forked_without_one() -> None:
    about = {"agents": 3, "instances": "1", "n": 4, "data": TABLE}
    plan = pxp.Plan("labels", schedule="round-robin", added="limit:2", **about)  # type: ignore[arg-type]
    with pxp.open_blackboard(":memory:") as board:
        run = pxp.run(plan, board)
        (stored,) = board.sessions(run.name)
        assert [name for name, _ in stored.agents] == ["m1", "m2", "m3"]
        assert stored.faults == "panel round-robin, limit 2"
        sheet = sheets.directions(board, run.name)
        assert [row[0] for row in sheet.rows] == [
            f"{a} to {b}" for a in ("m1", "m2", "m3") for b in ("m1", "m2", "m3") if a != b
        ]
        chart = session_diagram(board.session(stored.session))
        assert [line.name for line in chart.lifelines] == ["m1", "m2", "m3"]  # type: ignore[union-attr]
        given = {"added": "limit:2,without:m2@3"}
        fork = runs.fork(Origin(stored.session, 3), board, given)
        fork.execute()
        (forked,) = board.sessions(fork.name)
        later = board.session(forked.session).history[3:]
        assert all("m2" not in (one.sender, one.receiver) for one in later)


def test_nothing_is_called_right_by_data_that_have_changed_since(tmp_path: Path) -> None:
    table = shutil.copytree(TABLE, tmp_path / "table")
    plan = pxp.Plan("labels", data=str(table), agents=3, instances="2", n=4)
    with pxp.open_blackboard(":memory:") as board:
        record = board.run(pxp.run(plan, board).name)
        assert all(session.right is not None for session in panel_sessions(board, record))
        rows = table / "data.csv"
        rows.write_text(rows.read_text("utf-8").replace("payment", "parcel"), "utf-8")
        assert all(session.right is None for session in panel_sessions(board, record))


def test_a_fork_makes_the_message_anew_that_it_changes() -> None:
    plan = pxp.Plan("labels", data=TABLE, agents=3, instances="1", n=4, learn="never")
    with pxp.open_blackboard(":memory:") as board:
        (stored,) = board.sessions(pxp.run(plan, board).name)
        before = board.session(stored.session).history
        origin = Origin(stored.session, 4)
        answer = {"answer": '{"prediction": "payment", "explanation": "Money."}'}
        skipped = pxp.panels.TurnChange(skip=True)
        without = pxp.panels.TurnChange(without=before[3].sender)
        for given, changes in ((answer, ()), ({}, [skipped]), ({}, [without])):
            fork = runs.fork(origin, board, given, changes=changes)
            fork.execute()
            (forked,) = board.sessions(fork.name)
            history = board.session(forked.session).history
            assert [m.answer for m in history[:3]] == [m.answer for m in before[:3]]
            if given:
                assert history[3].answer == pxp.Answer("payment", "Money.")
                assert history[3].sender == before[3].sender
            else:
                ends = history[3].sender, history[3].receiver
                assert ends != (before[3].sender, before[3].receiver)
        for number in (0, len(before) + 2):
            with pytest.raises(UsageError, match="to be made anew"):
                runs.fork(Origin(stored.session, number), board, changes=[skipped])


@pytest.mark.parametrize(
    ("task", "added"),
    [
        ("labels", "without:m2@5"),
        pytest.param("drug", "without:m2@5", marks=pytest.mark.deep),
        pytest.param("drug", "skip:5", marks=pytest.mark.deep),
    ],
)
def test_a_later_session_is_forked_and_those_before_it_keep_their_rules(
    task: str, added: str
) -> None:
    data = TABLE if task == "labels" else None
    plan = pxp.Plan(task, data=data, agents=3, instances="3", n=6, learn="never")
    with pxp.open_blackboard(":memory:") as board:
        run = pxp.run(plan, board)
        *_, third = board.sessions(run.name)
        fork = runs.fork(Origin(third.session, 5), board, {"added": added})
        fork.execute()
        (forked,) = board.sessions(fork.name)
        assert forked.position == 3
        assert forked.ending is not None
        said, before = (board.session(one.session).history for one in (forked, third))
        assert [one.tag for one in said[:5]] == [one.tag for one in before[:5]]


def test_a_report_draws_who_persuaded_whom_and_counts_channels_that_were_never_opened() -> None:
    plan = pxp.Plan("scripted", n=10, k=3, seed=3, agents=3, added="without:m3@0")
    with pxp.open_blackboard(":memory:") as board:
        open_run(board, task(), plan, 4).execute()
        report = gather_panel(board, board.run("s-1"))
        rows = {row[0]: row[1] for row in report.results.verdicts.rows}
        assert (rows["a channel never opened"], report.results.sessions) == ("4", 4)
        assert report.results.agents.rows[-1][:3] == ("all of them", "0", "0")
        changes = sum(
            before.answer.prediction != after.answer.prediction == heard.answer.prediction
            for session in board.sessions("s-1")
            for before, heard, after in windows(board.session(session.session).history)
        )
        assert sum(report.results.persuasion.values()) == changes > 0
        ((caption, _picture),) = report.figures(Gallery())
        assert caption.startswith("Who persuaded whom")


def windows(history: Sequence[pxp.Message]) -> Iterator[Sequence[pxp.Message]]:
    """Each three messages in a row: of two agents, one's, the other's, and one's next."""
    return (history[place : place + 3] for place in range(len(history) - 2))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"schedule": "free"}, "no effect without a panel"),
        ({"agents": 3, "added": "limit"}, "a panel's rules are call"),
        ({"agents": 3, "added": "without:m2"}, "write without:AGENT@MESSAGE"),
        ({"agents": 3, "stop": "peace"}, "stop names verdicts"),
    ],
)
def test_a_plan_of_no_panel_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_plan(pxp.Plan("rad", **given))  # type: ignore[arg-type]
