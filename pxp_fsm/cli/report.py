"""`pxp report` and `pxp compare`: runs as a web page with files beside it, or two side by side."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from backends.databases import SqlBlackboard
from pxp_fsm.cli import configuration
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import console, printable
from pxp_fsm.cli.stored import database_and_runs, note_given_out
from pxp_fsm.diagrams.style import PAPERS, room_of
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import comparison, files, outcomes, sheets
from pxp_fsm.experiments.plan_data import run_title
from pxp_fsm.experiments.reports.write import left_out, write


def report(request: options.ReportOptions) -> None:
    """Write the report, and say what it leaves out."""
    database, runs = database_and_runs(request.what, request.database)
    with SqlBlackboard(database, create=False) as board:
        reports, written = write(
            board,
            runs,
            request.output,
            sessions=request.sessions,
            test_set=request.test_set,
            catalogue=configuration.models_file(request.models_file),
            figures=request.figures,
            room=room_of(request.paper, request.size) or PAPERS["article"],
        )
        others = left_out(board, runs)
        note_given_out(board, [report.name for report in reports], "report", request.output)
    for why in others:
        click.echo(printable(f"Left out: {why}"), err=True)
    for report in reports:
        for line in report.missing:
            click.echo(printable(f"{report.name}: {line}"), err=True)
    for path in written:
        click.echo(printable(f"Written: {path}"))


def compare(request: options.CompareRuns) -> None:
    """Print how two runs differ, session by session."""
    name = files.run_name(request.first)
    with SqlBlackboard(request.database, create=False) as board:
        first = board.run(name)
        others = [board.run(files.run_name(other)) for other in request.others]
        others = others or comparison.carried_on(board, name)
        if name in [other.run for other in others]:
            raise UsageError(f"both names are the run {printable(name)}; give two different runs")
        left = comparison.compared_outcomes(board, [first])
        right = comparison.compared_outcomes(board, others)
        titles = [run_title(first), run_title(others[0]) if len(others) == 1 else right.run]
    comparisons = outcomes.compare(left, right)
    remarks = [
        *comparison.comparison_lines(left, right, comparisons),
        *comparison.seed_lines([first], others),
        *comparison.change_lines(left, right),
    ]
    names = [name, *(other.run for other in others)]
    if request.as_json:
        kinds = [asdict(comparison) | {"p": float(comparison.p)} for comparison in comparisons]
        document = {"runs": names, "sessions": kinds, "remarks": list(remarks)}
        click.echo(json.dumps(document, indent=1, default=str))
        return
    console().print(
        sheets.as_rich(comparison.comparison_sheet(comparisons, *map(printable, titles)))
    )
    for line in remarks:
        click.echo(printable(line))
