"""`pxp audit`: what of recorded sessions no correct agent, or no good judge, can have done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE
from pxp_fsm.workbench.cli.verify import CHANGED

if TYPE_CHECKING:
    from pxp_fsm.workbench.audits.carrying import Report


@click.command()
@click.argument("database", default=DEFAULT_DATABASE)
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The same as a page that needs no network (extra report).",
)
@click.option(
    "--json",
    "as_json",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="All of it as JSON; - is standard output.",
)
@click.option(
    "--list",
    "shown",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Show N findings of each kind.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1, max=1_000_000),
    metavar="N",
    help="Of a tags.txt: what the published code was given as --num_iter.  [default: 5]",
)
@click.pass_context
def audit(
    context: click.Context,
    /,
    database: str,
    runs: tuple[str, ...],
    html: Path | None,
    as_json: Path | None,
    shown: int,
    rounds: int | None,
) -> None:
    """Audit every session recorded in DATABASE (a file or a URL), or those of RUNs.

    DATABASE may also be a tags.txt that the authors' published code has left: its sessions are
    audited by that code's own reading of INTERACT.

    Each is followed through its protocol's automaton, by its tags and by what MATCH and AGREE
    answered: messages that no correct agent can have sent, sessions that only noisy judges allow
    (with the answers that contradict each other), those that a tolerance allows and no equivalence
    (with the texts that are similar in a row), stored classes that the definitions do not give.

    Exit code 1 where something was found that agents and records at work never leave; what judges
    contradict is no such fault.
    """
    from pxp_fsm.workbench.audits import telling
    from pxp_fsm.workbench.cli.printing import printable

    report = _audited(database, runs, rounds, html)
    data = telling.as_json(report)
    if str(as_json) == "-":
        click.echo(data)
    else:
        for line in telling.lines(report, shown):
            click.echo(printable(line))
    if as_json is not None and str(as_json) != "-":
        write_atomically(as_json, f"{data}\n")
    for path in (html, as_json):
        if path is not None and str(path) != "-":
            click.echo(printable(f"Written: {path}"), err=str(as_json) == "-")
    if report.faults:
        context.exit(CHANGED)


def _audited(database: str, runs: tuple[str, ...], rounds: int | None, html: Path | None) -> Report:
    """What came of the audit, its page written where one is wanted: texts come from the database.

    Raises `click.UsageError` for what does not go with a recording of this kind.
    """
    from backends.databases import SqlBlackboard
    from proofs.languages.published_code import ROUNDS
    from pxp_fsm.workbench.audits import page
    from pxp_fsm.workbench.audits.carrying import audit_database, audit_published
    from pxp_fsm.workbench.audits.published_tags import is_published

    if is_published(Path(database)):
        if runs:
            raise click.UsageError(f"{database} is a file of tags, which has no runs")
        report = audit_published(Path(database), ROUNDS if rounds is None else rounds)
        if html is not None:
            page.write(report, None, html)
        return report
    if rounds is not None:
        raise click.UsageError(
            f"--rounds is about a tags.txt; the bounds of sessions in {database} are recorded"
        )
    with SqlBlackboard(database, create=False) as board:
        report = audit_database(board, runs)
        if html is not None:
            page.write(report, board, html)
    return report
