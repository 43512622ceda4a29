"""`pxp compare`: whether a table or a system refines another, or is equivalent to it."""

from __future__ import annotations

import click

from proofs.compare import compare
from proofs.requests import parameters_in
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation import results


def tables(request: options.CompareTables) -> int:
    """Decide the relations, and show the results."""
    computed = tuple(
        compare(
            request.first,
            request.second,
            *request.relations,
            hide=request.hide,
            limit=request.limit,
            memory=request.memory,
            parameters=parameters_in(request.parameters) if request.parameters else {},
        )
    )
    for line in results.shown(computed, in_json=request.as_json):
        click.echo(line)
    return results.exit_code(computed)
