"""The curves of the papers as figures: medians over repetitions, with bars from least to most."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import ceil, floor, log10
from types import MappingProxyType
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Tree

from pxp_fsm.diagrams.dot import FONT, WIDER
from pxp_fsm.diagrams.graphviz import Canvas
from pxp_fsm.diagrams.rendering import as_pdf
from pxp_fsm.diagrams.style import PLAIN, Room
from pxp_fsm.diagrams.text import ems, legible, shortened
from pxp_fsm.diagrams.tikz import to_tikz
from pxp_fsm.experiments.reports.tallies import RunTally
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Tag

if TYPE_CHECKING:
    from markupsafe import Markup

LIGHT = MappingProxyType(
    {
        "paper": "#ffffff",
        "ink": "#1f2328",
        "grey": "#656d76",
        "rule": "#d4d9de",
        "tint": "#d9e8f7",
        "accent": "#0b5cad",
        "machine": "#00416a",
        "human": "#b04600",
        "both": "#15a07c",
        "INIT": "#5d666f",
        "RATIFY": "#009e73",
        "REVISE": "#56b4e9",
        "REFUTE": "#e69f00",
        "REJECT": "#d55e00",
        "TERM": "#cc79a7",
        "ended": "#c5cbd1",
    }
)
DARK = MappingProxyType(
    {
        "paper": "#16191d",
        "ink": "#e4e8ec",
        "grey": "#9aa4ae",
        "rule": "#363c43",
        "tint": "#1d3550",
        "accent": "#6cb2f5",
        "machine": "#5eb3ec",
        "human": "#ee8f52",
        "both": "#3cc7a0",
        "INIT": "#77818b",
        "RATIFY": "#12a97e",
        "REVISE": "#4aa9de",
        "REFUTE": "#d9990f",
        "REJECT": "#d9661a",
        "TERM": "#c877a4",
        "ended": "#4a525a",
    }
)

NAMED = MappingProxyType({colour: name for name, colour in LIGHT.items()})
"""The names of the colours by what a figure is drawn in; the page gives them their values."""


def variables(colours: MappingProxyType[str, str]) -> str:
    """The colours as CSS custom properties."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_ELEMENTS = frozenset({
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text",
    "tspan", "defs", "clipPath", "use", "title", "pattern",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "d", "width",
    "height", "points", "transform", "viewBox", "style", "class", "id", "fill", "fill-opacity",
    "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "clip-path",
    "stroke-linejoin", "stroke-linecap", "stroke-miterlimit", "opacity", "text-anchor",
    "font-family", "font-size", "font-weight", "font-style", "dominant-baseline", "rotate",
    "patternUnits",
})  # fmt: skip
_OURS = re.compile(r"url\(\s*#([\w.-]+)\s*\)")
_FOREIGN = re.compile(r"url\(|expression|@import|javascript:", re.IGNORECASE)
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|\b(?:white|black)\b")

INK = {
    "#1f2328": "ink",
    "#656d76": "grey",
    "#0b5cad": "accent",
    "#d9e8f7": "tint",
    "#ffffff": "paper",
    "#000000": "ink",
    "white": "paper",
    "black": "ink",
}
"""The colours of the automata's drawings, and black on white, by the page's names for them."""


def embedded(
    svg: str, prefix: str, *, title: str, colours: Mapping[str, str], symbol: bool = False
) -> Markup:
    """`svg` as an element of a page, told as `title` to who cannot see it.

    `colours` gives the page's name of each colour to replace. As a `symbol` it is not shown itself,
    but wherever it is used by the id `prefix`. Raises `ValueError` where it is no SVG.
    """
    from markupsafe import Markup

    try:
        root = Tree.fromstring(svg)  # noqa: S314 - made in this process, by the libraries that draw
    except Tree.ParseError as error:
        raise ValueError(f"not an SVG: {error}") from error
    width, height = _size(root)
    box = root.get("viewBox") or f"0 0 {width:g} {height:g}"
    copied = "".join([_copied(child, prefix, colours) for child in _merged(root)])
    inner = Markup(copied)  # noqa: S704 - its elements are ours, and what is in them is escaped
    if symbol:
        return Markup('<symbol id="{}" viewBox="{}">{}</symbol>').format(prefix, box, inner)
    shown = Markup(
        '<svg class="drawn" role="img" aria-label="{}" viewBox="{}" width="{}" height="{}">'
    )
    return shown.format(title, box, f"{width:.0f}", f"{height:.0f}") + inner + Markup("</svg>")


_DEFAULTS = frozenset(
    ("stroke-linecap:butt", "stroke-linejoin:miter", "stroke-opacity:1", "fill-opacity:1")
)
_BLANKS = re.compile(r"(?<=[A-Za-z])\s+|\s+(?=[A-Za-z])|\.0(?=\D|$)")


def _merged(root: Tree.Element) -> Iterator[Tree.Element]:
    """The children of `root`, the paths of one look among them in one: a molecule has hundreds."""
    looks: dict[str, Tree.Element] = {}
    for child in root:
        if child.tag != f"{_SVG}path" or "style" not in child.attrib:
            yield child
            continue
        style = ";".join(
            part for part in child.get("style", "").split(";") if part not in _DEFAULTS
        )
        line = _BLANKS.sub("", child.get("d", "").replace(",", " "))
        if style in looks:
            looks[style].set("d", looks[style].get("d", "") + line)
        else:
            looks[style] = Tree.Element(f"{_SVG}path", {"style": style, "d": line})
    yield from looks.values()


def used(prefix: str, title: str, width: float, height: float) -> Markup:
    """The symbol `prefix`, shown here."""
    from markupsafe import Markup

    return Markup(
        '<svg class="drawn" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">'
        '<use href="#{}"/></svg>'
    ).format(title, *(f"{number:.0f}" for number in (width, height) * 2), prefix)


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG, in CSS pixels."""
    return _size(Tree.fromstring(svg))  # noqa: S314 - made in this process


def _size(root: Tree.Element) -> tuple[float, float]:
    box = (root.get("viewBox") or "0 0 300 150").split()
    sizes = []
    for name, fallback in (("width", box[2]), ("height", box[3])):
        match = re.fullmatch(r"([\d.]+)(pt|px)?", root.get(name, ""))
        sizes.append(
            float(match[1]) * (4 / 3 if match[2] == "pt" else 1) if match else float(fallback)
        )
    return sizes[0], sizes[1]


def _copied(element: Tree.Element, prefix: str, colours: Mapping[str, str]) -> str:
    """What is kept of an element, as markup: our elements and attributes, all else escaped."""
    name = str(element.tag).removeprefix(_SVG)
    tail = html.escape(element.tail) if element.tail and element.tail.strip() else ""
    if name == "title":  # the drawing is told as a whole; what a browser pops up would be foreign
        return tail
    inside = "".join([_copied(child, prefix, colours) for child in element])
    if name not in _ELEMENTS:
        return (inside if name == "a" else "") + tail
    attributes = _attributes(element, prefix, colours).items()
    look = "".join([f' {key}="{html.escape(value)}"' for key, value in attributes])
    text = html.escape(element.text) if element.text and element.text.strip() else ""
    return f"<{name}{look}>{text}{inside}</{name}>{tail}"


def _attributes(element: Tree.Element, prefix: str, colours: Mapping[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in element.attrib.items():
        if name in (_LINK, "href"):
            if value.startswith("#"):
                kept["href"] = f"#{prefix}-{value[1:]}"
        elif name == "id":
            kept["id"] = f"{prefix}-{value}"
        elif name in _ATTRIBUTES:
            ours = _OURS.sub(lambda match: f"our(#{prefix}-{match[1]})", value)
            if not _FOREIGN.search(ours):
                kept[name] = _coloured(ours.replace("our(#", "url(#"), name, colours)
    return kept


def _coloured(value: str, name: str, colours: Mapping[str, str]) -> str:
    if name not in ("style", "fill", "stroke"):
        return value

    def named(match: re.Match[str]) -> str:
        ours = colours.get(match[0].lower())
        return f"var(--{ours})" if ours else match[0]

    return _COLOUR.sub(named, value)


SCREEN = Room(691.2, 374.4, 9.0)
"""The room of a figure on a page: as wide as the page's text."""

PHONE = Room(262.0, 400.0, 9.0)
"""That on the page of a telephone, with letters that need no magnifying."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve: its name, its colour's name and marker, and (x, median, least, most) points."""

    name: str
    colour: str
    marker: str
    points: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True, slots=True)
class PlotMark:
    """A published number beside the curves: where, its colour's name, and what it is."""

    name: str
    colour: str
    x: float
    y: float


@dataclass(frozen=True)
class DrawnFigure:
    """A figure that is drawn; `title` tells it to who cannot see it."""

    title: str
    canvas: Canvas

    def element(self, key: str) -> Markup:
        """The figure as an element of a page; `key` is unique in the page."""
        return embedded(self.canvas.svg, key, title=self.title, colours=NAMED)

    def svg(self) -> str:
        """The figure as SVG, with its text as text: it can be searched, read aloud, and copied."""
        return self.canvas.svg

    def pdf(self) -> bytes:
        """The figure as PDF, with its font in it; `UsageError` where Typst is not installed."""
        return as_pdf([self.canvas.svg])

    def pgf(self) -> str:
        """The figure for `\\input` in LaTeX, in the fonts of the document."""
        return to_tikz(self.canvas, 1.0, PLAIN)


Point = tuple[float, float]
"""A place on a sheet, in points from its upper left corner; y goes down."""


@dataclass
class _Sheet:
    """What is drawn of a figure, in points and in the order of drawing."""

    width: float
    height: float
    shapes: list[str] = field(default_factory=list)

    def line(
        self, *ways: Sequence[Point], colour: str, width: float, dashes: Sequence[float] = ()
    ) -> None:
        """Lines of one look, each from point to point."""
        look = {"stroke": colour, "stroke-width": _short(width)}
        look |= {"stroke-dasharray": ",".join(map(_short, dashes))} if dashes else {}
        steps = " ".join(f"M{_written(way, 'L')}" for way in ways)
        self._add("path", {"fill": "none", **look, "d": steps})

    def area(self, corners: Sequence[Point], fill: str, edge: str = "", width: float = 0) -> None:
        """A polygon."""
        look = {"stroke": edge, "stroke-width": _short(width)} if edge else {}
        self._add("polygon", {"fill": fill, **look, "points": _written(corners)})

    def disc(self, middle: Point, radius: float, fill: str) -> None:
        """A circle."""
        (x, y), r = map(_short, middle), _short(radius)
        self._add("ellipse", {"fill": fill, "cx": x, "cy": y, "rx": r, "ry": r})

    def band(self, start: Point, end: Point, width: float, fill: str) -> None:
        """A band as high as `width`, from the upper corner `start` to the upper corner `end`."""
        (left, a), (right, b) = start, end
        middle = (left + right) / 2
        there = _written([(middle, a), (middle, b), end])
        back = _written([(middle, b + width), (middle, a + width), (left, a + width)])
        outline = f"M{_written([start])} C{there} L{_written([(right, b + width)])} C{back}"
        self._add("path", {"fill": fill, "fill-opacity": "0.45", "d": outline})

    def text(
        self, place: Point, text: str, size: float, colour: str, anchor: str = "start"
    ) -> None:
        """A line of text; `place` is the start, middle or end of its base line."""
        x, y = map(_short, place)
        look = {"x": x, "y": y, "text-anchor": anchor, "fill": colour}
        self._add("text", {**look, "font-family": FONT, "font-size": _short(size)}, legible(text))

    def _add(self, kind: str, look: Mapping[str, str], inside: str = "") -> None:
        written = "".join(f' {name}="{html.escape(value)}"' for name, value in look.items())
        self.shapes.append(f"<{kind}{written}>{html.escape(inside)}</{kind}>")

    def figure(self, title: str) -> DrawnFigure:
        """What is drawn, as a figure that is told as `title`."""
        width, height = _short(self.width), _short(self.height)
        head = (
            f'<svg width="{width}pt" height="{height}pt" viewBox="0 0 {width} {height}" '
            'xmlns="http://www.w3.org/2000/svg">'
        )
        lines = ('<?xml version="1.0" encoding="UTF-8"?>', head, *self.shapes, "</svg>", "")
        return DrawnFigure(title, Canvas("\n".join(lines)))


def _written(places: Sequence[Point], between: str = " ") -> str:
    return between.join(f"{_short(x)},{_short(y)}" for x, y in places)


def _short(number: float) -> str:
    """A number with the digits that can be seen."""
    return f"{round(number, 2):g}"


def _letters(room: Room) -> float:
    return room.letters or 8.0


def _is_narrow(room: Room) -> bool:
    """Whether what stands beside a figure on a page stands below it."""
    return room.width < 480


def curves(
    title: str, axes: tuple[str, str], lines: Sequence[Curve],
    marks: Sequence[PlotMark] = (), *, top: float, room: Room = SCREEN, whole: bool = False,
) -> DrawnFigure:  # fmt: skip
    """Curves against message number, from 0 to `top`.

    `whole` says that heights are whole numbers.
    """
    size, narrow = _letters(room), _is_narrow(room)
    sheet = _Sheet(room.width, min(room.height, room.width * (0.75 if narrow else 0.42)))
    legend = _Legend(lines, marks, size, room.width)
    columns = 2 if narrow and 2 * legend.width <= room.width and not marks else 1
    below = legend.height(columns) + size if narrow else 0.0
    aside = 0.0 if narrow else legend.width + size
    bottom = sheet.height - below - 3 * size - _TICK
    ticks = list(_ticks(top, (bottom - 2 * size) / (3 * size), whole))
    left = _TICK + 4 + size * max(ems(label) for _, label in ticks)
    plot = _Plot(left, room.width - aside - 2, 2 * size, bottom, _xs(lines), top)
    _draw_axes(sheet, plot, axes, ticks, size)
    for number, line in enumerate(lines):
        shift = (number - (len(lines) - 1) / 2) * min(_APART, 0.16 * plot.step)
        _draw(sheet, line, plot, shift, number, size)
    for mark in marks:
        _diamond(sheet, (plot.x(mark.x), plot.y(mark.y)), mark.colour, size)
    if narrow:
        legend.draw(sheet, (1.0, sheet.height - legend.height(columns)), columns)
    else:
        legend.draw(sheet, (room.width - legend.width, 2 * size), columns)
    return sheet.figure(title)


_TICK = 3.5
"""Points of the small line at a number of an axis."""

_APART = 5.0
"""Points at most between the bars of two curves at one message, so that both are seen."""

_DASHES: Sequence[Sequence[float]] = ((), (7.5, 2.2), (2.2, 2.2))
"""Lines that can be told apart without their colours."""


def _xs(lines: Sequence[Curve]) -> Sequence[float]:
    return sorted({point[0] for line in lines for point in line.points})


@dataclass(frozen=True, slots=True)
class _Plot:
    """The place of a plot on its sheet, the message numbers in it, and its greatest height."""

    left: float
    right: float
    above: float
    below: float
    xs: Sequence[float]
    top: float

    @property
    def step(self) -> float:
        """Points from one message to the next."""
        return (self.right - self.left) / (self.xs[-1] - self.xs[0] + 1)

    def x(self, message: float) -> float:
        return self.left + (message - self.xs[0] + 0.5) * self.step

    def y(self, height: float) -> float:
        return self.below - height / self.top * (self.below - self.above)


def _ticks(top: float, most: float, whole: bool) -> Iterator[tuple[float, str]]:
    """Round numbers from 0 to `top`, at most `most` steps apart, as they are written."""
    sizes = (digit * 10.0**power for power in range(-6, 12) for digit in (1, 2, 5))
    step = next(size for size in sizes if top / size <= max(2, most) and (size >= 1 or not whole))
    digits = max(0, -floor(log10(step)))
    for number in range(int(top / step) + 1):
        yield number * step, f"{number * step:,.{digits}f}"


def _draw_axes(
    sheet: _Sheet, plot: _Plot, axes: tuple[str, str], ticks: Sequence[tuple[float, str]],
    size: float,
) -> None:  # fmt: skip
    """The axes with their names and numbers, and a line across at each height."""
    heights = [(plot.y(height), label) for height, label in ticks]
    label = size * max(ems(f"{message:g}") for message in plot.xs) + 0.4 * size
    every = max(1, ceil(label * len(plot.xs) / (plot.right - plot.left)))
    places = [(plot.x(message), f"{message:g}") for message in plot.xs[::every]]
    sheet.line(*([(plot.left, y), (plot.right, y)] for y, _ in heights[1:]),
               colour=LIGHT["rule"], width=0.7)  # fmt: skip
    sheet.line(
        [(plot.left, plot.above), (plot.left, plot.below), (plot.right, plot.below)],
        *([(plot.left - _TICK, y), (plot.left, y)] for y, _ in heights),
        *([(x, plot.below), (x, plot.below + _TICK)] for x, _ in places),
        colour=LIGHT["grey"], width=0.8,
    )  # fmt: skip
    for y, shown in heights:
        sheet.text((plot.left - _TICK - 3, y + 0.35 * size), shown, size, LIGHT["ink"], "end")
    for x, shown in places:
        sheet.text((x, plot.below + _TICK + 1.1 * size), shown, size, LIGHT["ink"], "middle")
    middle = (plot.left + plot.right) / 2
    under = (middle, plot.below + _TICK + 2.5 * size)
    sheet.text(under, axes[0], size, LIGHT["ink"], "middle")
    sheet.text((1.0, size), axes[1], size, LIGHT["ink"])


def _draw(sheet: _Sheet, line: Curve, plot: _Plot, shift: float, number: int, size: float) -> None:
    """A curve with a bar at each point, from least to most."""
    places = [
        (plot.x(at) + shift, plot.y(middle), plot.y(least), plot.y(most))
        for at, middle, least, most in line.points
    ]
    colour, half = LIGHT[line.colour], 0.28 * size
    bars = [
        way
        for x, _, low, high in places
        if low != high
        for way in ([(x, low), (x, high)], *([(x - half, y), (x + half, y)] for y in (low, high)))
    ]
    if bars:
        sheet.line(*bars, colour=colour, width=1)
    way = [(x, y) for x, y, _, _ in places]
    sheet.line(way, colour=colour, width=1.5, dashes=_DASHES[number % len(_DASHES)])
    for place in way:
        _marker(sheet, place, line, size)


def _marker(sheet: _Sheet, place: Point, line: Curve, size: float) -> None:
    (x, y), r, colour = place, 0.3 * size, LIGHT[line.colour]
    match line.marker:
        case "o":
            sheet.disc(place, r, colour)
        case "s":
            r *= 0.9
            sheet.area([(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)], colour)
        case _:
            sheet.area([(x, y - 1.1 * r), (x + r, y + 0.8 * r), (x - r, y + 0.8 * r)], colour)


def _diamond(sheet: _Sheet, place: Point, colour: str, size: float) -> None:
    (x, y), r = place, 0.5 * size
    corners = [(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
    sheet.area(corners, LIGHT["paper"], LIGHT[colour], 1.4)


@dataclass(frozen=True, slots=True)
class _Legend:
    """What the curves and the marks of a plot are, with letters of `size`, in at most `room`."""

    lines: Sequence[Curve]
    marks: Sequence[PlotMark]
    size: float
    room: float

    @property
    def names(self) -> Sequence[str]:
        most = max(4, min(44, int((self.room / self.size - 3.2) / (WIDER * 0.6))))
        names = [*(line.name for line in self.lines), *(mark.name for mark in self.marks)]
        return [shortened(name, most) for name in names]

    @property
    def width(self) -> float:
        """Points of one column; a viewer's font may be wider than ours."""
        return self.size * (3.2 + WIDER * max(map(ems, self.names)))

    def height(self, columns: int) -> float:
        return 1.4 * self.size * ceil(len(self.names) / columns)

    def draw(self, sheet: _Sheet, corner: Point, columns: int) -> None:
        """Draw it in so many columns, its upper left corner at `corner`."""
        rows = ceil(len(self.names) / columns)
        for number, name in enumerate(self.names):
            left = corner[0] + number // rows * self.width
            base = corner[1] + (number % rows + 1) * 1.4 * self.size - 0.35 * self.size
            middle = (left + 1.3 * self.size, base - 0.35 * self.size)
            if number < len(self.lines):
                line, dashes = self.lines[number], _DASHES[number % len(_DASHES)]
                way = [(left, middle[1]), (left + 2.6 * self.size, middle[1])]
                sheet.line(way, colour=LIGHT[line.colour], width=1.5, dashes=dashes)
                _marker(sheet, middle, line, self.size)
            else:
                colour = self.marks[number - len(self.lines)].colour
                _diamond(sheet, middle, colour, self.size)
            sheet.text((left + 3.2 * self.size, base), name, self.size, LIGHT["ink"])


COLUMNS = 12
"""Messages that are drawn; what comes after them is in the file of the flow."""

_ORDER = (Tag.INIT, Tag.RATIFY, Tag.REVISE, Tag.REFUTE, Tag.REJECT, Tag.TERM)
_WIDTH, _GAP, _LEAST, _BELOW = 0.16, 0.035, 0.055, 0.12
_ROOM_OF_COLUMN = 21.0
"""Points of a message's column at least: its tag stands in it."""

Key = tuple[int, str, bool]
"""A node: its column, a tag or an ending, and whether it is an ending."""

Rank = tuple[bool, int, str]
"""Where a node stands among those of its column."""


@dataclass
class _Node:
    """A node's place, and how far its sides are taken by bands."""

    bottom: float
    height: float
    taken_in: float = 0.0
    taken_out: float = 0.0


def links(tally: RunTally) -> Mapping[tuple[Key, Key], int]:
    """How many sessions went from one node to the next, over all messages."""
    flows: Counter[tuple[Key, Key]] = Counter()
    for (number, tag, following), count in tally.flows.items():
        flows[(number, tag, False), (number + 1, following, False)] += count
    for (number, tag, ending), count in tally.endings.items():
        flows[(number, tag, False), (number + 1, ending, True)] += count
    return flows


def columns_drawn(tally: RunTally, room: Room = SCREEN) -> int:
    """How many messages of a flow are drawn; the rest is in the file."""
    return min(COLUMNS, tally.longest, max(3, int(room.width / _ROOM_OF_COLUMN)))


def chart(title: str, tally: RunTally, room: Room = SCREEN) -> DrawnFigure:
    """The flow as an alluvial chart: bands as wide as the sessions in them are many.

    Tags stand above the line, a column a message; what has ended leaves below it.
    """
    most, wide = columns_drawn(tally, room), not _is_narrow(room)
    flows = {pair: count for pair, count in links(tally).items() if pair[0][0] <= most}
    nodes, sizes = _placed(flows), _sizes(flows)
    size = _letters(room)
    sheet = _Sheet(room.width, min(room.height, room.width * (0.54 if wide else 0.8)))
    columns = sorted({node[0] for node in nodes if not node[2]})
    top = max((place.bottom + place.height for place in nodes.values()), default=1.0)
    low = min((place.bottom for place in nodes.values()), default=0.0)
    small = size - (1.0 if wide else 2.0)
    # The labels at the right have room.
    wanted = {node: small * WIDER * ems(_label(node, short=not wide)) + 4 for node in nodes}
    column = min((sheet.width - room) / (_right(node) - 0.6) for node, room in wanted.items())
    plane = _Plane(column, (sheet.height - 3.4 * size) / (top - low), top, 2.1 * size)
    for (source, target), count in sorted(flows.items(), key=lambda item: _rank(*item[0])):
        _band(sheet, plane, source, target, nodes, count / _total(flows))
    for node, place in nodes.items():
        _box(sheet, plane, node, place, sizes[node], small, short=not wide)
    for number in columns:
        if number == 1 and wide:
            sheet.text((1.0, size), "message 1", size, LIGHT["grey"])
        else:
            is_cut = number == columns[-1] < tally.longest
            shown = f"{number} of {tally.longest:,}" if is_cut else str(number)
            sheet.text((plane.x(number), size), shown, size, LIGHT["grey"], "middle")
    return sheet.figure(title)


def _total(flows: Mapping[tuple[Key, Key], int]) -> int:
    return sum(count for (source, _), count in flows.items() if source[0] == 1) or 1


def _sizes(flows: Mapping[tuple[Key, Key], int]) -> Counter[Key]:
    """Sessions that were in each node."""
    came, left = Counter[Key](), Counter[Key]()
    for (source, target), count in flows.items():
        left[source] += count
        came[target] += count
    return came | left


def _placed(flows: Mapping[tuple[Key, Key], int]) -> dict[Key, _Node]:
    """Where each node is: a column for each message, endings below the line."""
    sizes, total = _sizes(flows), _total(flows)
    nodes: dict[Key, _Node] = {}
    for column in sorted({node[0] for node in sizes}):
        bottom, below = 0.0, -_BELOW
        for node in sorted((n for n in sizes if n[0] == column), key=_place, reverse=True):
            height = sizes[node] / total
            room = max(height, _LEAST) + _GAP
            nodes[node] = _Node(below - height if node[2] else bottom, height)
            if node[2]:
                below -= room
            else:
                bottom += room
    return nodes


def _place(node: Key) -> Rank:
    known = _ORDER.index(Tag(node[1])) if node[1] in _ORDER else len(_ORDER)
    return node[2], known, node[1]


def _rank(source: Key, target: Key) -> tuple[int, Rank, Rank]:
    return source[0], _place(source), _place(target)


@dataclass(frozen=True, slots=True)
class _Plane:
    """Where a flow is on its sheet, in points: a column, all sessions, and the room above.

    `top` is the greatest height, in shares of all sessions.
    """

    column: float
    scale: float
    top: float
    above: float

    def x(self, column: float) -> float:
        return (column - 0.6) * self.column

    def y(self, height: float) -> float:
        return self.above + (self.top - height) * self.scale


def _band(
    sheet: _Sheet, plane: _Plane, source: Key, target: Key, nodes: dict[Key, _Node], share: float
) -> None:
    start, end = nodes[source], nodes[target]
    start.taken_out += share
    end.taken_in += share
    left = source[0] + _WIDTH / 2
    right = target[0] - (0.5 if target[2] else _WIDTH / 2)
    a = start.bottom + start.height - start.taken_out + share
    b = end.bottom + end.height - end.taken_in + share
    corners = ((plane.x(left), plane.y(a)), (plane.x(right), plane.y(b)))
    sheet.band(*corners, share * plane.scale, _colour(target))


def _box(
    sheet: _Sheet, plane: _Plane, node: Key, place: _Node, count: int, size: float, short: bool
) -> None:
    ended, right = node[2], plane.x(_right(node))
    left = right - (0.04 if ended else _WIDTH) * plane.column
    top, bottom = plane.y(place.bottom + place.height), plane.y(place.bottom)
    sheet.area([(left, top), (right, top), (right, bottom), (left, bottom)], _colour(node))
    if not ended and (hatch := list(_hatched(node[1], left, top, right, bottom))):
        sheet.line(*hatch, colour=LIGHT["paper"], width=1)
    ink, middle = LIGHT["grey" if ended else "ink"], (top + bottom) / 2
    for line, base in ((_label(node, short=short), -0.2), (f"{count:,}", 0.9)):
        sheet.text((right + 2, middle + base * size), line, size, ink)


def _right(node: Key) -> float:
    """The right side of a node, in columns: an ending stands between two messages."""
    return node[0] + (-0.46 if node[2] else _WIDTH / 2)


def _label(node: Key, *, short: bool) -> str:
    return shortened(_SHORT.get(node[1], node[1]) if short else node[1], 14)


_HATCH = 5.0
"""Points from one line of a pattern to the next."""


def _hatched(
    tag: str, left: float, top: float, right: float, bottom: float
) -> Iterator[Sequence[Point]]:
    """The lines of the pattern of `tag` within a box."""
    for pattern in _HATCHES.get(tag, ""):
        if pattern == "|":
            width = (right - left) / 3
            yield from ([(x, top), (x, bottom)] for x in (left + width, right - width))
            continue
        drop = {"-": 0.0, "/": left - right, "\\": right - left}[pattern]
        first, last = top - max(0.0, drop), bottom - min(0.0, drop)
        for number in range(ceil((last - first) / _HATCH - 0.5)):
            y = first + (number + 0.5) * _HATCH
            yield _within((left, y), (right, y + drop), top, bottom)


def _within(start: Point, end: Point, top: float, bottom: float) -> Sequence[Point]:
    """What of a straight line is neither above `top` nor below `bottom`."""
    (x, y), (a, b) = start, end
    if y == b:
        return [start, end]
    heights = [min(max(height, top), bottom) for height in (y, b)]
    return [(x + (a - x) * (height - y) / (b - y), height) for height in heights]


_SHORT: Mapping[str, str] = {
    Tag.RATIFY: "RAT",
    Tag.REVISE: "REV",
    Tag.REFUTE: "REF",
    Tag.REJECT: "REJ",
}
"""The papers' short names of tags."""

_HATCHES: Mapping[str, str] = {Tag.REVISE: "-", Tag.REFUTE: "/", Tag.REJECT: "/\\", Tag.TERM: "|"}
"""Patterns of tags, which can be told apart without their colours."""


def _colour(node: Key) -> str:
    return LIGHT["ended"] if node[2] else LIGHT.get(node[1], LIGHT["grey"])


def rows(tally: RunTally) -> Iterator[tuple[int, str, str, int]]:
    """The flow as rows: message, its tag, what followed (a tag, or how it ended), sessions."""
    for (source, target), count in sorted(links(tally).items()):
        yield source[0], source[1], f"ended: {target[1]}" if target[2] else target[1], count
