"""`pxp check`: what is true of the tables and protocols, one line per property."""

from __future__ import annotations

import click

from pxp_fsm.workbench import checks, verdicts
from pxp_fsm.workbench.cli.options import proofs as options
from pxp_fsm.workbench.cli.printing import printable


def check(request: options.Check) -> int:
    """Check what is asked for, and show the results."""
    checked = checks.run(request)
    left = () if request.certificates is None else checked.leave(request.certificates)
    if request.as_json:
        click.echo(verdicts.as_json(checked.lines))
    else:
        for line in verdicts.lines(checked.lines):
            click.echo(printable(line))
        for path in left:
            click.echo(printable(f"Certificate: {path}"))
    for file, text in ((request.junit, verdicts.as_junit), (request.sarif, verdicts.as_sarif)):
        if file is not None:
            file.write_text(text(checked.lines) + "\n", "utf-8")
    if request.itf is not None:
        verdicts.write_traces(checked.lines, request.itf)
    if checked.interrupted:
        raise KeyboardInterrupt
    return verdicts.exit_code(checked.lines)
