"""The browser of a file of tests: sync Playwright has a loop in its thread, so each has one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.web import explorer
from tests.web.browsers import FRONTEND, chromium, require_browser
from tests.web.explorers import NoChecks


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    require_browser()
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def packages() -> Path:
    """The frontend's packages, as its lock file says."""
    lock, installed = FRONTEND / "package-lock.json", FRONTEND / "node_modules/.package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        if shutil.which("npm") is None:
            pytest.skip("there is no npm")
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FRONTEND, check=True)
    return FRONTEND / "node_modules"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "Process", NoChecks)
