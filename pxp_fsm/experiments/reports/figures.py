"""The curves of the papers as figures: medians over repetitions, with bars from least to most."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pxp_fsm.diagrams.text import shortened
from pxp_fsm.errors import require_extra
from pxp_fsm.experiments.reports import palette
from pxp_fsm.experiments.reports.palette import LIGHT, NAMED
from pxp_fsm.experiments.reports.tallies import Tally
from pxp_fsm.protocol.messages import Tag

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (9.6, 4.0)
"""Width and height of a figure, in inches of 96 pixels: as wide as the page's text."""

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
class Mark:
    """A published number beside the curves: where, its colour's name, and what it is."""

    name: str
    colour: str
    x: float
    y: float


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn; `title` tells it to who cannot see it."""

    title: str
    figure: Figure

    def element(self, key: str) -> Markup:
        """The figure as an element of a page; `key` is unique in the page."""
        return palette.embedded(self.svg(), key, title=self.title, colours=NAMED)

    def svg(self) -> str:
        """The figure as SVG, with its text as text."""
        return self._saved("svg", dict.fromkeys(("Date", "Creator", "Format", "Type"))).decode()

    def pdf(self) -> bytes:
        """The figure as PDF, with its fonts in it."""
        return self._saved("pdf", dict.fromkeys(("CreationDate", "Creator", "Producer")))

    def _saved(self, form: str, undated: dict[str, Any]) -> bytes:
        import matplotlib as mpl

        written = io.BytesIO()
        with mpl.rc_context(_LOOK):
            self.figure.savefig(written, format=form, transparent=True, metadata=undated)
        return written.getvalue()


@contextmanager
def drawn(height: float = SIZE[1]) -> Iterator[Figure]:
    """An empty figure in the page's look; `UsageError` where matplotlib is not installed."""
    require_extra("report", "a figure", {"matplotlib": "matplotlib"})
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_LOOK):
        yield Figure(figsize=(SIZE[0], height), layout="constrained")


def curves(
    title: str, axes: tuple[str, str], lines: Sequence[Curve],
    marks: Sequence[Mark] = (), *, top: float, whole: bool = False,
) -> Drawing:  # fmt: skip
    """Curves against message number.

    `whole` says that heights are whole numbers.
    """
    with drawn() as figure:
        from matplotlib.ticker import MaxNLocator

        plot = figure.subplots()
        for number, line in enumerate(lines):
            _draw(plot, line, (number - (len(lines) - 1) / 2) * 0.09)
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
        figure.legend(loc="outside right upper", handlelength=1.8)
        return Drawing(title, figure)


def _draw(plot: Axes, line: Curve, aside: float) -> None:
    xs = [point[0] + aside for point in line.points]
    middles = [point[1] for point in line.points]
    below = [point[1] - point[2] for point in line.points]
    above = [point[3] - point[1] for point in line.points]
    bars = [below, above] if any(below) or any(above) else None
    plot.errorbar(
        xs, middles, yerr=bars, color=LIGHT[line.colour], marker=line.marker, markersize=5,
        linewidth=1.8, elinewidth=1.2, capsize=3, label=line.name,
    )  # fmt: skip


COLUMNS = 12
"""Messages that are drawn; what comes after them is in the file of the flow."""

_ORDER = (Tag.INIT, Tag.RATIFY, Tag.REVISE, Tag.REFUTE, Tag.REJECT, Tag.TERM)
_WIDTH, _GAP, _LEAST, _BELOW, _INCHES = 0.16, 0.035, 0.055, 0.12, 5.2

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


def links(tally: Tally) -> Mapping[tuple[Key, Key], int]:
    """How many sessions went from one node to the next, over all messages."""
    found: Counter[tuple[Key, Key]] = Counter()
    for (number, tag, following), count in tally.flows.items():
        found[(number, tag, False), (number + 1, following, False)] += count
    for (number, tag, ending), count in tally.endings.items():
        found[(number, tag, False), (number + 1, ending, True)] += count
    return found


def chart(title: str, tally: Tally) -> Drawing:
    """The flow as an alluvial chart: bands as wide as the sessions in them are many.

    Tags stand above the line, a column a message; what has ended leaves below it.
    """
    found = {pair: count for pair, count in links(tally).items() if pair[0][0] <= COLUMNS}
    nodes, sizes = _placed(found), _sizes(found)
    top = max((place.bottom + place.height for place in nodes.values()), default=1.0)
    with drawn(_INCHES) as figure:
        plot = figure.subplots()
        plot.set_axis_off()
        for (source, target), count in sorted(found.items(), key=lambda item: _rank(*item[0])):
            _band(plot, source, target, nodes, count / _total(found))
        for node, place in nodes.items():
            _box(plot, node, place, sizes[node])
        columns = sorted({node[0] for node in nodes if not node[2]})
        for number in columns:
            shown = f"message {number}" if number == 1 else str(number)
            plot.text(number, top + 0.05, shown, ha="center", color=LIGHT["grey"])
        plot.set_xlim(0.6, max(columns, default=1) + 1.0)
        plot.set_ylim(min((p.bottom for p in nodes.values()), default=0) - 0.03, top + 0.12)
        return Drawing(title, figure)


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


def _box(plot: Axes, node: Key, place: _Node, count: int) -> None:
    from matplotlib.patches import Rectangle

    number, name, ended = node
    left = number - 0.5 if ended else number - _WIDTH / 2
    width = 0.04 if ended else _WIDTH
    plot.add_patch(
        Rectangle((left, place.bottom), width, place.height, facecolor=_colour(node), linewidth=0)
    )
    plot.text(
        left + width + 0.03, place.bottom + place.height / 2, f"{shortened(name, 14)}\n{count:,}",
        ha="left", va="center", fontsize=8, linespacing=1.1,
        color=LIGHT["grey" if ended else "ink"],
    )  # fmt: skip


def _colour(node: Key) -> str:
    return LIGHT["ended"] if node[2] else LIGHT.get(node[1], LIGHT["grey"])


def rows(tally: Tally) -> Iterator[tuple[int, str, str, int]]:
    """The flow as rows: message, its tag, what followed (a tag, or how it ended), sessions."""
    for (source, target), count in sorted(links(tally).items()):
        yield source[0], source[1], f"ended: {target[1]}" if target[2] else target[1], count
