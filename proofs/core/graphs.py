"""Questions about a graph in arrays: the edges of node i go to `targets[offsets[i]:offsets[i+1]]`.

The loops are plain functions: Python runs them on arrays of its own, Numba on those of NumPy.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import Any

from proofs.core.compiling import cached_by_numba

Arrays = tuple[Any, Any]
"""For each node where its entries begin in the second array, and where they end: one more."""


def leading_to(offsets: Any, targets: Any, found: bytearray) -> None:
    """Spread the 1s of `found`, a byte for each node, to all nodes from which one is reached."""
    spread(turned_round(offsets, targets, len(found)), found)


def turned_round(offsets: Any, targets: Any, nodes: int) -> Arrays:
    """The edges of so many nodes turned round: from each node where its edges come from."""
    if isinstance(targets, array):
        plain = array("q", bytes(8 * (nodes + 1))), array("q", bytes(8 * len(targets)))
        turn(offsets, targets, *plain)
        return plain
    import numpy as np

    found = np.zeros(nodes + 1, np.int64), np.empty(len(targets), np.int32)
    compiled_turning()(offsets, targets, *found)
    return found


def spread(backwards: Arrays, found: bytearray) -> None:
    """Spread the 1s of `found` along edges that are turned round."""
    starts, sources = backwards
    if isinstance(sources, array):
        follow(starts, sources, found, array("q", bytes(8 * len(found))))
        return
    import numpy as np

    marks, left = np.frombuffer(found, np.uint8), np.empty(len(found), np.int32)
    compiled_following()(starts, sources, marks, left)


def turn(offsets: Any, targets: Any, starts: Any, sources: Any) -> None:
    """Fill `starts`, which is 0, and `sources` with the edges turned round."""
    nodes = len(starts) - 1
    for place in range(len(targets)):
        starts[targets[place]] += 1
    for number in range(nodes):
        starts[number + 1] += starts[number]
    for number in range(len(offsets) - 2, -1, -1):
        for place in range(offsets[number], offsets[number + 1]):
            target = targets[place]
            starts[target] -= 1
            sources[starts[target]] = number


def follow(starts: Any, sources: Any, found: Any, left: Any) -> None:
    """Spread the 1s of `found`; `left` has room for every node."""
    waiting = 0
    for number in range(len(found)):
        if found[number]:
            left[waiting] = number
            waiting += 1
    done = 0
    while done < waiting:
        number = left[done]
        done += 1
        for place in range(starts[number], starts[number + 1]):
            source = sources[place]
            if not found[source]:
                found[source] = 1
                left[waiting] = source
                waiting += 1


@cache
def compiled_turning() -> Any:
    """`turn`, compiled when first called, or loaded from the user's cache folder."""
    return cached_by_numba(turn)


@cache
def compiled_following() -> Any:
    """`follow`, compiled in the same way."""
    return cached_by_numba(follow)
