"""Untrusted text made safe to draw: one plain line of characters."""

from __future__ import annotations

import textwrap
import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

_NARROW = frozenset(" !'(),-./:;I[]fijlrt|")
_WIDE = frozenset("%@MWmw" + ELLIPSIS + REPLACEMENT)
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def legible(text: str) -> str:
    """`text` on one line, without characters that XML forbids or that reorder what is read.

    White space of any kind becomes one space; control characters, lone surrogates,
    non-characters and bidirectional overrides become U+FFFD.
    """
    line = " ".join(text.split())
    if line.isascii() and line.isprintable():  # which is most, and can be drawn
        return line
    return "".join(c if _drawable(c) else REPLACEMENT for c in line)


def shortened(text: str, width: int = 60) -> str:
    """`text`, legible, in at most `width` characters; an ellipsis ends what was cut."""
    line = legible(text)
    return line if len(line) <= width else line[: width - 1].rstrip() + ELLIPSIS


def folded(text: str, width: int = 40, most: int = 3) -> tuple[str, ...]:
    """`text`, legible, in at most `most` lines; an ellipsis ends what was cut.

    >>> folded("a long payload", width=8, most=2)
    ('a long', 'payload')
    """
    line = legible(text)
    lines = textwrap.wrap(line, width) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], shortened(f"{lines[most - 1]} {lines[most]}", width)]
    return tuple(lines)


def ems(text: str) -> float:
    """The width of `text` in a Helvetica-like font, about, in units of the font's size."""
    return sum(map(_width, text))


def _width(char: str) -> float:
    if char in _NARROW:
        return 0.3
    if char in _WIDE or unicodedata.east_asian_width(char) in "WF":
        return 1.0
    return 0.7 if char.isupper() else 0.56


def _drawable(char: str) -> bool:
    if char in _BIDI or ord(char) & 0xFFFE == 0xFFFE:
        return False
    return unicodedata.category(char) not in ("Cc", "Cs")
