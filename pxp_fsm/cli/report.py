"""`pxp report`: runs as a web page, with CSV, JSON and LaTeX next to it."""

from __future__ import annotations

import click

from backends.databases import SqlBlackboard
from pxp_fsm.cli.exchange import note_given_out
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.experiments.reports.write import left_out, write


def report(request: options.Report) -> None:
    """Write the report, and say what it leaves out."""
    with SqlBlackboard(request.database, create=False) as board:
        reports, written = write(
            board,
            request.runs,
            request.output,
            sessions=request.sessions,
            test_set=request.test_set,
            catalogue=request.catalogue,
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
