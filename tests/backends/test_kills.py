"""A run that is killed at any instant and resumed is as if it had not been killed."""

from __future__ import annotations

import os

import pytest

from tests.backends.killed_runs import kill

KILLS = int(os.environ.get("PXP_KILLS", "50"))
"""PXP_KILLS=500 in the environment for the long run."""


@pytest.mark.deep
@pytest.mark.parametrize(
    ("kills", "sessions"),
    [pytest.param(2, 3, id="2"), pytest.param(KILLS, 4, id="many", marks=pytest.mark.deep)],
)
def test_a_run_that_is_killed_again_and_again_is_as_if_it_had_not_been(
    database: str, kills: int, sessions: int
) -> None:
    assert kill(database, kills, 1, sessions) >= 1
