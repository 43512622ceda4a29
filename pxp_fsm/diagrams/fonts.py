"""The fonts of PNG and PDF: which characters need more than a Latin font, and who has them."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pxp_fsm.diagrams.style import GENERIC, Style

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


def problems(texts: Iterable[str], style: Style, form: str) -> Iterator[str]:
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
