"""Reports of runs of DRUG have the papers' columns."""

from __future__ import annotations

from pathlib import Path

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import runs, summary
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.write import write
from tests.experiments.report_pages import Made, page_of


def test_published_columns_and_singulars_are_where_they_belong(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = [
            runs.start(Plan("drug", protocol, k=2, instances="1"), board)
            for protocol in ("interact", "pxp")
        ]
        for run in made:
            run.execute()
    assert [len(summary.compared(run)) for run in made] == [4, 0]


def test_a_run_of_which_nothing_is_there_yet_is_reported_beside_the_papers(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        Made(board, "drug-1", Plan("drug", instances="3"))
        write(board, (), tmp_path / "page.html", test_set=False)
    text = page_of(tmp_path / "page.html").text
    assert "3 of 3 not begun" in text
    assert "DRUG-h1 2025" in text
