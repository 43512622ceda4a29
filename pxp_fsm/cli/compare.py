"""`pxp compare`: two runs, or two experiments, side by side."""

from __future__ import annotations

import click

from backends.databases import SqlBlackboard
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import console, printable
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import comparison, files, outcomes, summary


def compare(request: options.Compare) -> None:
    """Print how two runs differ, session by session."""
    names = [files.run_name(name) for name in (request.first, request.second)]
    if names[0] == names[1]:
        raise UsageError(f"both names are the run {printable(names[0])}; give two different runs")
    with SqlBlackboard(request.database, create=False) as board:
        left, right = (outcomes.outcomes_of(board, name) for name in names)
    found = outcomes.compare(left, right)
    console().print(summary.as_rich(comparison.comparison_sheet(found, *map(printable, names))))
    for line in comparison.comparison_lines(left, right, found):
        click.echo(printable(line))
