"""The core alone: a copy of the packages without plug-ins does all that a system file needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import pxp_apart
from tests.sampling import WHOLE

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
    f"tests/{folder.name}"
    for folder in sorted((ROOT / "tests").iterdir())
    if (folder / "__init__.py").is_file() and folder.name not in ("deep", "house", "plugins")
]
"""Tests that are run without plug-ins: all of the core."""
A_SIXTH = """
def pytest_collection_modifyitems(items):
    items[:] = items[::6]
"""
NEVER = shutil.ignore_patterns("plugins", "frontend")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and the examples, and no plug-in."""
    folder = tmp_path_factory.mktemp("core")
    # With what is compiled, which counts for copies, too: they keep the time of their files.
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


def test_a_system_file_is_checked_run_drawn_reported_and_verified(core: Path) -> None:
    system = "examples/own_protocol/bargain.toml"
    who = "--set buyer.respondent=random --set seller.respondent=random"
    done = pxp_apart(
        f"check {system}",
        f"run {system} {who} --repetitions 2 --output out",
        f"draw {system} -o bargain.svg",
        "list runs --database out/blackboard.sqlite",
        "report out/blackboard.sqlite --output report.html",
        "verify out/blackboard.sqlite",
        "--help",
        cwd=core,
        path=str(core),
    )
    assert [code for code, _, _ in done] == [0] * len(done), done
    checked, _, _, listed, _, verified, helped = (out for _, out, _ in done)
    assert ", 0 not as expected" in checked
    assert "sequenceDiagram" not in (core / "bargain.svg").read_text("utf-8")
    assert "2 sessions" in listed
    assert "Nothing was changed." in verified
    assert "lan" not in helped.split()


@pytest.mark.deep
def test_the_explorer_answers(core: Path) -> None:
    code = """
from starlette.testclient import TestClient
from pxp_fsm.web import explorer_site, subject_in
from pxp_fsm.web.pages import application
if __name__ == "__main__":
    opening = explorer_site(subject_in(["interact"], None))(8000)
    app = application(opening.access, *opening.sets)
    headers = {"authorization": f"Bearer {opening.access.token}"}
    with TestClient(app, base_url="http://127.0.0.1:8000", headers=headers) as client:
        print(client.get("/api/system").status_code, client.get("/").status_code)
"""
    (core / "page.py").write_text(code)
    done = python(core, "page.py")
    assert done.stdout == "200 200\n", done.stderr


def test_a_plug_in_is_asked_for_in_vain_with_a_sentence(core: Path) -> None:
    asked = python(core, "-c", "import pxp_fsm as pxp; pxp.networks")
    assert "module 'pxp_fsm' has no attribute 'networks'" in asked.stderr
    done = pxp_apart(
        "run drug",
        "export pxp interact --format toml",
        "export pxp -o x.toml --formula 'F ended'",
        cwd=core,
        path=str(core),
    )
    assert [code for code, _, _ in done] == [2, 2, 2]
    task, tables, formula = (err for _, _, err in done)
    assert "'drug' is no file and no name that pxp list shows; tasks are: labels" in task
    assert "toml holds one table; export one at a time" in tables
    assert "require a format of another model checker, which only a plug-in adds" in formula


@pytest.mark.deep
def test_the_core_passes_tests_of_its_own(core: Path) -> None:
    ignored = shutil.ignore_patterns("plugins", "deep", "__pycache__")
    shutil.copytree(ROOT / "tests", core / "tests", ignore=ignored)
    for name in BESIDE:
        (core / name).symlink_to(ROOT / name)
    # Properties have the same examples beside plug-ins.
    chosen = ["-m", "not deep and not hypothesis", "-n", "2", "-p", "no:pxp"]
    if not WHOLE:
        (core / "a_sixth.py").write_text(A_SIXTH)
        chosen += ["-p", "a_sixth"]
    done = python(core, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *OWN)
    assert done.returncode == 0, done.stdout[-6000:]
