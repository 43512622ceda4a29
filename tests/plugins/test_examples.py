"""The examples run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_examples_run(tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    scripts = sorted(examples.glob("*.py"))
    assert len(scripts) >= 3
    for script in scripts:
        done = subprocess.run(
            [sys.executable, script],
            cwd=tmp_path,
            input='{"do": "reset"}\n',  # for the one that is asked line by line
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
