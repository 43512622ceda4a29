"""A published column as counts of sessions by pairs of classes: its likelihood, its distance.

An agent's classes are nested (strong is one-way, ultra-strong is strong), so that a session has one
of four levels for each agent. A column fixes how many sessions have each level of either agent and
how many have the lowest of both; in how many ways that can be, and how likely each is, is summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import lgamma
from typing import TYPE_CHECKING, Any

from proofs.odds import Odds
from proofs.odds.chain import Classes
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench.reports.published import SESSIONS
from pxp_fsm.workbench.statistics import Published

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

DRAWS = 19_999
_LEVELS = 4  # not one-way, one-way, strong, ultra-strong


def _level(classes: Classes) -> int:
    return sum((classes.one_way, classes.strong, classes.ultra_strong))


def joint_levels(odds: Odds[Any]) -> Any:
    """The chance of each level of the machine with each of the human, 16 in a row."""
    import numpy as np

    found: list[Any] = [0 * value + 0.0 for value in [next(iter(odds.results.values()))] * 16]
    for result, value in odds.results.items():
        machine, human = map(_level, result.classes)
        found[machine * _LEVELS + human] = found[machine * _LEVELS + human] + value
    return np.array(found)


def _margins(column: Published) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """How many sessions are in each level of the machine and of the human, and in none of both."""
    human, machine, both, strong_h, strong_m, ultra_h, ultra_m = column.counts

    def levels(one_way: int, strong: int, ultra: int) -> tuple[int, ...]:
        return SESSIONS - one_way, one_way - strong, strong - ultra, ultra

    neither = SESSIONS - human - machine + both
    return levels(machine, strong_m, ultra_m), levels(human, strong_h, ultra_h), neither


@cache
def ways(column: Published) -> Any:
    """Every way to share out a column's sessions among the 16 pairs of levels, and its logarithm.

    The logarithm is of the multinomial coefficient: in how many orders of sessions it can be.
    """
    import numpy as np

    machine, human, neither = _margins(column)
    found = [way for way in _filled(machine, human) if way[0] == neither]
    if not found:
        raise UsageError(f"no twenty sessions have the counts of {column.title}")
    scales = [lgamma(SESSIONS + 1) - sum(lgamma(each + 1) for each in way) for way in found]
    return np.array(found), np.array(scales)


def _filled(rows: Sequence[int], columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every table of whole numbers with these sums."""
    if len(rows) == 1:
        if sum(columns) == rows[0]:
            yield tuple(columns)
        return
    for first in _parts(rows[0], columns):
        left = [total - some for total, some in zip(columns, first, strict=True)]
        for rest in _filled(rows[1:], left):
            yield (*first, *rest)


def _parts(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(most) == 1:
        if total <= most[0]:
            yield (total,)
        return
    for first in range(min(total, most[0]) + 1):
        for rest in _parts(total - first, most[1:]):
            yield (first, *rest)


def as_far(counts: Array, joint: Array, seed: int) -> float:
    """How often 20 sessions drawn from the model are as far from its expectation as `counts`."""
    import numpy as np

    holds = np.array([_rows(m, h) for m in range(_LEVELS) for h in range(_LEVELS)], dtype=float)
    chances = joint / joint.sum()
    middle = SESSIONS * chances @ holds
    spread = SESSIONS * (holds.T * chances) @ holds - np.outer(middle, middle) / SESSIONS
    inverse = np.linalg.pinv(spread, rcond=1e-9, hermitian=True)
    outside = np.eye(len(counts)) - spread @ inverse

    def distance(off: Array) -> Array:
        # what the model gives no spread to must be met exactly
        impossible = np.abs(off @ outside.T).max(axis=-1) > 1e-3
        near: Array = np.einsum("...i,ij,...j->...", off, inverse, off)
        return np.where(impossible, np.inf, near)

    drawn = np.random.default_rng(seed).multinomial(SESSIONS, chances, size=DRAWS) @ holds
    far = distance(counts - middle)
    as_far = int((distance(drawn - middle) >= far - 1e-9).sum())
    return (as_far + 1) / (DRAWS + 1)


def _rows(machine: int, human: int) -> tuple[bool, ...]:
    """In which of `ROWS` a session is, by its level for each agent."""
    one_way = human >= 1, machine >= 1
    return (*one_way, all(one_way), human >= 2, machine >= 2, human >= 3, machine >= 3)
