"""The explorer: how long a step takes, on the server and in a browser, and how large pages are.

Systems are those of `bench_systems.py`. A step on the server is a request answered by the
application, without the network; in a browser it is what the page's thread computes.
"""

from __future__ import annotations

import gzip
import random
import runpy
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.web import checks, verdicts
from pxp_fsm.web.bundles import static
from pxp_fsm.web.editing import Editor
from pxp_fsm.web.explorer import explorer_pages
from pxp_fsm.web.files import explorer_file
from pxp_fsm.web.guard import Access
from pxp_fsm.web.pages import application
from pxp_fsm.web.subjects import SystemSubject, subject_in, subject_of
from pxp_fsm.web.views import Views

ROOT = Path(__file__).parents[1]
SYSTEMS = runpy.run_path(str(ROOT / "benchmarks" / "bench_systems.py"))
BROWSERS = runpy.run_path(str(ROOT / "tests" / "web" / "browsers.py"))

SIZES = {"10,000": (5, 4), "100,000": (6, 4)}
"""Agents and capacity, by the number of states."""

STEPS = 300


WALK = """async (steps) => {
  for (let step = 0; step < steps; step += 1) {
    const drawn = new Promise((resolve) => {
      const observer = new MutationObserver(() => { observer.disconnect(); resolve(); });
      observer.observe(document.querySelector(".chart"), { subtree: true, childList: true });
    });
    document.querySelector(".move").click();
    await drawn;
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }
}"""
"""Steps, each until it is painted; frames that are asked for meanwhile would be counted."""


def of_server(subject: SystemSubject) -> list[float]:
    """CPU milliseconds of each step of a random walk."""
    access = Access(8000)
    headers = {"authorization": f"Bearer {access.token}"}
    app = application(access, explorer_pages(subject))
    client = TestClient(app, base_url=access.address, headers=headers)
    chance, choices, milliseconds = random.Random(1), list[int](), list[float]()
    (state,) = client.post("/api/trace", json={"choices": []}).json()
    for _ in range(STEPS):
        choices.append(chance.randrange(len(state["moves"])))
        began = time.process_time()
        answer = client.post("/api/trace", json={"choices": choices, "start": len(choices)})
        milliseconds.append((time.process_time() - began) * 1000)
        (state,) = answer.json()
    return milliseconds


def of_edits() -> float:
    """CPU milliseconds from a new text of PXP's table to what the page draws, in the median."""
    with tempfile.TemporaryDirectory() as folder:
        path, milliseconds = Path(folder, "my.toml"), list[float]()
        text = to_toml(load_automaton("pxp"))
        path.write_text(text, "utf-8")
        editor = Editor((str(path),), "fifo:1")
        for number in range(20):
            began = time.process_time()
            editor.edit(0, text.replace("REFUTE", f"DOUBT{number}"))
            Views(editor.subject.system()).system()
            milliseconds.append((time.process_time() - began) * 1000)
    return statistics.median(milliseconds)


def of_checks() -> tuple[float, float]:
    """CPU seconds of PXP's standard checks, and of INTERACT's claims without one assumption."""
    began = time.process_time()
    list(verdicts.standard_results(subject_in(("pxp",), "fifo:1")))
    standard, most = time.process_time() - began, 0.0
    for assumption in Assumption:
        began = time.process_time()
        interact = subject_in(("machine=interact", "human=interact"), None)
        list(checks.claim_results(interact, frozenset(Assumption) - {assumption}))
        most = max(most, time.process_time() - began)
    return standard, most


def of_page(browser: Any, page: str) -> tuple[float, float]:
    """CPU milliseconds of the page's thread until a page can be used, and of a step in it."""
    with BROWSERS["opened"](browser, "about:blank", wait=False) as shown:
        devtools = shown.context.new_cdp_session(shown)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent() -> float:
            metrics = devtools.send("Performance.getMetrics")["metrics"]
            values = {metric["name"]: float(metric["value"]) for metric in metrics}
            return values["TaskDuration"] * 1000

        began = spent()
        shown.goto(page)
        shown.wait_for_selector("main:not(.loading)")
        usable = spent() - began
        began, steps = spent(), 50
        shown.evaluate(WALK, steps)
        return usable, (spent() - began) / steps


def main() -> None:
    """Print the table."""
    sizes = {
        name: len(static(name).encode()) for name in ("explorer.js", "explorer.css", "base.css")
    }
    packed = sum(len(gzip.compress(static(name).encode())) for name in sizes)
    print(f"page: {sum(sizes.values()) >> 10} kB, compressed {packed >> 10} kB")
    interact = explorer_file(subject_in(("interact",), None))
    print(f"file of INTERACT: {len(interact.encode()) >> 10} kB")
    print(f"an edit of PXP's table: {of_edits():.0f} ms (CPU) until it is drawn")
    standard, claims = of_checks()
    print(f"PXP's checks {standard:.1f} s, INTERACT's claims at most {claims:.1f} s (CPU)")
    for name, (agents, capacity) in SIZES.items():
        subject = subject_of(SYSTEMS["composition"](agents, capacity).system)
        steps = of_server(subject)
        median, most = statistics.median(steps), max(steps)
        print(f"{name} states: a step on the server {median:.1f} ms (CPU), at most {most:.1f} ms")
    subject = subject_of(SYSTEMS["composition"](*SIZES["100,000"]).system)
    began = time.process_time()
    text = explorer_file(subject)
    took = time.process_time() - began
    print(
        f"file of 20,000 read states: {len(text.encode()) >> 10} kB, written in {took:.1f} s (CPU)"
    )
    if BROWSERS["CHROMIUM"]:
        with tempfile.TemporaryDirectory() as folder, BROWSERS["chromium"]() as browser:
            page = Path(folder, "page.html")
            page.write_text(text, "utf-8")
            usable, step = of_page(browser, page.as_uri())
            print(f"the file in Chromium, CPU: usable after {usable:.0f} ms, a step {step:.1f} ms")
            with BROWSERS["served"]() as address:
                usable, step = of_page(browser, address)
            print(f"INTERACT in Chromium, CPU: usable after {usable:.0f} ms, a step {step:.1f} ms")


if __name__ == "__main__":
    main()
