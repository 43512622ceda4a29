"""`pxp conform`: conformance of a program, in any language, or a service, with a table."""

from __future__ import annotations

import click

from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.plugins.conformance import programs as conformance
from pxp_fsm.plugins.conformance import views
from pxp_fsm.plugins.conformance.cli.options import ConformOptions


def conform(request: ConformOptions) -> int:
    """Test the program and print what was found."""
    conformance_result = conformance.run(
        conformance.ConformanceRequest(
            request.program,
            request.table,
            request.extra,
            request.timeout,
            request.reset,
            request.repetitions,
        )
    )
    if request.as_json:
        click.echo(views.as_json(conformance_result))
    else:
        for line in views.lines(conformance_result):
            click.echo(printable(line))
    if request.output is not None and views.draw(conformance_result, request.output):
        click.echo(printable(f"Drawn: {request.output}"), err=request.as_json)
    return conformance_result.exit_code
