"""How well the drawing of an automaton can be read, and its labels at places where they can be.

Graphviz keeps a label off the arrow that it belongs to, but other arrows may cross it where a
drawing is dense. Such a label is moved along its own arrow to where least is in its way.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from math import atan2, dist, floor, pi

from pxp_fsm.diagrams.dot import WIDER
from pxp_fsm.diagrams.graphviz import Canvas, kind_of
from pxp_fsm.diagrams.text import ems
from pxp_fsm.lazy_dataclasses import dataclass

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_SVG, _LINKS = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_STEPS = 6
"""The straight pieces that stand for one Bézier curve."""

_CELL = 48.0
_DOT = 9.0
"""Points: smaller nodes are the points where arrows begin or meet."""

_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
"""The shares of an arrow's length at which its label may be."""

_ROUNDS = 3

_APART, _SHARED = 4.0, 0.1
"""Points within which two arrows are one line to the eye, and the share of one from which they are
taken for one."""

_SIDES = ("e", "se", "s", "sw", "w", "nw", "n", "ne")
"""The sides of a state, clockwise from the right, an eighth of a turn apart."""

_MOST = 250
"""Labels beyond which none is moved: there is no room for them, and looking takes seconds."""


@dataclass(frozen=True, slots=True)
class Illegible:
    """What makes a drawing hard to read.

    `overlaps`: labels on labels, on states, or crossed by an arrow that is not theirs. `crossings`:
    of arrows.
    """

    overlaps: int
    crossings: int


@dataclass(slots=True)
class _Label:
    """The text at an arrow, by the arrow's number; `box` is where it is."""

    arrow: int
    texts: Sequence[ET.Element]
    box: Box


class _Cells:
    """Things by the cells of a grid that they are in, so that few are looked at.

    A long line is added as boxes along it: the one around it would have the square of its cells.
    """

    def __init__(self) -> None:
        self._cells = dict[tuple[int, int], list[int]]()

    def add(self, number: int, box: Box) -> None:
        for cell in self._of(box):
            self._cells.setdefault(cell, []).append(number)

    def remove(self, number: int, box: Box) -> None:
        """Take out what was added with `box`."""
        for cell in self._of(box):
            self._cells[cell].remove(number)

    def near(self, *boxes: Box) -> set[int]:
        """The numbers of what may be in one of `boxes`."""
        cells = {cell for box in boxes for cell in self._of(box)}
        return {number for cell in cells for number in self._cells.get(cell, ())}

    @staticmethod
    def _of(box: Box) -> Iterable[tuple[int, int]]:
        left, top, right, bottom = (int(side // _CELL) for side in box)
        return product(range(left, right + 1), range(top, bottom + 1))


class DrawnShapes:
    """The states, arrows and labels of a canvas, as shapes."""

    def __init__(self, canvas: Canvas) -> None:
        self._svg = canvas.svg
        self.root = ET.fromstring(canvas.svg)  # noqa: S314 - Graphviz wrote it, without entities
        (left, top), (width, height) = canvas.corner, canvas.size
        self.frame = (left, top, left + width, top + height)
        self.states, self.arrows, self.labels = list[Box](), list[list[Point]](), list[_Label]()
        self._boxes, self._ends = dict[str, Box](), list[tuple[str, str]]()
        for group in self.root.iter(f"{{{_SVG}}}g"):
            kind = (group.get("class") or "").split()
            if "node" in kind:
                box = _box([point for shape in group.iter() for point in _points(shape)])
                if box is not None and min(box[2] - box[0], box[3] - box[1]) > _DOT:
                    self.states.append(box)
                    self._boxes[_title(group)] = box
            elif "edge" in kind:
                self._add_arrow(group)
        self.pieces = [
            (number, piece) for number, way in enumerate(self.arrows) for piece in pairwise(way)
        ]
        self._pieces_at, self._states_at, self._labels_at = _Cells(), _Cells(), _Cells()
        for number, (_, piece) in enumerate(self.pieces):
            for part in _parts(*piece):
                self._pieces_at.add(number, part)
        for number, state in enumerate(self.states):
            self._states_at.add(number, state)
        for number, label in enumerate(self.labels):
            self._labels_at.add(number, label.box)

    def _add_arrow(self, group: ET.Element) -> None:
        ways = [_points(shape) for shape in group.iter() if kind_of(shape) == "path"]
        texts = [shape for shape in group.iter() if kind_of(shape) == "text"]
        self.arrows += [way for way in ways if way]
        source, _, target = _title(group).partition("->")
        ends = source.partition(":")[0], target.partition(":")[0]
        self._ends += [ends for way in ways if way]
        boxes = [_text_box(text) for text in texts if (text.text or "").strip()]
        if boxes and self.arrows:
            lefts, tops, rights, bottoms = zip(*boxes, strict=True)
            box = min(lefts), min(tops), max(rights), max(bottoms)
            self.labels.append(_Label(len(self.arrows) - 1, texts, box))

    def faults(self) -> Illegible:
        """What is hard to read in it."""
        crossed = sum(len(self._crossing(label.arrow, label.box)) for label in self.labels)
        on_states = sum(len(self._states_on(label.box)) for label in self.labels)
        on_labels = sum(len(self._labels_on(label, label.box)) for label in self.labels) // 2
        return Illegible(crossed + on_states + on_labels, self._crossings())

    def _crossing(self, arrow: int, box: Box) -> set[int]:
        """The arrows besides `arrow` that go through `box`."""
        near = (self.pieces[number] for number in self._pieces_at.near(box))
        return {other for other, piece in near if other != arrow and _passes(piece, box)}

    def _states_on(self, box: Box) -> Sequence[Box]:
        near = (self.states[number] for number in self._states_at.near(box))
        return [state for state in near if _meet(box, state)]

    def _labels_on(self, label: _Label, box: Box) -> Sequence[_Label]:
        """The labels besides `label` that are in `box`."""
        near = (self.labels[number] for number in self._labels_at.near(box))
        return [other for other in near if other is not label and _meet(box, other.box)]

    def _crossings(self) -> int:
        crossed = 0
        for number, (arrow, piece) in enumerate(self.pieces):
            for other in self._pieces_at.near(*_parts(*piece)):
                if other > number and self.pieces[other][0] != arrow:
                    crossed += _cross(piece, self.pieces[other][1])
        return crossed

    def merged(self) -> dict[tuple[str, str], tuple[str, str]]:
        """The arrows there and back that run together, each with sides that would part them.

        The sides are those of its source and its target; "" where they are apart.
        """
        sides = dict[tuple[str, str], tuple[str, str]]()
        known = dict(zip(self._ends, self.arrows, strict=True))
        for (source, target), way in known.items():
            back = known.get((target, source))
            if back is None or source >= target:
                continue
            if not {source, target} <= self._boxes.keys() or _shared(way, back) < _SHARED:
                continue
            at_source = self._sides(source, way, back[::-1])
            at_target = self._sides(target, way[::-1], back)
            sides[source, target] = at_source[0], at_target[0]
            sides[target, source] = at_target[1], at_source[1]
        return sides

    def _sides(self, name: str, way: list[Point], back: list[Point]) -> tuple[str, str]:
        """Two sides of a state for arrows at it, which both lead away; "" where they are apart."""
        left, top, right, bottom = self._boxes[name]
        if dist(way[0], back[0]) > 3 * _APART:
            return "", ""
        x, y = (left + right) / 2, (top + bottom) / 2
        middle = [(a + b) / 2 for a, b in zip(way[0], back[0], strict=True)]
        turn = atan2((middle[1] - y) / (bottom - top), (middle[0] - x) / (right - left))
        eighth = floor(4 * turn / pi)
        ends = [next(_along(arrow, (0.5,))) for arrow in (way, back)]
        (a, b), (c, d) = ((end[0] - middle[0], end[1] - middle[1]) for end in ends)
        first, second = _SIDES[eighth % 8], _SIDES[(eighth + 1) % 8]
        return (first, second) if a * d - b * c > 0 else (second, first)

    def move_labels(self) -> bool:
        """Move each label that something is in the way of; whether one has been moved."""
        moved = False
        for _ in range(_ROUNDS if len(self.labels) <= _MOST else 0):
            changed = False
            for number, label in enumerate(self.labels):
                here = self._cost(label, label.box)
                if here < 1:
                    continue
                cost, box = min(
                    ((self._cost(label, box), box) for box in self._candidates(label)),
                    default=(here, label.box),
                )
                if cost < here:
                    self._labels_at.remove(number, label.box)
                    _shift(label, box)
                    self._labels_at.add(number, box)
                    changed = True
            if not changed:
                break
            moved = True
        return moved

    def _cost(self, label: _Label, box: Box) -> float:
        """What is in the way in `box`: 1 and more where it cannot be read."""
        labels, states = len(self._labels_on(label, box)), len(self._states_on(_grown(box, 1)))
        way = self.arrows[label.arrow]
        own = any(_passes(piece, box) for piece in pairwise(way))
        away = abs(box[0] - label.box[0]) + abs(box[1] - label.box[1])
        return (
            4 * labels
            + 5 * states
            + 3 * len(self._crossing(label.arrow, _grown(box, 1)))
            + 3 * own
            + 0.0005 * away
        )

    def _candidates(self, label: _Label) -> Iterator[Box]:
        """The boxes beside the arrow, within the frame."""
        left, top, right, bottom = label.box
        width, height = right - left, bottom - top
        for x, y in _along(self.arrows[label.arrow], _PLACES):
            for across, down in product((-1, 0, 1), (-1, 0, 1)):
                middle = x + across * (width / 2 + 3), y + down * (height / 2 + 3)
                box = (
                    middle[0] - width / 2,
                    middle[1] - height / 2,
                    middle[0] + width / 2,
                    middle[1] + height / 2,
                )
                inside = self.frame[0] <= box[0] and box[2] <= self.frame[2]
                if (across or down) and inside and self.frame[1] <= box[1] < self.frame[3] - height:
                    yield box

    def canvas(self) -> Canvas:
        """It, as SVG."""
        ET.register_namespace("", _SVG)
        ET.register_namespace("xlink", _LINKS)
        written = ET.tostring(self.root, encoding="unicode")
        head, _, _ = self._svg.partition("<g ")  # what others read the size from
        return Canvas(head + written[written.index("<g ") :] + "\n")


def _title(group: ET.Element) -> str:
    return group.findtext(f"{{{_SVG}}}title", "")


def _shared(way: list[Point], other: list[Point]) -> float:
    """The share of `way` on which `other` is so near that they look like one line."""
    near = [*_along(other, [number / 100 for number in range(101)])]
    points = [*_along(way, [number / 40 for number in range(1, 40)])]
    return sum(min(dist(point, there) for there in near) < _APART for point in points) / 39


def _shift(label: _Label, box: Box) -> None:
    across, down = box[0] - label.box[0], box[1] - label.box[1]
    for text in label.texts:
        text.set("x", f"{float(text.get('x', 0)) + across:.2f}")
        text.set("y", f"{float(text.get('y', 0)) + down:.2f}")
    label.box = box


def _points(shape: ET.Element) -> list[Point]:
    """The corners of a shape; those of a curve are on it."""
    if kind_of(shape) == "ellipse":
        x, y, wide, high = (float(shape.get(name, 0)) for name in ("cx", "cy", "rx", "ry"))
        return [(x - wide, y - high), (x + wide, y + high)]
    numbers = [
        float(number) for number in _NUMBER.findall(shape.get("points") or shape.get("d") or "")
    ]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    if kind_of(shape) != "path" or "C" not in shape.get("d", ""):
        return points
    curve = points[:1]
    for first, second, end in zip(points[1::3], points[2::3], points[3::3], strict=True):
        curve += _curve(curve[-1], first, second, end)
    return curve


def _curve(start: Point, first: Point, second: Point, end: Point) -> Iterator[Point]:
    for step in range(1, _STEPS + 1):
        t = step / _STEPS
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        yield (
            a * start[0] + b * first[0] + c * second[0] + d * end[0],
            a * start[1] + b * first[1] + c * second[1] + d * end[1],
        )


def _along(way: Sequence[Point], shares: Iterable[float]) -> Iterator[Point]:
    """The points at these shares of the length of `way`."""
    lengths = [((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5 for a, b in pairwise(way)]
    for share in shares:
        left = share * sum(lengths)
        for length, (start, end) in zip(lengths, pairwise(way), strict=True):
            if left <= length and length:
                part = left / length
                yield (
                    start[0] + part * (end[0] - start[0]),
                    start[1] + part * (end[1] - start[1]),
                )
                break
            left -= length


def _text_box(text: ET.Element, wider: float = 1.0) -> Box:
    """The box of a line in a font so much `wider`, without the blanks around it."""
    x, y, size = (float(text.get(name, 14)) for name in ("x", "y", "font-size"))
    line = text.text or ""
    width = size * ems(line.strip()) * wider
    before = 0.3 * size * (len(line) - len(line.lstrip()))
    anchor = text.get("text-anchor", "start")
    left = x - width / 2 if anchor == "middle" else x - width if anchor == "end" else x + before
    return left, y - 0.75 * size, left + width, y + 0.2 * size


def _box(points: Sequence[Point]) -> Box | None:
    if not points:
        return None
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def _around(start: Point, end: Point) -> Box:
    return (
        min(start[0], end[0]),
        min(start[1], end[1]),
        max(start[0], end[0]),
        max(start[1], end[1]),
    )


def _parts(start: Point, end: Point) -> Iterator[Box]:
    """Boxes along a straight piece that have all of it, none much larger than a cell."""
    (x, y), (end_x, end_y) = start, end
    count = 1 + int(max(abs(end_x - x), abs(end_y - y)) // _CELL)
    corners = [
        (x + part / count * (end_x - x), y + part / count * (end_y - y))
        for part in range(count + 1)
    ]
    return (_around(before, after) for before, after in pairwise(corners))


def _grown(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _meet(box: Box, other: Box) -> bool:
    """Whether they share more than an edge."""
    across = min(box[2], other[2]) - max(box[0], other[0])
    return across > 1 and min(box[3], other[3]) - max(box[1], other[1]) > 1


def _passes(piece: tuple[Point, Point], box: Box) -> bool:
    """Whether a straight piece goes through `box`, by the algorithm of Liang and Barsky."""
    (x, y), (end_x, end_y) = piece
    first, last = 0.0, 1.0
    for step, room in (
        (x - end_x, x - box[0]),
        (end_x - x, box[2] - x),
        (y - end_y, y - box[1]),
        (end_y - y, box[3] - y),
    ):
        if step == 0:
            if room < 0:
                return False
        elif step < 0:
            first = max(first, room / step)
        else:
            last = min(last, room / step)
    return first < last


def _cross(piece: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    def side(start: Point, end: Point, point: Point) -> float:
        return (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (
            point[0] - start[0]
        )

    (a, b), (c, d) = piece, other
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


_EDGE = 4.0
"""Points that are left around what is drawn."""

_SIZE = re.compile(r'<svg width="[\d.]+pt" height="[\d.]+pt"')
_VIEW = re.compile(r'viewBox="[^"]*"')
_MOVED = re.compile(r"translate\([-\d.]+ [-\d.]+\)")
_PAPER = re.compile(r'(<polygon fill="white" stroke="none" points=")[^"]*(")')


def cropped(canvas: Canvas) -> Canvas:
    """`canvas` no larger than what is drawn on it, with the same margin at each side.

    Each line of text has the room that it takes in a font as wide as a viewer's may be.
    """
    paper, *shapes = canvas.shapes
    box = _box([corner for shape in shapes for corner in extent(shape)])
    if box is None or kind_of(paper) != "polygon":
        return canvas
    left, top, right, bottom = box[0] - _EDGE, box[1] - _EDGE, box[2] + _EDGE, box[3] + _EDGE
    width, height = f"{right - left:.2f}", f"{bottom - top:.2f}"
    corners = f"{left:g},{bottom:g} {left:g},{top:g} {right:g},{top:g} {right:g},{bottom:g}"
    svg = _SIZE.sub(f'<svg width="{width}pt" height="{height}pt"', canvas.svg, count=1)
    svg = _VIEW.sub(f'viewBox="0.00 0.00 {width} {height}"', svg, count=1)
    svg = _MOVED.sub(f"translate({-left:.2f} {-top:.2f})", svg, count=1)
    return Canvas(_PAPER.sub(rf"\g<1>{corners} {left:g},{bottom:g}\g<2>", svg, count=1))


def extent(shape: ET.Element) -> list[Point]:
    """Two corners of the box around what can be seen of `shape`, or nothing; text is `WIDER`."""
    if kind_of(shape) == "text":
        box = _text_box(shape, WIDER) if (shape.text or "").strip() else None
        half = 0.0
    else:
        half = float(shape.get("stroke-width", 1)) / 2
        unseen = ("none", "transparent")
        stroked = half and shape.get("stroke", "none") not in unseen
        filled = shape.get("fill", "none") not in (*unseen, "white")
        box = _box(_points(shape)) if stroked or filled else None
    if box is None:
        return []
    return [(box[0] - half, box[1] - half), (box[2] + half, box[3] + half)]
