"""The graph that formulas are checked on: numbered states, edges, and what is true of states."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from proofs.core.explore import Model, Space, Step, Trace
from proofs.core.graphs import Arrays, turned_round
from proofs.core.kernels import Array, Compiled, Interpreter, Runner
from proofs.core.webassembly import I32, U8, U16
from proofs.logic.fairness import Fairness, Strength
from pxp_fsm.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)

WORD = 16
"""How many classes of edges have a bit in one word of labels."""


@dataclass(frozen=True)
class EdgeClass:
    """A class of edges that runs are fair to: a bit of the labels of some word."""

    strength: Strength
    word: int
    bit: int


def edge_classes(strengths: Sequence[Strength]) -> tuple[EdgeClass, ...]:
    """So many classes, with their places in the words."""
    return tuple(
        EdgeClass(strength, number // WORD, 1 << number % WORD)
        for number, strength in enumerate(strengths)
    )


@dataclass(frozen=True)
class Graph:
    """States with numbers; the edges of state i go to `targets[offsets[i]:offsets[i + 1]]`.

    `truth` gives for each state whether a proposition holds there, a byte each. `labels` are words
    with bits of the classes to which each edge belongs. `trace` is what a path is, from a state
    along edges. `runner` made the arrays, and runs the kernels that check formulas.
    """

    runner: Runner
    offsets: Array
    targets: Array
    starts: Sequence[int]
    truth: Callable[[str], Array]
    trace: Callable[[int, Sequence[int]], Trace[Any]]
    vocabulary: frozenset[str] = frozenset()
    classes: tuple[EdgeClass, ...] = ()
    labels: tuple[Array, ...] = ()

    @property
    def states(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def enabled(self) -> list[Array]:
        """For each word the labels of the edges out of each state."""
        enabled = []
        for labels in self.labels:
            enabled.append(self.runner.new("H", self.states))
            self.runner.run(enabled_in, self.offsets, labels, enabled[-1])
        return enabled

    @cached_property
    def backwards(self) -> Arrays:
        """The edges turned round."""
        return turned_round(self.runner, self.offsets, self.targets, self.states)

    def edges_along(self, states: Sequence[int]) -> Iterator[int]:
        """The first edge from each state to the next."""
        for state, target in pairwise(states):
            leaving = range(self.offsets[state], self.offsets[state + 1])
            yield next(edge for edge in leaving if self.targets[edge] == target)

    def compiled(self) -> Graph:
        """The same graph in the memory of compiled kernels."""
        runner = Compiled()
        offsets, targets = runner.put("i", self.offsets), runner.put("i", self.targets)
        labels = tuple(runner.put("H", word) for word in self.labels)
        return replace(self, runner=runner, offsets=offsets, targets=targets, labels=labels)


def enabled_in(offsets: I32, labels: U16, enabled: U16) -> int:
    """The labels of the edges out of each state."""
    for state in range(len(enabled)):
        for edge in range(offsets[state], offsets[state + 1]):
            enabled[state] |= labels[edge]
    return 0


def label_edges_to(targets: I32, truth: U8, bit: int, labels: U16) -> int:
    """Give a label to the edges to states in which something is true."""
    for edge in range(len(targets)):
        if truth[targets[edge]]:
            labels[edge] |= bit
    return 0


def graph_of(
    model: Model[S],
    space: Space[S],
    fairness: Fairness[S] | None = None,
    vocabulary: frozenset[str] = frozenset(),
) -> Graph:
    """The graph of an explored model; states have the numbers of `space.steps`.

    `vocabulary` are propositions that may be asked for although no reachable state has them.
    """
    states = list(space.steps)
    numbers = {state: number for number, state in enumerate(states)}
    offsets, targets = array("i", [0]), array("i")
    steps = list[Step[S]]()
    for leaving in space.steps.values():
        steps += leaving
        targets.extend(numbers[step.target] for step in leaving)
        offsets.append(len(targets))
    true = [model.propositions(state) for state in states]
    classes = fairness.classes if fairness else ()
    placed = edge_classes([fair_class.strength for fair_class in classes])
    labels = tuple(array("H", bytes(2 * len(steps))) for _ in range(-(-len(classes) // WORD)))
    for fair_class, place in zip(classes, placed, strict=True):
        for number, state in enumerate(states):
            for edge in range(offsets[number], offsets[number + 1]):
                if fair_class.contains(state, steps[edge]):
                    labels[place.word][edge] |= place.bit

    def trace(start: int, edges: Sequence[int]) -> Trace[Any]:
        return Trace(states[start], tuple(steps[edge] for edge in edges))

    return Graph(
        Interpreter(),
        offsets,
        targets,
        [number for number, state in enumerate(states) if space.parents[state] is None],
        lambda name: bytes(name in there for there in true),
        trace,
        vocabulary.union(*true),
        placed,
        labels,
    )
