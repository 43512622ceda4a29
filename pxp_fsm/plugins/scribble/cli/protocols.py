"""`pxp check` and `pxp export` of global protocols."""

from __future__ import annotations

import click

from pxp_fsm.cli.presentation import results
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.plugins.scribble.cli import options
from pxp_fsm.plugins.scribble.protocols import check_fair, check_unfair, load, write


def check(request: options.CheckProtocol) -> int:
    """Print what is checked of the projection; a fault of form is an error."""
    system = load(request.file)
    checked = (*check_fair(system), check_unfair(system))
    for line in results.shown(checked, in_json=request.as_json):
        click.echo(line)
    return results.exit_code(checked)


def export(request: options.ExportProtocol) -> None:
    """Write the system file and the tables."""
    for path in write(load(request.file), request.file, request.output):
        click.echo(printable(f"Exported: {path}"))
