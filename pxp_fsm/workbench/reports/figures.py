"""The papers' curves as figures: medians over repetitions with bars from least to most."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pxp_fsm.diagrams.text import shortened
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench.reports import svg
from pxp_fsm.workbench.reports.palette import LIGHT, NAMED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (9.6, 4.0)
"""Width and height of a figure, in inches of 96 pixels: as wide as the page's text."""

_LOOK: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and copied
    "svg.hashsalt": "pxp",
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


@contextmanager
def drawn(height: float = SIZE[1]) -> Iterator[Figure]:
    """An empty figure in the page's look; `UsageError` where matplotlib is not installed."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a report draws with {error.name}, which is not installed; "
            f"pip install 'pxp-fsm[report]'"
        ) from error
    with mpl.rc_context(_LOOK):
        yield Figure(figsize=(SIZE[0], height), layout="constrained")


def curves(
    key: str, title: str, axes: tuple[str, str], lines: Sequence[Curve],
    marks: Sequence[Mark] = (), *, top: float, whole: bool = False,
) -> Markup:  # fmt: skip
    """Curves against message number, as an element of a page; `key` is unique in the page.

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
        return element(figure, key, title)


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


def element(figure: Figure, key: str, title: str) -> Markup:
    """`figure` as an element of a page."""
    written = io.StringIO()
    undated = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(written, format="svg", transparent=True, metadata=undated)
    return svg.embedded(written.getvalue(), key, title=title, colours=NAMED)
