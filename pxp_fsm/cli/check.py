"""`pxp check`: properties of tables and protocols, one line per property."""

from __future__ import annotations

import traceback

import click

from pxp_fsm.analysis import checks
from pxp_fsm.cli.options import proofs as options
from pxp_fsm.cli.presentation import results
from pxp_fsm.cli.presentation.text import printable


def check(request: options.Check) -> int:
    """Check what is asked for, and show the results."""
    checked = checks.run(request)
    left = () if request.certificates is None else checked.write(request.certificates)
    if request.certificate is not None and checked.certificate is not None:
        left = (*left, checked.certificate.write(request.certificate))
    if request.as_json:
        click.echo(results.as_json(checked.lines))
    else:
        for line in results.lines(checked.lines):
            click.echo(printable(line))
        for path in left:
            click.echo(printable(f"Certificate: {path}"))
    for error in {line.verdict.reason: line.verdict.error for line in checked.lines}.values():
        if error is not None:
            for line in "".join(traceback.format_exception(error)).splitlines():
                click.echo(printable(line), err=True)
    for file, text in ((request.junit, results.as_junit), (request.sarif, results.as_sarif)):
        if file is not None:
            file.write_text(text(checked.lines) + "\n", "utf-8")
    if request.itf is not None:
        results.write_traces(checked.lines, request.itf)
    if checked.interrupted:
        raise KeyboardInterrupt
    return results.exit_code(checked.lines)
