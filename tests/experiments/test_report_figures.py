"""The figures of a report, read off what is drawn as a reader reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.diagrams.graphviz import Canvas, kind_of
from pxp_fsm.diagrams.style import PAPERS, Room
from pxp_fsm.diagrams.text import ems
from pxp_fsm.experiments.reports import figures
from pxp_fsm.experiments.reports.figures import SCREEN, Curve, PlotMark
from pxp_fsm.experiments.reports.tallies import ObservedMessage, ObservedSession, RunTally

ROOMS = (SCREEN, *PAPERS.values())
AXES = ("message", "sessions")


def places(shape: ET.Element) -> Sequence[tuple[float, float]]:
    """The points that a path or a polygon goes through."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", shape.get("d") or shape.get("points") or "")
    return list(zip(map(float, numbers[::2]), map(float, numbers[1::2]), strict=True))


def texts(canvas: Canvas) -> Sequence[tuple[str, float, float, float, float]]:
    """Every line of text with its box: left, top, right, bottom."""
    found = []
    for shape in canvas.shapes:
        if kind_of(shape) == "text":
            x, y, size = (float(shape.get(name, 0)) for name in ("x", "y", "font-size"))
            width = size * ems(shape.text or "")
            share = {"middle": 0.5, "end": 1.0}.get(shape.get("text-anchor", ""), 0.0)
            left = x - share * width
            found.append((shape.text or "", left, y - 0.75 * size, left + width, y + 0.2 * size))
    return found


def check_inside(canvas: Canvas) -> None:
    """Nothing is cut by the edge of the figure."""
    width, height = canvas.size
    for text, left, top, right, bottom in texts(canvas):
        assert left >= -0.1, text
        assert right <= width + 0.1, text
        assert top >= -0.1, text
        assert bottom <= height + 0.1, text
    for shape in canvas.shapes:
        for x, y in places(shape):
            assert -0.1 <= x <= width + 0.1
            assert -0.1 <= y <= height + 0.1


HEIGHTS = st.lists(st.integers(0, 40), min_size=3, max_size=3).map(sorted)


@given(
    st.lists(st.lists(HEIGHTS, min_size=1, max_size=60), min_size=1, max_size=3),
    st.sampled_from(ROOMS),
)
def test_a_curve_is_where_the_numbers_of_the_axes_say(
    curves: list[list[list[int]]], room: Room
) -> None:
    lines = [
        Curve(f"curve {number}", "human", "os^"[number],
              [(at, middle, least, most) for at, (least, middle, most) in enumerate(points, 1)])
        for number, points in enumerate(curves)
    ]  # fmt: skip
    canvas = figures.curves("t", AXES, lines, top=41.6, room=room, whole=True).canvas
    check_inside(canvas)
    middles = [(text, (left + right) / 2) for text, left, _, right, _ in texts(canvas)]
    anchors = [
        (
            float(shape.text or ""),
            float(shape.get("y", 0)) - 0.35 * float(shape.get("font-size", 0)),
        )
        for shape in canvas.shapes
        if kind_of(shape) == "text" and shape.get("text-anchor") == "end"
    ]
    (low, at_low), (high, at_high) = anchors[0], anchors[-1]
    scale = (at_high - at_low) / (high - low)
    ways = [
        places(shape) for shape in canvas.shapes if shape.get("stroke-width") == "1.5"
    ]  # the curves, then the legend
    for line, way in zip(lines, ways, strict=False):
        assert len(way) == len(line.points)
        for (_, middle, *_), (_, y) in zip(line.points, way, strict=True):
            assert y == pytest.approx(at_low + scale * (middle - low), abs=0.05)
        for (x, _), (after, _) in pairwise(way):
            assert after > x
    first = min(x for text, x in middles if text == "1")
    assert all(abs(way[0][0] - first) <= 5.1 for way, _ in zip(ways, lines, strict=False))


@pytest.mark.parametrize("room", [*ROOMS, Room(150, 150)])
def test_marks_are_named_and_nothing_is_cut(room: Room) -> None:
    line = Curve('<b>"&', "machine", "s", [(1, 2.0, 1.0, 3.0)])
    mark = PlotMark("one-way 17: " + "a name that is far too long, " * 3, "human", 1, 3)
    canvas = figures.curves("t", AXES, [line], [mark], top=4, room=room).canvas
    shown = [text for text, *_ in texts(canvas)]
    assert '<b>"&' in shown
    assert any(text.startswith("one-way 17") and text.endswith("…") for text in shown)
    check_inside(canvas)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(("RATIFY", "REFUTE", "REVISE", "REJECT", "a tag of ours")),
                     max_size=14),
            st.sampled_from(("ratified", "rejected", "bound", None)),
        ),
        min_size=1, max_size=30,
    ),
    st.sampled_from(ROOMS),
)  # fmt: skip
def test_boxes_of_a_flow_are_as_high_as_their_sessions_are_many(
    sessions: list[tuple[list[str], str | None]], room: Room
) -> None:
    tally = RunTally()
    for number, (tags, ending) in enumerate(sessions):
        steps = tuple(ObservedMessage(True, tag, "y", None) for tag in ("INIT", *tags))
        tally.add(ObservedSession(f"s{number}", 1, number, "i", 3, ending, steps))
    canvas = figures.chart("t", tally, room).canvas
    check_inside(canvas)
    boxes = [places(shape) for shape in canvas.shapes if kind_of(shape) == "polygon"]
    words = [text for text, *_ in texts(canvas)]  # of each box its tag and its count
    counts = list(map(int, words[1 : 2 * len(boxes) : 2]))
    heights = [max(y for _, y in box) - min(y for _, y in box) for box in boxes]
    whole = heights[0] / len(sessions)
    assert heights == pytest.approx([count * whole for count in counts], abs=0.05)
    assert counts[0] == len(sessions)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_column_of_a_paper_has_the_whole_flow_of_ten_messages(paper: str) -> None:
    tally = RunTally()
    for number in range(20):
        steps = [ObservedMessage(True, "INIT", "y", None)]
        steps += [ObservedMessage(True, "REFUTE", "y", None)] * (9 if number == 0 else number % 9)
        ending = "bound" if number == 0 else "ratified"
        tally.add(ObservedSession(f"s{number}", 1, number, "i", 10, ending, tuple(steps)))
    canvas = figures.chart("t", tally, PAPERS[paper]).canvas
    shown = [text for text, *_ in texts(canvas)]
    assert [*map(str, range(2, 11))] == [text for text in shown if text in map(str, range(2, 11))][
        -9:
    ]
    assert not any(" of " in text for text in shown)
    assert "bound" in shown
    tags = [box for text, *box in texts(canvas) if text in ("REF", "REFUTE")]
    assert len(tags) == 9
    assert all(left[2] <= right[0] for left, right in pairwise(sorted(tags)))
    check_inside(canvas)
