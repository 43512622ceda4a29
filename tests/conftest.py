"""What tests of several rooms need: a task of their own, and a server that speaks for models."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.command_line import INSTALLED, PLACES

LOCAL = Path(__file__).parents[1] / "node_modules" / ".bin" / "llmock"


@pytest.fixture(scope="package", autouse=True)
def _installed() -> Iterator[None]:
    """The task `animals` is there, in this process and in those that tests start.

    The code blocks of the documentation run without it: they show what a reader has.
    """
    found = os.pathsep.join(filter(None, (PLACES, os.environ.get("PYTHONPATH"))))
    with (
        patch.object(sys, "path", [str(INSTALLED), *sys.path]),
        patch.dict(os.environ, {"PYTHONPATH": found}),
    ):
        yield


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def llmock() -> Iterator[Callable[[Path], str]]:
    """Start `llmock` of the npm package @copilotkit/aimock with a file; its address.

    It is looked for in `node_modules` and on the path; without it a test is skipped.
    """
    command = str(LOCAL) if LOCAL.is_file() else shutil.which("llmock")
    running: list[subprocess.Popen[bytes]] = []

    def started(fixtures: Path) -> str:
        if command is None or shutil.which("node") is None:
            pytest.skip("llmock is not here: npm install --no-save @copilotkit/aimock")
        port = _free_port()
        arguments = ["-p", str(port), "-f", str(fixtures), "--log-level", "silent"]
        running.append(
            subprocess.Popen(
                [command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                with urlopen(f"{address}/__aimock/journal", timeout=5):  # noqa: S310 - our own
                    return address
            except URLError:
                time.sleep(0.1)
        pytest.fail("llmock did not start")

    yield started
    for process in running:
        process.terminate()
        process.wait()
