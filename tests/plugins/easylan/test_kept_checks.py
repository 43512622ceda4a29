"""`pxp check` of the tables of networks answers as it did."""

from __future__ import annotations

import json

import pytest

from tests import kept_checks


@pytest.mark.parametrize(
    "arguments",
    [
        *kept_checks.OF_NETWORKS,
        *(pytest.param(slow, marks=pytest.mark.deep) for slow in kept_checks.SLOW_OF_NETWORKS),
    ],
    ids=" ".join,
)
def test_a_check_answers_as_it_did(arguments: list[str]) -> None:
    kept = json.loads(kept_checks.RECORDS.read_text("utf-8"))
    assert kept_checks.record(arguments) == kept[" ".join(arguments)]


def test_what_is_printed_is_what_was_printed() -> None:
    printed = (kept_checks.FOLDER / "network.txt").read_text("utf-8")
    assert kept_checks.text(kept_checks.TEXTS["network"]) == printed
