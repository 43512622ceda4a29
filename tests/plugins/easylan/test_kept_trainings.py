"""Trainings ask, do and write what they did: runs, steps, strategies, the log.

Written anew by `python -m tests.plugins.easylan.kept_trainings`.
"""

from __future__ import annotations

import json

import pytest

from tests.plugins.easylan.kept_trainings import RECORDS, SEEDS, record
from tests.sampling import sampled

KEPT = json.loads(RECORDS.read_text("utf-8"))


@pytest.mark.parametrize("seed", sampled(SEEDS, 5))
def test_a_training_does_what_it_did(seed: int) -> None:
    assert record(seed) == KEPT[str(seed)]


def test_every_strategy_is_taken() -> None:
    taken = {row.split()[1] for kept in KEPT.values() for row in kept["rows"]}
    assert {"ADD_AGENT", "KEEP_OFF", "TURN_ON", "ADD_KNOWLEDGE", "SPLIT", "ADD_INPUTS"} <= taken
    assert {"COMMIT", "RECORD", "RESTART", "REPEAT", "GIVE_UP", "RUN_AGAIN", "SKIP"} <= taken
