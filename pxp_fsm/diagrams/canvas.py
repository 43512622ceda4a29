"""A diagram that is laid out: what Graphviz draws, and the size of its letters."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pxp_fsm.diagrams.graphviz import graphviz
from pxp_fsm.diagrams.text import ems

_SVG = "{http://www.w3.org/2000/svg}"
_SIZE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')
_HEAD = re.compile(r'<svg width="[\d.]+pt" height="[\d.]+pt"\s+viewBox="0.00 0.00 [\d.]+')

_CORNERS = 5
"""Points of the polygon that is the page: the first is also the last."""

_WIDEST, _MARGIN = 1.13, 4.0
"""A font in Helvetica's place is at most so much wider (DejaVu Sans); points beside a line."""


@dataclass(frozen=True)
class Canvas:
    """A drawing as SVG of `width` times `height` points (1/72 inch), as Graphviz writes it."""

    svg: str

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height in points."""
        found = _SIZE.search(self.svg)
        return (float(found[1]), float(found[2])) if found else (1.0, 1.0)

    @cached_property
    def shapes(self) -> tuple[ET.Element, ...]:
        """The polygons, curves, ellipses and lines of text, in the order of drawing."""
        root = ET.fromstring(self.svg)  # noqa: S314 - Graphviz wrote it, without entities
        names = {f"{_SVG}{name}" for name in ("polygon", "polyline", "path", "ellipse", "text")}
        return tuple(one for one in root.iter() if one.tag in names)

    @property
    def lines(self) -> Iterator[str]:
        """Every line of text that is drawn."""
        return (one.text or "" for one in self.shapes if kind_of(one) == "text")

    @property
    def smallest_text(self) -> float:
        """The size in points of the smallest letters; 0 where there is no text."""
        sizes = (float(one.get("font-size", 14)) for one in self.shapes if kind_of(one) == "text")
        return min(sizes, default=0.0)

    def scaled(self, scale: float) -> str:
        """The SVG, `scale` times as large."""
        width, height = (side * scale for side in self.size)
        return _SIZE.sub(f'<svg width="{width:.2f}pt" height="{height:.2f}pt"', self.svg, count=1)


def kind_of(shape: ET.Element) -> str:
    """Which shape it is: the name of its element, without the namespace."""
    return shape.tag.removeprefix(_SVG)


def canvas_of(source: str) -> Canvas:
    """What Graphviz draws of a DOT `source`, with room for its lines in any viewer's font."""
    return _with_room(Canvas(graphviz(source, "svg").decode()))


def _with_room(canvas: Canvas) -> Canvas:
    """The page as wide as its lines are where Helvetica's place is taken by a wider font."""
    page = next((one.get("points", "") for one in canvas.shapes if kind_of(one) == "polygon"), "")
    corners = [point.split(",") for point in page.split()]
    if len(corners) != _CORNERS:
        return canvas
    left, right = (f([float(x) for x, _ in corners]) for f in (min, max))
    lines = [_extent(one) for one in canvas.shapes if kind_of(one) == "text"]
    first = min([left, *(start - _MARGIN for start, _ in lines)])
    last = max([right, *(end + _MARGIN for _, end in lines)])
    if (first, last) == (left, right):
        return canvas
    width, height = canvas.size
    wide = f"{width + (left - first) + (last - right):.2f}"
    head = (
        f'<svg width="{wide}pt" height="{height:.2f}pt"\n viewBox="{first - left:.2f} 0.00 {wide}'
    )
    moved = {left: first, right: last}
    points = " ".join(f"{moved[float(x)]:.2f},{y}" for x, y in corners)
    svg = _HEAD.sub(lambda _: head, canvas.svg, count=1)
    return Canvas(svg.replace(f'points="{page}"', f'points="{points}"', 1))


def _extent(line: ET.Element) -> tuple[float, float]:
    """Where a line of text begins and ends at most."""
    x, size = float(line.get("x", 0)), float(line.get("font-size", 14))
    width = _WIDEST * size * ems("".join(line.itertext()))
    share = {"middle": 0.5, "end": 1.0}.get(line.get("text-anchor", "start"), 0.0)
    return x - share * width, x + (1 - share) * width
