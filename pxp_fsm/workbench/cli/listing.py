"""The list of a database's sessions, a line each, at most so many of them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat

import click
from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from backends.databases import FAULTS, SessionLine, SqlBlackboard
from pxp_fsm.errors import NotThere
from pxp_fsm.workbench.cli.printing import console as opened
from pxp_fsm.workbench.cli.printing import printable
from pxp_fsm.workbench.cli.showing import protocol
from pxp_fsm.workbench.report import counted

_HEADINGS = ("session", "instance", "protocol", "messages", "ended")


def list_all(board: SqlBlackboard, run: str | None, limit: int, skipped: int) -> None:
    """A line for each session of `run`, or of every run; `limit` at most after `skipped` others."""
    found = board.listing(run, limit=limit, skipped=skipped)
    runs = [summary for summary in board.summaries() if run in (None, summary.run)]
    total = sum(summary.sessions for summary in runs)
    if not found:
        what = f"no run {run!r} with sessions" if run else "no sessions"
        if total:
            what = f"{counted(total, 'session')}, and none after the first {skipped:,}"
        known = ", ".join(record.run for record in board.runs()) or "none"
        raise NotThere(f"{board.shown} has {what}; runs: {known}")
    columns = _columns(found)
    if (console := opened()).is_terminal:
        table = Table(box=box.SIMPLE_HEAD)
        for heading in _HEADINGS:
            table.add_column(heading, no_wrap=heading == "session")
        for line in zip(*columns, strict=True):
            table.add_row(*map(Text, line))
        console.print(table)
    else:  # a table for eyes takes a minute for a hundred thousand lines
        click.echo("\n".join(_lines(columns)))
    left = total - skipped - len(found)
    if left or skipped:
        counts = f"… and {left:,} more" if left else "… and no more"
        after = f"; {skipped:,} before" if skipped else ""
        click.echo(f"{counts}{after}; --limit N lists more of them, --skip N others; the runs are")
        for summary in runs:
            over = f"{counted(summary.sessions, 'session')}, {summary.over:,} over"
            click.echo(f"  {printable(summary.run)}: {over}")


def _columns(found: Sequence[SessionLine]) -> list[list[str]]:
    """What is said of each session, column by column: a list may have a hundred thousand lines."""
    sessions, _runs, instances, protocols, ns, ks, messages, endings, causes = zip(
        *found, strict=True
    )
    ended = cache(_ended)
    columns = (
        sessions,
        instances,
        map(cache(protocol), protocols, ns, ks),
        map(str, messages),
        map(ended, endings, causes),
    )
    return [list(map(printable, column)) for column in columns]


def _ended(ending: str | None, cause: str | None) -> str:
    if ending in FAULTS:
        return f"{ending}: {cause}"
    return ending or "not over"


def _lines(columns: Sequence[list[str]]) -> Iterable[str]:
    """Each session a line below the headings; made by columns, since a loop over lines is slow."""
    headed = ([heading, *column] for heading, column in zip(_HEADINGS, columns, strict=True))
    return map(str.rstrip, map("  ".join, zip(*map(_aligned, headed), strict=True)))


def _aligned(column: Sequence[str]) -> Iterable[str]:
    """The cells of a column, equally wide on a terminal."""
    if "".join(column).isascii():  # as nearly always: a character is a column wide
        return map(str.ljust, column, repeat(max(map(len, column))))
    width = max(map(cell_len, column))
    return (cell + " " * (width - cell_len(cell)) for cell in column)
