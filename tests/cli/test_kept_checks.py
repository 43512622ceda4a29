"""`pxp check` answers as it did: names, titles, verdicts, bounds, traces and what is printed."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests import kept_checks
from tests.sampling import sampled


@cache
def kept() -> dict[str, Any]:
    records: dict[str, Any] = json.loads(kept_checks.RECORDS.read_text("utf-8"))
    return records


@pytest.mark.parametrize(
    "arguments",
    [
        *sampled(kept_checks.QUICK, 4),
        *(pytest.param(slow, marks=pytest.mark.deep) for slow in kept_checks.SLOW),
    ],
    ids=" ".join,
)
def test_a_check_answers_as_it_did(arguments: list[str]) -> None:
    assert kept_checks.record(arguments) == kept()[" ".join(arguments)]


def test_every_recorded_check_is_compared() -> None:
    asked = [" ".join(one) for one in kept_checks.ALL]
    assert sorted(kept()) == sorted(asked)


@pytest.mark.parametrize("name", sampled(sorted(kept_checks.TEXTS.keys() - {"network"}), 2))
def test_what_is_printed_is_what_was_printed(name: str) -> None:
    printed = (kept_checks.FOLDER / f"{name}.txt").read_text("utf-8")
    assert kept_checks.text(kept_checks.TEXTS[name]) == printed
