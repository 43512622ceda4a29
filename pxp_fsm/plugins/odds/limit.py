"""Sessions without a bound: the limit of n to infinity, solved exactly, in closed form.

The messages up to k are followed one by one; after them every message is like the one two before
it, so that what comes of a state is a linear system. States are eliminated one at a time, over any
field. A state that can only come back to itself is a session that never ends: it keeps its classes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pxp_fsm.plugins.odds.chain import ENDLESS, LATE, LENGTH, Conclusion, Players, Weighted, fixed
from pxp_fsm.plugins.odds.rationals import last, moments
from pxp_fsm.plugins.odds.results import Odds, kept
from pxp_fsm.protocol import decisions

Row = dict[Any, Any]
"""What comes of a state: the weight of each target; `LENGTH` adds up messages."""


def limit(players: Players, k: int) -> Odds[Fraction]:
    """How probable each result is in INTERACT without a bound on messages, as rationals."""
    decisions.check_bound(k, "k is the message after which REJECT is allowed,")
    weighted = fixed(players)
    return unbounded(weighted, k, 1, Fraction)


def unbounded(
    weighted: Weighted[Any], k: int, unity: Any, over: Callable[[Any, int], Any]
) -> Odds[Any]:
    """The limit of `finite`; `over(x, d)` is x/d as an element of a field."""
    moment = last(moments(weighted, k, k, unity))
    ended = {key: over(value, moment.denominator) for key, value in moment.ended.items()}
    rows = _rows(weighted, over, over(unity, 1))
    alive = {state: value for state, value in moment.alive.items() if value != 0 * unity}
    coming = _solved(rows, over(unity, 1), weighted, set(alive))
    for state, value in alive.items():
        weight = over(value, moment.denominator)
        for target, share in coming[state].items():
            ended[target] = ended[target] + weight * share if target in ended else weight * share
    length = ended.pop(LENGTH)
    zero = over(unity * 0, 1)
    endless = any(result.ending == ENDLESS and value != zero for result, value in ended.items())
    return Odds(ended, None if endless else length, 1, kept)


def _rows(weighted: Weighted[Any], over: Callable[[Any, int], Any], unity: Any) -> dict[int, Row]:
    """What each state's next message leads to, after k."""
    rows: dict[int, Row] = {state: {LENGTH: unity} for state in range(len(weighted.chain.speakers))}
    for speaker, into in enumerate(weighted.into[LATE]):
        for target, terms in into.items():
            for weight, states in terms:
                share = over(weight, weighted.scales[speaker])
                for state in states:
                    row = rows[state]
                    row[target] = row[target] + share if target in row else share
    return rows


def _solved(
    rows: dict[int, Row], unity: Any, weighted: Weighted[Any], wanted: set[int]
) -> dict[int, Row]:
    """Each wanted state's row with results alone in it, the other states being eliminated."""
    reached = _reached(rows, wanted)
    order = sorted(reached, key=lambda state: (state in wanted, -state))
    into: dict[int, set[int]] = {state: set() for state in reached}
    for state in reached:
        for target in rows[state]:
            if isinstance(target, int):
                into[target].add(state)
    for state in order:
        row = rows[state]
        _close(row, state, unity, weighted.chain.bounds[state])
        for other in into[state] - {state}:
            _insert(rows[other], state, row, into, other)
    return {state: rows[state] for state in wanted}


def _reached(rows: dict[int, Row], start: set[int]) -> set[int]:
    reached, waiting = set(start), list(start)
    while waiting:
        for target in rows[waiting.pop()]:
            if isinstance(target, int) and target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _close(row: Row, state: int, unity: Any, bound: Conclusion) -> None:
    """Solve a row for its own state: what leads back to it is divided out."""
    back = row.pop(state, None)
    if back is None:
        return
    leaving = unity - back
    if leaving == unity - unity:
        row.clear()
        row[bound._replace(ending=ENDLESS)] = unity
        return
    for target in row:
        row[target] = row[target] / leaving


def _insert(row: Row, state: int, leaving: Row, into: dict[int, set[int]], place: int) -> None:
    """Put what comes of `state` in its place in another row."""
    weight = row.pop(state, None)
    if weight is None:
        return
    for target, share in leaving.items():
        row[target] = row[target] + weight * share if target in row else weight * share
        if isinstance(target, int):
            into[target].add(place)
