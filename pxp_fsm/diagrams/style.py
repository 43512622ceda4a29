"""How a diagram is drawn: its direction, font and size, with or without title and legend."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import check_ranges, check_types, option

_UNITS = {"pt": 72 / 72.27, "mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0}
_LENGTH = r"([0-9]{1,5}(?:\.[0-9]{1,4})?)\s*(pt|mm|cm|in)"
_SIZE = re.compile(rf"{_LENGTH}(?:\s*[x×]\s*{_LENGTH})?")
_LEAST, _MOST = 20.0, 7200.0
_FAMILY = re.compile(r"[\w. -]{1,80}")

LABEL = 10.0
"""Points of the letters at an arrow as it is drawn."""

GENERIC = ("sans-serif", "serif", "monospace")
"""The fonts that every viewer and LaTeX have under some name."""


@dataclass(frozen=True, slots=True)
class Room:
    """The room for a figure or a table: at most so wide and so high, in points (1/72 inch).

    `letters` is the size of its text; None leaves a figure as large as it is, if there is room.
    """

    width: float
    height: float
    letters: float | None = None

    @property
    def largest(self) -> float:
        """How much larger a drawing may be made: its labels are at most as large as the letters."""
        return 1.0 if self.letters is None else min(1.0, self.letters / LABEL)


def _class(width: float, height: float, letters: float) -> Room:
    """The column of a document class, given in TeX's points; a caption stands in it as well."""
    return Room(width * _UNITS["pt"], (height - 60) * _UNITS["pt"], letters)


PAPERS: Mapping[str, Room] = MappingProxyType(
    {
        "article": _class(345.0, 550.0, 9.0),
        "ieee": _class(252.0, 672.0, 8.0),
        "acm": _class(241.14749, 626.0, 8.0),
        "neurips": _class(397.48499, 650.43, 9.0),
    }
)
"""The columns of LaTeX's article, IEEEtran, acmart (sigconf) and neurips, as they are set."""


def paper_option() -> Any:
    """The document class that a figure or a table is for."""
    return option(
        "Fit figures and tables to a column of this document class, with its size of letters.",
        None,
        name="for",
        choices=tuple(PAPERS),
    )


def size_option() -> Any:
    """The size that a figure or a table has at most."""
    return option(
        "The largest width, or width and height, in the paper, such as 8.8cm, 3.5in or "
        "252ptx180pt (pt as in TeX). A figure takes the layout with the largest letters, is scaled "
        "down, and warns of letters below 6 pt.",
        None,
        metavar="WxH",
        default="the column of --for",
    )


def room_of(paper: str | None, size: str | None) -> Room | None:
    """The room that the two options leave; None where neither is given.

    >>> room_of(None, "3.5in x 2in")
    Room(width=252.0, height=144.0, letters=None)

    Raises `UsageError` for a size that is none.
    """
    column = PAPERS[paper] if paper is not None else None
    if size is None:
        return column
    parts = _SIZE.fullmatch(size.strip())
    sides = (
        [float(parts[at]) * _UNITS[parts[at + 1]] for at in (1, 3) if parts[at]] if parts else []
    )
    if not sides or not all(_LEAST <= side <= _MOST for side in sides):
        raise UsageError(
            f"a size is a width, or a width and a height, of 20 to 7200 pt with its unit, such as "
            f"8.8cm, 88mm, 3.5in, 252pt or 3.5inx2in, not {quoted(size)}",
            "size",
        )
    page = column or PAPERS["article"]
    height = sides[1] if len(sides) > 1 else page.height
    return Room(sides[0], height, column.letters if column else None)


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a diagram is drawn; `size` bounds its sides in the paper, or `paper` does.

    >>> round(Style(paper="ieee").room.width)
    251

    Raises `UsageError` for a value that is not allowed.
    """

    direction: str | None = option(
        "Lay an automaton out from left to right (LR), top to bottom (TB), or reversed.",
        None,
        choices=("LR", "TB", "RL", "BT"),
        default="LR, or TB where that is too wide",
    )
    font: str | None = option(
        "The font family; .tex takes only serif, sans-serif and monospace.",
        None,
        metavar="FAMILY",
        default="Helvetica or alike; in .tex, the document's",
    )
    paper: str | None = paper_option()
    size: str | None = size_option()
    title: bool = option(
        "Draw the title, and an automaton's note; a paper's caption has them.", True
    )
    legend: bool = option(
        "Explain the notation below the drawing: signs, guards, and who m and h are.", False
    )

    def __post_init__(self) -> None:
        check_types(self)
        check_ranges(self)
        if self.font is not None and not _FAMILY.fullmatch(self.font):
            raise UsageError(
                f"a font family is letters, digits, blanks, dots and dashes, not "
                f"{quoted(self.font)}",
                "font",
            )
        _ = self.room

    @property
    def room(self) -> Room | None:
        """The room in the paper; None where neither `paper` nor `size` is given."""
        return room_of(self.paper, self.size)

    @property
    def width(self) -> float | None:
        """The width in points (1/72 inch); None where it is not bounded."""
        return self.room.width if self.room else None

    @property
    def changed(self) -> dict[str, Any]:
        """The options that are not as by default, by name."""
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }


PLAIN = Style()
"""A diagram as it is drawn by default."""


_CJK, _EMOJI, _OTHER = "fonts-noto-cjk", "fonts-noto-color-emoji", "fonts-noto-core"
"""Debian's packages of fonts for the scripts that a Latin font does not have."""

SANS = "PXP Sans,sans-serif"
"""The family of the text of PNG and PDF: the one that comes with the package."""

OWN_FONT = Path(__file__).with_name("PXPSans.ttf")
"""The package's font: DejaVu Sans Condensed, whose letters are as wide as Helvetica's, with ⊤."""


def needs_others(texts: Iterable[str]) -> bool:
    """Whether `texts` have characters that a font of Latin, Greek and Cyrillic has not."""
    return any(_package(character) for text in texts for character in text)


def font_problems(texts: Iterable[str], style: Style) -> Iterator[str]:
    """What cannot be drawn with the installed fonts; nothing where fontconfig is not there to ask.

    One sentence for each script whose characters become boxes, with the package that has them.
    """
    if shutil.which("fc-list") is None:
        return
    if style.font is not None and style.font not in GENERIC and not _fonts(f":family={style.font}"):
        yield f"no font {style.font} is installed; another is used (fc-list shows what there is)"
    needed: dict[str, set[str]] = {}
    for text in texts:
        for character in text:
            if package := _package(character):
                needed.setdefault(package, set()).add(character)
    for package, characters in needed.items():
        missing = [
            letter for letter in sorted(characters)[:50] if not _fonts(f":charset={ord(letter):x}")
        ]
        if missing:
            shown = " ".join(missing[:5])
            yield f"no installed font has {shown}; boxes are drawn: apt install {package}"


def _package(character: str) -> str:
    """The package with fonts for `character`; "" where every Latin font has it."""
    code = ord(character)
    if code < 0x590 or (0x1E00 <= code < 0x2C00 and character not in "⌚⌛⭐") or code == 0xFFFD:
        return ""
    if code >= 0x1F000 and unicodedata.category(character) in ("So", "Sk", "Cn"):
        return _EMOJI
    if unicodedata.east_asian_width(character) in ("W", "F") or 0x2E80 <= code < 0xA4D0:
        return _CJK
    return "" if unicodedata.category(character) in ("Mn", "Cf", "Zs", "Co") else _OTHER


@cache
def _fonts(pattern: str) -> bool:
    """Whether fontconfig knows a font of this pattern."""
    asked = ["fc-list", pattern, "family"]
    done = subprocess.run(asked, capture_output=True, check=False, timeout=30)  # noqa: S603 - the pattern is ours: a code point, or a checked family
    return bool(done.stdout.strip())
