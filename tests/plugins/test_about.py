"""`pxp list`, `pxp help`, `pxp doctor` with all plug-ins: what there is, with meanings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.test_about import ROOT, listed
from tests.command_line import pxp, pxp_apart

EXTRAS = ("numpy", "rdkit", "PIL", "scipy", "skimage", "cryptography", "jinja2")


@pytest.mark.deep
def test_without_any_extra_tasks_are_listed_and_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    code = f"import sys\nsys.modules.update(dict.fromkeys({EXTRAS}))"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "sitecustomize.py").write_text(code, "utf-8")
    (tmp_path / "empty").mkdir()
    path = os.pathsep.join((str(tmp_path / "bare"), str(ROOT)))
    commands = ("list tasks", "check pxp", "run drug", "run rad")
    done = pxp_apart(*commands, cwd=tmp_path / "empty", path=path)
    assert [code for code, _out, _err in done] == [0, 0, 2, 2]
    for (_code, _out, told), extra in zip(done[2:], ("drug", "rad"), strict=True):
        assert f"pip install 'pxp-fsm[{extra}]'" in told
        assert "Traceback" not in told
    assert not list((tmp_path / "empty").iterdir())


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run dragon", "drug (retrosynthesis of drug molecules), labels (labels of your own"),
        ("language srtong", "strong:human (human: sent at least one tag, and only RATIFY"),
    ],
)
def test_names_in_errors_come_with_meanings(command: str, says: str, tmp_path: Path) -> None:
    done = pxp(*command.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


def test_all_tasks_are_listed(tmp_path: Path) -> None:
    assert {"animals", "drug", "labels", "rad"} == {
        row["name"] for row in listed("tasks", tmp_path)
    }
