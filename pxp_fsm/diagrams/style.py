"""How a diagram is drawn: its direction, font and width, with or without title and legend."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.options import check_ranges, check_types, option

_UNITS = {"pt": 1.0, "mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0}
_SIZE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,4})?)\s*(pt|mm|cm|in)")
_LEAST, _MOST = 20.0, 7200.0
_FAMILY = re.compile(r"[\w. -]{1,80}")

GENERIC = ("sans-serif", "serif", "monospace")
"""The fonts that every viewer and LaTeX have under some name."""


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a diagram is drawn; `size` is the width in the paper.

    >>> Style(size="3.5in").width
    252.0

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
    size: str | None = option(
        "The width in the paper, such as 8.8cm, 3.5in or 252pt: choose the layout with the largest "
        "labels at this width, scale it down, and warn where labels are below 6 pt.",
        None,
        metavar="WIDTH",
    )
    title: bool = option("Draw the title and the note; a paper's caption has them.", True)
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
        _ = self.width

    @property
    def width(self) -> float | None:
        """The width in points (1/72 inch); None where no size is given."""
        if self.size is None:
            return None
        found = _SIZE.fullmatch(self.size.strip())
        points = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not _LEAST <= points <= _MOST:
            raise UsageError(
                f"a size is a width of 20 to 7200 pt with its unit, such as 8.8cm, 88mm, 3.5in or "
                f"252pt, not {quoted(self.size)}",
                "size",
            )
        return points

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

SANS = "FreeSans,Helvetica,Arial,Liberation Sans,DejaVu Sans,Noto Sans,sans-serif"
"""The families for the text of a PDF, of which the first that is there is taken."""


def own_font() -> Path | None:
    """The font that comes with rdkit, found without importing rdkit; None leaves the system's."""
    spec = find_spec("rdkit")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        font = Path(place, "Chem", "Draw", "FreeSans.ttf")
        if font.is_file():
            return font
    return None


def needs_others(texts: Iterable[str]) -> bool:
    """Whether `texts` have characters that a font of Latin, Greek and Cyrillic has not."""
    return any(_package(character) for text in texts for character in text)


def font_problems(texts: Iterable[str], style: Style, form: str) -> Iterator[str]:
    """What cannot be drawn with the installed fonts; nothing where fontconfig is not there to ask.

    One sentence for each script whose characters become boxes, with the package that has them.
    """
    if shutil.which("fc-list") is None:
        return
    if style.font is not None and style.font not in GENERIC and not _fonts(f":family={style.font}"):
        yield f"no font {style.font} is installed; another is used (fc-list shows what there is)"
    if form == "png" and own_font() is None and not _fonts(":"):
        yield "no font is installed, so no text is drawn; install one: apt install fonts-dejavu"
    needed: dict[str, set[str]] = {}
    for text in texts:
        for character in text:
            if package := _package(character):
                needed.setdefault(package, set()).add(character)
    for package, characters in needed.items():
        missing = [one for one in sorted(characters)[:50] if not _fonts(f":charset={ord(one):x}")]
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
