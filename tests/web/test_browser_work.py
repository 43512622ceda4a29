"""What the page that checks in a browser asks of Python; a link, from anybody, says of what."""

from __future__ import annotations

import io
import json
import os
import runpy
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pxp_fsm.web import subjects
from tests.web.test_subjects import ADDER, COUNTER, PAIR

ROOT = Path(__file__).parents[2]
DEAL = (ROOT / "examples" / "own_protocol" / "deal.toml").read_text("utf-8")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)  # and back, after the module has changed the folder
    path = ROOT / "docs" / "browser" / "work.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def _asked(files: dict[str, str], *formulas: str, channel: str = "fifo:1") -> str:
    return json.dumps({"files": files, "channel": channel, "formulas": formulas})


@pytest.mark.parametrize(
    "name",
    ("conftest.py", "../a.toml", "a b.toml", "$(id).toml", "a\nb.toml", ".pytest.toml", "", ".."),
)
def test_a_link_brings_tables_and_no_other_file(work: Any, name: str) -> None:
    system = '[[members]]\nname = "a"\ntable = "deal.toml"\n'
    asked = _asked({"a.toml": system, "deal.toml": DEAL, name: "import os"})
    assert "cannot be the name of a file here" in json.loads(work.check(asked))["fault"]
    for asks in (work.explore, work.project):
        with pytest.raises(work.UsageError, match="cannot be the name"):
            asks(asked)


def test_nothing_of_a_link_is_a_command_in_the_project(work: Any, tmp_path: Path) -> None:
    formula = "EF 'x' $(touch found) `touch found`"
    settings = '[pytest]\naddopts = "--no-such-option"\n'
    packed = work.project(_asked({"deal.toml": DEAL}, formula))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "protocol"
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "tables",
        "test_protocol.py",
    ]
    lines = (folder / "README.md").read_text("utf-8").splitlines()
    command = next(line for line in lines if "--formula" in line)
    assert shlex.split(command)[-1] == formula
    subprocess.run(["sh", "-c", f"set -- {command}"], cwd=folder, check=True)
    assert not (folder / "found").exists()
    (folder / "tables" / "pytest.toml").write_text(settings, "utf-8")  # is not read there
    test = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:pxp",
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        test, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_every_check_holds" in done.stdout


@pytest.mark.deep
def test_verdicts_are_by_the_parameters_of_a_system_that_is_too_large_to_be_shown(
    work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subjects, "MOST_SHOWN", 3)
    pair = f"{PAIR}[parameters]\nmost = 2\n"
    files = {"counter.toml": COUNTER, "adder.toml": ADDER, "pair.toml": pair}
    answer = json.loads(work.check(_asked(files, "G c.sum<=3", "G c.sum<=4", channel="")))
    statuses = {result["name"]: result["status"] for result in answer["results"]}
    assert (statuses["G c.sum<=3"], statuses["G c.sum<=4"]) == ("FAILS", "HOLDS")
