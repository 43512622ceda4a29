"""The page of the site that checks tables in the browser, by Pyodide: offline once it is loaded."""

from __future__ import annotations

import base64
import functools
import gzip
import io
import json
import shutil
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.web.browsers import PATIENCE, ROOT

MOST_MEGABYTES = 15

pytestmark = pytest.mark.deep


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """No line per request."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    built = tmp_path_factory.mktemp("check")
    command = [sys.executable, str(ROOT / "docs" / "browser" / "build.py"), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def test_all_that_is_loaded_is_small_and_from_here(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    packed = sum(len(gzip.compress(path.read_bytes())) for path in files)
    assert packed < MOST_MEGABYTES * 1_000_000
    page = (folder / "index.html").read_text("utf-8")
    assert 'src="http' not in page
    assert "default-src 'self'" in page


def test_the_page_compiles_nothing(folder: Path) -> None:
    with zipfile.ZipFile(folder / "package.zip") as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith(".py")]
    assert {"work.pyc", "pxp_fsm/__init__.pyc", "proofs/recheck.pyc"} <= set(names)


def test_tables_are_checked_explored_linked_and_downloaded(address: str, browser: Any) -> None:
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    faults = list[str]()
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    page.wait_for_selector("#state:has-text('Done.')", timeout=PATIENCE)
    assert set(page.locator("#verdicts tbody td:first-child").all_inner_texts()) == {"HOLDS"}
    context.set_offline(True)  # what comes now was loaded before
    page.select_option("#example", label="a deal in which both may offer: a bug")
    page.wait_for_selector("td.FAILS", timeout=PATIENCE)
    page.wait_for_selector("#state:has-text('Done.')", timeout=PATIENCE)
    assert "deal1 in WAIT does not receive it" in page.inner_text("#verdicts")
    frame = page.frame_locator("#explorer")
    frame.get_by_text("no-deadlock").first.wait_for(timeout=PATIENCE)
    page.select_option("#example", label="contract net")  # whose messages have schemas
    page.wait_for_selector("td:has-text('manager')", timeout=PATIENCE, state="attached")
    page.select_option("#example", label="a deal in which both may offer: a bug")
    page.fill("#formulas", "AG EF ended")
    page.click("#check")
    page.wait_for_selector("tr:has-text('AG EF ended') td.FAILS", timeout=PATIENCE)
    page.wait_for_selector("#state:has-text('Done.')", timeout=PATIENCE)
    with page.expect_download() as download:
        page.click("#project")
    with zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())) as archive:
        assert {"protocol/tables/deal.toml", "protocol/test_protocol.py"} <= set(archive.namelist())
    page.fill("#text", page.input_value("#text").replace("receive", "recieve"))
    page.click("#check")
    page.wait_for_selector("#fault:has-text('unknown key recieve')", timeout=PATIENCE)
    page.click("#link")
    page.wait_for_selector("#state:has-text('The address carries')", timeout=PATIENCE)
    carried = page.url
    context.set_offline(False)
    other = context.new_page()
    other.goto(carried)
    other.wait_for_selector("#fault:has-text('unknown key recieve')", timeout=PATIENCE)
    assert other.input_value("#channel") == "fifo:1"
    other.evaluate("location.hash = 'bm8'")  # another link, in the same tab: it is no table
    other.wait_for_selector("#fault:has-text('This link is cut')", timeout=PATIENCE)
    assert faults == []


@pytest.mark.parametrize("text", ("null", "{}", '{"files": {"a.toml": 1}, "channel": "x"}', "[]"))
def test_a_link_that_has_no_tables_is_refused(address: str, browser: Any, text: str) -> None:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(text.encode()) + packer.flush()
    page = browser.new_page()
    page.goto(f"{address}#{base64.urlsafe_b64encode(packed).decode().rstrip('=')}")
    page.wait_for_selector("#fault:has-text('This link is cut')", timeout=PATIENCE)
    assert page.input_value("#text") != ""
    page.close()


STOPS = """
new MutationObserver(() => {
  const stop = document.getElementById("stop");
  const { dataset } = document.documentElement;
  if (stop && !stop.hidden && !dataset.stopped) {
    dataset.stopped = "once";
    stop.click();
  }
}).observe(document, { subtree: true, attributes: true });
"""  # at once: the check may be over before a test that looks now and then has seen it


def test_what_was_stopped_is_not_begun_again(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.add_init_script(STOPS)
    page.goto(address)
    page.wait_for_selector("html[data-stopped]", timeout=PATIENCE)
    page.wait_for_selector("#state:has-text('Ready.')", timeout=PATIENCE)
    page.evaluate("new Promise((done) => setTimeout(done, 2000))")  # its other timers come before
    assert page.inner_text("#state") == "Ready."
    assert page.is_hidden("#verdicts")
    page.close()


def test_the_examples_are_files_of_the_repository(folder: Path) -> None:
    examples = json.loads((folder / "examples.json").read_text("utf-8"))
    assert len(examples) == 8
    assert all(example["files"] for example in examples)
