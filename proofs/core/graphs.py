"""Questions about a graph in arrays: the edges of node i go to `targets[offsets[i]:offsets[i+1]]`.

The loops are plain functions: Python runs them on arrays of its own, Numba on those of NumPy.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

from proofs.core.compiling import cached_by_numba


def leading_to(offsets: Sequence[int], targets: Sequence[int], found: bytearray) -> None:
    """Spread the 1s of `found`, a byte for each node, to all nodes from which one is reached."""
    if isinstance(targets, array):
        room = [array("q", bytes(8 * (len(one) + 1))) for one in (targets, found, found)]
        backwards(offsets, targets, found, *room)
        return
    import numpy as np

    sources, starts = np.empty(len(targets), np.int32), np.zeros(len(found) + 1, np.int64)
    marks, left = np.frombuffer(found, np.uint8), np.empty(len(found) + 1, np.int64)
    compiled_backwards()(offsets, targets, marks, sources, starts, left)


def backwards(offsets: Any, targets: Any, found: Any, sources: Any, starts: Any, left: Any) -> None:
    """Spread the 1s of `found` to all nodes from which one is reached.

    `starts` and `sources` have room for the edges turned round, `left` for every node.
    """
    nodes, expanded = len(found), len(offsets) - 1
    for place in range(len(targets)):
        starts[targets[place] + 1] += 1
    for number in range(nodes):
        starts[number + 1] += starts[number]
    waiting = 0
    for number in range(nodes):
        left[number] = starts[number]
    for number in range(expanded):
        for place in range(offsets[number], offsets[number + 1]):
            target = targets[place]
            sources[left[target]] = number
            left[target] += 1
    for number in range(nodes):
        if found[number]:
            left[waiting] = number
            waiting += 1
    while waiting:
        waiting -= 1
        number = left[waiting]
        for place in range(starts[number], starts[number + 1]):
            source = sources[place]
            if not found[source]:
                found[source] = 1
                left[waiting] = source
                waiting += 1


@cache
def compiled_backwards() -> Any:
    """`backwards`, compiled when first called, or loaded from the user's cache folder."""
    return cached_by_numba(backwards)
