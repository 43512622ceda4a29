"""A diagram as bytes or as a file, for screens and papers, without a system Graphviz."""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.diagrams.charts import SMALLEST, Chart
from pxp_fsm.diagrams.dot import FONT, USUAL, Layout, to_dot
from pxp_fsm.diagrams.graphviz import Canvas, Fuel, OutOfFuel, canvas_of
from pxp_fsm.diagrams.latex import has_glyphs
from pxp_fsm.diagrams.legibility import DrawnShapes, Illegible, cropped
from pxp_fsm.diagrams.mermaid import to_mermaid
from pxp_fsm.diagrams.model import Diagram, SequenceChart, StateDiagram
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

FUEL, QUICK_FUEL = 10**10, 3 * 10**9
"""The work of all layouts with texts together, and of one without: seconds."""

_PARTINGS = 3
"""How often arrows that run together are drawn anew: others may run together then."""

_LARGER = 1.1
"""How much larger a drawing may become by that."""

LARGEST = 1_000
"""Arrows from which a layout in ranks is not even tried."""

QUICK = (
    Layout(quick=True, joined=False, frames=False, within=False),
    Layout(engine="sfdp", quick=True, joined=False, frames=False, within=False),
)
"""The layouts without texts at arrows: in ranks, and by forces, whose work is nearly linear."""

CONFUSED = 3
"""Crossings for each arrow from which nobody follows one."""

LEAST, GOOD = 6.0, 8.0
"""Points: smaller letters cannot be read in print; with these no other layout is looked for."""

_SIZE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')
_MAX_PIXELS = 50_000_000
_MOST_MERMAID = 50_000
_MAX_SIDE = 32_760  # 32,768 and more is refused by viewers (Cairo, Firefox)
# The files of SVG pictures are named by us, so nothing that a drawing says is read as Typst.
_PAGES = """#set document(date: none)
#set page({})
#set align(center)
{}
"""
_A4, _MARGIN = Room(595.28, 841.89), 28.35


def render(diagram: Diagram, form: str, style: Style = PLAIN) -> bytes:
    """`diagram` in one of `FORMATS`, as `style` asks for; text is UTF-8.

    A PNG has 192 dots an inch (fewer where it would have more than 50 million, or a side of more
    than 32,767). PNG and PDF use DejaVu Sans Condensed, which comes with the package, and installed
    fonts for what it has not (Chinese, emoji). PDF holds its fonts and needs the extra `figures`.
    An SVG leaves fonts to its viewer, TikZ to the document. A sequence chart with too many messages
    for one page has several in PDF: of the size of `style`, else A4, or as wide as many members
    need. Other pictures have no pages, and leave out steps from its middle above 14,400 pt.

    Warns (`PXPWarning`) of that, of characters without a font, and of letters below 6 pt where
    `style` bounds the size. Raises `UsageError` for another format, and for a
    style that the format or the diagram cannot have.
    """
    if form not in FORMATS:
        raise UsageError(f"a diagram is not drawn as {form!r}; choose one of {', '.join(FORMATS)}")
    if form in ("mermaid", "text"):
        source = (to_mermaid if form == "mermaid" else to_text)(diagram, style)
        if form == "mermaid" and len(source) > _MOST_MERMAID:
            _warn(
                f"Mermaid's viewers refuse a text of more than {_MOST_MERMAID:,} characters unless "
                f"their maxTextSize is set, and this has {len(source):,}; draw a PDF or a text"
            )
        return source.encode()
    is_chart = isinstance(diagram, SequenceChart)
    sheet, pages = _pages(diagram, style) if form == "pdf" else (None, [arrange(diagram, style)])
    arranged = pages[0]
    if arranged.confused and isinstance(diagram, StateDiagram):
        without = "without their texts " if arranged.quick else ""
        _warn(
            f"{len(diagram.edges):,} arrows are drawn {without}and cross too often to be followed; "
            f"draw a part of it, or all of it as a text (.txt)"
        )
    if style.room is not None and 0 < arranged.letters < LEAST:
        without = "without title (--no-title), " if style.title else ""
        less = "as a PDF with pages" if is_chart and form != "pdf" else "a part of it"
        larger = "wider" if is_chart else f"at {arranged.legible_size} (--size)"
        where = style.size or f"the column of {style.paper}"
        _warn(
            f"at {where} the smallest letters are {arranged.letters:.1f} pt, which cannot be "
            f"read in print; draw it {larger}, {without}or {less}"
        )
    match form:
        case "tikz":
            return _tikz(arranged, style).encode()
        case "dot":
            return _with_font(arranged.source, style).encode()
        case "svg":
            return _svg(arranged, style).encode()
    lines = [line for page in pages for line in page.canvas.lines]
    for problem in font_problems(lines, style):
        _warn(problem)
    if form == "pdf":
        return as_pdf([_svg(page, style) for page in pages], sheet)
    return _png(_svg(arranged, style), style.font is not None or needs_others(lines))


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


def as_pdf(drawings: Sequence[str], sheet: PageSize | None = None) -> bytes:
    """SVG `drawings` as PDF, with its fonts; the same bytes for the same drawings and fonts.

    Each has a page of its own size, or a `sheet`. Raises `UsageError` where Typst is missing.
    """
    require_extra("figures", "PDF", {"typst": "typst"})
    import typst

    look = "width: auto, height: auto, margin: 0pt" if sheet is None else sheet.typst
    names = [f"page{number}.svg" for number in range(len(drawings))]
    images = "\n#pagebreak()\n".join(f'#image("{name}")' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        for name, drawing in zip(names, drawings, strict=True):
            Path(folder, name).write_text(drawing.replace(FONT, SANS), "utf-8")
        pages = Path(folder, "pages.typ")
        pages.write_text(_PAGES.format(look, images), "utf-8")
        fonts = [str(OWN_FONT.parent)]
        made: bytes = typst.compile(str(pages), root=folder, font_paths=fonts, format="pdf")
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
    width, height = (float(side) * 96 / 72 for side in size.groups()) if size else (1.0, 1.0)
    return min(2.0, math.sqrt(_MAX_PIXELS / (width * height)), _MAX_SIDE / max(width, height))


@dataclass(frozen=True, slots=True)
class Arranged:
    """A diagram in its layout: DOT, what is drawn, and by how much that is scaled.

    `quick`: its arrows have no texts. `confused`: nobody can follow them.
    """

    source: str
    canvas: Canvas
    scale: float = 1.0
    quick: bool = False
    confused: bool = False

    @property
    def letters(self) -> float:
        """The size in points of the smallest letters in the paper."""
        return self.canvas.smallest_text * self.scale

    @property
    def legible_size(self) -> str:
        """The size at which its smallest letters can be read, as `--size` takes it."""
        millimetres = LEAST / self.canvas.smallest_text * 25.4 / 72
        width, height = (math.ceil(side * millimetres + 0.1) / 10 for side in self.canvas.size)
        return f"{width:.1f}cmx{height:.1f}cm"


def arrange(diagram: Diagram, style: Style) -> Arranged:
    """The layout of `diagram` that `style` asks for; raises `UsageError` for what it cannot be.

    It is one for a screen, or the one with the largest letters at a width in a paper. Where all
    take too much work, arrows have no texts.
    """
    if not isinstance(diagram, StateDiagram):
        return _chart(diagram, style)
    if len(diagram.edges) <= LARGEST:
        arrange_with_texts = _for_screen if style.room is None else _for_paper
        arranged = arrange_with_texts(diagram, style)
        if arranged is not None:
            return arranged
    return _quick(diagram, style)


def _quick(diagram: StateDiagram, style: Style) -> Arranged:
    """The first of the quick layouts that does not take too much work."""
    in_ranks, by_forces = QUICK
    if len(diagram.edges) <= LARGEST:
        in_ranks = replace(in_ranks, direction=style.direction or in_ranks.direction)
        source = to_dot(diagram, style, in_ranks)
        with suppress(OutOfFuel):
            canvas = cropped(canvas_of(source, fuel=Fuel(QUICK_FUEL)))
            return _fitted(source, canvas, style.room, quick=True)
    source = to_dot(diagram, style, by_forces)
    return _fitted(source, cropped(canvas_of(source, by_forces.engine)), style.room, quick=True)


def _for_paper(diagram: StateDiagram, style: Style) -> Arranged | None:
    """The layout with the largest letters; None where each takes too much work."""
    assert style.room is not None  # noqa: S101 - it is for a paper
    largest, fuel = style.room.largest, Fuel(FUEL)
    best, chosen = None, USUAL
    for layout in _layouts(style):
        if len(diagram.edges) > MANY and not layout.references:
            continue
        source = to_dot(diagram, style, layout)
        try:
            canvas, faults = _moved(canvas_of(source, fuel=fuel))
        except OutOfFuel:
            break
        confused = faults.crossings > CONFUSED * len(diagram.edges)
        arranged = _fitted(source, canvas, style.room, confused=confused)
        if best is None or arranged.letters > best.letters:
            best, chosen = arranged, layout
        if best.letters >= GOOD or best.scale >= largest:
            break
    return best and _parted(diagram, style, chosen, best, fuel)


def _parted(
    diagram: StateDiagram, style: Style, layout: Layout, arranged: Arranged, fuel: Fuel
) -> Arranged:
    """`arranged` anew, with arrows there and back apart where they run together."""
    if len(diagram.edges) > MANY:
        return arranged
    merged = DrawnShapes(arranged.canvas).merged()
    least, (width, height) = len(merged), arranged.canvas.size
    for _ in range(_PARTINGS):
        if not merged:
            break
        layout = replace(layout, ports={**layout.ports, **merged})
        source = to_dot(diagram, style, layout)
        try:
            canvas, _faults = _moved(canvas_of(source, fuel=fuel))
        except OutOfFuel:
            break
        merged = DrawnShapes(canvas).merged()
        larger = max(canvas.size[0] / width, canvas.size[1] / height)
        if len(merged) < least and larger <= _LARGER:
            least = len(merged)
            arranged = _fitted(source, canvas, style.room, confused=arranged.confused)
    return arranged


def _moved(canvas: Canvas) -> tuple[Canvas, Illegible]:
    """`canvas` with its labels moved to where they can be read, and what still cannot be."""
    drawing = DrawnShapes(canvas)
    moved = drawing.move_labels()
    return cropped(drawing.canvas() if moved else canvas), drawing.faults()


@dataclass(frozen=True, slots=True)
class PageSize:
    """A page of a PDF with several: its size and its margin, in points."""

    width: float
    height: float
    margin: float

    @property
    def typst(self) -> str:
        """What Typst has to know of it."""
        return (
            f"width: {self.width:.2f}pt, height: {self.height:.2f}pt, margin: {self.margin:.2f}pt"
        )

    @property
    def inner(self) -> Room:
        """The room within the margin."""
        return Room(self.width - 2 * self.margin, self.height - 2 * self.margin)


def _pages(diagram: Diagram, style: Style) -> tuple[PageSize | None, list[Arranged]]:
    """`diagram` in one drawing of its own size, or a chart in as many as there are pages.

    A chart has pages where one would be higher than it may be, or its letters too small. All have
    one scale.
    """
    if not isinstance(diagram, SequenceChart):
        return None, [arrange(diagram, style)]
    chart, room = Chart(diagram, style), style.room
    if room is None:
        wider = max(1.0, chart.width / (_A4.width - 2 * _MARGIN))
        sheet, largest = PageSize(*(wider * side for side in (_A4.width, _A4.height, _MARGIN))), 1.0
    else:
        sheet, largest = PageSize(room.width, room.height, 0.0), room.largest
        whole = min(largest, room.width / chart.width, room.height / chart.height(chart.whole))
        if SMALLEST * whole >= LEAST:
            return None, [_chart(diagram, style)]
    inner = sheet.inner
    parts = [*chart.pages(inner.height / min(largest, inner.width / chart.width))]
    if len(parts) == 1:
        return None, [_chart(diagram, style)]
    drawn = [_scaled(chart.dot(part), inner) for part in parts]
    scale = min(largest, *(page.scale for page in drawn))
    return sheet, [replace(page, scale=scale) for page in drawn]


def _chart(diagram: SequenceChart, style: Style) -> Arranged:
    """`diagram` in one drawing, without its middle where it would be too high."""
    chart = Chart(diagram, style)
    part = chart.cut()
    if part != chart.whole:
        before, after = part.runs
        _warn(
            f"the chart is too high for one picture; {chart.unit} {before[-1] + 1:,} to "
            f"{after[0] - 1:,} are not drawn; a PDF has all of them, on pages, and so has a text"
        )
    return _scaled(chart.dot(part), style.room)


def _for_screen(diagram: StateDiagram, style: Style) -> Arranged | None:
    """The layout that is easiest to read, the usual one where nothing is wrong with it.

    None where each takes too much work.
    """
    best, chosen, least, fuel = None, USUAL, math.inf, Fuel(FUEL)
    tried = set[str]()
    for layout in _screen_layouts(diagram, style):
        source = to_dot(diagram, style, layout)
        if source in tried:
            continue
        tried.add(source)
        try:
            canvas, faults = _moved(canvas_of(source, fuel=fuel))
        except OutOfFuel:
            break
        width, height = canvas.size
        larger = max(1.0, width / WIDE, height / (1.5 * WIDE))
        cost = 5 * faults.overlaps + faults.crossings + 5 * (larger > 1) + 20 * (larger - 1)
        if cost < least:
            confused = faults.crossings > CONFUSED * len(diagram.edges)
            best, chosen, least = Arranged(source, canvas, confused=confused), layout, cost
        if not least:
            break
    return best and _parted(diagram, style, chosen, best, fuel)


def _screen_layouts(diagram: StateDiagram, style: Style) -> Iterator[Layout]:
    """The layouts to try, the usual one first; of many arrows only those that take no minutes."""
    directions = (style.direction,) if style.direction else ("LR", "TB")
    grouped = any(node.group for node in diagram.nodes)
    few = len(diagram.edges) <= MANY
    for references, tight in ((False, False), (True, True), (True, False)):
        for direction in directions:
            layout = Layout(direction, tight=tight, references=references)
            if few or references:
                yield from (layout,) if few or not grouped else ()
                yield replace(layout, frames=False, within=False)


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


def _scaled(source: str, room: Room | None) -> Arranged:
    return _fitted(source, canvas_of(source), room)


def _fitted(
    source: str, canvas: Canvas, room: Room | None, *, quick: bool = False, confused: bool = False
) -> Arranged:
    """`canvas` in `room`; one without texts is hardly ever to be followed."""
    if room is None:
        return Arranged(source, canvas, quick=quick, confused=quick or confused)
    width, height = canvas.size
    scale = min(room.largest, room.width / width, room.height / height)
    return Arranged(source, canvas, scale, quick, quick or confused)
