"""The curves of the papers as figures: medians over repetitions, with bars from least to most."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Tree

from markupsafe import Markup, escape

from pxp_fsm.diagrams.latex import latex
from pxp_fsm.diagrams.style import Room
from pxp_fsm.diagrams.text import shortened
from pxp_fsm.errors import require_extra
from pxp_fsm.experiments.reports.tallies import RunTally
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    try:
        root = Tree.fromstring(svg)  # noqa: S314 - made in this process, by the libraries that draw
    except Tree.ParseError as error:
        raise ValueError(f"not an SVG: {error}") from error
    width, height = _size(root)
    box = root.get("viewBox") or f"0 0 {width:g} {height:g}"
    inner = Markup().join(_copied(child, prefix, colours) for child in _merged(root))
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
    return Markup(
        '<svg class="drawn" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">'
        '<use href="#{}"/></svg>'
    ).format(title, *(f"{number:.0f}" for number in (width, height) * 2), prefix)


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG, in CSS pixels."""
    return _size(Tree.fromstring(svg))  # noqa: S314 - made in this process


def _size(root: Tree.Element) -> tuple[float, float]:
    box = (root.get("viewBox") or "0 0 300 150").split()
    found = []
    for name, fallback in (("width", box[2]), ("height", box[3])):
        match = re.fullmatch(r"([\d.]+)(pt|px)?", root.get(name, ""))
        found.append(
            float(match[1]) * (4 / 3 if match[2] == "pt" else 1) if match else float(fallback)
        )
    return found[0], found[1]


def _copied(element: Tree.Element, prefix: str, colours: Mapping[str, str]) -> Markup:
    name = str(element.tag).removeprefix(_SVG)
    tail = escape(element.tail) if element.tail and element.tail.strip() else Markup()
    if name not in _ELEMENTS:
        inside = Markup().join(_copied(child, prefix, colours) for child in element)
        return (inside if name == "a" else Markup()) + tail
    if name == "title":  # the drawing is told as a whole; what a browser pops up would be foreign
        return tail
    attributes = Markup().join(
        Markup(' {}="{}"').format(key, value)
        for key, value in _attributes(element, prefix, colours).items()
    )
    inside = escape(element.text) if element.text and element.text.strip() else Markup()
    inside += Markup().join(_copied(child, prefix, colours) for child in element)
    return Markup("<{}{}>{}</{}>").format(name, attributes, inside, name) + tail


def _attributes(element: Tree.Element, prefix: str, colours: Mapping[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in element.attrib.items():
        if name in (_LINK, "href"):
            if value.startswith("#"):
                kept["href"] = f"#{prefix}-{value[1:]}"
        elif name == "id":
            kept["id"] = f"{prefix}-{value}"
        elif name in _ATTRIBUTES:
            ours = _OURS.sub(lambda found: f"our(#{prefix}-{found[1]})", value)
            if not _FOREIGN.search(ours):
                kept[name] = _coloured(ours.replace("our(#", "url(#"), name, colours)
    return kept


def _coloured(value: str, name: str, colours: Mapping[str, str]) -> str:
    if name not in ("style", "fill", "stroke"):
        return value

    def named(found: re.Match[str]) -> str:
        ours = colours.get(found[0].lower())
        return f"var(--{ours})" if ours else found[0]

    return _COLOUR.sub(named, value)


SCREEN = Room(691.2, 374.4, 9.0)
"""The room of a figure on a page: as wide as the page's text."""

_LOOK: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and copied
    "svg.hashsalt": "pxp",
    "pdf.fonttype": 42,  # TrueType, which publishers take
    "text.parse_math": False,  # a name with two dollar signs is a name
    "font.size": 9,
    "axes.edgecolor": LIGHT["grey"],
    "axes.labelcolor": LIGHT["ink"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": LIGHT["rule"],
    "grid.linewidth": 0.7,
    "xtick.color": LIGHT["grey"],
    "ytick.color": LIGHT["grey"],
    "xtick.labelcolor": LIGHT["ink"],
    "ytick.labelcolor": LIGHT["ink"],
    "text.color": LIGHT["ink"],
    "legend.frameon": False,
}


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
    figure: Figure

    def element(self, key: str) -> Markup:
        """The figure as an element of a page; `key` is unique in the page."""
        return embedded(self.svg(), key, title=self.title, colours=NAMED)

    def svg(self) -> str:
        """The figure as SVG, with its text as text."""
        return self._saved("svg", dict.fromkeys(("Date", "Creator", "Format", "Type"))).decode()

    def pdf(self) -> bytes:
        """The figure as PDF, with its fonts in it."""
        return self._saved("pdf", dict.fromkeys(("CreationDate", "Creator", "Producer")))

    def pgf(self) -> str:
        """The figure for `\\input` in LaTeX, in the fonts of the document."""
        return _as_pgf(self.figure)

    def _saved(self, form: str, undated: dict[str, Any]) -> bytes:
        import matplotlib as mpl

        written = io.BytesIO()
        with mpl.rc_context(_LOOK):
            self.figure.savefig(written, format=form, transparent=True, metadata=undated)
        return written.getvalue()


def _as_pgf(figure: Figure) -> str:
    """A figure as PGF, without asking LaTeX, which need not be installed.

    Texts are as wide as in Matplotlib's own font, by which the figure is laid out and which is
    wider than those of papers, and are escaped as everywhere else.
    """
    from matplotlib.backends.backend_pgf import RendererPgf
    from matplotlib.textpath import text_to_path

    class Renderer(RendererPgf):
        def get_text_width_height_descent(
            self, s: str, prop: Any, ismath: Any
        ) -> tuple[float, float, float]:
            width, height, descent = text_to_path.get_text_width_height_descent(s, prop, False)
            factor = self.dpi / 72
            return width * factor, height * factor, descent * factor

        def draw_text(
            self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float,
            ismath: Any = False, mtext: Any = None,
        ) -> None:  # fmt: skip
            size, colour = prop.get_size_in_points(), ",".join(f"{c:.3f}" for c in gc.get_rgb()[:3])
            look = rf"\fontsize{{{size:.2f}}}{{{size * 1.2:.2f}}}\selectfont"
            place = f"x={x / self.dpi:.4f}in,y={y / self.dpi:.4f}in,left,base,rotate={angle:g}"
            written = rf"{look}\color[rgb]{{{colour}}}{latex(s)}"
            self.fh.write(rf"\pgftext[{place}]{{{written}}}%" + "\n")

    written = io.StringIO()
    size = "".join(rf"{{{side:.4f}in}}" for side in figure.get_size_inches())
    import matplotlib as mpl

    with mpl.rc_context(_LOOK):
        figure.draw(Renderer(figure, written))  # type: ignore[no-untyped-call] # not typed
    lines = [
        r"% \input this file; needs \usepackage{pgf}, \usepackage[T1]{fontenc} and a font of any",
        r"% size, such as \usepackage{lmodern}",
        r"\begingroup\makeatletter%",
        r"\begin{pgfpicture}%",
        rf"\pgfpathrectangle{{\pgfpointorigin}}{{\pgfpoint{size}}}%",
        r"\pgfusepath{use as bounding box,clip}%",
        written.getvalue().rstrip("\n"),
        r"\end{pgfpicture}%",
        r"\makeatother\endgroup%",
    ]
    return "\n".join(lines) + "\n"


@contextmanager
def drawn(room: Room, most: float) -> Iterator[Figure]:
    """An empty figure as wide as `room`, and at most `most` as high as wide.

    Raises `UsageError` where matplotlib is not installed.
    """
    require_extra("report", "a figure", {"matplotlib": "matplotlib"})
    import matplotlib as mpl
    from matplotlib.figure import Figure

    size = (room.width / 72, min(room.height, room.width * most) / 72)
    letters = {"font.size": _letters(room)}
    with mpl.rc_context(_LOOK | letters):
        yield Figure(figsize=size, layout="constrained")


def _letters(room: Room) -> float:
    return room.letters or 8.0


def _is_narrow(room: Room) -> bool:
    """Whether what stands beside a figure on a page stands below it."""
    return room.width < 480


def curves(
    title: str, axes: tuple[str, str], lines: Sequence[Curve],
    marks: Sequence[PlotMark] = (), *, top: float, room: Room = SCREEN, whole: bool = False,
) -> DrawnFigure:  # fmt: skip
    """Curves against message number.

    `whole` says that heights are whole numbers.
    """
    narrow = _is_narrow(room)
    with drawn(room, 0.75 if narrow else 0.42) as figure:
        from matplotlib.ticker import MaxNLocator

        plot = figure.subplots()
        for number, line in enumerate(lines):
            _draw(
                plot, line, (number - (len(lines) - 1) / 2) * 0.09, _DASHES[number % len(_DASHES)]
            )
        for mark in marks:
            plot.plot(
                [mark.x], [mark.y], linestyle="none", marker="D", markersize=7, zorder=5,
                markerfacecolor=LIGHT["paper"], markeredgecolor=LIGHT[mark.colour],
                markeredgewidth=1.4, label=shortened(mark.name, 44),
            )  # fmt: skip
        xs = sorted({point[0] for line in lines for point in line.points})
        plot.set_xlabel(axes[0])
        plot.set_ylabel(axes[1])
        plot.set_xticks(xs if len(xs) <= 21 else xs[:: len(xs) // 20])
        plot.set_ylim(0, top)
        plot.yaxis.set_major_locator(MaxNLocator("auto", integer=whole, steps=[1, 2, 5, 10]))
        if narrow:
            columns = 2 if room.width > 300 and not marks else 1
            figure.legend(loc="outside lower left", handlelength=2.6, ncols=columns)
        else:
            figure.legend(loc="outside right upper", handlelength=2.6)
        return DrawnFigure(title, figure)


_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)))
"""Lines that can be told apart without their colours."""


def _draw(plot: Axes, line: Curve, aside: float, dashes: Any) -> None:
    xs = [point[0] + aside for point in line.points]
    middles = [point[1] for point in line.points]
    below = [point[1] - point[2] for point in line.points]
    above = [point[3] - point[1] for point in line.points]
    bars = [below, above] if any(below) or any(above) else None
    plot.errorbar(
        xs, middles, yerr=bars, color=LIGHT[line.colour], marker=line.marker, markersize=5,
        linewidth=1.5, elinewidth=1.0, capsize=2.5, label=line.name, linestyle=dashes,
    )  # fmt: skip


COLUMNS = 12
"""Messages that are drawn; what comes after them is in the file of the flow."""

_ORDER = (Tag.INIT, Tag.RATIFY, Tag.REVISE, Tag.REFUTE, Tag.REJECT, Tag.TERM)
_WIDTH, _GAP, _LEAST, _BELOW = 0.16, 0.035, 0.055, 0.12
_ROOM_OF_COLUMN = 32.0
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
    found: Counter[tuple[Key, Key]] = Counter()
    for (number, tag, following), count in tally.flows.items():
        found[(number, tag, False), (number + 1, following, False)] += count
    for (number, tag, ending), count in tally.endings.items():
        found[(number, tag, False), (number + 1, ending, True)] += count
    return found


def columns_drawn(tally: RunTally, room: Room = SCREEN) -> int:
    """How many messages of a flow are drawn; the rest is in the file."""
    return min(COLUMNS, tally.longest, max(3, int(room.width / _ROOM_OF_COLUMN)))


def chart(title: str, tally: RunTally, room: Room = SCREEN) -> DrawnFigure:
    """The flow as an alluvial chart: bands as wide as the sessions in them are many.

    Tags stand above the line, a column a message; what has ended leaves below it.
    """
    most = columns_drawn(tally, room)
    found = {pair: count for pair, count in links(tally).items() if pair[0][0] <= most}
    nodes, sizes = _placed(found), _sizes(found)
    top = max((place.bottom + place.height for place in nodes.values()), default=1.0)
    small = _letters(room) - (1.0 if room.width > 480 else 2.0)
    with drawn(room, 0.54 if room.width > 480 else 0.8) as figure:
        plot = figure.subplots()
        plot.set_axis_off()
        for (source, target), count in sorted(found.items(), key=lambda item: _rank(*item[0])):
            _band(plot, source, target, nodes, count / _total(found))
        for node, place in nodes.items():
            _box(plot, node, place, sizes[node], small, short=_is_narrow(room))
        columns = sorted({node[0] for node in nodes if not node[2]})
        for number in columns:
            shown = f"message {number}" if number == 1 else str(number)
            plot.text(number, top + 0.05, shown, ha="center", color=LIGHT["grey"])
        plot.set_xlim(0.6, max(columns, default=1) + 1.0)
        plot.set_ylim(min((p.bottom for p in nodes.values()), default=0) - 0.03, top + 0.12)
        return DrawnFigure(title, figure)


def _total(found: Mapping[tuple[Key, Key], int]) -> int:
    return sum(count for (source, _), count in found.items() if source[0] == 1) or 1


def _sizes(found: Mapping[tuple[Key, Key], int]) -> Counter[Key]:
    """Sessions that were in each node."""
    came, left = Counter[Key](), Counter[Key]()
    for (source, target), count in found.items():
        left[source] += count
        came[target] += count
    return came | left


def _placed(found: Mapping[tuple[Key, Key], int]) -> dict[Key, _Node]:
    """Where each node is: a column for each message, endings below the line."""
    sizes, total = _sizes(found), _total(found)
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


def _band(plot: Axes, source: Key, target: Key, nodes: dict[Key, _Node], share: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    start, end = nodes[source], nodes[target]
    start.taken_out += share
    end.taken_in += share
    left, right = source[0] + _WIDTH / 2, target[0] - _WIDTH / 2
    if target[2]:
        right = target[0] - 0.5
    a = start.bottom + start.height - start.taken_out
    b = end.bottom + end.height - end.taken_in
    middle = (left + right) / 2
    outline = [
        (left, a), (middle, a), (middle, b), (right, b),
        (right, b + share), (middle, b + share), (middle, a + share), (left, a + share), (left, a),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    plot.add_patch(
        PathPatch(Path(outline, codes), facecolor=_colour(target), linewidth=0, alpha=0.45)
    )


def _box(plot: Axes, node: Key, place: _Node, count: int, size: float, short: bool) -> None:
    from matplotlib.patches import Rectangle

    number, name, ended = node
    left = number - 0.5 if ended else number - _WIDTH / 2
    width = 0.04 if ended else _WIDTH
    plot.add_patch(
        Rectangle(
            (left, place.bottom),
            width,
            place.height,
            facecolor=_colour(node),
            linewidth=0,
            hatch="" if ended else _HATCHES.get(name, ""),
            edgecolor=LIGHT["paper"],
        )
    )
    shown = _SHORT.get(name, name) if short else name
    plot.text(
        left + width + 0.03, place.bottom + place.height / 2, f"{shortened(shown, 14)}\n{count:,}",
        ha="left", va="center", fontsize=size, linespacing=1.1,
        color=LIGHT["grey" if ended else "ink"],
    )  # fmt: skip


_SHORT: Mapping[str, str] = {
    Tag.RATIFY: "RAT",
    Tag.REVISE: "REV",
    Tag.REFUTE: "REF",
    Tag.REJECT: "REJ",
}
"""The papers' short names of tags."""

_HATCHES: Mapping[str, str] = {Tag.REVISE: "--", Tag.REFUTE: "//", Tag.REJECT: "xx", Tag.TERM: "||"}
"""Patterns of tags, which can be told apart without their colours."""


def _colour(node: Key) -> str:
    return LIGHT["ended"] if node[2] else LIGHT.get(node[1], LIGHT["grey"])


def rows(tally: RunTally) -> Iterator[tuple[int, str, str, int]]:
    """The flow as rows: message, its tag, what followed (a tag, or how it ended), sessions."""
    for (source, target), count in sorted(links(tally).items()):
        yield source[0], source[1], f"ended: {target[1]}" if target[2] else target[1], count
