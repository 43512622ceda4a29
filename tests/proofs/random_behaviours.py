"""Random pairs of behaviours: small graphs, the second often nearly the first."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from typing import Any

from proofs.core.explore import Step, Trace
from proofs.refinement.behaviour import ActionGraph
from tests.oracles.equivalences import HIDDEN, Graph

Edges = list[tuple[int, str, int]]
Drawn = tuple[int, Edges, frozenset[int]]
"""States, edges and end states."""

END = -1


def random_graph(chance: random.Random, *, hidden: float) -> Drawn:
    """A graph of a few states and actions."""
    states, actions = chance.randint(1, 6), "ab"[: chance.randint(1, 2)]
    edges = {
        (
            chance.randrange(states),
            "t" if chance.random() < hidden else chance.choice(actions),
            chance.randrange(states),
        )
        for _ in range(chance.randint(0, 2 * states))
    }
    return states, sorted(edges), frozenset(n for n in range(states) if chance.random() < 0.2)


def varied(chance: random.Random, drawn: Drawn) -> Drawn:
    """The same with a state doubled or split, an edge more or less, or nothing changed."""
    states, edges, ended = drawn
    edges = list(edges)
    for _ in range(chance.randint(0, 2)):
        kind = chance.randrange(4)
        if kind == 0:
            twin = chance.randrange(states)
            edges += [(states, label, to) for source, label, to in edges if source == twin]
            edges = [
                (source, label, states if to == twin and chance.random() < 0.5 else to)
                for source, label, to in edges
            ]
            ended |= {states} if twin in ended else frozenset()
            states += 1
        elif kind == 1:  # a choice that is made a step too early: two states share its edges
            split = chance.randrange(states)
            edges += [(s, label, states) for s, label, to in edges if to == split]
            edges = [
                (states if s == split and chance.random() < 0.5 else s, label, to)
                for s, label, to in edges
            ]
            states += 1
        elif kind == 2 and edges:
            del edges[chance.randrange(len(edges))]
        else:
            edges.append((chance.randrange(states), chance.choice("ab"), chance.randrange(states)))
    return states, sorted(set(edges)), ended


def random_pair(seed: int) -> tuple[Drawn, Drawn]:
    chance = random.Random(seed)
    hidden = chance.choice((0, 0.2, 0.5))
    one = random_graph(chance, hidden=hidden)
    other = varied(chance, one) if chance.random() < 0.7 else random_graph(chance, hidden=hidden)
    return (one, other) if chance.random() < 0.5 else (other, one)


def behaviour(name: str, drawn: Drawn) -> ActionGraph:
    """It as a behaviour of a table whose traces are not replayed: there is no machine."""
    states, edges, ended = drawn
    by_state = [[edge for edge in edges if edge[0] == state] for state in range(states)]
    ordered = [edge for some in by_state for edge in some]
    actions = sorted({label for _, label, _ in edges})
    offsets = [0]
    for some in by_state:
        offsets.append(offsets[-1] + len(some))

    def trace(taken: Sequence[int]) -> Trace[Any]:
        at = 0
        for edge in taken:
            assert ordered[edge][0] == at
            at = ordered[edge][2]
        return Trace(0, tuple(Step(ordered[edge][1], ordered[edge][2]) for edge in taken))

    return ActionGraph(
        name,
        "table",
        array("i", offsets),
        array("i", [to for _, _, to in ordered]),
        array("H", [actions.index(label) for _, label, _ in ordered]),
        bytes(state in ended for state in range(states)),
        tuple(actions),
        frozenset(),
        trace,
    )


def plain(one: Drawn, other: Drawn, hidden: bool) -> tuple[Graph, int, int]:
    """Both in one plain graph, and where they begin; to have ended is a step to a state apart."""
    steps = set[tuple[int, str, int]]()
    first = 0
    for states, edges, ended in (one, other):
        for source, label, to in edges:
            steps.add((first + source, HIDDEN if hidden and label == "t" else label, first + to))
        steps |= {(first + state, "(ended)", END) for state in ended}
        first += states
    return Graph(frozenset(steps), frozenset(range(first)) | {END}), 0, one[0]
