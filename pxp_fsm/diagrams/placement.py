"""Where Graphviz places the states and arrows of a state diagram, as numbers.

A page draws from these numbers and sets every text as text, so no markup is passed on. Lengths are
in points; x goes to the right, y goes down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pxp_fsm.diagrams.dot import Layout, to_dot, wrapped
from pxp_fsm.diagrams.graphviz import graphviz
from pxp_fsm.diagrams.model import Edge, StateDiagram
from pxp_fsm.diagrams.text import ems, legible

SIZE = 11.5
"""The height of a line at an arrow."""

MOST_LABELS, MOST_ARROWS = 100, 400
"""The arrows up to which their texts are drawn, and that are drawn: others take minutes."""

WHOLE = Layout(joined=False)
"""Each arrow leads from a state to a state."""


@dataclass(frozen=True, slots=True)
class PlacedState:
    """A state: its middle and its size."""

    name: str
    about: str
    x: float
    y: float
    width: float
    height: float
    initial: bool
    final: bool


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line of text at an arrow; `row` is the number of the table's row, 0 where it is none."""

    text: str
    row: int


@dataclass(frozen=True, slots=True)
class PlacedArrow:
    """An arrow: its path as SVG writes it, and the middle of its lines of text.

    `source` is "" for the arrow that leads to the initial state.
    """

    source: str
    target: str
    path: str
    x: float
    y: float
    lines: tuple[PlacedLine, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """A state diagram, laid out in a rectangle whose upper left corner is (x, y).

    `note` says what is not drawn; "" where all is.
    """

    x: float
    y: float
    width: float
    height: float
    states: tuple[PlacedState, ...]
    arrows: tuple[PlacedArrow, ...]
    note: str = ""


def place(diagram: StateDiagram, layout: Layout = WHOLE) -> Placement:
    """`diagram` as Graphviz lays it out, without title and note; `layout` joins no arrows.

    More than `MOST_LABELS` arrows have no text, and more than `MOST_ARROWS` are not drawn.

    >>> from pxp_fsm.automata.tables import load_automaton
    >>> from pxp_fsm.diagrams import state_diagram
    >>> [state.name for state in place(state_diagram(load_automaton("interact"))).states]
    ['IDLE', 'WAIT', 'DECIDE', 'END']
    """
    shown, there = diagram.edges[:MOST_ARROWS], len(diagram.edges)
    note = ""
    if there > MOST_LABELS:
        layout = replace(layout, quick=True)
        note = f"{there:,} arrows: too many for their texts"
        note += f", and {there - MOST_ARROWS:,} are not drawn" if there > MOST_ARROWS else ""
    bare = StateDiagram("", "", diagram.nodes, shown)
    found: dict[str, Any] = json.loads(graphviz(to_dot(bare, layout=layout), "json0"))
    objects = {one["_gvid"]: one for one in found.get("objects", ())}
    placed = {one["name"]: one for one in objects.values()}
    names = {f"s{number}": node.name for number, node in enumerate(diagram.nodes)}
    edges = {(edge.source, edge.target): edge for edge in shown}

    def point(text: str) -> tuple[float, float]:
        x, y = text.split(",")
        return round(float(x), 1), round(-float(y), 1)

    states = []
    for number, node in enumerate(diagram.nodes):
        one = placed[f"s{number}"]
        states.append(
            PlacedState(
                legible(node.name),
                legible(node.about),
                *point(one["pos"]),
                round(float(one["width"]) * 72, 1),
                round(float(one["height"]) * 72, 1),
                node.initial,
                node.final,
            )
        )
    arrows, corners = [], list[tuple[float, float]]()
    for one in found.get("edges", ()):
        source = names.get(objects[one["tail"]]["name"], "")
        target = names[objects[one["head"]]["name"]]
        places = [point(place.removeprefix("e,")) for place in one["pos"].split()]
        x, y = point(one["lp"]) if "lp" in one else places[0]
        lines = _lines(edges[source, target], layout) if source else ()
        arrows.append(PlacedArrow(source, target, _path(places), x, y, lines))
        half = (
            max((ems(line.text) for line in lines), default=0.0) * SIZE / 2,
            len(lines) * SIZE / 2,
        )
        corners += [*places, (x - half[0], y - half[1]), (x + half[0], y + half[1])]
    for state in states:
        wide, high = state.width / 2, state.height / 2
        corners += [(state.x - wide, state.y - high), (state.x + wide, state.y + high)]
    left, right = min(x for x, _ in corners), max(x for x, _ in corners)
    top, bottom = min(y for _, y in corners), max(y for _, y in corners)
    size = round(right - left, 1), round(bottom - top, 1)
    return Placement(round(left, 1), round(top, 1), *size, tuple(states), tuple(arrows), note)


def _lines(edge: Edge, layout: Layout) -> tuple[PlacedLine, ...]:
    if layout.quick:
        return ()
    return tuple(
        PlacedLine(text, row.number)
        for row in edge.rows
        for text in wrapped(row.text, layout.wrap, whole_words=True)
    )


def _path(places: list[tuple[float, float]]) -> str:
    """Graphviz writes the tip of the arrow first, then the points of a Bézier curve."""
    tip, start, *rest = places
    points = " ".join(f"{x},{y}" for x, y in rest)
    return f"M{start[0]},{start[1]} C{points} L{tip[0]},{tip[1]}"
