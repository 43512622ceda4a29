"""`pxp experiment` and `pxp compare`: experiments as files, and two of them side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pxp_fsm.workbench.cli.models import model_options, settings_of
from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    metavar="DIR",
    help="Where table and drawings are left.",
)
@click.option(
    "--database",
    metavar="URL",
    help="Where sessions are stored: a file or a database URL.  [default: in the output folder]",
)
@click.option(
    "--executor",
    metavar="URL",
    help="Spread it over workers: dask://HOST:PORT or processes://N, on PostgreSQL.",
)
@model_options
def experiment(
    file: Path, output: Path, database: str | None, executor: str | None, **options: Any
) -> None:
    """Run the experiment in FILE, or what is left of it.

    What was run before is skipped; a changed file is a new experiment. The published JSON Schema
    is pxp_fsm/workbench/experiment.schema.json.
    """
    from pxp_fsm.workbench.cli import running

    running.execute_experiment(file, database, output, executor, settings_of(options))


@click.command()
@click.argument("first")
@click.argument("second")
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="A file or a database URL.",
)
def compare(first: str, second: str, database: str) -> None:
    """Compare two runs, or two experiments by their files, session by session."""
    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench import estimating, experiments, outcomes, report
    from pxp_fsm.workbench.cli.printing import console, printable

    names = [experiments.run_named(name) for name in (first, second)]
    if names[0] == names[1]:
        raise click.UsageError(f"both are the run {printable(names[0])}; name two different ones")
    with SqlBlackboard(database, create=False) as board:
        left, right = (outcomes.outcomes_of(board, name) for name in names)
    found = outcomes.compare(left, right)
    console().print(report.as_rich(estimating.comparison_sheet(found, *map(printable, names))))
    for line in estimating.comparison_lines(left, right, found[0].pairs):
        click.echo(printable(line))
