"""`pxp report`: runs as one page, with CSV, JSON and LaTeX beside it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("database")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE.html",
    help="The page; tables are left beside it under the same name.",
)
@click.option(
    "--sessions",
    metavar="N|all|KEY,KEY",
    help="How many sessions of a run are shown whole, or which: names of sessions or instances.  "
    "[default: 100]",
)
@click.option(
    "--test-set/--no-test-set",
    default=None,
    help="Whether a fresh machine learns again what was recorded, to be asked about the test set.  "
    "[default: for runs of at most 500 sessions]",
)
def report(
    database: str,
    runs: tuple[str, ...],
    output: Path,
    sessions: str | None,
    test_set: bool | None,
) -> None:
    """Report RUNs of DATABASE (a file or a database URL), or all of them, as a page.

    A run that is not finished is reported as far as it has got; the page says what is missing.
    """
    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.reports.write import left_out, write

    with SqlBlackboard(database, create=False) as board:
        reports, written = write(board, runs, output, sessions=sessions, test_set=test_set)
        others = left_out(board, runs)
    if others:
        said = f"Left out, as networks of agents were trained in them: {', '.join(others)}"
        click.echo(printable(said), err=True)
    for found in reports:
        for line in found.missing:
            click.echo(printable(f"{found.name}: {line}"), err=True)
    for path in written:
        click.echo(printable(f"Written: {path}"))
