"""Sequence charts: what became of each message, drawn and in words."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import pxp_fsm as pxp
from pxp_fsm.diagrams import Arrow, Lifeline, SequenceChart, render
from pxp_fsm.diagrams.text import folded

SVG = "{http://www.w3.org/2000/svg}"
CHART = SequenceChart(
    "A chart",
    (Lifeline("a", "A"), Lifeline("b", "B"), Lifeline("c", "C")),
    (
        Arrow(1, "a", "b", "OFFER", ("a text",)),
        Arrow(2, "a", "c", "SLOW", received=(5,)),
        Arrow(3, "b", "a", "GONE", lost=True),
        Arrow(4, "c", "b", "TWICE", received=(6, 7)),
        Arrow(8, "b", "a", "STAYS", received=()),
        Arrow(9, "a", "b", "AGAIN"),
        Arrow(10, "b", "a", "AND AGAIN", received=(11,)),
    ),
    loop=9,
    waits=("c waits in C for OFFER: b in B does not send it",),
)


def lines(group: ET.Element) -> list[tuple[float, float]]:
    """The points of an arrow's line."""
    path = next(group.iter(f"{SVG}path")).get("d", "")
    pairs = re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)
    return [(float(x), float(y)) for x, y in pairs]


def groups(chart: SequenceChart, kind: str) -> list[ET.Element]:
    root = ET.fromstring(render(chart, "svg"))  # noqa: S314 - our own
    return [group for group in root.iter(f"{SVG}g") if kind in group.get("class", "").split()]


def test_a_message_in_a_buffer_is_one_arrow_that_slants_from_sending_to_receiving() -> None:
    arrows = [lines(group) for group in groups(CHART, "message")]
    assert len(arrows) == 8  # one each, and one more where a copy is delivered
    level = [abs(arrow[0][1] - arrow[-1][1]) < 1 for arrow in arrows]
    assert level == [True, False, False, False, False, False, True, False]
    assert arrows[1][-1][1] > arrows[2][-1][1]  # what is received in step 5 ends below step 3
    assert arrows[3][0] == pytest.approx(arrows[4][0], abs=0.5)
    assert arrows[3][-1] != arrows[4][-1]


def test_a_lost_message_ends_in_a_cross_on_the_way() -> None:
    crosses = [lines(group) for group in groups(CHART, "lost")]
    assert len(crosses) == 2
    arrows = [lines(group) for group in groups(CHART, "message")]
    from_b, to_a = arrows[0][-1][0], arrows[0][0][0]
    middle = sum(x for cross in crosses for x, _ in (cross[0], cross[-1])) / 4
    assert to_a + 10 < middle < from_b - 10
    assert middle == pytest.approx(arrows[2][-1][0], abs=1)


def test_what_repeats_for_ever_stands_in_a_frame() -> None:
    corners = [point for group in groups(CHART, "loop") for point in lines(group)]
    top, bottom = min(y for _, y in corners), max(y for _, y in corners)
    inside = [top < lines(group)[0][1] < bottom for group in groups(CHART, "message")]
    assert inside == [False] * 6 + [True] * 2


@pytest.mark.parametrize("form", ["text", "mermaid"])
def test_what_is_drawn_is_said_where_there_are_only_words(form: str) -> None:
    said = render(CHART, form).decode()
    for word in ("received in step 5", "lost", "received in steps 6, 7", "not received"):
        assert word in said
    assert "for ever" in said
    assert "waits in C for OFFER" in said.replace("#58;", ":")
    for arrow in CHART.arrows:
        assert arrow.label in said


def test_the_text_has_a_line_for_each_step_between_its_lifelines() -> None:
    said = render(CHART, "text").decode().splitlines()
    assert said[2].split() == ["a", "b", "c"]
    assert next(line for line in said if "1 OFFER" in line).endswith("│")
    steps = [line for line in said if re.search(r"\d [A-Z]", line) and "waits" not in line]
    assert len(steps) == len(CHART.arrows) + 4
    assert "5: 2 SLOW" in said[said.index(next(x for x in said if "4 TWICE" in x)) + 1]


def test_a_long_payload_is_folded_into_three_lines() -> None:
    assert folded("x" * 30) == ("x" * 30,)
    found = folded("word " * 100)
    assert len(found) == 3
    assert max(map(len, found)) <= 40
    assert found[-1].endswith("…")


def test_a_deadlock_says_of_each_member_what_it_waits_for_and_why_none_comes() -> None:
    system = pxp.System.load("examples/two_phase_commit/two_phase.toml")
    (result,) = (found for found in pxp.check(system) if found.name == "no-deadlock")
    sentences = [
        f"{member} waits in READY for COMMIT from coordinator or ABORT from coordinator: "
        "coordinator in CRASHED does not send it"
        for member in ("left", "right")
    ]
    assert list(map(str, result.verdict.waiting)) == sentences
    assert "; ".join(sentences) in str(result.verdict)
    chart = result.diagram()
    assert isinstance(chart, SequenceChart)
    assert chart.waits == tuple(sentences)


@pytest.mark.parametrize("formula", ["AG EF ended", "EF (left@COMMITTED & right@ABORTED)"])
def test_what_is_impossible_is_shown_with_the_states_that_remain(formula: str) -> None:
    system = pxp.System.load("examples/two_phase_commit/two_phase.toml")
    (result,) = pxp.check(system, formula)
    assert result.verdict.impossible
    chart = result.diagram()
    assert isinstance(chart, SequenceChart)
    trapped = {
        name: {node.name for node in way.nodes if node.trapped}
        for name, way in result.member_diagrams().items()
    }
    left = result.member_diagrams()["left"]
    rings = sum(2 if node.final else 1 for node in left.nodes if node.trapped)
    assert render(left, "svg").decode().count('"#b3261e" stroke-width="1.6" stroke-dash') == rings
    if formula == "AG EF ended":
        assert trapped == {"coordinator": {"CRASHED"}, "left": {"READY"}, "right": {"READY"}}
        assert "from there on 1 state can be reached" in chart.note
    else:  # it never was possible
        assert "CRASHED" in trapped["coordinator"]
        assert len(trapped["coordinator"]) > 3
        assert "states can be reached, and what was asked is possible in none" in chart.note
