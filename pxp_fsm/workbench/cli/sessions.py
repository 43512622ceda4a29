"""`pxp sessions`: list what a database holds, or show one session whole."""

from __future__ import annotations

import click

DEFAULT_DATABASE = "runs/blackboard.sqlite"


@click.command()
@click.argument("name", required=False)
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="A file or a database URL.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    metavar="N",
    help="List at most N sessions.",
)
@click.option(
    "--skip",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Leave out the first N sessions.",
)
def sessions(name: str | None, database: str, limit: int, skip: int) -> None:
    """List all sessions, those of run NAME, or show session NAME message by message."""
    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench.cli import listing, showing

    with SqlBlackboard(database, create=False) as board:
        if name is not None and "/" in name:
            showing.show(board.session(name))
        else:
            listing.list_all(board, name, limit, skip)
