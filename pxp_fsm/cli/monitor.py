"""`pxp monitor`: formulas on recorded sessions, one of four verdicts per session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from backends.databases import SqlBlackboard
from proofs.logic.monitor import MonitorVerdict
from pxp_fsm.analysis.monitoring import (
    Monitors,
    NotMonitored,
    listened,
    monitored,
    not_monitored,
)
from pxp_fsm.analysis.recordings.files import open_recordings
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.cli.stored import is_session
from pxp_fsm.errors import Refused

VIOLATED, UNREAD = 1, 4
"""Exit codes: a formula is false of a session; of none, but not every session could be read."""


def monitor(request: options.MonitorOptions) -> int:
    """Print how the formulas are on a run or a session."""
    monitors, name = Monitors(request.formulas), request.name
    with open_recordings(request.database, request.mapping) as recordings:
        if is_session(recordings.board, name):
            return _session(monitors, recordings.board, name, request.as_json)
        elsewhere = [NotMonitored(where, reason) for where, reason in recordings.unread]
        return _run(monitors, recordings.board, name, elsewhere, request.as_json)


def _run(
    monitors: Monitors,
    board: SqlBlackboard,
    name: str,
    elsewhere: Sequence[NotMonitored],
    as_json: bool,
) -> int:
    tallied = monitored(monitors, board, name)
    unread = [*tallied.unread, *elsewhere]
    if as_json:
        records = [
            {
                "formula": tally.formula,
                "session": heard.session,
                "verdict": heard.outlook.value,
                "settled_at": heard.settled_at,
            }
            for tally in tallied.tallies
            for heard in tally.heard
        ]
        click.echo(_json(records, unread))
    else:
        for line in (*tallied.lines, *(skipped.line for skipped in elsewhere)):
            click.echo(printable(line))
    return _code(any(tally.violated for tally in tallied.tallies), unread)


def _session(monitors: Monitors, board: SqlBlackboard, name: str, as_json: bool) -> int:
    stored = board.session(name)
    watch = monitors.of_record(stored.record, board)
    rows = [(0, "", watch.outlooks)]
    unread = []
    try:
        for event in listened(watch, stored.events):
            rows.append((event.number, watch.said(event), watch.outlooks))
    except Refused as error:
        unread.append(not_monitored(name, error))
    if as_json:
        records = [
            {
                watch.counts: number,
                "verdicts": dict(zip(monitors.formulas, (o.value for o in outlooks), strict=True)),
            }
            for number, _, outlooks in rows
        ]
        click.echo(_json(records, unread))
    else:
        for written in monitors.formulas:
            click.echo(printable(f"Monitor {written}"))
        for number, action, outlooks in rows:
            head = f"{number:>3} {action}".rstrip()
            shown = "".join(f"  {outlook.value:<16}" for outlook in outlooks)
            click.echo(printable(f"{head:<20}{shown}".rstrip()))
        for skipped in unread:
            click.echo(printable(skipped.line))
    return _code(MonitorVerdict.FALSE in watch.outlooks, unread)


def _json(verdicts: list[dict[str, Any]], unread: Sequence[NotMonitored]) -> str:
    """The verdicts, and what was not read."""
    named = [{"session": skipped.session, "reason": skipped.reason} for skipped in unread]
    return json.dumps({"verdicts": verdicts, "not_monitored": named}, indent=1)


def _code(violated: bool, unread: Sequence[NotMonitored]) -> int:
    if violated:
        return VIOLATED
    return UNREAD if unread else 0
