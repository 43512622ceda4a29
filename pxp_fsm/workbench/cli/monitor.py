"""`pxp monitor`: formulas over recorded sessions, one verdict of four a session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

if TYPE_CHECKING:
    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench.monitoring import Monitors

VIOLATED = 1
"""Exit code where a formula is false of a session."""


@click.command()
@click.argument("name")
@click.argument("formulas", nargs=-1, required=True, metavar="FORMULA...")
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="A file or a database URL.",
)
@click.option("--json", "as_json", is_flag=True, help="Session by session, as JSON.")
def monitor(name: str, formulas: tuple[str, ...], database: str, as_json: bool) -> None:
    """Say how FORMULAs (docs/logic.md) stand in run NAME, or message by message in session NAME.

    True or false: whatever the protocol still allows changes nothing. Presumably so: if the session
    ended here. Exit code 1 where a formula is false of a session.
    """
    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench.monitoring import Monitors

    monitors = Monitors(formulas)
    with SqlBlackboard(database, create=False) as board:
        one = "/" in name
        violated = (
            _session(monitors, board, name, as_json)
            if one
            else _run(monitors, board, name, as_json)
        )
    if violated:
        raise click.exceptions.Exit(VIOLATED)


def _run(monitors: Monitors, board: SqlBlackboard, name: str, as_json: bool) -> bool:
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.monitoring import tallies

    found = tallies(monitors, board, name)
    if as_json:
        records = [
            {
                "formula": tally.formula,
                "session": heard.session,
                "verdict": heard.outlook.value,
                "settled_at": heard.settled_at,
            }
            for tally in found
            for heard in tally.heard
        ]
        click.echo(json.dumps(records, indent=1))
    else:
        for tally in found:
            click.echo(printable(tally.line))
    return any(tally.violated for tally in found)


def _session(monitors: Monitors, board: SqlBlackboard, name: str, as_json: bool) -> bool:
    from proofs.logic.monitor import Outlook
    from pxp_fsm.workbench.cli.printing import printable

    stored = board.session(name)
    followed = list(monitors.follow(stored.record, [entry.message for entry in stored.entries]))
    if as_json:
        records = [
            {
                "message": message.number if message else 0,
                "verdicts": dict(zip(monitors.formulas, (o.value for o in outlooks), strict=True)),
            }
            for message, outlooks in followed
        ]
        click.echo(json.dumps(records, indent=1))
    else:
        for written in monitors.formulas:
            click.echo(printable(f"Monitor {written}"))
        for message, outlooks in followed:
            said = f"{message.number:>3} {message.sender} {message.tag}" if message else "  0"
            shown = "".join(f"  {outlook.value:<16}" for outlook in outlooks)
            click.echo(printable(f"{said:<20}{shown}".rstrip()))
    return any(outlook is Outlook.FALSE for outlook in followed[-1][1])
