"""The wheel, installed in a clean environment, works from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.deep


def test_the_wheel_installs_and_runs_elsewhere(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "pxp_fsm",
        "guards",
        "backends",
        "proofs",
    }
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, *pip[1:], "install", "-q", f"{wheel}[drug]"], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = partial(subprocess.run, cwd=elsewhere, env=clean)
    pxp = home / "bin" / "pxp"
    run([pxp, "run", "drug", "--instances", "2"], check=True)
    run([pxp, "draw", "drug-1/1/1", "-o", "s.svg"], check=True)
    assert (elsewhere / "s.svg").stat().st_size > 1000
    tests = [python, "-c", "import tests"]
    assert run(tests, check=False, capture_output=True).returncode != 0
