"""A run that is killed at any instant and resumed is as if it had not been killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends import killed_runs

KILLS = int(os.environ.get("PXP_KILLS", "50"))
"""PXP_KILLS=500 in the environment for the long run."""
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("kills", "sessions"),
    [pytest.param(2, 3, id="2"), pytest.param(KILLS, 4, id="many", marks=pytest.mark.deep)],
)
def test_a_run_that_is_killed_again_and_again_is_as_if_it_had_not_been(
    database: str, kills: int, sessions: int
) -> None:
    program = [sys.executable, "-m", killed_runs.__name__]
    command = [*program, database, str(kills), "1", str(sessions)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["killed"], found["differ"], found["problems"]) == (kills, [], [])
    assert found["runs"] >= 1
