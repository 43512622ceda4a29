"""The example of a plug-in works through its entry point alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pxp_fsm import registry
from pxp_fsm.web import subject_in
from pxp_fsm.web.server import application

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which the plug-in is installed as pip would: its package, and what names it."""
    (tmp_path / "greetings").symlink_to(EXAMPLE / "greetings")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    info = tmp_path / "pxp_greetings-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    lines = [f"{name} = {where}" for name, where in project["entry-points"][registry.GROUP].items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{registry.GROUP}]", *lines]))
    return tmp_path


def pxp(installed: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(installed), str(EXAMPLE.parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", "pxp_fsm", *arguments],
        cwd=installed,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_task_check_format_and_command_are_found(installed: Path) -> None:
    assert "greetings  in which language somebody greets" in pxp(installed, "list", "tasks")
    assert pxp(installed, "greet", "french") == "bonjour, salut\n"
    assert "one-language" in pxp(installed, "check", "greetings")
    pxp(installed, "export", "interact", "-o", "interact.phrases")
    phrases = (installed / "interact.phrases").read_text("utf-8")
    assert phrases.startswith("How to speak interact\nin IDLE: ")
    assert "4 sessions" in pxp(installed, "run", "greetings", "--output", "out")


def test_its_page_is_served_with_the_explorer(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed)
    with TestClient(application(subject_in(["interact"], None))) as client:
        page = client.get("/greetings/")
    assert (page.status_code, page.text.count("Hello, interact")) == (200, 1)
    for name in [name for name in sys.modules if name.partition(".")[0] == "greetings"]:
        monkeypatch.delitem(sys.modules, name)
