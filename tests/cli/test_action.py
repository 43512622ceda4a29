"""The action of the repository: its steps are run in a shell, as a runner would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml: Any = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "check" / "action.yml"
WORKFLOW = ROOT / ".github" / "workflows" / "tables.yml"

pytestmark = pytest.mark.skipif(not ACTION.is_file(), reason="a distribution has no action")


def action() -> Any:
    return yaml.safe_load(ACTION.read_text("utf-8"))


def test_inputs_are_never_part_of_a_script() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_example_gives_what_the_action_takes() -> None:
    steps = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["check"]["steps"]
    [used] = [step for step in steps if step["uses"] == "./.github/actions/check"]
    assert used["with"].keys() <= action()["inputs"].keys()
    assert (ROOT / used["with"]["what"]).is_file()


class Run:
    """A run of the action in `folder`; what its steps print, and their outputs."""

    def __init__(self, folder: Path, **given: str) -> None:
        said = action()
        self.values = {
            f"inputs.{name}": given.get(name, one.get("default", ""))
            for name, one in said["inputs"].items()
        }
        self.values["github.action_path"] = str(ACTION.parent)
        (folder / "bin").mkdir()
        pxp = folder / "bin" / "pxp"
        pxp.write_text(f'#!/bin/sh\nexec {sys.executable} -m pxp_fsm "$@"\n', "utf-8")
        pxp.chmod(0o755)
        self.codes: dict[str, int] = {}
        self.printed = ""
        for step in said["runs"]["steps"]:
            if "run" in step:
                self.step(step, folder)

    def step(self, step: Any, folder: Path) -> None:
        output = folder / "output"
        output.write_text("", "utf-8")
        environment = {name: self.filled(text) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=folder,
            env=os.environ
            | environment
            | {
                "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "GITHUB_OUTPUT": str(output),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        self.codes[step["name"]] = done.returncode
        self.printed += done.stdout + done.stderr
        for line in output.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: self.values.get(found[1], ""), text)


@pytest.mark.deep
def test_a_table_that_holds_is_checked_and_drawn(tmp_path: Path) -> None:
    table = tmp_path / "asking.toml"
    table.write_text((ROOT / "examples" / "asking.toml").read_text("utf-8"), "utf-8")
    run = Run(tmp_path, what="asking.toml", formulas="EF ended\n\n", install="")
    assert set(run.codes.values()) == {0}, run.printed
    assert run.values["steps.check.outputs.code"] == "0"
    assert (tmp_path / run.values["steps.draw.outputs.drawing"]).read_text("utf-8").startswith("<")
    results = json.loads((tmp_path / "pxp.sarif").read_text("utf-8"))["runs"][0]["results"]
    [place] = results[0]["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "asking.toml"}


@pytest.mark.deep
def test_what_fails_fails_the_run_and_nothing_written_in_it_is_run(tmp_path: Path) -> None:
    hostile = "EF ended\n$(touch owned)\n`touch owned`"
    run = Run(tmp_path, what="interact", formulas=hostile, install="")
    assert run.codes["Verdict"] == 2
    assert "cannot be read at character" in run.printed
    assert not (tmp_path / "owned").exists()
    (tmp_path / "again").mkdir()
    run = Run(tmp_path / "again", what="pxp", formulas="F ended", install="")
    assert run.codes == {"Install": 0, "Check": 0, "Draw": 0, "Verdict": 1}
    results = json.loads((tmp_path / "again" / "pxp.sarif").read_text("utf-8"))
    assert results["runs"][0]["results"][0]["level"] == "error"
