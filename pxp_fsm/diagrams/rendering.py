"""A diagram as bytes or as a file, for screens and papers, without a system Graphviz."""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.diagrams.dot import FONT, USUAL, Layout, to_dot
from pxp_fsm.diagrams.graphviz import Canvas, canvas_of
from pxp_fsm.diagrams.latex import has_glyphs
from pxp_fsm.diagrams.mermaid import to_mermaid
from pxp_fsm.diagrams.model import Diagram, StateDiagram
from pxp_fsm.diagrams.plain import to_text
from pxp_fsm.diagrams.style import (
    OWN_FONT,
    PLAIN,
    SANS,
    Room,
    Style,
    font_problems,
    needs_others,
)
from pxp_fsm.diagrams.tikz import to_tikz
from pxp_fsm.errors import PXPWarning, UsageError, require_extra
from pxp_fsm.lazy_dataclasses import dataclass

FORMATS = ("svg", "png", "pdf", "tikz", "dot", "mermaid", "text")
"""The formats of `render`."""

SUFFIXES = {
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
    ".tex": "tikz",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".txt": "text",
}
"""The format that `write` takes for a file name's suffix."""

WIDE = 1000.0
"""Points from which an automaton is too wide for a screen, and is laid out from top to bottom."""

MANY = 60
"""Arrows from which only layouts with references are tried: others take long, and are too wide."""

LEAST, GOOD, LABEL = 6.0, 8.0, 10.0
"""Points: smaller letters cannot be read in print; with these no other layout is looked for; and
the letters at an arrow as it is drawn."""

_SIZE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')
_MAX_PIXELS = 50_000_000
# The file of an SVG picture is named by us, so nothing that a drawing says is read as Typst.
_PAGE = """#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image("drawing.svg")
"""


def render(diagram: Diagram, form: str, style: Style = PLAIN) -> bytes:
    """`diagram` in one of `FORMATS`, as `style` asks for; text is UTF-8.

    A PNG has 192 dots an inch (fewer where it would have more than 50 million). PNG and PDF use
    DejaVu Sans Condensed, which comes with the package, and installed fonts for what it has not
    (Chinese, emoji). PDF holds its fonts and needs the extra `figures`. An SVG leaves fonts to its
    viewer, TikZ to the document. Warns (`PXPWarning`) of characters without a font, and of letters
    below 6 pt where `style` bounds the size. Raises `UsageError` for another format, and for a
    style that the format or the diagram cannot have.
    """
    if form not in FORMATS:
        raise UsageError(f"a diagram is not drawn as {form!r}; choose one of {', '.join(FORMATS)}")
    if form in ("mermaid", "text"):
        written = to_mermaid if form == "mermaid" else to_text
        return written(diagram, style).encode()
    arranged = arrange(diagram, style)
    if style.room is not None and 0 < arranged.letters < LEAST:
        without = "without title (--no-title), " if style.title else ""
        where = style.size or f"the column of {style.paper}"
        _warn(
            f"at {where} the smallest letters are {arranged.letters:.1f} pt, which cannot be "
            f"read in print; draw it wider, {without}or a part of it"
        )
    match form:
        case "tikz":
            return _tikz(arranged, style).encode()
        case "dot":
            return _with_font(arranged.source, style).encode()
    drawn = _svg(arranged, style)
    if form == "svg":
        return drawn.encode()
    for problem in font_problems(arranged.canvas.lines, style):
        _warn(problem)
    if form == "pdf":
        return pdf_of(drawn)
    others = style.font is not None or needs_others(arranged.canvas.lines)
    return _png(drawn, others)


def svg(diagram: Diagram) -> str:
    """`diagram` as SVG."""
    return render(diagram, "svg").decode()


def write(diagram: Diagram, path: str | Path, style: Style = PLAIN) -> None:
    """Draw `diagram` into the file `path`, which is replaced at once and never half-written.

    Raises `UsageError` where the suffix is not one of `SUFFIXES` or the folder is not there, and
    `OSError` where the disk refuses; otherwise warns and raises as `render` does.
    """
    target = Path(path)
    form = SUFFIXES.get(target.suffix.lower())
    if form is None:
        raise UsageError(
            f"{target}: a diagram's file name ends in one of {', '.join(SUFFIXES)}"
            f"{f', not in {target.suffix}' if target.suffix else ''}"
        )
    write_atomically(target, render(diagram, form, style))


def pdf_of(drawing: str) -> bytes:
    """An SVG `drawing` as PDF, with its fonts; the same bytes for the same drawing and fonts.

    Raises `UsageError` where the extra `figures` is not installed.
    """
    require_extra("figures", "PDF", {"typst": "typst"})
    import typst

    drawing = drawing.replace(FONT, SANS)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "drawing.svg").write_text(drawing, "utf-8")
        page = Path(folder, "page.typ")
        page.write_text(_PAGE, "utf-8")
        fonts = [str(OWN_FONT.parent)]
        made: bytes = typst.compile(str(page), root=folder, font_paths=fonts, format="pdf")
    return made


def _warn(text: str) -> None:
    warnings.warn(text, PXPWarning, stacklevel=4)


def _with_font(source: str, style: Style) -> str:
    """`source`, DOT or SVG, with the font that `style` names before the usual ones."""
    return source if style.font is None else source.replace(f'"{FONT}"', f'"{style.font},{FONT}"')


def _tikz(arranged: Arranged, style: Style) -> str:
    unknown = [text for text in arranged.canvas.lines if not has_glyphs(text)]
    if unknown:
        _warn(f"LaTeX's fonts do not have all of {unknown[0]!r}; it is drawn with code points")
    return to_tikz(arranged.canvas, arranged.scale, style)


def _svg(arranged: Arranged, style: Style) -> str:
    drawn = arranged.canvas.svg
    if arranged.scale < 1:
        drawn = arranged.canvas.scaled(arranged.scale)
    return _with_font(drawn, style)


def _png(drawn: str, others: bool) -> bytes:
    import resvg_py

    png: bytes = resvg_py.svg_to_bytes(
        svg_string=drawn.replace(FONT, SANS),
        background="white",
        dpi=96,
        zoom=_zoom(drawn),
        font_files=[str(OWN_FONT)],
        font_family="PXP Sans",
        sans_serif_family="PXP Sans",
        skip_system_fonts=not others,
    )
    return png


def _zoom(drawn: str) -> float:
    """2, or as much as a very large picture can have without filling the memory."""
    size = _SIZE.search(drawn)
    area = float(size[1]) * float(size[2]) * (96 / 72) ** 2 if size else 1.0
    return min(2.0, math.sqrt(_MAX_PIXELS / area))


@dataclass(frozen=True, slots=True)
class Arranged:
    """A diagram in its layout: DOT, what is drawn, and by how much that is scaled."""

    source: str
    canvas: Canvas
    scale: float = 1.0

    @property
    def letters(self) -> float:
        """The size in points of the smallest letters in the paper."""
        return self.canvas.smallest_text * self.scale


def arrange(diagram: Diagram, style: Style) -> Arranged:
    """The layout of `diagram` that `style` asks for; raises `UsageError` for what it cannot be.

    It is one for a screen, or the one with the largest letters at a width in a paper.
    """
    if not isinstance(diagram, StateDiagram):
        if style.direction is not None:
            raise UsageError(
                "a sequence chart has only one direction: its messages go from top to bottom",
                "direction",
            )
        return _scaled(to_dot(diagram, style), style)
    if style.room is None:
        return _for_screen(diagram, style)
    largest = _largest(style.room)
    found = list[Arranged]()
    for layout in _layouts(style):
        if len(diagram.edges) > MANY and not layout.references:
            continue
        found.append(_scaled(to_dot(diagram, style, layout), style))
        if found[-1].letters >= GOOD or found[-1].scale >= largest:
            break
    return max(found, key=lambda arranged: arranged.letters)


def _for_screen(diagram: StateDiagram, style: Style) -> Arranged:
    usual = replace(USUAL, direction=style.direction or USUAL.direction)
    if len(diagram.edges) <= MANY:
        found = _scaled(to_dot(diagram, style, usual), style)
        if found.canvas.size[0] <= WIDE:
            return found
    narrow = Layout(style.direction or "TB", tight=True, references=True)
    return _scaled(to_dot(diagram, style, narrow), style)


def _layouts(style: Style) -> Iterator[Layout]:
    """The layouts to choose from, the most generous first."""
    for direction in (style.direction,) if style.direction else ("LR", "TB"):
        usual = Layout(direction)
        tight = replace(usual, tight=True)
        yield usual
        yield tight
        yield replace(tight, wrap=14)
        yield replace(tight, references=True)
        yield replace(tight, references=True, wrap=14)


def _scaled(source: str, style: Style) -> Arranged:
    canvas, room = canvas_of(source), style.room
    if room is None:
        return Arranged(source, canvas)
    width, height = canvas.size
    return Arranged(source, canvas, min(_largest(room), room.width / width, room.height / height))


def _largest(room: Room) -> float:
    """How much larger a drawing may be made: labels are not larger than the paper's letters."""
    return 1.0 if room.letters is None else min(1.0, room.letters / LABEL)
