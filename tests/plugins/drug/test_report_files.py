"""What a report says of a run of DRUG on the test set."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports import contents
from pxp_fsm.plugins.drug import Retrosynthesis
from pxp_fsm.plugins.drug.task import FEW, rank_of


def test_the_untaught_machine_is_the_curves_first_point(tmp_path: Path) -> None:
    """What j = 0 says of the test set is how often the untaught machine ranks the answer first."""
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        run = runs.start(Plan("drug", instances="moclobemide", n=2), board)
        run.execute()
        report = contents.gather(board, board.runs()[0])
    assert not isinstance(report.performance.on_test_set, str)
    untaught = Retrosynthesis.beginning_with(FEW, "0/1")
    right = sum(rank_of(untaught, row, among=1) == 1 for row in run.opening.data.test)
    place, point = report.performance.on_test_set[0]
    assert place == 0
    assert point.median == Fraction(right, len(run.opening.data.test))
