"""The page: whole, alone, and deaf to what models, people and databases say in it."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import main
from pxp_fsm.diagrams.text import legible
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports import conversations, figures, pictures
from pxp_fsm.experiments.reports.write import write
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.sessions.events import Event
from tests.experiments.report_pages import Made, judged, outside, page_of, unfolded

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    '<a href="javascript:alert(1)">x</a>',
    "<svg/onload=alert(1)>",
    '<svg><use href="http://example.org/x#y"/></svg>',
    "{{ 7 * 7 }} {% raw %} {# x #}",
    "--><!-- ]]>",
    "&lt;script&gt; &#106;avascript:",
    "https://example.org/tracker.png",
    "$\\frac{1}{2}$ $",
    "\u202eevil\u2066 \u2028 \x07 \x1b[31m",
    "C |$<script>alert(1)</script>$|",
)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        yield Made(board)


def reported(made: Made, tmp_path: Path, **options: Any) -> Path:
    path = tmp_path / "page.html"
    write(made.board, (), path, test_set=False, **options)
    return path


def test_what_is_said_is_shown_and_does_nothing(made: Made, tmp_path: Path) -> None:
    """Of each hostile text there is a session shown whole, and one that is a row."""
    for position, foreign in enumerate(HOSTILE, start=1):
        made.add(
            position,
            "INIT REFUTE REVISE",
            "broken",
            instance=Instance(foreign, foreign),
            answer=Answer(foreign, foreign),
            cause=foreign,
            about=foreign,
        )
    for position, foreign in enumerate(HOSTILE, start=len(HOSTILE) + 1):
        made.add(position, "INIT RATIFY RATIFY", instance=Instance(f"{foreign} 2", foreign))
    page = page_of(reported(made, tmp_path, sessions=str(len(HOSTILE))))
    assert f"{len(HOSTILE)} of {2 * len(HOSTILE)} sessions are shown whole" in page.text
    assert not page.acting
    assert not outside(page.pointing)
    assert page.elements.isdisjoint({"script", "iframe", "object", "embed", "form", "base"})
    assert "img" not in page.elements
    assert len(page.ids) == len(set(page.ids))
    assert page.policy.startswith("default-src 'none'")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]", page.text)
    for foreign in HOSTILE:
        if foreign.isprintable():
            assert page.text.count(" ".join(foreign.split())) > 2, foreign


def test_a_run_whose_name_is_hostile_is_reported_too(tmp_path: Path) -> None:
    name = "</title><script>alert(1)</script>$x$"
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = Made(board, name)
        made.add(1, "INIT RATIFY RATIFY")
        page = page_of(reported(made, tmp_path))
    assert "script" not in page.elements
    assert not page.acting
    assert name in page.text


def test_the_page_is_the_same_each_time(made: Made, tmp_path: Path) -> None:
    made.add(1, "INIT REFUTE REVISE RATIFY RATIFY")
    first = {path.name: path.read_bytes() for path in written(made, tmp_path / "one")}
    second = {path.name: path.read_bytes() for path in written(made, tmp_path / "two")}
    assert first == second
    assert set(first) == {
        "page.html",
        "page.json",
        "page-table1.csv",
        "page-table1.tex",
        "page-curves.csv",
        "page-flow.csv",
        "page-categories.csv",
        "page-categories.tex",
        "page-sequences.tex",
        "page-sessions.csv",
    }


def written(made: Made, folder: Path) -> list[Path]:
    _, paths = write(made.board, (), folder / "page.html", test_set=False)
    assert sorted(paths) == sorted(folder.iterdir())
    return list(paths)


def test_figures_are_text_with_words_for_who_cannot_see_them(made: Made, tmp_path: Path) -> None:
    made.add(1, "INIT REFUTE REVISE RATIFY RATIFY")
    text = unfolded(reported(made, tmp_path))
    drawn = re.findall(r'<svg class="drawn"[^>]*>', text)
    assert len(drawn) >= 4
    assert all('role="img"' in each and 'aria-label="' in each for each in drawn)
    assert "one-way, human: 0 to 1" in text
    assert re.search(r"<text[^>]*>one-way, machine</text>", text)
    assert "prefers-color-scheme: dark" in text
    assert "#1f2328" not in text.split("</style>")[1].lower()


def test_an_unfinished_run_says_what_is_missing_and_reports_the_rest(
    made: Made, tmp_path: Path
) -> None:
    made.add(1, "INIT RATIFY RATIFY")
    made.add(2, "INIT REFUTE", None)
    page = page_of(reported(made, tmp_path))
    assert "Repetition 1: 1 of 3 not begun, 1 not over; not counted in the tables." in page.text
    assert "2 of 3 planned" in page.text
    assert "animals-1/1/1" in page.text
    assert "animals-1/1/2" in page.text


def test_a_run_of_which_nothing_is_there_yet_is_reported(made: Made, tmp_path: Path) -> None:
    page = page_of(reported(made, tmp_path))
    assert "3 of 3 not begun" in page.text


def test_a_run_whose_data_are_gone_is_reported_without_them(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = Made(board)
        made.add(1, "INIT RATIFY RATIFY")
        gone = replace(made.plan, data=str(tmp_path / "nowhere"))
        other = Made(board, "animals-2")
        board.start_run(replace(board.runs()[0], run="animals-3", plan=gone.as_json(), created=""))
        path = tmp_path / "page.html"
        write(board, [made.run, other.run, "animals-3"], path)
    page = page_of(path)
    assert "the run's task or data cannot be read" in page.text
    assert "there is no such folder" in page.text


@pytest.mark.deep
def test_sessions_beyond_those_shown_whole_have_a_row_each(made: Made, tmp_path: Path) -> None:
    for position in range(1, 8):
        made.add(position, "INIT RATIFY RATIFY")
    page = page_of(reported(made, tmp_path, sessions="2"))
    assert "2 of 7 sessions are shown whole" in page.text
    assert "5 more, a row each" in page.text
    assert page.text.count("category A: prediction matches, explanation agrees") == 4
    everything = page_of(reported(made, tmp_path, sessions="all"))
    assert "7 of 7 sessions are shown whole" in everything.text
    named = page_of(reported(made, tmp_path, sessions="animals-1/1/6"))
    assert "1 of 7 sessions are shown whole" in named.text
    with pytest.raises(UsageError, match="no session or instance 'nobody'"):
        reported(made, tmp_path, sessions="nobody")


def test_very_long_texts_are_cut_and_it_says_so(made: Made, tmp_path: Path) -> None:
    made.add(1, "INIT RATIFY RATIFY", answer=Answer("C" * 200_000, "word " * 200_000))
    path = reported(made, tmp_path)
    assert path.stat().st_size < 300_000
    assert "994,000 more characters are in the database" in page_of(path).text


def test_why_a_tag_is_told_for_both_protocols(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = Made(board)
        made.add(1, "INIT REFUTE REFUTE REJECT", "rejected")
        text = page_of(reported(made, tmp_path)).text
    assert "prediction differs, explanation differs; message 4 is after k = 3" in text
    assert "DECIDE, row 4 +REFUTE, WAIT" in text
    with SqlBlackboard(str(tmp_path / "p.sqlite")) as board:
        made = Made(board, plan=Plan("animals", "pxp", n=None, k=2, instances="3"))
        made.add(1, "INIT RATIFY RATIFY TERM", "term")
        text = page_of(reported(made, tmp_path)).text
    assert "PXP" in text
    assert "Published columns" not in text


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("", "learned from what was received 3"),
        (
            '{"before": 6, "after": 7, "of": 10, "unanswered": 1, "rise": -0.0125, "concerned": 3}',
            "learned from what was received (right on 7 of 10 validation instances with it, and on "
            "6 without; 1 had no answer; the mean log-likelihood of right answers fell by 0.0125, "
            "in 3 of 10 instances)",
        ),
        ('{"before": 6, "after": 7, "rise": "<b>"}', '({"before": 6'),
    ],
)
def test_a_decision_to_learn_is_told_in_words(
    made: Made, tmp_path: Path, stored: str, told: str
) -> None:
    made.add(1, "INIT RATIFY RATIFY", learned=stored)
    text = page_of(reported(made, tmp_path)).text
    assert told in text
    assert ('{"before"' in text) is ("<b>" in stored)


def test_an_endless_conversation_is_drawn_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "p.sqlite")) as board:
        made = Made(board, plan=Plan("animals", "pxp", n=None, k=None, instances="3"))
        made.add(1, "INIT " + "REFUTE " * 79, "limit")
        page = page_of(reported(made, tmp_path))
    assert "… 80 messages" in page.text
    assert "Drawn are 12 messages of 80; the rest is in the CSV of the flow." in page.text
    assert "Repetition 1: 2 of 3 not begun, 1 ended by a fault" in page.text
    flow = (tmp_path / "page-flow.csv").read_text("utf-8")
    assert "animals-1,80,REFUTE,ended: limit,1" in flow


def picture(size: tuple[int, int] = (900, 700)) -> Callable[[Instance], Image]:
    def shown(_: Instance) -> Image:
        written = io.BytesIO()
        Pillow.new("L", size, 90).save(written, "PNG")
        return Image("image/png", written.getvalue())

    return shown


def problem(shown: Callable[[Instance], Image | None]) -> Problem:
    return Problem("x", "?", {}, str, str, picture=shown)


def test_images_are_made_small_and_written_anew() -> None:
    gallery, about = pictures.Gallery(), Instance("<i>", "x")
    shown = gallery.image(problem(picture()), about)
    assert shown is not None
    assert "&lt;i&gt;" in shown
    assert 'src="data:image/jpeg;base64,' in shown
    assert len(shown) < 20_000
    assert pictures.Gallery(budget=10).image(problem(picture()), about) is None


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg onload=alert(1)>", b"\x89PNG\r\n\x1a\n"])
def test_an_image_that_is_none_is_left_out(data: bytes) -> None:
    shown = problem(lambda _: Image("image/png", data))
    assert pictures.Gallery().image(shown, Instance("i", "x")) is None


def test_a_drawing_keeps_nothing_that_could_act() -> None:
    drawing = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"
      viewBox="0 0 9 9" onload="alert(1)"><script>alert(1)</script><a x:href="http://e.org">
      <path id="p" d="M0 0" onclick="alert(1)" style="fill: url(http://e.org)" fill="#1f2328"/></a>
      <use x:href="http://e.org/#a"/><use x:href="#p"/><rect clip-path="url(#p)"/>
      <foreignObject><body/></foreignObject><image href="http://e.org/i.png"/>
      <style>@import url(http://e.org)</style><text>a &lt;b&gt;</text></svg>"""
    shown = figures.embedded(drawing, "k", title='"><b>', colours=figures.INK)
    assert "alert" not in shown
    assert "e.org" not in shown
    assert '<path id="k-p" d="M0 0" fill="var(--ink)"></path>' in shown
    assert '<use href="#k-p">' in shown
    assert 'clip-path="url(#k-p)"' in shown
    assert "<text>a &lt;b&gt;</text>" in shown
    assert 'aria-label="&#34;&gt;&lt;b&gt;"' in shown


@pytest.mark.parametrize(
    ("judgements", "told"),
    [
        ([], "named by who sent it; nothing was judged"),
        (judged("late"), "MATCH late, AGREE no"),
        (judged("yes", "unsure"), "explanation differs; a judge was unsure, which counts as no"),
        (judged("no", "yes", "yes", "yes"), "explanation agrees; own answer unchanged"),
        (judged("no", "no", "no"), "message 2 is not after k = 3; own answer changed"),
    ],
)
def test_why_a_message_has_its_tag(judgements: list[Judgement], told: str) -> None:
    learned = Judgement("LEARN", "", "", Outcome.YES, True, 0.0)
    message = Message("s", 2, "h", "REFUTE", Answer("", ""), "m")
    entry = Event.of_message(message, "{}", (learned, *judgements))
    assert conversations.why(entry, "interact", 3).endswith(told)


def test_text_keeps_its_lines() -> None:
    assert conversations.text("one\n\ttwo\r\n\u202ethree") == "one\ntwo\n\ufffdthree"


def test_of_ascii_the_control_characters_are_replaced() -> None:
    for char in map(chr, range(128)):
        drawn = "\ufffd" if unicodedata.category(char) == "Cc" else char
        assert legible(f"a{char}b") == f"a{' ' if char.isspace() else drawn}b"


def test_bad_requests_are_told(made: Made, tmp_path: Path) -> None:
    made.add(1, "INIT RATIFY RATIFY")
    with pytest.raises(UsageError, match=r"end in \.html"):
        write(made.board, (), tmp_path / "page.pdf")
    with pytest.raises(NotThere, match="no run 'nobody'; there are: animals-1"):
        write(made.board, ["nobody"], tmp_path / "page.html")
    assert not [path for path in tmp_path.iterdir() if "page" in path.name]


def test_without_the_extra_it_says_what_to_install(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.add(1, "INIT RATIFY RATIFY")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=r"jinja2, which is not .*'pxp-fsm\[report\]'"):
        reported(made, tmp_path)
    assert not [path for path in tmp_path.iterdir() if "page" in path.name]


def test_the_command_leaves_the_report(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.add(1, "INIT RATIFY RATIFY")
    path = tmp_path / "out" / "page.html"
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path / "b.sqlite"), "animals-1", "-o", str(path), "--no-test-set"])
    assert ended.value.code == 0
    told = capsys.readouterr()
    assert f"Written: {path}" in told.out
    assert "animals-1: Repetition 1: 2 of 3 not begun" in told.err
    assert path.is_file()


def test_a_page_begins_with_what_was_asked_and_the_answer(made: Made, tmp_path: Path) -> None:
    made.add(1, "INIT RATIFY RATIFY")
    made.add(2, "INIT REFUTE REFUTE REJECT", "rejected")
    text = page_of(reported(made, tmp_path)).text
    asked = text.index("are intelligible to both agents, by INTERACT, n = 10, k = 3?")
    answer = text.index("1 of 2 sessions are two-way intelligible (95% interval of the share: ")
    assert asked < answer < text.index("sessions that are")


def test_an_answer_that_an_agent_gives_again_is_said_once(made: Made, tmp_path: Path) -> None:
    made.add(1, "INIT REFUTE REFUTE", None, answer=Answer("a robin", "because of its breast"))
    page = unfolded(reported(made, tmp_path))
    assert page.count("because of its breast") == 2
    assert page.count("The same answer as in message 1.") == 1


def test_lines_of_one_look_are_one_path() -> None:
    line = '<path style="fill:none;stroke:#000000;stroke-linecap:butt" d="M 1.0,2.5 L 3,4"/>'
    other = line.replace("#000000", "#ff0000")
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{line}{other}{line}</svg>'
    shown = figures.embedded(drawing, "p", title="t", colours={"#000000": "ink"})
    assert shown.count("<path") == 2
    assert 'd="M1 2.5L3 4M1 2.5L3 4"' in shown
    assert 'style="fill:none;stroke:var(--ink)"' in shown
