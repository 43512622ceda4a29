"""The same probabilities as floats: two messages as one matrix, its power by repeated squaring.

Everything added and multiplied is positive, so no digits are lost by differences; what squaring
loses grows with the number of messages, and stays below 1e-12 up to some thousands of them
(compared with the exact values in the tests).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pxp_fsm.errors import require_extra
from pxp_fsm.plugins.odds.behaviour import Cell
from pxp_fsm.plugins.odds.chain import LENGTH, Draw, Players, Weighted, chain, fixed, weighed
from pxp_fsm.plugins.odds.rationals import finite
from pxp_fsm.plugins.odds.results import Odds, kept
from pxp_fsm.protocol import decisions

if TYPE_CHECKING:
    import numpy as np

    Matrix = np.ndarray[Any, np.dtype[np.float64]]


def floats(players: Players, n: int, k: int) -> Odds[float]:
    """How probable each result is in INTERACT(n, k), as floats; requires NumPy (extra odds)."""
    require_extra("odds", "computing with floats", {"numpy": "NumPy"})
    decisions.check_bounds(n, k)
    weighted = fixed(players)
    states = len(weighted.chain.speakers)
    targets = list(
        dict.fromkeys(
            target
            for stage in weighted.into
            for into in stage
            for target in into
            if not isinstance(target, int)
        )
    )
    columns: dict[Any, int] = {state: state for state in range(states)}
    columns |= {target: states + place for place, target in enumerate((*targets, LENGTH))}
    after = _walked(weighted, n, k, columns)
    ended = {target: float(after[columns[target]]) for target in targets}
    for state, result in enumerate(weighted.chain.bounds):
        if after[state]:
            ended[result] = ended.get(result, 0.0) + float(after[state])
    return Odds(ended, 1 + float(after[columns[LENGTH]]), 1, kept)


Shares = Mapping[str, Mapping[str, Any]]
"""What an agent does: A, B, C, D and revise by name, for "" and for each tag that it goes by."""


def many(drawn: tuple[Shares, Shares], n: int, k: int) -> Odds[Any]:
    """The odds of many pairs of players at once: every share is an array, or a float.

    Arrays are equally long. Each message is followed, so this is for a small n; raises `UsageError`
    for bounds that are none.
    """
    decisions.check_bounds(n, k)
    contexts = {Draw(agent, tag) for agent, shares in enumerate(drawn) for tag in shares if tag}

    def weigh(draw: Draw, cells: frozenset[Cell]) -> Any:
        shares = drawn[draw.agent][draw.received]
        revises = {True: shares["revise"], False: 1 - shares["revise"]}
        return sum(shares[cell.category.value] * revises[cell.revises] for cell in sorted(cells))

    weighted = weighed(chain(frozenset(contexts)), weigh, (1, 1))
    unity = 0 * drawn[0][""]["A"] + 1.0
    return finite(weighted, n, k, unity, kept)


def _walked(weighted: Weighted[int], n: int, k: int, columns: dict[Any, int]) -> Matrix:
    import numpy as np

    now = np.zeros(len(columns))
    now[0] = 1
    sent = 1
    for stage, count in weighted.chain.stages(n, k):
        if not count:
            continue
        step, other = (_step(weighted, stage, (sent + more) % 2, columns) for more in (0, 1))
        now = _powered(now, step @ other, count // 2)
        if count % 2:
            now = now @ step
        sent += count
    return now


def _step(weighted: Weighted[int], stage: int, speaker: int, columns: dict[Any, int]) -> Matrix:
    """One message by `speaker`; what is over stays, and the message is counted."""
    import numpy as np

    matrix = np.zeros((len(columns), len(columns)))
    for place in columns.values():
        if place >= len(weighted.chain.speakers):
            matrix[place, place] = 1
    for target, terms in weighted.into[stage][speaker].items():
        for weight, states in terms:
            matrix[list(states), columns[target]] += weight / weighted.scales[speaker]
    for state, speaks in enumerate(weighted.chain.speakers):
        if speaks == speaker:
            matrix[state, columns[LENGTH]] = 1
    return matrix


def _powered(now: Matrix, matrix: Matrix, times: int) -> Matrix:
    """`now` after `times` steps of `matrix`."""
    while times:
        if times % 2:
            now = now @ matrix
        times //= 2
        if times:
            matrix = matrix @ matrix
    return now
