"""Graphs in arrays: the edges of node i go to `targets[offsets[i]:offsets[i + 1]]`."""

from __future__ import annotations

from proofs.core.kernels import Array, Runner
from proofs.core.webassembly import I32, U8

Arrays = tuple[Array, Array]
"""For each node where its entries begin in the second array, and where they end: one more."""


def leading_to(runner: Runner, offsets: Array, targets: Array, marks: Array) -> None:
    """Spread the 1s of `marks`, a byte for each node, to all nodes from which one is reached."""
    spread(runner, turned_round(runner, offsets, targets, len(marks)), marks)


def turned_round(runner: Runner, offsets: Array, targets: Array, nodes: int) -> Arrays:
    """The edges of so many nodes turned round: from each node where its edges come from."""
    backwards = runner.new("i", nodes + 1), runner.new("i", len(targets))
    runner.run(turn, offsets, targets, *backwards)
    return backwards


def spread(runner: Runner, backwards: Arrays, marks: Array) -> None:
    """Spread the 1s of `marks` along edges that are turned round."""
    left = runner.new("i", len(marks))
    runner.run(follow, *backwards, marks, left)
    runner.release(left)


def turn(offsets: I32, targets: I32, starts: I32, sources: I32) -> int:
    """Fill `starts`, which is 0, and `sources` with the edges turned round.

    First `starts[n]` counts the edges to n, then it is where those of n end. Each edge takes the
    last free place there, so that at the end it is where they begin, and the order is that of the
    sources.
    """
    nodes = len(starts) - 1
    for place in range(len(targets)):
        starts[targets[place]] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    for node in range(len(offsets) - 2, -1, -1):
        for place in range(offsets[node], offsets[node + 1]):
            target = targets[place]
            starts[target] -= 1
            sources[starts[target]] = node
    return 0


def follow(starts: I32, sources: I32, marks: U8, left: I32) -> int:
    """Spread the 1s of `marks`; `left` has room for every node. How many nodes have a 1 then.

    Each node is put into `left` once, when it gets its 1.
    """
    waiting = 0
    for node in range(len(marks)):
        if marks[node]:
            left[waiting] = node
            waiting += 1
    done = 0
    while done < waiting:
        node_left = left[done]
        done += 1
        for place in range(starts[node_left], starts[node_left + 1]):
            source = sources[place]
            if not marks[source]:
                marks[source] = 1
                left[waiting] = source
                waiting += 1
    return waiting
