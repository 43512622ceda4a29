"""The core's tests pass in the lowest versions that pyproject.toml allows, and in the latest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not UV.exists(), reason="uv is not installed"),
]

CORE = (
    "tests/protocol/test_intelligibility.py",
    "tests/sessions/test_live.py",
    "tests/backends/test_blackboard.py",
    "tests/diagrams/test_diagrams.py",
    "tests/proofs/test_logic.py",
    "tests/cli/test_cli.py",
)
"""Tests that together call most libraries of the base."""


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_core_works_in_versions_at_both_ends(resolution: str, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (
        [UV, "venv", "-q", "--python", sys.executable, tmp_path / "venv"],
        [
            UV,
            "pip",
            "install",
            "-q",
            "--python",
            python,
            "--resolution",
            resolution,
            "-e",
            ".[dev]",
        ],
    ):
        subprocess.run([*map(str, command)], check=True, cwd=ROOT, env=environment)
    # A warning of an old version about another is no fault of ours.
    # PostgreSQL runs as another user, who cannot enter the folder of a test.
    options = [
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        "-o",
        "filterwarnings=",
        "-k",
        "not postgresql",
    ]
    done = subprocess.run(
        [python, "-m", "pytest", *options, *CORE],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
