"""A report in a real browser and typeset by a real LaTeX, where they are installed."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from proofs.export.traces import export_trace
from pxp_fsm.diagrams import Style
from pxp_fsm.diagrams.latex import Table, as_latex
from pxp_fsm.diagrams.style import PAPERS
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.write import write
from pxp_fsm.protocol.messages import Answer, Instance
from tests.experiments.report_pages import Made
from tests.sessions.random_sessions import steady_session
from tests.typesetting import has_style, typeset
from tests.web.browsers import chromium, expect, require_browser

pytestmark = pytest.mark.deep

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine, and what it was asked for."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}", asked
    listening.shutdown()
    listening.server_close()
    thread.join()


def opened(page: Path, profile: Path) -> tuple[str, str]:
    """The document as the browser has it, and what it logged to its console."""
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        "--virtual-time-budget=3000",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(console)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_asks_nobody_for_anything_and_complains_of_nothing(
    tmp_path: Path, server: tuple[str, list[str]]
) -> None:
    address, asked = server
    hostile = (
        f"</style></script><script>fetch('{address}/script')</script><img src={address}/img>"
        f'<link rel=stylesheet href={address}/css><svg onload="fetch(`{address}/on`)">'
    )
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = Made(board)
        for position in range(1, 4):
            about = Instance(f"{position}{hostile}", hostile)
            answer = Answer(hostile if position > 1 else "CCO", hostile)
            made.add(position, "INIT REFUTE REVISE RATIFY RATIFY", instance=about, answer=answer)
        write(board, (), tmp_path / "page.html", sessions="2")
    document, console = opened(tmp_path / "page.html", tmp_path / "profile")
    assert "Intelligibility of sessions" in document
    assert console == ""
    assert asked == []


def test_sessions_are_unfolded_a_click_away_and_printed_where_open(tmp_path: Path) -> None:
    """And without JavaScript there is all but the sessions, and where these are."""
    require_browser()
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        made = Made(board)
        for position in range(1, 4):
            answer = Answer("bird", f"the answer of session {position}")
            made.add(position, "INIT REFUTE REVISE RATIFY RATIFY", answer=answer)
        write(board, (), tmp_path / "page.html", test_set=False, sessions="2")
    seen = {}
    with chromium() as browser:
        for scripts in (True, False):
            page = browser.new_context(java_script_enabled=scripts).new_page()
            page.goto((tmp_path / "page.html").as_uri())
            sessions = page.locator("details.session")
            assert page.get_by_text("3 of 3 sessions are two-way intelligible").is_visible()
            assert page.locator("#table1 table").is_visible()
            assert page.locator("figure svg").count() == 6
            for width, drawn in ((1280, "wide"), (390, "narrow")):
                page.set_viewport_size({"width": width, "height": 800})
                visible = page.locator("figure svg:visible")
                assert (
                    visible.count() == page.locator(f"figure .on-{drawn} svg:visible").count() == 3
                )
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                cut = page.locator(".wide").evaluate_all(SCROLLING)
                assert cut == (page.locator(".wide[tabindex='0']").count() if scripts else cut)
                assert bool(cut) is (width == 390)
            if scripts:
                expect(sessions).to_have_count(2)
                sessions.nth(1).locator("summary").first.click()
                assert sessions.nth(1).get_by_text("the answer of session 2").first.is_visible()
                assert not sessions.nth(0).get_by_text("the answer of session 1").first.is_visible()
                expect(page.locator("#sessions-1 > details.list")).to_have_count(1)
            assert page.get_by_text("pxp show SESSION").count() == (0 if scripts else 1)
            seen[scripts] = text_of(page.pdf())
    for text in seen.values():
        assert "3 of 3 sessions are two-way intelligible" in text
    assert "the answer of session 2" in seen[True]
    assert "the answer of session 1" not in seen[True]


SCROLLING = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
"""How many of some elements are wider within than they are."""


def text_of(pdf: bytes) -> str:
    """The words of all pages of a PDF."""
    document = pytest.importorskip("pypdfium2").PdfDocument(pdf)
    pages = (page.get_textpage().get_text_bounded() for page in document)
    return " ".join(" ".join(pages).split())


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_the_test_would_see_a_request_and_a_complaint(
    tmp_path: Path, server: tuple[str, list[str]]
) -> None:
    address, asked = server
    page = tmp_path / "page.html"
    page.write_text(f"<img src={address}/img><script>console.error('seen')</script>", "utf-8")
    _, console = opened(page, tmp_path / "profile")
    assert asked == ["/img"]
    assert "seen" in console


@pytest.mark.skipif(
    not (has_style("booktabs.sty") and has_style("tikz.sty")),
    reason="booktabs and TikZ are not installed (texlive-latex-recommended, texlive-pictures)",
)
@pytest.mark.parametrize("paper", PAPERS)
def test_tables_and_figures_fit_the_columns_of_papers(
    tmp_path: Path, reported: SqlBlackboard, paper: str
) -> None:
    """Everything that a report leaves, set by TeX in a column so wide, has no overfull box."""
    room = PAPERS[paper]
    write(reported, (), tmp_path / "r.html", test_set=False, figures=tmp_path, room=room)
    pair = [run.run for run in reported.runs() if run.task == "drug"]
    write(reported, pair, tmp_path / "p.html", test_set=False, room=room)
    assert {"p-paired.tex", "r-systems.tex"} <= {path.name for path in tmp_path.iterdir()}
    [trace] = [result for result in pxp.check("interact", "AG !ended") if result.trace is not None]
    (tmp_path / "r-trace.tex").write_bytes(export_trace(trace, "latex", Style(paper=paper)))
    sources = sorted([*tmp_path.glob("*.tex"), *tmp_path.glob("*.pgf")])
    assert {path.suffix for path in sources} == {".tex", ".pgf"}
    inputs = "\\clearpage\n".join(
        rf"\input{{{path.name}}}"
        if path.suffix == ".tex"
        else rf"\begin{{figure}}\input{{{path.name}}}\end{{figure}}"
        for path in sources
    )
    width = f"{room.width:.2f}bp"
    look = "\\usepackage{array,booktabs,tabularx,tikz}\\hfuzz=0pt"
    look += "".join(rf"\{name}={width}" for name in ("textwidth", "columnwidth", "hsize"))
    look += rf"\textheight={room.height + 60:.0f}bp"
    log = typeset(tmp_path, look, f"{inputs}\\clearpage")
    assert not re.findall(r"Overfull \\hbox.*|.*too large.*", log)
    assert "Missing character" not in log


@pytest.mark.skipif(
    not has_style("booktabs.sty"),
    reason="booktabs is not installed (texlive-latex-recommended)",
)
def test_tables_of_spreads_fit_whatever_was_measured(tmp_path: Path) -> None:
    """Numbers that stand below each other leave blanks, which have a width as well."""
    room, choose, inputs = PAPERS["ieee"], random.Random(0), list[str]()

    def spread() -> str:
        least, middle, most = sorted(
            round(choose.uniform(0, choose.choice((0.02, 0.2, 2, 20))), 3) for _ in range(3)
        )
        return (
            f"{middle:,.4g} ({least:,.4g} to {most:,.4g})" if choose.random() < 0.5 else f"{most}"
        )

    headings = ("ending", "sessions", "share", "95%", "actions", "seconds")
    for number in range(100):
        rows = tuple(
            (ending, 2, "40%", "12% to 77%", choose.randint(1, 40), spread())
            for ending in ("deadlock", "finished", "idle", "limit", "stuck")[: number % 4 + 2]
        )
        table = Table(f"t{number}", "Endings", headings, rows)
        (tmp_path / f"t{number}.tex").write_text(as_latex(table, room), "utf-8")
        inputs.append(rf"\input{{t{number}.tex}}\clearpage")
    look = "\\usepackage{array,booktabs,tabularx}\\hfuzz=0pt"
    look += "".join(
        rf"\{name}={room.width:.2f}bp" for name in ("textwidth", "columnwidth", "hsize")
    )
    log = typeset(tmp_path, look, "\n".join(inputs))
    assert not re.findall(r"Overfull \\hbox.*", log)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlBlackboard]:
    """Runs of two tasks with published columns, of which two are paired, and one of a system."""
    folder = tmp_path_factory.mktemp("reported")
    with SqlBlackboard(str(folder / "b.sqlite")) as board:
        for task, k in (("rad", 3), ("drug", 3), ("drug", 1)):
            runs.start(Plan(task, instances="2", repetitions=2, k=k), board).execute()
        for seed in range(5):
            steady_session(seed, blackboard=board).run_sync()
        yield board


@pytest.mark.skipif(
    not has_style("booktabs.sty"),
    reason="booktabs is not installed (texlive-latex-recommended)",
)
def test_the_tables_are_set_by_latex(tmp_path: Path) -> None:
    every = "".join(map(chr, range(32, 256))) + "\u202e\u4e2d\u0301\U0001f600–×−"
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        Made(board, every.replace("/", "")).add(1, "INIT RATIFY RATIFY")
        write(board, (), tmp_path / "r.html", test_set=False)
    foreign = Table("foreign", every, ("[a", "*b"), (("[2pt]" + every, 1), ("*", None)))
    (tmp_path / "foreign.tex").write_text(as_latex(foreign), "utf-8")
    inputs = "".join(rf"\input{{{path.name}}}" + "\n" for path in sorted(tmp_path.glob("*.tex")))
    typeset(tmp_path, "\\usepackage{array,booktabs,tabularx}", inputs)
    assert (tmp_path / "paper.pdf").stat().st_size > 5000
