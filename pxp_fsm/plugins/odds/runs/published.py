"""Goodness of fit of the simple model to the published tables: counts of 20 sessions by class.

A column fixes how many sessions are in each class for each agent, and two-way, but not which class
of the one goes with which of the other: the likelihood of a column is summed over all the ways.
It is exact, and its maximum is looked for with SciPy (extra `odds`). What is assumed is named:
sessions are independent and alike; n = 10 and k = 3; a column of medians (RAD 2025, of five
repetitions) is taken for one run; and what `MODELS` says of the agents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import comb, lgamma
from typing import TYPE_CHECKING, Any

from pxp_fsm.defaults import K, N
from pxp_fsm.errors import UsageError, quoted, require_extra
from pxp_fsm.experiments.statistics import ROWS, SESSIONS, Published, points, published, ratified
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds import Odds
from pxp_fsm.plugins.odds.chain import Classes
from pxp_fsm.plugins.odds.floats import Shares, many
from pxp_fsm.protocol.messages import Tag

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

    chances: list[Any] = [0 * value + 0.0 for value in [next(iter(odds.results.values()))] * 16]
    for result, value in odds.results.items():
        machine, human = map(_level, result.classes)
        chances[machine * _LEVELS + human] = chances[machine * _LEVELS + human] + value
    return np.array(chances)


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
    fitting = [way for way in _filled(machine, human) if way[0] == neither]
    if not fitting:
        raise UsageError(f"no twenty sessions have the counts of {column.title}")
    scales = [lgamma(SESSIONS + 1) - sum(lgamma(count + 1) for count in way) for way in fitting]
    return np.array(fitting), np.array(scales)


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


_LEAST = 1e-300


@dataclass(frozen=True)
class PublishedModel:
    """The simple model with what a name says: parameters between 0 and 1 to what agents do."""

    name: str
    parameters: tuple[str, ...]
    agents: Callable[[Any], tuple[Shares, Shares]]


def _agent(agrees: Any, rejects: Any, revises: Any) -> dict[str, Any]:
    """A, D of what is not A, and revise; B and C come to the same and are one."""
    rest = 1 - agrees
    return {
        "A": agrees,
        "B": rest * (1 - rejects),
        "C": 0 * agrees,
        "D": rest * rejects,
        "revise": revises,
    }


def _simple(x: Any) -> tuple[Shares, Shares]:
    return {"": _agent(x[0], x[1], x[2])}, {"": _agent(x[3], x[4], x[5])}


def _unrevising(x: Any) -> tuple[Shares, Shares]:
    return {"": _agent(x[0], x[1], x[2])}, {"": _agent(x[3], x[4], 0 * x[0])}


def _answering(x: Any) -> tuple[Shares, Shares]:
    always: Shares = {str(Tag.RATIFY): _agent(0 * x[0] + 1, 0 * x[0], 0 * x[0])}
    machine, human = _unrevising(x)
    return {**machine, **always}, {**human, **always}


_MACHINE = ("machine A", "machine D of not A", "machine revise")
_HUMAN = ("human A", "human D of not A")
MODELS = (
    PublishedModel("simple", (*_MACHINE, *_HUMAN, "human revise"), _simple),
    PublishedModel("the human never revises", (*_MACHINE, *_HUMAN), _unrevising),
    PublishedModel("and RATIFY is answered by RATIFY", (*_MACHINE, *_HUMAN), _answering),
)
"""The models, each with one assumption more than the one before."""


Untold = tuple[str, int, float, float]
"""A published number that was not fitted: what, of 20 sessions, how many expected, p."""


@dataclass(frozen=True)
class ExplainedColumn:
    """How far a model explains a column.

    `values` are the parameters of greatest likelihood, `expected` the counts that they give, by
    `ROWS`. `p` is how often sessions drawn from that very model are as far from what it expects as
    the column is (a distance that allows for how the counts hang together): too large rather than
    too small, since the parameters were chosen for the column. `told` are the other published
    numbers, which were not fitted: what, how many of 20, how many expected, and a two-sided p.
    """

    column: Published
    model: PublishedModel
    values: Mapping[str, float]
    log_likelihood: float
    expected: tuple[float, ...]
    p: float
    told: tuple[Untold, ...]


def columns(title: str) -> tuple[Published, ...]:
    """The published column of that title, or `all`; `UsageError` where there is none."""
    known = [column for task in ("rad", "drug") for column in published(task)]
    chosen = [column for column in known if title in ("all", column.title)]
    if not chosen:
        raise UsageError(
            f"no column {quoted(title)} is published; there are: all, "
            f"{', '.join(column.title for column in known)}"
        )
    return tuple(chosen)


@cache
def explain(column: Published, model: PublishedModel, seed: int = 0) -> ExplainedColumn:
    """Fit a model to a column; what is drawn depends on `seed` alone."""
    require_extra("odds", "fitting", {"numpy": "NumPy", "scipy": "SciPy"})
    import numpy as np
    from scipy import optimize

    tables, scales = ways(column)

    def unlikely(x: Array) -> Any:
        clipped = np.clip(x, 0, 1)  # Python's own floats are the faster ones where x is one point
        joint = joint_levels(
            many(model.agents(clipped if clipped.ndim > 1 else clipped.tolist()), N, K)
        )
        logs = np.log(np.maximum(joint, _LEAST))
        logs_of_ways = np.tensordot(tables, logs, axes=1)
        shifted = logs_of_ways + scales.reshape(-1, *(1,) * (logs_of_ways.ndim - 1))
        highest = shifted.max(axis=0)
        return -(highest + np.log(np.exp(shifted - highest).sum(axis=0)))

    bounds = [(0.0, 1.0)] * len(model.parameters)
    optimum = optimize.differential_evolution(
        unlikely,
        bounds,
        rng=seed,
        vectorized=True,
        updating="deferred",
        popsize=12,
        maxiter=120,
        tol=1e-8,
        polish=False,
    )
    closer = optimize.minimize(
        unlikely,
        optimum.x,
        method="Nelder-Mead",
        bounds=bounds,
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2_000},
    )
    odds = many(model.agents(closer.x), N, K)
    joint = joint_levels(odds)
    expected = tuple(SESSIONS * float(odds.of(row)) for row in ROWS)
    return ExplainedColumn(
        column,
        model,
        dict(zip(model.parameters, map(float, closer.x), strict=True)),
        -float(closer.fun),
        expected,
        as_far(np.array(column.counts), joint, seed),
        tuple(_told(column, model, closer.x)),
    )


def _told(column: Published, model: PublishedModel, x: Array) -> Iterator[Untold]:
    """The numbers of the papers' text, beside what the model expects."""
    agents = model.agents(x)
    by_3 = float(many(agents, 3, K).of("ratified"))
    later = float(many(agents, N, K).of("ratified")) - by_3
    agrees = float(agents[1].get(Tag.INIT, agents[1][""])["A"])
    revises = float((1 - agents[1][""]["A"]) * agents[1][""]["revise"])
    for ratified_row in ratified(column.task):
        if ratified_row.title == column.title:
            yield (
                "ratified by both within 3 messages",
                ratified_row.within_3,
                *_tails(ratified_row.within_3, by_3),
            )
            yield "ratified by both later", ratified_row.later, *_tails(ratified_row.later, later)
    for point in points(column.task):
        if point.title == column.title and (point.kind, point.message) == ("human", 3):
            chance = agrees + revises
            yield (
                "one-way for the human by message 3",
                point.sessions,
                *_tails(point.sessions, chance),
            )


def _tails(seen: int, chance: float) -> tuple[float, float]:
    """How many of 20 are expected, and the exact two-sided p of a binomial (twice a tail)."""

    def at(i: int) -> float:
        return comb(SESSIONS, i) * chance**i * (1 - chance) ** (SESSIONS - i)

    below = sum(at(i) for i in range(seen + 1))
    above = sum(at(i) for i in range(seen, SESSIONS + 1))
    return SESSIONS * chance, min(1.0, 2 * min(below, above))
