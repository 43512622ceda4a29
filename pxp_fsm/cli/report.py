"""`pxp report` and `pxp compare`: runs as a web page with files beside it, or two side by side."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from backends.databases import SqlBlackboard
from pxp_fsm.cli import configuration
from pxp_fsm.cli.exchange import note_given_out
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import console, printable
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import comparison, files, outcomes, summary
from pxp_fsm.experiments.plan_data import check_no_panel, run_title
from pxp_fsm.experiments.reports.write import left_out, write


def report(request: options.ReportOptions) -> None:
    """Write the report, and say what it leaves out."""
    with SqlBlackboard(request.database, create=False) as board:
        reports, written = write(
            board,
            request.runs,
            request.output,
            sessions=request.sessions,
            test_set=request.test_set,
            catalogue=configuration.models_file(request.models_file),
            figures=request.figures,
        )
        others = left_out(board, request.runs)
        note_given_out(board, [found.name for found in reports], "report", request.output)
    for why in others:
        click.echo(printable(f"Left out: {why}"), err=True)
    for found in reports:
        for line in found.missing:
            click.echo(printable(f"{found.name}: {line}"), err=True)
    for path in written:
        click.echo(printable(f"Written: {path}"))


def compare(request: options.CompareRuns) -> None:
    """Print how two runs differ, session by session."""
    names = [files.run_name(name) for name in (request.first, request.second)]
    if names[0] == names[1]:
        raise UsageError(f"both names are the run {printable(names[0])}; give two different runs")
    with SqlBlackboard(request.database, create=False) as board:
        records = [board.run(name) for name in names]
        for record in records:
            check_no_panel(record, "a comparison")
        left, right = (outcomes.outcomes_of(board, name) for name in names)
        titles = [run_title(record) for record in records]
    found = outcomes.compare(left, right)
    remarks = comparison.comparison_lines(left, right, found)
    if request.as_json:
        kinds = [asdict(each) | {"p": float(each.p)} for each in found]
        document = {"runs": names, "sessions": kinds, "remarks": list(remarks)}
        click.echo(json.dumps(document, indent=1, default=str))
        return
    console().print(summary.as_rich(comparison.comparison_sheet(found, *map(printable, titles))))
    for line in remarks:
        click.echo(printable(line))
