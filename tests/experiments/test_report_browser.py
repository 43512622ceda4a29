"""A report in a real browser and typeset by a real LaTeX, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.diagrams.latex import Table, as_latex
from pxp_fsm.experiments.reports.write import write
from pxp_fsm.protocol.messages import Answer, Instance
from tests.experiments.report_pages import Made
from tests.typesetting import has_style, typeset

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
    typeset(tmp_path, "\\usepackage{booktabs}", inputs)
    assert (tmp_path / "paper.pdf").stat().st_size > 5000
