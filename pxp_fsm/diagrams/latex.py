"""Text and tables as LaTeX, with nothing in them that LaTeX could read as a command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pxp_fsm.diagrams.text import legible

Cell = str | int | float | None
"""A cell of a table; None is empty."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{LEFT DOUBLE QUOTATION MARK}": r"\textquotedblleft{}",
    "\N{RIGHT DOUBLE QUOTATION MARK}": r"\textquotedblright{}",
    "\N{LEFT SINGLE QUOTATION MARK}": r"\textquoteleft{}",
    "\N{RIGHT SINGLE QUOTATION MARK}": r"\textquoteright{}",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{MINUS SIGN}": "$-$",
    "\N{RIGHTWARDS ARROW}": r"$\rightarrow$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{DOWN TACK}": r"$\top$",
    "\N{UP TACK}": r"$\bot$",
}


def latex(text: str) -> str:
    """`text` as LaTeX that shows exactly its characters; those no font has by their code point.

    >>> print(latex("3 ⊤ / +RATIFY 50%"))
    3 $\\top$ / +RATIFY 50\\%
    """
    return "".join(map(_character, legible(text)))


def has_glyphs(text: str) -> bool:
    """Whether `latex` shows `text` without code points."""
    return all(_is_known(character) for character in legible(text))


def _is_known(character: str) -> bool:
    known = character in _SPECIAL or character.isascii()
    return known or "\u00c0" <= character <= "\u00ff"


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    return character if _is_known(character) else rf"\texttt{{U+{ord(character):04X}}}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption: a heading for each column, then rows of as many cells.

    `key` tells it from all others of a document.
    """

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


def as_latex(table: Table) -> str:
    """A `table` environment for `\\input`; needs the package booktabs and any LaTeX engine."""
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.caption)}}}",
        rf"\label{{tab:{_label(table.key)}}}",
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


def _label(key: str) -> str:
    """`key` as a label; what a label cannot have is its code point, so that two keys stay two."""
    return re.sub("[^A-Za-z0-9-]", lambda found: f":{ord(found[0]):x}:", key)


def _row(cells: Iterable[Cell]) -> str:
    written = [latex("" if cell is None else str(cell)) for cell in cells]
    # A row that begins with [ would be read as the length of the line break before it.
    return (
        " & ".join(f"{{{cell}}}" if cell.startswith(("[", "*")) else cell for cell in written)
        + r" \\"
    )
