"""Drawings for papers: direction, font, width, title, legend; PDF and TikZ; what cannot be read."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from PIL import Image, ImageChops, ImageFilter, ImageFont

import pxp_fsm as pxp
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.cli.main import commands
from pxp_fsm.diagrams import (
    Diagram,
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
)
from pxp_fsm.diagrams.dot import ACCENT, FATAL, GREY, INK, TINT, to_dot
from pxp_fsm.diagrams.graphviz import canvas_of, kind_of
from pxp_fsm.diagrams.latex import latex
from pxp_fsm.diagrams.legibility import extent
from pxp_fsm.diagrams.notebook import table_diagram
from pxp_fsm.diagrams.rendering import LEAST, arrange
from pxp_fsm.diagrams.style import OWN_FONT, PAPERS, font_problems
from pxp_fsm.diagrams.text import ems
from pxp_fsm.errors import PXPWarning, UsageError
from tests.colours import SEEN, contrast
from tests.diagrams.test_diagrams import conversation, hostile
from tests.typesetting import has_style, typeset

INTERACT = state_diagram(builtin("interact"))
CHART = sequence_chart(conversation([("a", "b")] * 3, ("m", "h")), title="A session", note="ended")
SVG = "{http://www.w3.org/2000/svg}"


def size(svg: bytes) -> tuple[float, float]:
    """The width and height of an SVG, in points."""
    found = re.search(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def said(svg: bytes) -> str:
    found = ET.fromstring(svg).iter(f"{SVG}text")  # noqa: S314 - our own output
    return " ".join(" ".join((text.text or "").split()) for text in found)


@pytest.mark.deep
@pytest.mark.parametrize("name", BUILTIN)
def test_an_automaton_fits_a_column_with_letters_that_can_be_read(name: str) -> None:
    diagram = state_diagram(builtin(name))
    arranged = arrange(diagram, Style(size="3.5in", title=False))
    assert arranged.letters >= 8
    width, height = size(render(diagram, "svg", Style(size="3.5in", title=False)))
    assert width <= 252.01 + 8
    assert height <= PAPERS["article"].height
    # Each label is drawn in this layout as in the usual one, but for where its lines end.
    usual = sorted(" ".join(canvas_of(arrange(diagram, Style(title=False)).source).lines).split())
    assert sorted(" ".join(arranged.canvas.lines).split()) == usual


def test_a_width_that_is_too_small_is_said_with_the_size_of_its_letters() -> None:
    with pytest.warns(
        PXPWarning, match=r"at 2cm the smallest letters are [12]\.\d pt, .*--no-title"
    ) as warned:
        svg = render(INTERACT, "svg", Style(size="2cm"))
    remedy = re.search(r"draw it at (\S+) \(--size\)", str(warned[0].message))
    assert remedy is not None
    assert LEAST <= arrange(INTERACT, Style(size=remedy[1])).letters < LEAST + 0.5
    arranged = arrange(INTERACT, Style(size="2cm"))
    assert size(svg)[0] < 60
    assert arranged.letters == pytest.approx(arranged.canvas.smallest_text * arranged.scale)


def test_the_row_that_leaves_two_states_is_drawn_once() -> None:
    assert said(render(INTERACT, "svg")).count("10 !CLOSE") == 1
    ends = [edge for edge in INTERACT.edges if edge.target == "END"]
    assert [edge.rows[0].number for edge in ends] == [10, 10]


def test_title_and_note_are_left_out_and_the_legend_explains_every_sign() -> None:
    automaton = builtin("interact")
    bare = said(render(INTERACT, "svg", Style(title=False)))
    assert automaton.title not in bare.split()
    assert "Reconstructed" not in bare
    explained = said(render(INTERACT, "svg", Style(legend=True)))
    for sign in ("+INIT:", "−INIT:", "!CLOSE:", "⊤:", "RAT / +RATIFY:", "double ring:"):
        assert explained.count(sign) == 1, sign
    for guard, meaning in automaton.guards.items():
        assert f"{guard}: {meaning}" in explained
    assert "m: the machine h: the human" in said(render(CHART, "svg", Style(legend=True)))
    assert "the machine" not in said(render(CHART, "svg"))
    others = sequence_chart(conversation([("a", "b")]), title="t")
    assert others.legend == ()
    assert "m: the machine" in render(CHART, "mermaid", Style(legend=True)).decode().replace(
        "#58;", ":"
    )


@pytest.mark.parametrize("direction", ["LR", "TB", "RL", "BT"])
def test_the_direction_is_the_one_asked_for(direction: str) -> None:
    style = Style(direction=direction)
    width, height = size(render(INTERACT, "svg", style))
    assert (width > height) is (direction in ("LR", "RL"))
    assert f"    direction {direction}\n" in render(INTERACT, "mermaid", style).decode()


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("direction", "UP", "there are: LR, TB, RL, BT"),
        ("size", "3", "with its unit"),
        ("size", "1e9in", "with its unit"),
        ("size", "٣in", "with its unit"),
        ("size", "0cm", "20 to 7200 pt"),
        ("size", "99999in", "20 to 7200 pt"),
        ("font", '"><script>', "letters, digits"),
        ("font", "", "letters, digits"),
        ("title", "no", "title cannot be"),
    ],
)
def test_a_style_that_cannot_be_is_refused_by_its_field(field: str, value: str, text: str) -> None:
    given: dict[str, Any] = {field: value}
    with pytest.raises(UsageError, match=re.escape(text)) as raised:
        Style(**given)
    assert raised.value.field == field


def test_a_style_that_a_format_cannot_have_is_refused() -> None:
    with pytest.raises(UsageError, match="only one direction"):
        render(CHART, "svg", Style(direction="TB"))
    for style in (Style(font="Arial"), Style(size="9cm")):
        with pytest.raises(UsageError, match="Mermaid's viewer"):
            render(INTERACT, "mermaid", style)
    with pytest.raises(UsageError, match="the document's, or one of sans-serif, serif, monospace"):
        render(INTERACT, "tikz", Style(font="Comic Sans"))


def test_a_font_is_named_before_the_usual_ones() -> None:
    for form in ("svg", "dot"):
        assert b'"Noto Serif,Helvetica,Arial,sans-serif"' in render(
            INTERACT, form, Style(font="Noto Serif")
        )
    assert rb"\ttfamily" in render(INTERACT, "tikz", Style(font="monospace"))


def test_a_pdf_has_its_size_its_fonts_and_the_same_bytes_each_time() -> None:
    pytest.importorskip("typst")
    pdf = render(INTERACT, "pdf", Style(size="3.5in", title=False))
    assert pdf.startswith(b"%PDF-")
    assert pdf == render(INTERACT, "pdf", Style(size="3.5in", title=False))
    box = re.search(rb"/MediaBox ?\[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    assert box is not None
    svg = size(render(INTERACT, "svg", Style(size="3.5in", title=False)))
    assert (float(box[1]), float(box[2])) == pytest.approx(svg, abs=0.5)
    assert pdf.count(b"/FontFile") >= 1


def test_without_the_extra_a_pdf_is_refused_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pip install 'pxp-fsm\[figures\]'"):
        render(INTERACT, "pdf")


def test_characters_without_a_font_are_said_with_debians_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pxp_fsm.diagrams.style.shutil.which", lambda _name: "/usr/bin/fc-list")
    monkeypatch.setattr(
        "pxp_fsm.diagrams.style._fonts", lambda pattern: pattern in (":", ":charset=6f22")
    )
    texts = ["漢 Ελ ⊤ −", "字 😀", "ไทย"]
    found = [*font_problems(texts, Style())]
    assert found == [
        "no installed font has 字; boxes are drawn: apt install fonts-noto-cjk",
        "no installed font has 😀; boxes are drawn: apt install fonts-noto-color-emoji",
        "no installed font has ท ย ไ; boxes are drawn: apt install fonts-noto-core",
    ]
    assert [*font_problems(["Ελ"], Style(font="Nowhere"))] == [
        "no font Nowhere is installed; another is used (fc-list shows what there is)"
    ]
    with pytest.warns(PXPWarning, match="fonts-noto-color-emoji"):
        render(SequenceChart("😀", (), ()), "png")


@pytest.mark.skipif(
    shutil.which("fc-list") is None
    or not subprocess.run(
        ["fc-list", ":charset=6f22"], capture_output=True, check=False
    ).stdout.strip(),
    reason="no font with Chinese is installed (fonts-noto-cjk)",
)
def test_chinese_is_drawn_where_a_font_has_it() -> None:
    drawn = []
    for character in "漢字":
        png = render(SequenceChart(character, (), ()), "png")
        image = Image.open(io.BytesIO(png)).convert("L")
        drawn.append((image.size, sum(image.histogram()[:128])))
    assert drawn[0][1] != drawn[1][1]  # a box for each would be the same box


def test_a_warning_of_a_drawing_is_a_line_of_the_command(tmp_path: Path) -> None:
    target = tmp_path / "small.svg"
    done = CliRunner().invoke(commands, ["draw", "interact", "--size", "2cm", "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert "Warning: at 2cm the smallest letters are" in done.stderr
    assert done.stdout == f"Drawn: {target}\n"
    refused = CliRunner().invoke(commands, ["draw", "interact", "--size", "2"])
    assert refused.exit_code == 2
    assert "--size" in refused.stderr


def test_the_command_and_python_draw_the_same(tmp_path: Path) -> None:
    options = ["--direction", "TB", "--font", "serif", "--size", "9cm", "--no-title", "--legend"]
    by_command, in_python = tmp_path / "command.tex", tmp_path / "python.tex"
    done = CliRunner().invoke(commands, ["draw", "pxp", *options, "-o", str(by_command)])
    assert done.exit_code == 0, done.output
    pxp.draw("pxp", in_python, direction="TB", font="serif", size="9cm", title=False, legend=True)
    assert by_command.read_text("utf-8") == in_python.read_text("utf-8")


@settings(max_examples=40, deadline=None)
@given(hostile, hostile, hostile)
@example("\\", "{", "%")
@example("\\end{tikzpicture}", "\\input{/etc/passwd}", "^^5cinput x")
def test_no_text_is_a_command_of_latex(name: str, row: str, title: str) -> None:
    nodes = (Node("a" + name, initial=True), Node("b"))
    diagram = StateDiagram(title, "", nodes, (Edge("a" + name, "b", (EdgeRow("1 " + row),)),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PXPWarning)
        source = render(diagram, "tikz").decode()
    lines = source.splitlines()
    assert lines[2].startswith(r"\begin{tikzpicture}")
    assert lines[-1] == r"\end{tikzpicture}%"
    known = (
        r"\\(?:textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|"
        r"textquotedbl|textasciigrave|ldots|textquotedblleft|textquotedblright|textquoteleft|"
        r"textquoteright)\{\}|\\[{}$&#_%]|\$(?:\\times|-|\\rightarrow|\\leq|\\geq|\\top|\\bot)\$"
        r"|\\texttt\{U\+[0-9A-F]{4,6}\}|---?|[^\\{}$&#_%~^\n]"
    )
    for line in lines[3:-1]:
        if line.startswith(r"\node["):
            text = re.fullmatch(r"\\node\[[^\[\]]*\] at \([-\d.,]+\) \{(.*)\};", line)
            assert text is not None, line
            assert re.fullmatch(f"(?:{known})*", text[1]), line
        else:
            assert line == r"\pgfresetboundingbox" or re.fullmatch(
                r"\\path\[[^\[\]]*\] [-\d.,e() a-z\[\]=]*;", line
            ), line


@pytest.mark.deep
@pytest.mark.skipif(not has_style("tikz.sty"), reason="tikz is not installed (texlive-pictures)")
def test_tikz_compiles_with_pdflatex(tmp_path: Path) -> None:
    awkward = StateDiagram(
        "100 % of $x_1^2$ & \\alpha # {~} ⊤ 漢",
        "“quoted” `a` <b>",
        (Node("ä_b", initial=True), Node("ß\\", final=True, marked=True)),
        (
            Edge("ä_b", "ß\\", (EdgeRow("1 G_1 / +A%", 2),)),
            Edge("ß\\", "", (EdgeRow("−B is not received"),), refused=True),
        ),
    )
    lifelines = (Lifeline("m", "END"), Lifeline("h_1", "{"))
    chart = SequenceChart("a chart", lifelines, CHART.arrows[:0], "note")
    drawn: dict[str, tuple[Diagram, Style]] = {
        "interact": (INTERACT, Style(size="3.5in", legend=True)),
        "serif": (INTERACT, Style(font="serif", title=False)),
        "awkward": (awkward, Style(legend=True)),
        "session": (CHART, Style()),
        "chart": (chart, Style()),
    }
    check_typeset(drawn, tmp_path)


def check_typeset(drawn: Mapping[str, tuple[Diagram, Style]], tmp_path: Path) -> None:
    """Each drawing compiles, and is on a page of its own with every character."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PXPWarning)
        for name, (diagram, style) in drawn.items():
            (tmp_path / f"{name}.tex").write_bytes(render(diagram, "tikz", style))
    inputs = "\n".join(f"\\input{{{name}}}\\clearpage" for name in drawn)
    look = "\\usepackage{tikz}\n\\textheight=690pt\\textwidth=700pt\\topskip=0pt"
    log = typeset(tmp_path, look, inputs)
    assert "Missing character" not in log
    pages = re.search(r"Output written on paper\.pdf \((\d+) pages?\b", log)
    assert pages is not None
    assert int(pages[1]) == len(drawn)


@pytest.mark.deep
@pytest.mark.skipif(not has_style("tikz.sty"), reason="tikz is not installed (texlive-pictures)")
@pytest.mark.parametrize("name", ["interact", "commit_coordinator"])
@pytest.mark.parametrize("paper", ["article", "ieee"])
def test_in_latexs_own_font_no_label_is_wider_than_its_room(
    tmp_path: Path, name: str, paper: str
) -> None:
    """Measured by TeX, against the room that the same text has in the SVG."""
    file = Path(__file__).parents[2] / "examples" / "with_rules" / f"{name}.toml"
    diagram = table_diagram(str(file) if file.exists() else name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PXPWarning)
        arranged = arrange(diagram, Style(paper=paper, title=False))
        source = render(diagram, "tikz", Style(paper=paper, title=False)).decode()
    shapes = [shape for shape in arranged.canvas.shapes if shape.tag == f"{SVG}text"]
    rooms = [
        arranged.scale * float(shape.get("font-size", 0)) * ems((shape.text or "").strip())
        for shape in shapes
    ]
    nodes = re.findall(r"font=([^\]]*)\] at \([-\d.,]+\) \{(.*)\};", source)
    assert len(nodes) == len(rooms) > 10
    body = "\n".join(
        rf"\setbox0\hbox{{{font} {text}}}\typeout{{WIDTH \the\wd0}}" for font, text in nodes
    )
    log = typeset(tmp_path, "", f"Widths.\n{body}")
    widths = [float(width) * 72 / 72.27 for width in re.findall(r"WIDTH ([\d.]+)pt", log)]
    assert len(widths) == len(rooms)
    long = [pair for pair in zip(widths, rooms, nodes, strict=True) if len(pair[2][1]) > 3]
    assert max(width / room for width, room, _ in long) < 1.1


def test_latex_shows_each_character_that_it_knows() -> None:
    assert latex("a_b & 5 % ⊤ − 漢") == r"a\_b \& 5 \% $\top$ $-$ \texttt{U+6F22}"


@pytest.mark.parametrize(
    "title",
    [
        "interact: ends-agreed fails (equivalence)",
        "PXP(1): a longest session (equivalence)",
        "n = 10, k = 3; contradicts “the responder h is never Ultra-Strong”",
        "coordinator; left, right: participant",
        "WIDE MESSAGES, 0123456789 + 0123456789",
    ],
)
def test_titles_and_notes_are_whole_in_a_viewer_without_helvetica(title: str) -> None:
    """Measured in DejaVu Sans, the widest of the usual fonts, as Matplotlib brings it."""
    places = pytest.importorskip("matplotlib").get_data_path()
    font = ImageFont.truetype(Path(places, "fonts", "ttf", "DejaVuSans.ttf"), 100)
    drawn = ET.fromstring(render(replace(CHART, title=title, note=title), "svg"))  # noqa: S314 - our own
    left, _, width, _ = map(float, drawn.get("viewBox", "").split())
    (group,) = drawn.iterfind(f"{SVG}g")
    moved = re.search(r"translate\(([-\d.]+) ", group.get("transform", ""))
    assert moved is not None
    lines = [one for one in drawn.iter(f"{SVG}text") if len("".join(one.itertext())) > 20]
    assert len(lines) >= 2
    for line in lines:
        assert line.get("text-anchor") == "middle"
        long = font.getlength("".join(line.itertext())) / 100 * float(line.get("font-size", 0))
        middle = float(line.get("x", 0)) + float(moved[1])
        assert left <= middle - long / 2
        assert middle + long / 2 <= left + width


@pytest.mark.parametrize("diagram", [INTERACT, CHART])
@pytest.mark.parametrize("style", [{"size": "9cm x 4cm"}, {"size": "100pt"}, {"paper": "acm"}])
def test_a_size_bounds_both_sides_and_a_paper_its_page(
    diagram: Diagram, style: dict[str, str]
) -> None:
    asked = Style(**style)  # type: ignore[arg-type] # texts
    assert asked.room is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PXPWarning)
        width, height = size(render(diagram, "svg", asked))
    assert width <= asked.room.width + 0.01
    assert height <= asked.room.height + 0.01
    column = PAPERS["acm"]
    assert asked.room.height <= 650
    assert column.width == pytest.approx(240.25, abs=0.01)
    assert column.letters == 8


def test_with_a_paper_labels_have_its_size_of_letters() -> None:
    drawn = arrange(INTERACT, Style(paper="ieee", title=False))
    assert drawn.letters == pytest.approx(8)


def filled(image: Image.Image) -> tuple[float, float, float, float]:
    """The box around what has the colour of the marked state, in shares of the picture's width."""
    pixels = image.convert("RGB")
    tint = Image.new("RGB", pixels.size, "#d9e8f7")
    close = ImageChops.difference(pixels, tint).convert("L").point(lambda far: 255 * (far < 3))
    box = close.filter(ImageFilter.MinFilter(5)).getbbox()  # no edge that is blended to it
    assert box is not None
    left, top, right, bottom = (side / pixels.width for side in box)
    edge = 2 / pixels.width
    return left - edge, top - edge, right + edge, bottom + edge


@pytest.mark.deep
@pytest.mark.parametrize("state", ["IDLE", "END"])
def test_states_are_at_the_same_places_in_every_format(tmp_path: Path, state: str) -> None:
    """The filled state, as it is rendered, is where the SVG has it: within 1 % of the width."""
    pdfium = pytest.importorskip("pypdfium2")
    diagram = state_diagram(builtin("interact"), marked=state)
    style = Style(size="8cm", title=False)
    svg = render(diagram, "svg", style)
    width, height = size(svg)
    root = ET.fromstring(svg)  # noqa: S314 - our own
    _, _, wide, _ = map(float, root.get("viewBox", "").split())
    moved = re.search(rb"translate\(([-\d.]+) ([-\d.]+)\)", svg)
    assert moved is not None
    marks = [group for group in root.iter(f"{SVG}g") if "marked" in group.get("class", "")]
    (inner, *_) = marks[0].iter(f"{SVG}ellipse")
    x, y, rx, ry = (float(inner.get(name, 0)) for name in ("cx", "cy", "rx", "ry"))
    x, y = x + float(moved[1]), y + float(moved[2])
    expected = [side / wide for side in (x - rx, y - ry, x + rx, y + ry)]
    drawn = {"png": Image.open(io.BytesIO(render(diagram, "png", style)))}
    drawn["pdf"] = pdfium.PdfDocument(render(diagram, "pdf", style))[0].render(scale=4).to_pil()
    if has_style("tikz.sty"):
        (tmp_path / "drawn.tex").write_bytes(render(diagram, "tikz", style))
        page = f"\\pdfpagewidth={width}bp\\pdfpageheight={height}bp\\hoffset=-1in\\voffset=-1in"
        look = "\\usepackage{tikz}\\oddsidemargin=0pt\\topmargin=0pt\\headheight=0pt\\headsep=0pt"
        look += "\\topskip=0pt\\parindent=0pt\\parskip=0pt\\textwidth=700pt\\textheight=700pt"
        typeset(tmp_path, look + "\\AtBeginDocument{" + page + "}", "\\noindent\\input{drawn}")
        paper = pdfium.PdfDocument(tmp_path / "paper.pdf")
        assert paper[0].get_size() == pytest.approx((width, height), abs=0.5)
        drawn["tikz"] = paper[0].render(scale=4).to_pil()
    for form, image in drawn.items():
        assert filled(image) == pytest.approx(expected, abs=0.01), form


@pytest.mark.deep
def test_a_pdf_has_one_font_for_a_label_with_its_signs() -> None:
    pdf = render(INTERACT, "pdf", Style(title=False))
    assert set(re.findall(rb"/BaseFont\s*/(?:[A-Z]{6}\+)?([\w-]+)", pdf)) == {b"PXPSans"}


def test_what_a_colour_says_is_said_without_it() -> None:
    """A state that is marked or trapped, an arrow that is taken or refused."""
    nodes = (
        Node("plain"),
        Node("marked", marked=True),
        Node("trapped", trapped=True),
        Node("both", marked=True, trapped=True),
    )
    edges = (
        Edge("plain", "marked", (EdgeRow("sent"),)),
        Edge("marked", "trapped", (EdgeRow("taken", taken=1),)),
        Edge("trapped", "both", (EdgeRow("refused"),), refused=True),
    )
    source = to_dot(StateDiagram("", "", nodes, edges))
    for pattern, kinds in ((r"^\s*s\d \[.*", 4), (r"^\s*s\d -> .*", 3)):
        looks = [
            frozenset(re.findall(r"\b(?:style|penwidth)=[^\s\]]+", line))
            for line in re.findall(pattern, source, re.MULTILINE)
        ]
        assert len(looks) == len(set(looks)) == kinds, looks


@pytest.mark.parametrize("seen", SEEN)
def test_all_that_is_written_can_be_read_in_grey_and_by_the_colour_blind(seen: str) -> None:
    for colour in (INK, GREY, ACCENT, FATAL):
        assert contrast(colour, "#ffffff", seen) >= 4.5, colour
    assert contrast(INK, TINT, seen) >= 4.5


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(
            (name, {"paper": "ieee", "title": False})
            for name in ("interact", "pxp", "commit", "polls")
        ),
        ("polls_client", {"title": False, "legend": True}),
        ("commit_participant", {"paper": "acm", "title": False}),
    ],
)
def test_a_drawing_has_no_margin_but_a_small_one(name: str, options: dict[str, Any]) -> None:
    """The same at all sides, measured on what is drawn: five machines and two systems."""
    pdfium = pytest.importorskip("pypdfium2")
    file = Path(__file__).parents[2] / "examples" / "with_rules" / f"{name}.toml"
    diagram = table_diagram(str(file) if file.exists() else name)
    style = Style(**options)
    drawn = arrange(diagram, style)
    (left, top), (width, height) = drawn.canvas.corner, drawn.canvas.size
    corners = [corner for shape in drawn.canvas.shapes[1:] for corner in extent(shape)]
    across, down = zip(*corners, strict=True)
    margins = (
        min(across) - left,
        min(down) - top,
        left + width - max(across),
        top + height - max(down),
    )
    assert margins == pytest.approx([4] * 4, abs=0.1)
    page = pdfium.PdfDocument(render(diagram, "pdf", style))[0].render(scale=4).to_pil()
    image = page.convert("RGB")
    white = Image.new("RGB", image.size, "white")
    box = ImageChops.difference(image, white).convert("L").point(lambda far: 255 * (far > 20))
    inner = box.getbbox()
    assert inner is not None
    seen = (inner[0], inner[1], image.width - inner[2], image.height - inner[3])
    assert all(3 <= side / 4 / drawn.scale <= 20 for side in seen)
    # DejaVu Sans, the widest font that viewers take, is a ninth wider than its condensed form.
    for text in (shape for shape in drawn.canvas.shapes if kind_of(shape) == "text"):
        size = float(text.get("font-size", 14))
        length = ImageFont.truetype(OWN_FONT, 100).getlength((text.text or "").strip())
        wide, x = length / 100 / 0.9 * size, float(text.get("x", 0))
        anchor = text.get("text-anchor", "start")
        begins = x - wide / 2 if anchor == "middle" else x - wide if anchor == "end" else x
        assert left <= begins and begins + wide <= left + width, text.text
