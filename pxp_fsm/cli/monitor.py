"""`pxp monitor`: formulas on recorded sessions, one of four verdicts per session."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from backends.databases import SqlBlackboard, StoredSession
from backends.databases.records import stored_system
from proofs.logic.monitor import MonitorVerdict
from pxp_fsm.analysis.monitoring import Monitors, tallies
from pxp_fsm.analysis.recordings.files import open_recordings
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.cli.sessions import is_session
from pxp_fsm.experiments.summary import counted

VIOLATED = 1
"""Exit code where a formula is false of a session."""


def monitor(request: options.Monitor) -> int:
    """Print how the formulas are on a run or a session."""
    monitors, name = Monitors(request.formulas), request.name
    with open_recordings(request.database, request.mapping) as found:
        evaluate = _session if is_session(found.board, name) else _run
        violated = evaluate(monitors, found.board, name, request.as_json)
    for reason, count in found.unread.most_common():
        click.echo(printable(f"{counted(count, 'session')} not monitored: {reason}"), err=True)
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
    followed = list(_followed(monitors, stored))
    if as_json:
        records = [
            {
                "message": number,
                "verdicts": dict(zip(monitors.formulas, (o.value for o in outlooks), strict=True)),
            }
            for number, _, outlooks in followed
        ]
        click.echo(json.dumps(records, indent=1))
    else:
        for written in monitors.formulas:
            click.echo(printable(f"Monitor {written}"))
        for number, said, outlooks in followed:
            head = f"{number:>3} {said}".rstrip()
            shown = "".join(f"  {outlook.value:<16}" for outlook in outlooks)
            click.echo(printable(f"{head:<20}{shown}".rstrip()))
    return any(outlook is MonitorVerdict.FALSE for outlook in followed[-1][2])


def _followed(
    monitors: Monitors, stored: StoredSession
) -> Iterator[tuple[int, str, tuple[MonitorVerdict, ...]]]:
    """How the formulas stand before the first message or action (0) and after each."""
    record = stored.record
    if record.channel:
        system = stored_system(record.members, record.channel)
        taken = [one.action for one in stored.actions]
        after = monitors.follow_actions(system, record.session, taken)
        for number, (action, outlooks) in enumerate(after):
            yield number, "" if action is None else str(action), outlooks
        return
    for message, outlooks in monitors.follow(record, stored.history):
        said = f"{message.sender} {message.tag}" if message else ""
        yield message.number if message else 0, said, outlooks
