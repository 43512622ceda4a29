"""Small models and formulas for tests, drawn by Hypothesis or by a seed; a second way to check."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs.core.explore import Step
from proofs.logic.formulas import (
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    negated,
    on_all,
)

NAMES = ("p", "q")


@dataclass(frozen=True)
class Graph:
    """States 0 to n-1, of which 0 is initial: where each leads, and what is true in it."""

    edges: tuple[tuple[int, ...], ...]
    true: tuple[frozenset[str], ...]
    name: str = "graph"

    def initial(self) -> Iterable[int]:
        yield 0

    def successors(self, state: int) -> Iterator[Step[int]]:
        for target in self.edges[state]:
            yield Step(f"{state}-{target}", target)

    def propositions(self, state: int) -> frozenset[str]:
        return self.true[state]


def random_graph(chance: random.Random, most: int = 5) -> Graph:
    size = chance.randint(1, most)
    density = chance.choice((0.15, 0.3, 0.5))
    edges = tuple(
        tuple(target for target in range(size) if chance.random() < density) for _ in range(size)
    )
    true = tuple(frozenset(name for name in NAMES if chance.random() < 0.5) for _ in range(size))
    return Graph(edges, true)


def random_path(chance: random.Random, depth: int) -> Formula:
    """A path formula without quantifiers."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice((Atom("p"), Atom("q"), Atom("p"), Atom("q"), Truth(True)))
    kind = chance.choice((Not, And, Or, Next, WeakNext, Until, Release, Until, Release))
    if kind in (Not, Next, WeakNext):
        return kind(random_path(chance, depth - 1))
    return kind(random_path(chance, depth - 1), random_path(chance, depth - 1))  # type: ignore[call-arg] # drawn


def random_with_past(chance: random.Random, depth: int, *, past: bool = False) -> Formula:
    """A path formula with past operators, which are about what has been alone."""
    if depth == 0 or chance.random() < 0.1:
        return chance.choice((Atom("p"), Atom("q"), Atom("p"), Atom("q"), Truth(True)))
    own = (Yesterday, WeakYesterday, Since, Triggered, Since, Triggered)
    ahead = () if past else (Next, WeakNext, Until, Release, Until, Release)
    kind = chance.choice((Not, And, Or, *own, *ahead))
    many = 1 if kind in (Not, Next, WeakNext, Yesterday, WeakYesterday) else 2
    below = (random_with_past(chance, depth - 1, past=past or kind in own) for _ in range(many))
    found: Formula = kind(*below)  # drawn
    return found


def random_branching(chance: random.Random, depth: int) -> Formula:
    """A formula of CTL."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice((Atom("p"), Atom("q")))
    left, right = (random_branching(chance, depth - 1) for _ in range(2))
    path = chance.choice((Next(left), WeakNext(left), Until(left, right), Release(left, right)))
    return chance.choice(
        (negated(left), And(left, right), Or(left, right), Exists(path), on_all(path), on_all(path))
    )


def complete_runs(graph: Graph, longest: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every run from state 0 with at most `longest` states: those that end, and every lasso."""

    def extend(path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        here = path[-1]
        if not graph.edges[here]:
            yield path, 0
        for target in graph.edges[here]:
            for place, state in enumerate(path):
                if state == target:
                    yield path, len(path) - place
            if len(path) < longest:
                yield from extend((*path, target))

    yield from extend((0,))
