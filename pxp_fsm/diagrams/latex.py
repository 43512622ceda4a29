"""Text and tables as LaTeX, with nothing in them that LaTeX could read as a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import zip_longest
from math import ceil, floor

from pxp_fsm.diagrams.style import PAPERS, Room
from pxp_fsm.diagrams.text import legible
from pxp_fsm.lazy_dataclasses import dataclass

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

    `key` tells it from all others of a document. The `attached` columns say more of the one before
    them, and stay beside it.
    """

    key: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    attached: frozenset[int] = frozenset()

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The cells of each column as text."""
        return tuple(
            tuple("" if row[place] is None else str(row[place]) for row in self.rows)
            for place in range(len(self.headings))
        )

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers, or what begins with one: they are set to the right."""
        return tuple(bool(place) and _numbers(texts) for place, texts in enumerate(self.texts))


_GROUPS = {
    0.3: "!',.:;<[]_`il", 0.32: "fj", 0.35: "-", 0.36: " ", 0.38: "I", 0.41: "()rt", 0.42: "s",
    0.47: "cez", 0.5: ">?", 0.53: '"$*/0123456789\\^ago{}~', 0.55: "J", 0.56: "kqvxy–",
    0.59: "Sbdhnpu", 0.65: "Z", 0.66: "L", 0.69: "F", 0.72: "EP", 0.75: "B", 0.77: "CTw", 0.78: "R",
    0.8: "AHNUVXY|", 0.81: "D", 0.83: "&+=@GKOQ−×⊤⊥≤≥", 0.89: "#%m", 0.97: "M", 1.09: "W→—…",
}  # fmt: skip
_EMS = {character: ems for ems, characters in _GROUPS.items() for character in characters}
"""Widths in Computer Modern at 8 pt, which is wider than Times and than itself at larger sizes."""
_CODE_POINT, _CAPITAL, _LETTER = 4.4, 0.9, 0.62

_SIZES = (9.0, 8.0, 7.0)
"""Points of the letters in a table, the best first; a paper's own size is the largest."""

_GAP = 3.5
"""Points at either side of a column."""

_SHORT = 11.0
"""Ems of a text up to which its lines do not break."""

_LONGEST_WORD = 14
"""Characters of a word from which a line may break in it: a molecule, the name of a file."""

_NUMBER = re.compile(r"((?:[<>=] )?[+\-−]?)(\d[\d,]*)((?:\.\d+)?%?)")
_EMPTY = ("", "-", "–")


def latex_ems(text: str) -> float:
    """The width of `text` in LaTeX's own font, Computer Modern, in units of the font's size."""
    return sum(map(_width_of, legible(text)))


def _width_of(character: str) -> float:
    if character in _EMS:
        return _EMS[character]
    if not _is_known(character):
        return _CODE_POINT
    return _CAPITAL if character.isupper() else _LETTER


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as it is written: its heading, its cells as text and as LaTeX, its widths in ems.

    `natural` is the width of its widest cell, `least` that of its longest word; those of a column
    whose lines do not break are the same.
    """

    heading: str
    texts: tuple[str, ...]
    cells: tuple[str, ...]
    numeric: bool
    natural: float
    least: float


def _columns(table: Table) -> Iterator[_Column]:
    for heading, texts, numeric in zip(table.headings, table.texts, table.numeric, strict=True):
        word = max((latex_ems(word) for word in _words(heading)), default=0.0)
        if numeric:
            numbers = _aligned(texts)
            width = max([word, *(ems for _, ems in numbers)])
            cells = tuple(tex for tex, _ in numbers)
            yield _Column(heading, texts, cells, True, width, width)
            continue
        natural = max([word, *map(latex_ems, texts)])
        least = max([word, *(latex_ems(part) for text in texts for part in _words(text))])
        least = natural if natural <= _SHORT else least
        yield _Column(heading, texts, tuple(map(_breakable, texts)), False, natural, least)


def _words(text: str) -> list[str]:
    """The parts of `text` between which a line may break."""
    return [
        word[at : at + _LONGEST_WORD]
        for word in legible(text).split()
        for at in range(0, len(word), _LONGEST_WORD)
    ]


def _breakable(text: str) -> str:
    """`text` as LaTeX, whose long words may be broken."""
    words = (
        r"\allowbreak{}".join(
            latex(word[at : at + _LONGEST_WORD]) for at in range(0, len(word), _LONGEST_WORD)
        )
        for word in legible(text).split()
    )
    return " ".join(words)


def _numbers(cells: Sequence[str]) -> bool:
    """Whether each cell is empty or begins with a number."""
    return all(cell in _EMPTY or _split(cell) for cell in cells)


def _aligned(cells: Sequence[str]) -> list[tuple[str, float]]:
    """Cells of numbers as LaTeX, with their widths.

    Each number stands below that of the row above, point below point: what it lacks on the right
    of its point, and on the left of all but the first, is left blank.
    """
    rows = [None if cell in _EMPTY else _split(cell) for cell in cells]
    full = [row for row in rows if row is not None]
    wholes = [max(map(_whole, parts), key=latex_ems) for parts in _by_place(full)]
    ends = [max((part[3] for part in parts), key=latex_ems) for parts in _by_place(full)]
    longest = max(full, key=len, default=[])
    if any(part[0] != longest[at][0] for row in full for at, part in enumerate(row) if at):
        return [(latex(cell), latex_ems(cell)) for cell in cells]
    shape = [part[0] for part in longest]
    tails = {row[-1][4] for row in full if len(row) == len(longest)}
    tail = tails.pop() if len(tails) == 1 else ""
    written = []
    for cell, row in zip(cells, rows, strict=True):
        if row is None:
            written.append((latex(cell), latex_ems(cell)))
            continue
        text, blank = "", ""
        for at, (between, whole, end) in enumerate(zip(shape, wholes, ends, strict=True)):
            if at >= len(row):
                blank += between + whole + end
                continue
            own = _whole(row[at])
            lacking = whole[: len(whole) - len(own)] if at else ""
            text += _spaced(between) if at else ""
            text += _phantom(lacking) + latex(own + row[at][3])
            more = end[len(row[at][3]) :]
            text += _phantom(more)
        rest = row[-1][4] if len(row) == len(shape) else ""
        text += _spaced(rest) + _phantom(blank + (tail if len(row) < len(shape) else ""))
        full_width = "".join(map("".join, zip(shape, wholes, ends, strict=True))) + tail
        written.append((text, latex_ems(full_width)))
    return written


_Part = tuple[str, str, str, str, str]
"""Of a number: what stands before it, its sign, its whole digits, its end, what follows all."""


def _split(cell: str) -> list[_Part] | None:
    """The numbers of a cell; None where it does not begin with one."""
    parts, end = list[_Part](), 0
    for number in _NUMBER.finditer(cell):
        sign, whole, fraction = number.groups()
        parts.append((cell[end : number.start()], sign, whole, fraction, ""))
        end = number.end()
    if not parts or parts[0][0]:
        return None
    parts[-1] = (*parts[-1][:4], cell[end:])
    return parts


def _whole(part: _Part) -> str:
    return part[1] + part[2]


def _by_place(rows: Sequence[Sequence[_Part]]) -> list[list[_Part]]:
    return [[part for part in parts if part is not None] for parts in zip_longest(*rows)]


def _phantom(text: str) -> str:
    return rf"\phantom{{{_spaced(text)}}}" if text else ""


def _spaced(text: str) -> str:
    """`text` as LaTeX with its blanks, at the beginning and at the end as well."""
    return "~".join(map(latex, text.split(" ")))


@dataclass(frozen=True, slots=True)
class _Set:
    """How a table is set: the size of its letters, and its columns in blocks below each other."""

    size: float
    blocks: tuple[tuple[_Column, ...], ...]


def _fitted(columns: Sequence[_Column], attached: Set[int], room: Room) -> _Set:
    """The largest letters with which the columns stand side by side, else in the fewest blocks."""
    best = room.letters or _SIZES[0]
    sizes = [size for size in _SIZES if size <= best]
    tried = [_Set(size, _blocks(columns, attached, room.width, size)) for size in sizes]
    return min(tried, key=lambda way: (len(way.blocks), -way.size))


def _blocks(
    columns: Sequence[_Column], attached: Set[int], width: float, size: float
) -> tuple[tuple[_Column, ...], ...]:
    """The columns in blocks that have room, the first column in each of them."""
    first, *others = columns
    groups = list[list[_Column]]()
    for place, column in enumerate(others, start=1):
        if place in attached and groups:
            groups[-1].append(column)
        else:
            groups.append([column])
    blocks = [[first]]
    for group in groups:
        if len(blocks[-1]) > 1 and _least([*blocks[-1], *group], size) > width:
            blocks.append([first])
        blocks[-1] += group
    return tuple(map(tuple, blocks))


def _least(block: Sequence[_Column], size: float) -> float:
    """The points that a block needs where the lines of its texts break."""
    return sum(_points(column.least, size) for column in block) + 2 * _GAP * (len(block) - 1)


def _points(ems: float, size: float) -> float:
    """So many ems in letters of `size`; small letters are wider than large ones."""
    return ems * size * (1.0 + 0.07 * max(0.0, 8.0 - size))


def as_latex(table: Table, room: Room = PAPERS["article"]) -> str:
    """A `table` environment for `\\input` that has `room`, for any LaTeX engine.

    Numbers stand below each other at their points. Letters get smaller, down to 7 pt, then lines
    break in columns of text, then the columns stand in blocks one below the other. Rows that a page
    has no room for are in tables of their own, with labels of their own.
    """
    columns = tuple(_columns(table)) or (_Column("", (), (), False, 0.0, 0.0),)
    way = _fitted(columns, table.attached, room)
    parts = list(_pages(way, len(table.rows), room))
    lines = [
        "% needs \\usepackage{array,booktabs,tabularx} and \\usepackage[T1]{fontenc}",
    ]
    for number, rows in enumerate(parts, start=1):
        caption = latex(table.caption) + (f" ({number} of {len(parts)})" if len(parts) > 1 else "")
        label = f"tab:{_label(table.key)}" + (f"-part{number}" if number > 1 else "")
        lines += [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            r"\par\smallskip",
            rf"\fontsize{{{way.size:g}}}{{{way.size * 1.2:g}}}\selectfont",
            rf"\setlength{{\tabcolsep}}{{{_GAP}pt}}",
        ]
        for place, block in enumerate(way.blocks):
            lines += [r"\par\medskip"] if place else []
            lines += _tabular(block, way.size, room.width, rows)
        lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _pages(way: _Set, count: int, room: Room) -> Iterator[range]:
    """The rows of each page: as many as have room with every line that they take."""
    line = way.size * 1.2
    widths = [_widths(block, way.size, room.width) for block in way.blocks]
    head = len(way.blocks) * 4 * line
    taken, start = head, 0
    for row in range(count):
        height = line * sum(
            max(
                _lines(column.texts[row], way.size, wide)
                for column, wide in zip(*block, strict=True)
            )
            for block in zip(way.blocks, widths, strict=True)
        )
        if taken + height > room.height and row > start:
            yield range(start, row)
            taken, start = head, row
        taken += height
    yield range(start, count)


def _lines(text: str, size: float, width: float | None) -> int:
    """About how many lines a text takes in a column of this width."""
    return 1 if width is None else ceil(1.2 * _points(latex_ems(text), size) / width) or 1


def _widths(block: Sequence[_Column], size: float, width: float) -> list[float | None]:
    """The points of each column whose lines must break; None where the column is as it is.

    Columns of text that are narrower than an equal share stay as they are; the others share what
    is left, each with room for its longest word.
    """
    left = width - 2 * _GAP * (len(block) - 1)
    natural = [_points(column.natural, size) for column in block]
    if sum(natural) <= left:
        return [None] * len(block)
    broken = [place for place, column in enumerate(block) if not column.numeric]
    left -= sum(points for points, column in zip(natural, block, strict=True) if column.numeric)
    while narrow := [place for place in broken if natural[place] <= left / len(broken)]:
        left -= sum(natural[place] for place in narrow)
        broken = [place for place in broken if place not in narrow]
    least = {place: _points(block[place].least, size) for place in broken}
    more = {place: natural[place] - least[place] + 1.0 for place in broken}
    spare = max(0.0, left - sum(least.values())) / sum(more.values()) if broken else 0.0
    return [
        least[place] + spare * more[place] if place in least else None
        for place in range(len(block))
    ]


def _tabular(
    block: Sequence[_Column], size: float, width: float, rows: Iterable[int]
) -> Iterator[str]:
    widths = _widths(block, size, width)
    broken = [points for points in widths if points is not None]
    mean = sum(broken) / len(broken) if broken else 1.0
    kinds = [
        rf">{{\hsize={points / mean:.3f}\hsize\raggedright\arraybackslash}}X"
        if points is not None
        else ("r" if column.numeric else "l")
        for column, points in zip(block, widths, strict=True)
    ]
    name, frame = ("tabularx", f"{{{floor(width * 10) / 10}bp}}") if broken else ("tabular", "")
    yield rf"\begin{{{name}}}{frame}{{@{{}}{''.join(kinds)}@{{}}}}"
    yield r"\toprule"
    yield _row([_heading(column) for column in block])
    yield r"\midrule"
    yield from (_row([column.cells[row] for column in block]) for row in rows)
    yield r"\bottomrule"
    yield rf"\end{{{name}}}"


def _heading(column: _Column) -> str:
    """The heading of a column, in lines that are not wider than the cells below it."""
    lines = list[str]()
    for word in legible(column.heading).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and (not column.numeric or latex_ems(longer) <= column.natural):
            lines[-1] = longer
        else:
            lines.append(word)
    written = r" \\ ".join(map(latex, lines))
    if len(lines) < 2:
        return written
    return rf"\begin{{tabular}}[b]{{@{{}}r@{{}}}}{written}\end{{tabular}}"


def _row(cells: Iterable[str]) -> str:
    # A row that begins with [ would be read as the length of the line break before it.
    return (
        " & ".join(f"{{{cell}}}" if cell.startswith(("[", "*")) else cell for cell in cells)
        + r" \\"
    )


""


def _label(key: str) -> str:
    """`key` as a label; what a label cannot have is its code point, so that two keys stay two."""
    return re.sub("[^A-Za-z0-9-]", lambda match: f":{ord(match[0]):x}:", key)
