"""`pxp compare`: two runs, or two experiments, side by side."""

from __future__ import annotations

import click

from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench import estimating, experiments, outcomes, report
from pxp_fsm.workbench.cli.options import results as options
from pxp_fsm.workbench.cli.printing import console, printable


def compare(request: options.Compare) -> None:
    """Print how two runs differ, session by session."""
    names = [experiments.run_named(name) for name in (request.first, request.second)]
    if names[0] == names[1]:
        raise UsageError(f"both are the run {printable(names[0])}; name two different ones")
    with SqlBlackboard(request.database, create=False) as board:
        left, right = (outcomes.outcomes_of(board, name) for name in names)
    found = outcomes.compare(left, right)
    console().print(report.as_rich(estimating.comparison_sheet(found, *map(printable, names))))
    for line in estimating.comparison_lines(left, right, found[0].pairs):
        click.echo(printable(line))
