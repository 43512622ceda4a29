"""The core alone: a copy of the packages without plug-ins does all that a system file needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("pxp_fsm", "guards", "backends", "proofs")
BESIDE = (
    "conftest.py",
    "pyproject.toml",
    "benchmarks",
    "CITATION.cff",
    *(path.name for path in ROOT.glob("*.md")),
)
OWN = [
    f"tests/{room}"
    for room in ("analysis", "automata", "diagrams", "guards", "prompting", "proofs", "sessions")
]
"""Tests that are run without plug-ins."""
NEVER = shutil.ignore_patterns("plugins", "frontend", "__pycache__")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and the examples, and no plug-in."""
    folder = tmp_path_factory.mktemp("core")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=NEVER)
    for beside in ("docs", "examples"):
        (folder / beside).symlink_to(ROOT / beside)
    return folder


def python(core: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=core,
        env={**os.environ, "PYTHONPATH": str(core)},
        capture_output=True,
        text=True,
        check=False,
    )


def pxp(core: Path, *arguments: str) -> str:
    done = python(core, "-m", "pxp_fsm", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_system_file_is_checked_run_drawn_reported_and_verified(core: Path) -> None:
    system = "examples/own_protocol/bargain.toml"
    assert ", 0 not as expected" in pxp(core, "check", system)
    who = [part for name in ("buyer", "seller") for part in ("--respondent", f"{name}=random")]
    pxp(core, "run", system, *who, "--sessions", "2", "--output", "out")
    pxp(core, "draw", system, "-o", "bargain.svg")
    assert "sequenceDiagram" not in (core / "bargain.svg").read_text("utf-8")
    assert "2 sessions" in pxp(core, "list", "runs", "--database", "out/blackboard.sqlite")
    pxp(core, "report", "out/blackboard.sqlite", "--output", "report.html")
    assert "Nothing was changed." in pxp(core, "verify", "out/blackboard.sqlite")
    assert "lan" not in pxp(core, "--help").split()


def test_the_explorer_answers(core: Path) -> None:
    code = """
from starlette.testclient import TestClient
from pxp_fsm.web import subject_in
from pxp_fsm.web.server import application
if __name__ == "__main__":
    with TestClient(application(subject_in(["interact"], None))) as client:
        print(client.get("/api/system").status_code, client.get("/").status_code)
"""
    (core / "page.py").write_text(code)
    done = python(core, "page.py")
    assert done.stdout == "200 200\n", done.stderr


def test_a_plug_in_is_asked_for_in_vain_with_a_sentence(core: Path) -> None:
    done = python(core, "-c", "import pxp_fsm as pxp; pxp.networks")
    assert "module 'pxp_fsm' has no attribute 'networks'" in done.stderr
    done = python(core, "-m", "pxp_fsm", "run", "drug")
    assert (done.returncode, "there is no task 'drug'" in done.stderr) == (2, True)
    done = python(core, "-m", "pxp_fsm", "export", "pxp", "interact", "--format", "toml")
    assert "toml holds one table; export one at a time" in done.stderr
    done = python(core, "-m", "pxp_fsm", "export", "pxp", "-o", "x.toml", "--formula", "F ended")
    assert "require a format of another model checker, which only a plug-in adds" in done.stderr


@pytest.mark.deep
def test_the_core_passes_tests_of_its_own(core: Path) -> None:
    ignored = shutil.ignore_patterns("plugins", "deep", "__pycache__")
    shutil.copytree(ROOT / "tests", core / "tests", ignore=ignored)
    for name in BESIDE:
        (core / name).symlink_to(ROOT / name)
    done = python(core, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *OWN)
    assert done.returncode == 0, done.stdout[-6000:]
