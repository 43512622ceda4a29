"""`pxp monitor`: formulas on recorded sessions, one of four verdicts per session."""

from __future__ import annotations

import json

import click

from backends.databases import SqlBlackboard
from proofs.logic.monitor import Outlook
from pxp_fsm.analysis.monitoring import Monitors, tallies
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import printable

VIOLATED = 1
"""Exit code where a formula is false of a session."""


def monitor(request: options.Monitor) -> int:
    """Print how the formulas are on a run or a session."""
    monitors, name = Monitors(request.formulas), request.name
    evaluate = _session if "/" in name else _run
    with SqlBlackboard(request.database, create=False) as board:
        violated = evaluate(monitors, board, name, request.as_json)
    return VIOLATED if violated else 0


def _run(monitors: Monitors, board: SqlBlackboard, name: str, as_json: bool) -> bool:
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
            head = f"{message.number:>3} {message.sender} {message.tag}" if message else "  0"
            shown = "".join(f"  {outlook.value:<16}" for outlook in outlooks)
            click.echo(printable(f"{head:<20}{shown}".rstrip()))
    return any(outlook is Outlook.FALSE for outlook in followed[-1][1])
