"""A diagram as TikZ: paths and text at the places where Graphviz puts them."""

from __future__ import annotations

import re
from itertools import cycle
from xml.etree.ElementTree import Element

from pxp_fsm.diagrams.graphviz import Canvas, kind_of
from pxp_fsm.diagrams.latex import latex, latex_ems
from pxp_fsm.diagrams.style import GENERIC, Style
from pxp_fsm.diagrams.text import ems
from pxp_fsm.errors import UsageError, quoted

_FAMILIES = dict(zip(GENERIC, (r"\sffamily", r"\rmfamily", r"\ttfamily"), strict=True))
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_STEP = re.compile(r"([MCL])([^MCLZ]*)")
_WORD, _NARROWEST, _SMALL = 4, 0.75, 1.03
"""Characters of a text that may need room, the least share of a letter's size, and how much wider
letters are at 7 pt than at 8."""
_ANCHORS = {"start": "base west", "end": "base east"}


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
    letters = scale * _narrowing(canvas)
    (left, top), (width, height) = canvas.corner, canvas.size
    frame = f"({left:g},{-top:g}) rectangle ({left + width:g},{-top - height:g})"
    lines = [
        r"% \input this file; needs \usepackage{tikz}, \usepackage[T1]{fontenc} and a font of any",
        r"% size, such as \usepackage{lmodern}",
        rf"\begin{{tikzpicture}}[x={scale:.4f}bp,y={scale:.4f}bp]",
        *(
            _text(shape, letters, family) if kind_of(shape) == "text" else _drawn(shape, scale)
            for shape in canvas.shapes
        ),
        r"\pgfresetboundingbox",
        rf"\path[use as bounding box] {frame};",
        r"\end{tikzpicture}%",
    ]
    return "\n".join(lines) + "\n"


def _narrowing(canvas: Canvas) -> float:
    """How much smaller all letters are, so that none takes more than its room.

    The places are those of letters like Helvetica's; those of Computer Modern are wider, more so
    the smaller they are.
    """
    lines = [line.strip() for line in canvas.lines]
    shares = [ems(line) / (_SMALL * latex_ems(line)) for line in lines if len(line) >= _WORD]
    return max(_NARROWEST, min([1.0, *shares]))


def _drawn(shape: Element, scale: float) -> str:
    """One shape of the SVG as a path; y grows upwards in TikZ."""
    stroke, fill = shape.get("stroke", "none"), shape.get("fill", "none")
    width = float(shape.get("stroke-width", 1)) * scale
    look = ["draw=none"]
    if stroke not in ("none", "transparent") and width:
        look = [f"draw={_colour(stroke)}", f"line width={width:.2f}bp"]
        look += [_dashes(shape.get("stroke-dasharray", ""), scale)]
    if fill not in ("none", "transparent"):
        look.append(f"fill={_colour(fill)}")
        look += [f"fill opacity={opacity}"] if (opacity := shape.get("fill-opacity")) else []
    return rf"\path[{','.join(filter(None, look))}] {_path(shape)};"


def _dashes(lengths: str, scale: float) -> str:
    """The dashes of a line, by their lengths and those of the gaps between them."""
    steps = zip(_NUMBER.findall(lengths), cycle(("on", "off")), strict=False)
    pattern = " ".join(f"{step} {float(length) * scale:g}bp" for length, step in steps)
    return f"dash pattern={pattern}" if pattern else ""


def _path(shape: Element) -> str:
    """The path of an ellipse, a polygon, a line or a Bézier curve."""
    match kind_of(shape):
        case "ellipse":
            x, y, width, height = (float(shape.get(name, 0)) for name in ("cx", "cy", "rx", "ry"))
            return f"({x:g},{-y:g}) ellipse [x radius={width:g},y radius={height:g}]"
        case "path":
            steps = _STEP.findall(shape.get("d", ""))
            return "".join(_step(letter, _points(numbers)) for letter, numbers in steps)
        case kind:
            corners = " -- ".join(_points(shape.get("points", "")))
            return corners + (" -- cycle" if kind == "polygon" else "")


def _step(letter: str, points: list[str]) -> str:
    if letter == "M":
        return points[0]
    if letter == "L":
        return "".join(f" -- {point}" for point in points)
    curves = zip(points[::3], points[1::3], points[2::3], strict=True)
    return "".join(f" .. controls {a} and {b} .. {c}" for a, b, c in curves)


def _points(numbers: str) -> list[str]:
    coordinates = list(map(float, _NUMBER.findall(numbers)))
    return [f"({x:g},{-y:g})" for x, y in zip(coordinates[::2], coordinates[1::2], strict=True)]


def _text(shape: Element, scale: float, family: str) -> str:
    x, y, size = (float(shape.get(name, 0)) for name in ("x", "y", "font-size"))
    text = shape.text or ""
    anchor = _ANCHORS.get(shape.get("text-anchor", ""), "base")
    if anchor == "base west":  # a blank at the beginning keeps text off an arrow; LaTeX drops it
        x += 0.3 * size * (len(text) - len(text.lstrip()))
    font = rf"\fontsize{{{size * scale:.2f}}}{{{size * scale * 1.2:.2f}}}\selectfont{family}"
    colour = _colour(shape.get("fill", "black"))
    look = f"anchor={anchor},inner sep=0pt,outer sep=0pt,text={colour},font={font}"
    return rf"\node[{look}] at ({x:g},{-y:g}) {{{latex(text.strip())}}};"


def _colour(colour: str) -> str:
    """A colour of SVG (`#rrggbb`, `white`) in the terms of xcolor, which TikZ loads."""
    if not colour.startswith("#"):
        return colour if colour.isalpha() else "black"
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"
