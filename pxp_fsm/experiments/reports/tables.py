"""Tables as CSV (RFC 4180) and LaTeX, safe against formulas and macros in names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pxp_fsm.diagrams.latex import latex

Cell = str | int | float | None
"""A cell of a table; None is empty."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption: a heading for each column, then rows of as many cells."""

    key: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers, or what begins with one: they are set to the right."""
        return tuple(
            place > 0 and all(map(_begins_with_a_number, (row[place] for row in self.rows)))
            for place in range(len(self.headings))
        )


def _begins_with_a_number(cell: Cell) -> bool:
    return not isinstance(cell, str) or cell in ("", "–") or cell[:1].isdecimal()


def as_csv(headings: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV with CRLF; a text that a spreadsheet would run gets an apostrophe before it."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerows([_inert(cell) for cell in row] for row in (headings, *rows))
    return written.getvalue()


def _inert(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def as_latex(table: Table) -> str:
    """A `table` environment for `\\input`; needs the package booktabs and any LaTeX engine."""
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.caption)}}}",
        rf"\label{{tab:{re.sub('[^a-z0-9-]', '-', table.key.lower())}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(table.headings),
        r"\midrule",
        *map(_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[Cell]) -> str:
    written = [latex("" if cell is None else str(cell)) for cell in cells]
    # A row that begins with [ would be read as the length of the line break before it.
    return (
        " & ".join(f"{{{cell}}}" if cell.startswith(("[", "*")) else cell for cell in written)
        + r" \\"
    )
