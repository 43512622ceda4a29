"""A browser on a page of a running server, or on a file; and pictures of every page.

`python -m tests.web.browsers FOLDER` writes a picture of each page, in both themes and on a phone;
with `studio` after it, those of the studio's documentation.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from shutil import which
from typing import Any, Literal

import pytest

from tests import waiting
from tests.command_line import PLACES

ROOT = Path(__file__).parents[2]
CHROMIUM = which("chromium") or which("chromium-browser") or ""
FRONTEND = ROOT / "pxp_fsm" / "web" / "frontend"
AXE = FRONTEND / "node_modules" / "axe-core" / "axe.min.js"

PATIENCE = 1000 * waiting.PATIENCE
"""The milliseconds after which a page does not come to what a test waits for: no test is timed."""

Theme = Literal["light", "dark"]

_LATE = """
(() => {
  const most = 1000 * %f, ask = window.fetch, Socket = window.WebSocket;
  const later = () => new Promise((done) => setTimeout(done, most * (0.5 + Math.random() / 2)));
  window.begun = [];
  window.fetch = async (path, given) => {
    if (given?.keepalive) return ask(path, given);
    window.begun.push(path);
    await later();
    const found = await ask(path, given);
    await later();
    return found;
  };
  window.sockets = [];
  window.WebSocket = class extends Socket {
    constructor(address) {
      super(address);
      window.sockets.push(this);
    }
    set onmessage(tell) {
      let before = Promise.resolve();
      super.onmessage = (event) => {
        const due = later();
        before = before.then(() => due).then(() => tell(event));
      };
    }
  };
})();
"""
"""Requests and replies come late and overtake each other; news come late, in their order.

`sockets` are the page's WebSockets, to be cut, or to be told more; `begun` are the requests' paths.
"""


def require_browser() -> None:
    """Skip a test where there is no browser to run it in."""
    if not CHROMIUM:
        pytest.skip("there is no Chromium: apt-get install chromium")


@contextmanager
def served(*arguments: str, cwd: Path = ROOT) -> Iterator[str]:
    """The address of a server that `pxp serve` has started; it is ended by Ctrl-C."""
    with server("serve", *arguments, cwd=cwd) as (address, _process):
        yield address


@contextmanager
def server(*arguments: str, cwd: Path = ROOT) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a server that a command has started, and its process; Ctrl-C ends it."""
    command = [sys.executable, "-m", "pxp_fsm.cli", *arguments, "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": PLACES, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=cwd, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0], process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE / 1000)
            finally:
                process.kill()


def expect(what: Any) -> Any:
    """Playwright's assertions on a page or a locator; they wait until they hold."""
    from playwright.sync_api import expect as assertions

    return assertions(what)


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium, without a sandbox, since tests run as root in a container."""
    from playwright.sync_api import expect as assertions
    from playwright.sync_api import sync_playwright

    assertions.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Any,
    address: str,
    *,
    theme: Theme = "light",
    size: tuple[int, int] = (1440, 950),
    offline: bool = False,
    calm: bool = True,
    wait: bool = True,
    lenient: bool = False,
    late: float = 0.0,
) -> Iterator[Any]:
    """A page; it fails a test by any error in its console, and any request to another host.

    If `lenient`, requests to a server that is away, or by a link that has ended, are no error. Each
    request, each reply and all news come up to so many seconds `late`, requests and replies in any
    order.
    """
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        reduced_motion="reduce" if calm else "no-preference",
        offline=offline,
        permissions=["clipboard-read", "clipboard-write"],
    )
    if late:
        context.add_init_script(_LATE % late)
    errors = list[str]()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda said: _note_error(said, errors, lenient))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda one: _note_foreign(one.url, errors))
    try:
        page.goto(address)
        if wait:
            page.wait_for_selector("main:not(.loading)")
        yield page
        assert errors == []
    finally:
        context.close()


def _note_error(said: Any, errors: list[str], lenient: bool) -> None:
    """A request that is refused with a reason is shown on the page, and is no error of it."""
    expected = (
        "status of 422",
        "status of 409",
        *(("ERR_", "of 403", "of 503") if lenient else ()),
    )
    if said.type == "error" and not any(one in said.text for one in expected):
        errors.append(f"{said.text} {said.location['url']}")


def _note_foreign(url: str, errors: list[str]) -> None:
    if not re.match(
        r"(about:|http://127\.0\.0\.1:\d+/|ws://127\.0\.0\.1:\d+/|file:///|data:|blob:)", url
    ):
        errors.append(f"a request to {url}")


def pictures(folder: Path) -> list[Path]:
    """A picture of each page, in both themes and on a phone."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list[Path]()
    subjects: dict[str, tuple[list[str], str]] = {
        "interact": ([], "#t=0.2.1&f=G%20(ended%20-%3E%20event.CLOSE)"),
        "deadlock": (["pxp", "--channel", "fifo:1"], "#t=0.1"),
        "debate": ([str(ROOT / "examples" / "debate" / "debate.toml")], "#t=0"),
        "editing": (["--edit", str(ROOT / "examples" / "debate" / "debate.toml")], "#t=0"),
    }
    with chromium() as browser:
        for name, (arguments, trace) in subjects.items():
            with served(*arguments) as address:
                looks: list[tuple[Theme, tuple[int, int]]] = [
                    ("light", (1440, 950)),
                    ("dark", (1440, 950)),
                    ("light", (390, 844)),
                ]
                for theme, size in looks:
                    with opened(browser, address + trace, theme=theme, size=size) as page:
                        page.wait_for_selector("text=checking", state="detached")
                        page.wait_for_timeout(600)
                        path = folder / f"{name}-{theme}-{size[0]}.png"
                        page.screenshot(path=str(path), full_page=size[0] < 500)
                        found.append(path)
    return found


def studio_pictures(folder: Path) -> list[Path]:
    """The paper's worked example in the studio: a step, the network after each example, the end."""
    folder.mkdir(parents=True, exist_ok=True)
    french = ROOT / "examples" / "lan_french"
    names = ("studio_step.png", "studio_network.png", "studio_training.png")
    step, end, training = (folder / name for name in names)
    frames = list[str]()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "french.lan.json"
        new = ("lan", "new", "Translate a French sentence into English", "--agent", "Translator")
        command = [sys.executable, "-m", "pxp_fsm.cli", *new, "-o", str(path)]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        given = str(french / "examples.jsonl")
        model = ("--machine", f"script:{french / 'script.toml'}")
        with (
            server("serve", str(path), *given, *model) as (address, _process),
            chromium() as browser,
            opened(browser, address, size=(1280, 900)) as page,
        ):
            page.locator('[data-agent="Translator"]').click()
            page.get_by_role("button", name="Train on the 7 left").click()
            page.get_by_role("button", name="Not yet").click()
            page.get_by_role("button", name="Confirm").click()
            page.get_by_text("poor_performance_of_agent").first.wait_for()
            page.screenshot(path=str(step), full_page=True)
            while not page.get_by_text("Handled: 7 of 7.").count():
                _carry_on(page, frames)
            page.locator('[data-agent="Rhyming Polisher"]').click()
            page.screenshot(path=str(end), full_page=True)
            with opened(browser, "about:blank", size=(1000, 900), wait=False) as sheet:
                sheet.set_content(FRAMES + "".join(frames))
                sheet.screenshot(path=str(training), full_page=True)
    return [step, end, training]


FRAMES = """<style>
body { margin: 0; padding: 16px; display: grid; grid-template-columns: 1fr 1fr; gap: 16px;
  font: 15px/1.35 "DejaVu Sans", sans-serif; }
figure { margin: 0; border: 1px solid #ccd; border-radius: 6px; padding: 10px; }
img { display: block; max-width: 100%; max-height: 150px; margin: 0 auto;
  clip-path: inset(4px 0 0); }
i { color: #556; }
</style>"""


def _frame(page: Any, number: int, output: str) -> str:
    """The network as it is shown, with the example in training, as markup."""
    diagram = b64encode(page.locator(".canvas svg").screenshot()).decode()
    given = page.locator(".example-list li .what span").first.inner_text()
    said = f"{number}. <i>{escape(given)}</i><br>{escape(output)}"
    image = f'<img src="data:image/png;base64,{diagram}">'
    return f"<figure>{image}<figcaption>{said}</figcaption></figure>"


def _carry_on(page: Any, frames: list[str]) -> None:
    """Confirm whatever is proposed, and be satisfied where the output is the one asked for.

    `frames` are the network of each example whose output was.
    """
    shown = page.evaluate(
        """() => ({
          judge: document.querySelector('.judge textarea')?.value,
          output: document.querySelector('[data-output]')?.innerText,
          review: Boolean(document.querySelector('#editor')),
        })"""
    )
    if shown["judge"] is not None:
        good = shown["judge"] == shown["output"]
        if good:
            frames.append(_frame(page, len(frames) + 1, shown["output"]))
        page.get_by_role("button", name="Satisfied" if good else "Not yet").click()
    elif shown["review"]:
        page.get_by_role("button", name="Confirm").click()
    page.wait_for_timeout(300)


if __name__ == "__main__":
    wanted = studio_pictures if "studio" in sys.argv[2:] else pictures
    for picture in wanted(Path(sys.argv[1])):
        print(picture)
