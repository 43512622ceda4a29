"""Runs of tasks among several agents: stored, counted by direction, forked without an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.databases import Origin
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs, sheets
from pxp_fsm.experiments.drawings import session_diagram
from pxp_fsm.experiments.plans import check_plan

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


@pytest.mark.parametrize("added", ["without:m2@5", "skip:5"])
def test_a_later_session_is_forked_and_those_before_it_keep_their_rules(added: str) -> None:
    plan = pxp.Plan("drug", agents=3, instances="3")
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
