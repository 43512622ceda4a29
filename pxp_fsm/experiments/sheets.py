"""Sheets: tables as text, for terminals and files, and those that a database alone fills."""

from __future__ import annotations

import csv
import io
from collections.abc import Container
from typing import TYPE_CHECKING

from backends.databases import SqlBlackboard
from backends.databases.verify import Mark
from pxp_fsm.errors import counted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Overview, printable

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

_ROOMY = 7
"""More columns stand closer together, so that they fit into 80 characters."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as text: a heading for each column, then the rows."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def as_rich(sheet: Sheet, *, spaced: bool = True, numbers: Container[str] | None = None) -> Table:
    """The sheet for a terminal, with an empty line above and below if it is `spaced`.

    `numbers` are the headings of columns that end on the right: all but the first, if None. No text
    steers the terminal.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(printable(sheet.title)),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        padding=(0, 0 if len(sheet.headings) > _ROOMY else 1, 0, 0),
        show_edge=spaced,
    )
    for place, heading in enumerate(sheet.headings):
        is_text = place == 0 if numbers is None else heading not in numbers
        side: JustifyMethod = "left" if is_text else "right"
        table.add_column(
            Text(heading.replace(" ", "\n") if place else heading), justify=side, no_wrap=place == 0
        )
    for row in sheet.rows:
        table.add_row(*(Text("\n".join(map(printable, cell.split("\n")))) for cell in row))
    return table


def board_sheet(overview: Overview) -> Sheet:
    """The board of a session of several agents: who has which pair, and owes whom a message."""
    rows = tuple(
        (
            pair.name,
            "-" if pair.answer is None else pair.answer.prediction,
            str(pair.version),
            ", ".join(partner for member, partner in overview.owed if member == pair.name) or "-",
        )
        for pair in overview.pairs
    )
    return Sheet("The board", ("agent", "current prediction", "changed", "owes"), rows)


def as_markdown(sheet: Sheet) -> str:
    """The sheet as a Markdown table."""
    rule = ["---", *["--:"] * (len(sheet.headings) - 1)]
    lines = (" | ".join(row) for row in (sheet.headings, rule, *sheet.rows))
    return f"# {sheet.title}\n\n" + "".join(f"| {line} |\n" for line in lines)


def directions(board: SqlBlackboard, run: str, about: str = "") -> Sheet:
    """In how many sessions of a run each agent was intelligible to each other."""
    rows = tuple(
        (f"{agent} to {partner}", *map(str, counts))
        for agent, partner, *counts in board.directions(run)
    )
    headings = ("tags sent by", "sessions", "one-way", "strong", "ultra-strong")
    return Sheet(f"Intelligibility by direction{about}", headings, rows)


def directions_csv(sheet: Sheet) -> str:
    """A table of `directions` as CSV: sender, receiver, numbers."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerows((sheet.headings, *sheet.rows))
    return written.getvalue()


def contents(mark: Mark) -> str:
    """How much a run holds: `2 sessions, 6 messages`; what systems do are actions."""
    messages = mark.messages - mark.actions
    parts = [counted(messages, "message")] if messages or not mark.actions else []
    parts += [counted(mark.actions, "action")] if mark.actions else []
    return ", ".join([counted(mark.sessions, "session"), *parts])
