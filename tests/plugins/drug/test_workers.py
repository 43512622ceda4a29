"""Workers carry a run of pathways as one process does."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.executors import Assignment, carry
from pxp_fsm.experiments.plans import Plan
from tests.experiments.test_workers import transcript
from tests.plugins.drug.test_drug_pathways import ROWS, SHOP


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["postgresql"])
def test_workers_carry_a_run_of_pathways(database: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(f"key,set,x,prediction,explanation\n{ROWS}")
    (tmp_path / "shop.smi").write_text("\n".join(SHOP))
    shop = str(tmp_path / "shop.smi")
    plan = Plan("drug", data=str(tmp_path), materials=shop, match="materials", carry=False)
    with SqlBlackboard(database) as board, SqlBlackboard(":memory:") as other:
        run = runs.start(plan, board)
        done = [carry(Assignment(database, run.name, (unit,))) for unit in run.units()]
        assert [(each.error, each.sessions) for each in done] == [("", 1)] * 2
        runs.start(plan, other).execute()
        assert transcript(board, run.name) == transcript(other, run.name)
        said = [entry.carried.answer for entry in board.events(f"{run.name}/1/1")]
        assert all(">>" in answer.prediction for answer in said)
