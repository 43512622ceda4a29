"""CTL by fixpoints over sets of states: a second algorithm, which shares nothing with the first.

Over complete runs: X needs a next state, N does not, and a run may end where a state leads nowhere.
"""

from __future__ import annotations

from collections.abc import Callable

from proofs.logic.formulas import (
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Truth,
    Until,
    WeakNext,
)
from tests.oracles.graphs import Graph

States = frozenset[int]


def satisfying(graph: Graph, formula: Formula) -> States:
    """The states in which a formula of CTL holds."""
    everywhere = frozenset(range(len(graph.edges)))
    match formula:
        case Truth(value):
            return everywhere if value else frozenset()
        case Atom(name):
            return frozenset(state for state in everywhere if name in graph.true[state])
        case Not(of):
            return everywhere - satisfying(graph, of)
        case And(left, right):
            return satisfying(graph, left) & satisfying(graph, right)
        case Or(left, right):
            return satisfying(graph, left) | satisfying(graph, right)
        case Exists(path):
            return _some_run(graph, path, everywhere)
    raise AssertionError(f"no formula of CTL: {formula}")


def _some_run(  # noqa: PLR0911 - a case for each kind of formula
    graph: Graph, path: Formula, everywhere: States
) -> States:
    ends = frozenset(state for state in everywhere if not graph.edges[state])

    def before(states: States) -> States:
        return frozenset(s for s in everywhere if states.intersection(graph.edges[s]))

    match path:
        case Next(of):
            return before(satisfying(graph, of))
        case WeakNext(of):
            return before(satisfying(graph, of)) | ends
        case Until(left, right):
            first, second = satisfying(graph, left), satisfying(graph, right)
            return _fixpoint(frozenset(), lambda found: second | (first & before(found)))
        case Release(left, right):
            first, second = satisfying(graph, left), satisfying(graph, right)
            return _fixpoint(everywhere, lambda found: second & (first | ends | before(found)))
        case Not(Next(of)):
            return _some_run(graph, WeakNext(Not(of)), everywhere)
        case Not(WeakNext(of)):
            return _some_run(graph, Next(Not(of)), everywhere)
        case Not(Until(left, right)):
            return _some_run(graph, Release(Not(left), Not(right)), everywhere)
        case Not(Release(left, right)):
            return _some_run(graph, Until(Not(left), Not(right)), everywhere)
    raise AssertionError(f"no path formula of CTL: {path}")


def _fixpoint(start: States, step: Callable[[States], States]) -> States:
    while (following := step(start)) != start:
        start = following
    return start
