"""`pxp verify` and `pxp upgrade`: whether a database is as it was stored; to today's schema."""

from __future__ import annotations

import click

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

CHANGED = 1
"""Exit code where something was changed after the fact."""


@click.command()
@click.argument("database", default=DEFAULT_DATABASE)
@click.option(
    "--mark",
    "expected",
    metavar="RUN=MARK",
    multiple=True,
    help="What an earlier `pxp verify` printed for RUN, to be compared.",
)
def verify(database: str, expected: tuple[str, ...]) -> None:
    """Say whether anything in DATABASE (a file or a URL) was changed after the fact, and where.

    Prints a mark for each run. Keep it where the database's owner cannot write: everything in a
    database can be rewritten by who owns it, but not to the same mark.
    """
    from backends.databases.verify import Problem, verify
    from pxp_fsm.workbench.cli.printing import printable

    wanted = dict(_pair(text) for text in expected)
    report = verify(database)
    problems = list(report.problems)
    marks = {mark.run: mark.mark for mark in report.marks}
    for run, wants in wanted.items():
        if marks.get(run) != wants:
            problems.append(Problem(f"run {run}", "it has not the mark that was expected"))
    for mark in report.marks:
        counted = f"{mark.sessions} sessions, {mark.messages} messages"
        click.echo(f"{printable(mark.run)}: {counted}, mark {mark.mark}")
    for problem in problems:
        click.echo(f"Changed: {printable(problem.where)}: {printable(problem.what)}")
    if problems:
        raise click.exceptions.Exit(CHANGED)
    click.echo("Nothing was changed.")


def _pair(text: str) -> tuple[str, str]:
    run, sign, mark = text.rpartition("=")
    if not sign or not run:
        raise click.UsageError(f"--mark is RUN=MARK, as pxp verify prints them; it was {text!r}")
    return run, mark.strip().lower()


@click.command()
@click.argument("database", default=DEFAULT_DATABASE)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
def upgrade(database: str, dry_run: bool) -> None:
    """Bring DATABASE (a file or a URL), written by an older version, up to date.

    All of it or nothing. Make a copy first: there is no way back. A database that is up to date is
    only looked at.
    """
    from backends.databases.engine import open_engine
    from backends.databases.faults import translated_errors
    from backends.databases.versions import plan_upgrade, upgrade

    engine = open_engine(database, create=False, current=False, reading=True)
    shown = engine.url.render_as_string(hide_password=True)
    try:
        with translated_errors(shown):
            found = plan_upgrade(engine, shown)
    finally:
        engine.dispose()
    if found.before == found.after:
        click.echo(f"{shown}: schema version {found.after}, is up to date")
        return
    if dry_run:
        click.echo(f"{shown}: schema version {found.before}; an upgrade to {found.after} would do")
        for step in found.steps:
            click.echo(f"  {step}")
        return
    engine = open_engine(database, create=False, current=False)
    try:
        with translated_errors(shown):
            before, after = upgrade(engine, shown)
    finally:
        engine.dispose()
    click.echo(f"{shown}: schema version {after}, upgraded from version {before}")
