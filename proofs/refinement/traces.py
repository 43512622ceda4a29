"""Trace inclusion: whether every sequence of actions of the first is one of the second.

The first is followed state by state, beside the set of states in which the second may be: as in the
subset construction, which can have exponentially many sets. Of two sets beside one state the larger
answers more, so it is not looked at (an antichain: De Wulf, Doyen, Henzinger and Raskin, CAV 2006);
nor is a set with a state that simulates the first's (Abdulla, Chen, Holík, Mayr and Vojnar, TACAS
2010). Both leave a shortest counterexample a shortest one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache

from proofs.core.explore import TooLarge
from proofs.refinement.behaviour import HIDDEN_LABEL
from proofs.refinement.partition import Labelled

MOST = 200_000
"""How many pairs of a state and a set are looked at."""

Path = list[tuple[int, int]]
"""Steps of the first: each a label, and the state that it leads to."""


def first_missing(
    graph: Labelled,
    first: int,
    second: int,
    is_simulated: Callable[[int, int], bool],
) -> Path | None:
    """A shortest path of `first` whose last action `second` cannot answer; None if there is none.

    Where steps are hidden, `graph` has the weak ones: so hidden steps alone lead to nothing new.
    Raises `TooLarge`.
    """

    @cache
    def successors(state: int) -> dict[int, list[int]]:
        by_label = defaultdict(list)
        for label, target in graph.edges(state):
            by_label[label].append(target)
        return dict(by_label)

    begin = (first, frozenset([second]))
    came_from: dict[tuple[int, frozenset[int]], tuple[tuple[int, frozenset[int]], int] | None]
    came_from = {begin: None}
    smallest: dict[int, list[frozenset[int]]] = {first: [begin[1]]}
    queue = [begin]
    for pair in queue:  # grows while it is read
        state, others = pair
        for label, target in graph.edges(state):
            if label == HIDDEN_LABEL:
                continue
            following = [successors(other).get(label, ()) for other in others]
            reached = frozenset(to for some in following for to in some)
            if not reached:
                return [*_path(came_from, pair), (label, target)]
            if any(is_simulated(target, other) for other in reached):
                continue
            known = smallest.setdefault(target, [])
            if any(small <= reached for small in known):
                continue
            smallest[target] = [small for small in known if not reached <= small] + [reached]
            if len(queue) >= MOST:
                raise TooLarge(f"more than {MOST:,} pairs of a state and a set of states")
            came_from[target, reached] = (pair, label)
            queue.append((target, reached))
    return None


def _path(
    came_from: dict[tuple[int, frozenset[int]], tuple[tuple[int, frozenset[int]], int] | None],
    pair: tuple[int, frozenset[int]],
) -> Path:
    path: Path = []
    while (before := came_from[pair]) is not None:
        path.append((before[1], pair[0]))
        pair = before[0]
    return path[::-1]
