"""Sequence charts: what became of each message, drawn and in words."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pxp_fsm as pxp
from pxp_fsm.automata.actions import Deliver, External, Send
from pxp_fsm.diagrams import (
    Arrow,
    Lifeline,
    SequenceChart,
    Style,
    actions_chart,
    render,
    sequence_chart,
)
from pxp_fsm.diagrams.charts import TALLEST, Chart
from pxp_fsm.diagrams.graphviz import canvas_of
from pxp_fsm.diagrams.text import folded
from pxp_fsm.errors import PXPWarning
from pxp_fsm.protocol.messages import Json, Message
from pxp_fsm.sessions.events import Event
from tests.diagrams.test_diagrams import conversation

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


@st.composite
def buffered(draw: st.DrawFn) -> SequenceChart:
    """A session of three in whose steps messages are sent, taken from buffers, or lost."""
    waiting = list[int]()
    arrows = dict[int, Arrow]()
    for step in range(1, draw(st.integers(1, 60)) + 1):
        if draw(st.booleans()) and waiting:
            sent = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            arrows[sent] = replace(arrows[sent], received=(step,))
            continue
        sender, receiver, _ = draw(st.permutations("abc"))
        texts = ("a text",) * draw(st.integers(0, 2))
        fate = draw(st.sampled_from(["at once", "buffered", "lost"]))
        received = None if fate == "at once" else ()
        arrows[step] = Arrow(
            step, sender, receiver, "TAG", texts, received=received, lost=fate == "lost"
        )
        waiting += [step] if fate == "buffered" else []
    ends = tuple(Lifeline(name, "END") for name in "abc")
    return SequenceChart("a title", ends, tuple(arrows.values()), "a note")


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(buffered(), st.integers(160, 900))
def test_pages_have_every_step_once_and_are_not_higher_than_they_may_be(
    chart: SequenceChart, height: int
) -> None:
    drawn = Chart(chart, Style())
    pages = [*drawn.pages(height)]
    assert [step for page in pages for (run,) in [page.runs] for step in run] == drawn.steps
    assert [page.begins for page in pages] == [True] + [False] * (len(pages) - 1)
    assert [page.ends for page in pages] == [False] * (len(pages) - 1) + [True]
    for page in pages:
        ((*run,),) = page.runs
        assert drawn.height(page) <= height or len(run) == 1
        says = f"{drawn.unit} {run[0]} to {run[-1]} of {drawn.steps[-1]}"
        assert page.line.endswith(says) or len(pages) == 1
    page = pages[len(pages) // 2]
    canvas = canvas_of(drawn.dot(page))
    assert canvas.size[1] <= drawn.height(page) + 1
    said = " ".join(line.strip() for line in canvas.lines)
    shown = set(page.runs[0])
    for arrow in chart.arrows:
        here = shown & {arrow.number, *(arrow.received or ())}
        assert bool(re.search(rf"(?<!\d){arrow.number} TAG", said)) == bool(here)
        later = arrow.number in shown and any(step not in shown for step in arrow.received or ())
        assert bool(re.search(rf"(?<!\d){arrow.number} is received in step", said)) == later


@pytest.mark.parametrize(
    ("style", "size"),
    [(Style(), (595.28, 841.89)), (Style(size="9cm x 12cm"), (255.12, 340.16))],
)
def test_a_long_session_has_pages_in_a_pdf(style: Style, size: tuple[float, float]) -> None:
    pytest.importorskip("typst")
    pdfium = pytest.importorskip("pypdfium2")
    messages = conversation([("no finding", "clear lungs")] * 60)
    chart = sequence_chart(messages, title="t", states={"a": "END", "b": "WAIT"})
    pages = pdfium.PdfDocument(render(chart, "pdf", style))
    texts = [page.get_textpage().get_text_range() for page in pages]
    sent = [[int(number) for number in re.findall(r"(\d+) TAG", text)] for text in texts]
    assert [number for page in sent for number in page] == [*range(1, 61)]
    for page, text, numbers in zip(pages, texts, sent, strict=True):
        assert page.get_size() == pytest.approx(size, abs=0.1)
        assert f"messages {numbers[0]} to {numbers[-1]} of 60" in text
        assert {"a", "b"} <= set(text.split())
    assert ["WAIT" in text for text in texts] == [False] * (len(texts) - 1) + [True]
    assert len(texts) == (6 if style.size is None else 16)


def test_a_short_session_has_one_page_of_its_own_size() -> None:
    pytest.importorskip("typst")
    pdfium = pytest.importorskip("pypdfium2")
    chart = sequence_chart(conversation([("yes", "")] * 6), title="t")
    for style in (Style(), Style(paper="ieee")):
        pages = pdfium.PdfDocument(render(chart, "pdf", style))
        assert len(pages) == 1
        assert pages[0].get_width() < 300


@pytest.mark.parametrize("form", ["svg", "tikz", "dot", "mermaid"])
def test_a_picture_without_pages_leaves_out_the_middle_and_says_so(form: str) -> None:
    arrows = tuple(Arrow(n, "ab"[n % 2], "ba"[n % 2], "TAG") for n in range(1, 2501))
    chart = SequenceChart("long", (Lifeline("a", "A"), Lifeline("b", "B")), arrows)
    if form == "mermaid":
        with pytest.warns(PXPWarning, match="maxTextSize"):
            assert render(chart, form).count(b"TAG") == 2500
        return
    with pytest.warns(PXPWarning, match=r"messages (\d+) to 2,(\d+) are not drawn; a PDF"):
        drawn = render(chart, form)
    said = drawn.decode()
    left = re.search(r"messages (\d+) to ([\d,]+) are not drawn", said.replace("{,}", ","))
    assert left is not None
    first, last = (int(number.replace(",", "")) for number in left.groups())
    sent = {int(number) for number in re.findall(r"(\d+)(?: | |~)TAG", said)}
    assert sent == {*range(1, first), *range(last + 1, 2501)}
    assert first == 2501 - last
    if form == "svg":
        heights = re.search(r'height="([\d.]+)pt"', said)
        assert heights is not None
        assert TALLEST - 100 < float(heights[1]) <= TALLEST


def test_what_is_no_message_is_named_a_dozen_times_at_most() -> None:
    events = [Event(number, External("TICK")) for number in range(1, 5001)]
    chart = actions_chart(events, {"a": "A"}, title="t", note="over sync")
    assert chart.note.startswith("over sync; TICK in step 1; TICK in step 2;")
    assert chart.note.endswith("TICK in step 12; and 4,988 more")


def test_each_message_is_taken_in_the_steps_that_deliver_it() -> None:
    events = list[Event]()
    for number in range(1, 4001, 2):
        message = Message("s", number, "a", "TAG", Json("null"), "b")
        events += [
            Event(number, Send("a", "b", "TAG"), message=message),
            Event(number + 1, Deliver("a", "b", "TAG"), message=message),
        ]
    chart = actions_chart(events, {"a": "A", "b": "B"}, title="t")
    assert [arrow.received for arrow in chart.arrows] == [(n,) for n in range(2, 4001, 2)]


@pytest.mark.parametrize("form", ["svg", "mermaid", "text", "tikz"])
def test_without_its_title_a_chart_has_its_facts(form: str) -> None:
    events = [Event(1, Send("a", "b", "GO")), Event(2, External("CRASH"))]
    chart = actions_chart(events, {"a": "END", "b": "DOWN"}, title="What fails", note="over sync")
    drawn = render(chart, form, Style(title=False)).decode()
    assert "What fails" not in drawn
    plain = drawn.replace("#59;", ";").replace("&#59;", ";")
    assert "over sync; CRASH in step 2" in plain
