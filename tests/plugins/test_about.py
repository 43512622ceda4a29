"""`pxp list`, `pxp help`, `pxp doctor` with all plug-ins: what there is, with meanings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_about import ROOT, listed
from tests.command_line import pxp


@pytest.mark.parametrize(
    ("asked", "code"), [(["list", "tasks"], 0), (["run", "drug"], 2), (["run", "rad"], 2)]
)
def test_without_any_extra_tasks_are_listed_and_refused_in_words(
    asked: list[str], code: int, tmp_path: Path
) -> None:
    missing = ("numpy", "rdkit", "PIL", "scipy", "skimage", "cryptography", "jinja2")
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({missing})); "
        f"from pxp_fsm.cli.main import main; main({asked})"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environ,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code:
        assert f"pip install 'pxp-fsm[{asked[1]}]'" in done.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run dragon", "drug (retrosynthesis of drug molecules), rad (findings"),
        ("language srtong", "strong:human (human: sent at least one tag, and only RATIFY"),
    ],
)
def test_names_in_errors_come_with_meanings(command: str, says: str, tmp_path: Path) -> None:
    done = pxp(*command.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


def test_all_tasks_are_listed(tmp_path: Path) -> None:
    assert {"animals", "drug", "rad"} == {row["name"] for row in listed("tasks", tmp_path)}
