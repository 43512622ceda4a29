"""Foreign text as DOT labels, and the look that both kinds of diagram share.

Labels are plain quoted strings, never HTML-like ones, and nodes carry identifiers of our own, so
that no foreign text is ever part of the syntax.
"""

from __future__ import annotations

import textwrap

from pxp_fsm.diagrams.text import legible

FONT = "Helvetica,Arial,sans-serif"
INK, GREY, ACCENT, TINT = "#1f2328", "#656d76", "#0b5cad", "#d9e8f7"


def label(*lines: str, left: bool = False) -> str:
    r"""A DOT label that shows exactly the characters of `lines`, one below the other.

    Graphviz would read entities (`&lt;`), escapes (`\N`, `\G`) and HTML-like markup (`<b>`);
    none is left in it.
    """
    from graphviz import escape, nohtml

    safe = [escape(legible(line).replace("&", "&amp;")) for line in lines]
    # The blanks keep the line off an arrow that passes at its right.
    ending = r"  \l" if left else r"\n"
    quoted: str = nohtml(ending.join(safe) + (ending if left else ""))
    return quoted  # of a type of graphviz's own: str(quoted) would read <...> as markup again


def hint(text: str) -> str:
    """A DOT tooltip that shows `text`; Graphviz reads the escapes of a tooltip twice."""
    return label(text.replace("\\", "\\\\"))


def wrapped(text: str, width: int, *, whole_words: bool = False) -> list[str]:
    """`text` in lines of at most `width` characters, at least one line."""
    return textwrap.wrap(legible(text), width, break_long_words=not whole_words) or [""]
