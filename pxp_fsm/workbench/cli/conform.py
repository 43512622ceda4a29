"""`pxp conform`: whether a program, in any language, does what a table says."""

from __future__ import annotations

import click

from pxp_fsm.workbench import conforming
from pxp_fsm.workbench.cli.options import proofs as options
from pxp_fsm.workbench.cli.printing import printable


def conform(request: options.Conform) -> int:
    """Test the program and print what was found."""
    found = conforming.run(
        conforming.Request(
            request.program, request.table, request.extra, request.timeout, request.reset
        )
    )
    if request.as_json:
        click.echo(conforming.as_json(found))
    else:
        for line in conforming.lines(found):
            click.echo(printable(line))
    if request.draw is not None and conforming.draw(found, request.draw):
        click.echo(printable(f"Drawn: {request.draw}"), err=request.as_json)
    return found.exit_code
