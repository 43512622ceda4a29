"""The example of a plug-in works through its entry point alone."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest

from pxp_fsm import registry
from pxp_fsm.web import subject_in
from tests.command_line import pxp_apart
from tests.web.explorers import client_of

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


def test_its_task_check_format_and_command_are_found(installed: Path) -> None:
    done = pxp_apart(
        "list tasks",
        "greet french",
        "check greetings",
        "export interact -o interact.phrases",
        "run greetings --output out",
        cwd=installed,
        path=os.pathsep.join([str(installed), str(EXAMPLE.parents[1])]),
    )
    assert [code for code, _, _ in done] == [0] * len(done), done
    listed, greeted, checked, _, ran = (out for _, out, _ in done)
    assert "greetings  in which language somebody greets" in listed
    assert greeted == "bonjour, salut\n"
    assert "one-language" in checked
    phrases = (installed / "interact.phrases").read_text("utf-8")
    assert phrases.startswith("How to speak interact\nin IDLE: ")
    assert "4 sessions" in ran


def test_its_page_is_served_with_the_explorer(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed)
    with client_of(subject_in(["interact"], None)) as client:
        page = client.get("/greetings/")
    assert (page.status_code, page.text.count("Hello, interact")) == (200, 1)
    for name in [name for name in sys.modules if name.partition(".")[0] == "greetings"]:
        monkeypatch.delitem(sys.modules, name)
