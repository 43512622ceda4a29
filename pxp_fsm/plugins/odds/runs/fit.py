"""Goodness of fit of the simple model to a run: observed tags against expected ones.

The model of greatest likelihood is fitted to the tags: for each agent a chance of A at any message,
of D among what is not A after message k, and of revision in what remains. Likelihood ratios (G²)
compare it with tags that go by what they answer, and with whole sequences of tags of their own.
Their p-values are those of the parametric bootstrap: the same number of sessions is drawn from the
fitted model, fitted again, and compared, 999 times, fewer where sessions are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds.behaviour import ANSWERED
from pxp_fsm.plugins.odds.runs.estimates import SENT, Context, Counts
from pxp_fsm.protocol.messages import Tag

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

REPLICATES, _FEWEST = 999, 99
_SESSIONS_IN_ALL, _SESSIONS_AT_ONCE = 5_000_000, 500_000

CONTEXTS = tuple(
    Context(agent, received, late)
    for agent, received, late in product((0, 1), ANSWERED, (False, True))
)
_RATIFY, _REFUTE, _REVISE, _REJECT = range(len(SENT))


@dataclass(frozen=True)
class FittedRow:
    """What an agent sent in answer to a tag, and what the model expects; by `SENT`."""

    context: Context
    seen: tuple[int, ...]
    expected: tuple[float, ...]
    statistic: float
    p: float


@dataclass(frozen=True)
class Fit:
    """G² and p of the tags by what they answer (`rows` has them one by one), and of sequences."""

    rows: tuple[FittedRow, ...]
    answers: float
    p_answers: float
    sequences: float
    p_sequences: float
    replicates: int

    @property
    def worst(self) -> FittedRow:
        """The row that the model explains least."""
        return max(self.rows, key=lambda row: row.statistic)


def fit(
    counts: Counts, seed: int = 0, *, by_tag: bool = False, replicates: int = REPLICATES
) -> Fit:
    """How well the simple model explains a run; what is drawn depends on `seed` alone.

    With `by_tag` the fitted model has parameters of its own for each tag that an agent answers.
    """
    import numpy as np

    groups = _groups(by_tag)

    seen = np.zeros((1, len(CONTEXTS), len(SENT)))
    for (context, tag), count in counts.tags.items():
        seen[0, CONTEXTS.index(context), SENT.index(tag)] += count
    chances = _fitted(seen, groups)
    terms = _terms(seen, chances)
    by_context = terms.sum(axis=2)[0]
    own = _own(np.array(list(counts.sequences.values())), counts.sessions)
    whole = own - 2 * _log_likelihood(seen, chances)[0]
    times = min(replicates, max(_FEWEST, _SESSIONS_IN_ALL // counts.sessions))
    generator = np.random.default_rng(seed)
    drawn = _Drawn(chances[0], counts.n, counts.k, counts.sessions, generator)
    rows_as_far = np.zeros(len(CONTEXTS))
    as_far = np.zeros(2)
    left = times
    while left:
        some = min(left, max(1, _SESSIONS_AT_ONCE // counts.sessions))
        tables, owns = drawn.tables(some)
        again = _fitted(tables, groups)
        simulated = _terms(tables, again).sum(axis=2)
        rows_as_far += (simulated >= by_context - 1e-9).sum(axis=0)
        as_far[0] += (simulated.sum(axis=1) >= by_context.sum() - 1e-9).sum()
        as_far[1] += (owns - 2 * _log_likelihood(tables, again) >= whole - 1e-9).sum()
        left -= some
    shares = (as_far + 1) / (times + 1)
    return Fit(
        tuple(_rows(seen[0], chances[0], by_context, (rows_as_far + 1) / (times + 1))),
        float(by_context.sum()),
        float(shares[0]),
        float(whole),
        float(shares[1]),
        times,
    )


def _rows(seen: Array, chances: Array, statistics: Array, shares: Array) -> Iterator[FittedRow]:
    for place, context in enumerate(CONTEXTS):
        total = seen[place].sum()
        if total:
            yield FittedRow(
                context,
                tuple(int(count) for count in seen[place]),
                tuple(float(total * chance) for chance in chances[place]),
                float(statistics[place]),
                float(shares[place]),
            )


def _groups(by_tag: bool) -> list[Array]:
    """The contexts that have parameters in common, as masks over `CONTEXTS`."""
    import numpy as np

    keys = [(context.agent, context.received if by_tag else "") for context in CONTEXTS]
    return [np.array([key == value for key in keys]) for value in dict.fromkeys(keys)]


def _fitted(tables: Array, groups: list[Array]) -> Array:
    """For each table of counts the chance of each tag in each context, by the fitted model."""
    import numpy as np

    chances = np.zeros_like(tables)
    late = np.array([context.late for context in CONTEXTS])
    for own in groups:
        sums = tables[:, own].sum(axis=1)
        after = tables[:, own & late].sum(axis=1)
        agrees = _share(sums[:, _RATIFY], sums.sum(axis=1))
        rejects = _share(after[:, _REJECT], after.sum(axis=1) - after[:, _RATIFY])
        revises = _share(sums[:, _REVISE], sums[:, _REVISE] + sums[:, _REFUTE])
        for place in np.flatnonzero(own):
            left = 1 - agrees
            chances[:, place, _RATIFY] = agrees
            if late[place]:
                chances[:, place, _REJECT] = left * rejects
                left = left * (1 - rejects)
            chances[:, place, _REVISE] = left * revises
            chances[:, place, _REFUTE] = left * (1 - revises)
    return chances


def _share(some: Array, total: Array) -> Array:
    import numpy as np

    share: Array = np.divide(some, total, out=np.zeros_like(some, dtype=float), where=total > 0)
    return share


def _times_log(counts: Array, of: Array) -> Array:
    """counts · log(of), 0 where nothing was counted."""
    import numpy as np

    logs = np.log(of, out=np.zeros_like(of, dtype=float), where=(counts > 0) & (of > 0))
    product_: Array = counts * logs
    return product_


def _terms(tables: Array, chances: Array) -> Array:
    """What each count adds to G²: 2 · seen · log(seen / expected)."""
    totals = tables.sum(axis=2, keepdims=True)
    terms: Array = 2 * (_times_log(tables, tables) - _times_log(tables, totals * chances))
    return terms


def _log_likelihood(tables: Array, chances: Array) -> Array:
    total: Array = _times_log(tables, chances).sum(axis=(1, 2))
    return total


def _own(numbers: Array, sessions: int) -> float:
    """Twice the log-likelihood of sequences under their own shares."""
    return float(2 * _times_log(numbers, numbers / sessions).sum())


@dataclass
class _Drawn:
    """Sessions drawn from the fitted model, many at once."""

    chances: Array
    n: int
    k: int
    sessions: int
    generator: np.random.Generator

    def tables(self, replicates: int) -> tuple[Array, Array]:
        """For each replicate its counts by context and tag, and twice its sequences' own."""
        import numpy as np

        limits = np.cumsum(self.chances, axis=1)
        sums = np.zeros((replicates, len(CONTEXTS) * len(SENT)))
        where = np.arange(replicates * self.sessions)
        replicate = where // self.sessions
        codes = np.zeros(len(where), dtype=np.uint64)
        received = np.zeros(len(where), dtype=np.int64)  # places in ANSWERED; INIT is the first
        for number in range(2, self.n + 1):
            agent, late = (0 if number % 2 else 1), number > self.k
            place = (agent * len(ANSWERED) + received) * 2 + late
            drawn = self.generator.random(len(where))
            tag = (drawn[:, None] >= limits[place][:, :-1]).sum(axis=1)
            index = replicate[where] * sums.shape[1] + place * len(SENT) + tag
            sums += np.bincount(index, minlength=sums.size).reshape(sums.shape)
            codes[where] = codes[where] * np.uint64(5) + (tag + 1).astype(np.uint64)
            answers = tag + 1  # RATIFY, REFUTE, REVISE follow INIT in ANSWERED as they do in SENT
            over = (tag == _REJECT) | ((tag == _RATIFY) & (received == _RATIFY + 1))
            where, received = where[~over], answers[~over]
            if not len(where):
                break
        return sums.reshape(replicates, len(CONTEXTS), len(SENT)), self._owns(codes, replicates)

    def _owns(self, codes: Array, replicates: int) -> Array:
        import numpy as np

        sorted_codes = np.sort(codes.reshape(replicates, self.sessions), axis=1)
        return np.array(
            [_own(np.unique(row, return_counts=True)[1], self.sessions) for row in sorted_codes]
        )


if SENT[:3] != ANSWERED[1:] or ANSWERED[0] != Tag.INIT:
    raise AssertionError("tags that are sent and answered stand in one order")
