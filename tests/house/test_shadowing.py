"""Files and distributions of others that have the names of our packages beside `pxp_fsm`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CHECKS = "print(*(one.status for one in pxp.check('pxp', 'EF ended')))"

LATER = ["pxp.check('pxp')", "pxp.run"]


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A script of its own in `folder`, as `python script.py` runs it."""
    (folder / "script.py").write_text(code, "utf-8")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "script.py"],
        capture_output=True, text=True, check=False, cwd=folder, env=environ,
    )  # fmt: skip


def a_distribution(folder: Path, package: str, *modules: str) -> None:
    """A package of somebody else's, found before ours."""
    (folder / package).mkdir()
    (folder / package / "__init__.py").write_text("theirs = True\n", "utf-8")
    for name in modules:
        (folder / package / f"{name}.py").write_text("theirs = True\n", "utf-8")


@pytest.mark.deep
@pytest.mark.parametrize("package", ["guards", "proofs", "backends"])
def test_a_file_beside_the_script_does_not_stop_ours(package: str, tmp_path: Path) -> None:
    (tmp_path / f"{package}.py").write_text("raise SystemExit('it was run')\n", "utf-8")
    done = python(tmp_path, f"import pxp_fsm as pxp\n{CHECKS}\npxp.guards.Exact, pxp.run\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "HOLDS\n"
    assert done.stderr.count("shadows") == 1
    assert f"{tmp_path / package}.py shadows pxp-fsm's package '{package}', so" in done.stderr
    assert "script.py:2: UserWarning" in done.stderr
    assert "rename that file or folder" in done.stderr


@pytest.mark.parametrize("package", ["guards", pytest.param("proofs", marks=pytest.mark.deep)])
def test_a_program_keeps_its_own_file_beside_ours(package: str, tmp_path: Path) -> None:
    (tmp_path / f"{package}.py").write_text("def mine():\n    return 'mine'\n", "utf-8")
    code = (
        f"import {package}\nimport pxp_fsm as pxp\n{CHECKS}\n"
        f"print(pxp.guards.Exact.__name__, pxp.proofs.prove.__name__, {package}.mine())\n"
    )
    done = python(tmp_path, code)
    assert done.stdout == "HOLDS\nExact prove mine\n", done.stderr
    assert f"pxp-fsm's names are in `pxp.{package}` alone" in done.stderr


@pytest.mark.deep
def test_a_foreign_package_is_used_beside_ours(tmp_path: Path) -> None:
    a_distribution(tmp_path, "proofs", "trees")
    code = (
        "import proofs.trees\nimport pxp_fsm as pxp\n" + CHECKS + "\nprint(proofs.trees.theirs)\n"
    )
    done = python(tmp_path, code)
    assert done.stdout == "HOLDS\nTrue\n", done.stderr
    assert "shadows pxp-fsm's package 'proofs'" in done.stderr


@pytest.mark.parametrize(
    "code", ["pxp.proofs.prove", *(pytest.param(c, marks=pytest.mark.deep) for c in LATER)]
)
def test_a_foreign_module_of_the_name_of_ours_is_one_sentence(code: str, tmp_path: Path) -> None:
    a_distribution(tmp_path, "proofs", "core", "logic")
    done = python(tmp_path, f"import proofs.core\nimport pxp_fsm as pxp\n{code}\n")
    assert done.returncode == 1
    (last,) = done.stderr.splitlines()[-1:]
    assert last == (
        f"ModuleNotFoundError: {tmp_path / 'proofs' / '__init__.py'} shadows pxp-fsm's package "
        "'proofs', so pxp-fsm cannot use its own core, logic; rename that file or folder, or "
        "uninstall its distribution"
    )


def test_a_name_that_our_module_would_take_from_theirs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "guards.py").write_text("text = ['mine']\n", "utf-8")
    code = (
        "import guards\nimport pxp_fsm as pxp\n"
        "try:\n    pxp.exact\nfinally:\n    print(guards.text)\n"
    )
    done = python(tmp_path, code)
    assert done.stdout == "['mine']\n"
    assert "pxp-fsm cannot use its own text" in done.stderr


@pytest.mark.deep
def test_the_command_warns_and_goes_on(tmp_path: Path) -> None:
    a_distribution(tmp_path, "proofs", "core")
    done = subprocess.run(
        [sys.executable, "-m", "pxp_fsm", "check", "pxp", "--formula", "EF ended"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"Warning: {tmp_path / 'proofs' / '__init__.py'} shadows")
    assert "HOLDS" in done.stdout


@pytest.mark.deep
def test_a_package_that_was_written_over_is_named(tmp_path: Path) -> None:
    home = tmp_path / "site"
    for package in ("pxp_fsm", "guards", "backends", "proofs"):
        shutil.copytree(ROOT / package, home / package)
    (home / "proofs" / "__init__.py").write_text("theirs = True\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "import pxp_fsm as pxp; list(pxp.check('pxp')); pxp.proofs.prove"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(home)},
    )  # fmt: skip
    assert "proofs/__init__.py was replaced by another distribution's" in done.stderr
    assert "pip install --force-reinstall --no-deps pxp-fsm" in done.stderr
