"""A diagram that is laid out: what Graphviz draws, and the size of its letters."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pxp_fsm.diagrams.layout_engine import laid_out

_SVG = "{http://www.w3.org/2000/svg}"
_SIZE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')


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
    """What Graphviz draws of a DOT `source`."""
    return Canvas(laid_out(source, "svg").decode())
