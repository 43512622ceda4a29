"""Samples of what is tried one by one: `make test` tries some, `make test-deep` more.

Of large sweeps, `make test-deep` tries the first third, and `make test-deep SWEEPS=whole` all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

WHOLE = os.environ.get("PXP_TEST_SWEEPS") == "whole"


def swept(cases: int) -> int:
    """How many of the cases of a large sweep are tried."""
    return cases if WHOLE else -(-cases // 3)


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """The values as parameters of a test, all but one of `every` marked as slow.

    A tuple is several parameters.
    """
    return [
        value if place % every == 0 else pytest.param(*_parts(value), marks=pytest.mark.deep)
        for place, value in enumerate(values)
    ]


def first_and_rest(few: int, every: int) -> list[Any]:
    """Numbers of random cases as two parameters of a test: the first few, and others as slow."""
    rest = pytest.param(range(few, few + swept(every - few)), id="rest", marks=pytest.mark.deep)
    return [pytest.param(range(few), id="few"), rest]


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
