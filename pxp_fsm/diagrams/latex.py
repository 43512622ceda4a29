"""Text as LaTeX, and a diagram as TikZ: paths at the places where Graphviz puts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pxp_fsm.diagrams.canvas import Canvas, Operation
from pxp_fsm.diagrams.style import GENERIC, Style
from pxp_fsm.diagrams.text import legible
from pxp_fsm.errors import UsageError, quoted

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
_FAMILIES = dict(zip(GENERIC, (r"\sffamily", r"\rmfamily", r"\ttfamily"), strict=True))
_WIDTH = re.compile(r"setlinewidth\(([\d.]+)\)")


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
    return known or ("\u00c0" <= character <= "\u00ff" and character != "\u00f7")


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    return character if _is_known(character) else rf"\texttt{{U+{ord(character):04X}}}"


def to_tikz(canvas: Canvas, scale: float, style: Style) -> str:
    """What is drawn on `canvas` as a `tikzpicture` for `\\input`, `scale` times as large.

    Its text is in the document's font, or in the one of `GENERIC` that `style` names. Raises
    `UsageError` for another.
    """
    if style.font is not None and style.font not in _FAMILIES:
        raise UsageError(
            f"the font of a .tex drawing is the document's, or one of {', '.join(GENERIC)}; "
            f"{quoted(style.font)} is for other formats",
            "font",
        )
    family = _FAMILIES[style.font] if style.font else ""
    lines = [
        r"% \input this file; needs \usepackage{tikz}, \usepackage[T1]{fontenc} and a font of any",
        r"% size, such as \usepackage{lmodern}",
        rf"\begin{{tikzpicture}}[x={scale:.4f}bp,y={scale:.4f}bp]",
        *(line for shape in canvas.shapes for line in _lines(shape, scale, family)),
        r"\end{tikzpicture}",
    ]
    return "\n".join(lines) + "\n"


def _lines(shape: Iterable[Operation], scale: float, family: str) -> Iterator[str]:
    """The paths and the text of one shape; Graphviz's pen is kept until it is changed."""
    pen, fill, width, dashes, size = "#000000", "#000000", 1.0, "", 10.0
    for step in shape:
        match step["op"]:
            case "c":
                pen = step["color"]
            case "C":
                fill = step["color"]
            case "F":
                size = step["size"]
            case "S":
                if found := _WIDTH.fullmatch(step["style"]):
                    width = float(found[1])
                elif step["style"] in ("dashed", "dotted", "solid"):
                    dashes = "" if step["style"] == "solid" else f"{step['style']},"
            case "T":
                yield _text(step, pen, size * scale, family)
            case _:
                line = f"draw={_colour(pen)},{dashes}line width={width * scale:.2f}bp"
                drawn = line if width and _is_seen(pen) else "draw=none"
                filled = step["op"] in "EP" and _is_seen(fill)
                yield rf"\path[{drawn}{f',fill={_colour(fill)}' if filled else ''}] {_path(step)};"


def _path(step: Mapping[str, object]) -> str:
    """The path of an ellipse, a polygon, a line or a Bézier curve."""
    match step:
        case {"op": "e" | "E", "rect": [x, y, width, height]}:
            return f"({x},{y}) ellipse [x radius={width},y radius={height}]"
        case {"op": "b" | "B", "points": list() as points}:
            first, *rest = points
            curves = (rest[place : place + 3] for place in range(0, len(rest), 3))
            return _point(first) + "".join(
                f" .. controls {_point(a)} and {_point(b)} .. {_point(c)}" for a, b, c in curves
            )
        case {"op": op, "points": list() as points}:
            return " -- ".join(map(_point, points)) + ("" if op == "L" else " -- cycle")
    raise AssertionError(f"Graphviz does not draw {step['op']!r}")


def _point(point: tuple[float, float]) -> str:
    return f"({point[0]},{point[1]})"


def _text(step: Operation, pen: str, size: float, family: str) -> str:
    x, y = step["pt"]
    text = step["text"]
    anchor = {"l": "base west", "r": "base east"}.get(step["align"], "base")
    if step["align"] == "l":  # a blank at the beginning keeps text off an arrow; LaTeX drops it
        x = round(x + 3 * (len(text) - len(text.lstrip())), 2)
    font = rf"\fontsize{{{size:.2f}}}{{{size * 1.2:.2f}}}\selectfont{family}"
    look = f"anchor={anchor},inner sep=0pt,outer sep=0pt,text={_colour(pen)},font={font}"
    return rf"\node[{look}] at ({x},{y}) {{{latex(text.strip())}}};"


def _is_seen(colour: str) -> bool:
    return not (colour.startswith("#") and len(colour) == 9 and colour.endswith("00"))


def _colour(colour: str) -> str:
    """A colour of Graphviz (`#rrggbb`, `white`) in the terms of xcolor, which TikZ loads."""
    if not colour.startswith("#"):
        return colour if colour.isalpha() else "black"
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"
