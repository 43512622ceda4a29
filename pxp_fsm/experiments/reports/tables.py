"""Tables as CSV (RFC 4180), safe against formulas in names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from pxp_fsm.diagrams.latex import Cell

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(headings: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV with CRLF; a text that a spreadsheet would run gets an apostrophe before it."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerows([_inert(cell) for cell in row] for row in (headings, *rows))
    return written.getvalue()


def _inert(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
