"""Samples of what is tried one by one: `make test` tries some, `make test-deep` the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """The values as parameters of a test, all but one of `every` marked as slow.

    A tuple is several parameters.
    """
    return [
        value if place % every == 0 else pytest.param(*_parts(value), marks=pytest.mark.deep)
        for place, value in enumerate(values)
    ]


def first_and_rest(few: int, every: int) -> list[Any]:
    """Numbers of random cases as two parameters of a test: the first few, and the rest as slow."""
    rest = pytest.param(range(few, every), id="rest", marks=pytest.mark.deep)
    return [pytest.param(range(few), id="few"), rest]


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
