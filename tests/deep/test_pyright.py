"""Pyright, the second type checker, on the examples, the blocks of README and the public types.

`mypy --strict` checks the same files with all others.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "tests" / "house"


def pyright(*files: Path) -> subprocess.CompletedProcess[str]:
    """What Pyright says of files; it is looked for in `node_modules` and on the path."""
    found = shutil.which("pyright", path=str(ROOT / "node_modules" / ".bin")) or shutil.which(
        "pyright"
    )
    if found is None:
        pytest.skip("Pyright is not installed (npm install pyright)")
    command = [found, "--pythonpath", sys.executable, "--level", "error", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_examples_and_readme_have_no_error_of_types() -> None:
    files = [*ROOT.glob("examples/**/*.py"), HOUSE / "readme.py", HOUSE / "test_public_types.py"]
    done = pyright(*files)
    assert done.returncode == 0, done.stdout


def test_a_wrong_type_is_an_error(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import pxp_fsm as pxp\n\nstates: int = pxp.load_automaton("pxp")\n', "utf-8")
    done = pyright(wrong)
    assert done.returncode == 1, done.stdout
    assert '"Automaton" is not assignable to "int"' in done.stdout
