"""Refinement and equivalence the plain way, from the definitions alone; no code is shared.

A graph is a set of steps, each a state, an action and a state; "(hidden)" is the action that nobody
observes. A relation is the largest one that its definition allows: it begins with all pairs, and
those that break the definition are taken out until none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

HIDDEN = "(hidden)"
Step = tuple[int, str, int]


@dataclass(frozen=True)
class Graph:
    """The steps between states that are numbers."""

    steps: frozenset[Step]
    states: frozenset[int]

    def after(self, state: int, action: str) -> frozenset[int]:
        """Where one step leads."""
        return frozenset(
            target for source, label, target in self.steps if (source, label) == (state, action)
        )

    @cached_property
    def actions(self) -> frozenset[str]:
        return frozenset(label for _, label, _ in self.steps)

    @cached_property
    def _silently(self) -> dict[int, frozenset[int]]:
        found = {}
        for state in self.states:
            reached = {state}
            while True:
                more = {to for one in reached for to in self.after(one, HIDDEN)} | reached
                if more == reached:
                    break
                reached = more
            found[state] = frozenset(reached)
        return found

    def weakly(self, state: int, action: str) -> frozenset[int]:
        """Where hidden steps, the action, and hidden steps lead; or hidden steps, or none."""
        if action == HIDDEN:
            return self._silently[state]
        found = set[int]()
        for before in self._silently[state]:
            for middle in self.after(before, action):
                found |= self._silently[middle]
        return frozenset(found)


Answers = Callable[[int, str], frozenset[int]]


def largest(graph: Graph, answers: Answers, *, both_ways: bool) -> frozenset[tuple[int, int]]:
    """The largest simulation, or bisimulation, in which one state answers for another."""
    pairs = {(one, other) for one in graph.states for other in graph.states}
    while True:
        broken = {
            pair
            for pair in pairs
            if not _answered(graph, answers, pairs, *pair)
            or (both_ways and not _answered(graph, answers, pairs, *pair[::-1], turned=True))
        }
        if not broken:
            return frozenset(pairs)
        pairs -= broken


def _answered(
    graph: Graph,
    answers: Answers,
    pairs: set[tuple[int, int]],
    one: int,
    other: int,
    turned: bool = False,
) -> bool:
    return all(
        any(((to, target) if turned else (target, to)) in pairs for to in answers(other, action))
        for source, action, target in graph.steps
        if source == one
    )


def traces(graph: Graph, start: int, length: int) -> frozenset[tuple[str, ...]]:
    """The observed sequences of actions from `start`, up to a length."""
    level: dict[tuple[str, ...], frozenset[int]] = {(): graph.weakly(start, HIDDEN)}
    found: set[tuple[str, ...]] = {()}
    for _ in range(length):
        level = {
            (*trace, action): reached
            for trace, states in level.items()
            for action in graph.actions - {HIDDEN}
            if (reached := frozenset().union(*(graph.weakly(one, action) for one in states)))
        }
        found |= level.keys()
    return frozenset(found)


def missing(graph: Graph, one: int, other: int) -> int | None:
    """The length of a shortest observed trace of `one` that `other` has not; by sets of states on
    both sides, none of which is left out."""
    begin = graph.weakly(one, HIDDEN), graph.weakly(other, HIDDEN)
    level, seen, length = {begin}, {begin}, 0
    while level:
        length += 1
        further = set()
        for left, right in level:
            for action in graph.actions - {HIDDEN}:
                ours: frozenset[int] = _all(graph.weakly(state, action) for state in left)
                theirs: frozenset[int] = _all(graph.weakly(state, action) for state in right)
                if ours and not theirs:
                    return length
                if ours:
                    further.add((ours, theirs))
        level = further - seen
        seen |= level
    return None


def _all(some: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset(state for each in some for state in each)
