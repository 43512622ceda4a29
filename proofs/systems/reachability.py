"""Every reachable state of a composition, breadth first, in little memory; or as far as allowed.

`proofs.core.explore` keeps every step of a model with its action, for questions about paths. Here a
step is a number: questions about single states need no more, and the composition gives a state's
actions again. That is smaller, can be compiled, and can be asked about where exploring was cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from proofs.core.explore import Step, Trace
from proofs.core.graphs import Arrays, spread, turned_round
from proofs.core.limits import UNLIMITED, Effort
from proofs.core.table_search import explore_tables
from proofs.systems.partial_order import PartialOrder
from proofs.systems.product import Action, Composition
from proofs.systems.symmetry import Symmetry, unfolded
from proofs.systems.tables import fits, projected, tables_of

Edges = tuple[Sequence[int], Sequence[int]]
"""The steps of the state with number i lead to `targets[offsets[i]:offsets[i + 1]]`."""


@dataclass(frozen=True)
class Reached:
    """The states that are reached, in breadth-first order.

    `ends` are the numbers of those in which nothing can happen. Where `cut` says why exploring
    stopped, states from number `expanded` on have not been looked at.
    """

    composition: Composition
    reduction: Symmetry | PartialOrder | None
    states: Sequence[int]
    ends: Sequence[int]
    expanded: int
    transitions: int
    depth: int
    cut: str = ""
    find_parents: Callable[[], Sequence[int]] = field(default=list, repr=False, compare=False)
    find_edges: Callable[[], Edges] = field(default=lambda: ([0], []), repr=False, compare=False)

    @cached_property
    def parents(self) -> Sequence[int]:
        """The number of the state from which each was reached first; -1 where it starts."""
        return self.find_parents()

    @property
    def edges(self) -> Edges:
        """Where each step leads, by the numbers of states."""
        return self.find_edges()

    @cached_property
    def _backwards(self) -> Arrays:
        return turned_round(*self.edges, len(self.states))

    def trace_to(self, number: int) -> Trace[int]:
        """A shortest trace to the state with this number."""
        found: list[tuple[Action, int]] = []
        while (parent := int(self.parents[number])) >= 0:
            source, target = int(self.states[parent]), int(self.states[number])
            action = next(
                move.action
                for move in self.composition.moves(source)
                if self._standing_for(source + move.difference) == target
            )
            found.append((action, target))
            number = parent
        start, found = int(self.states[number]), found[::-1]
        if isinstance(self.reduction, Symmetry):
            return Trace(start, tuple(unfolded(self.reduction, start, found, 0)[0]))
        return Trace(start, tuple(Step(action, target) for action, target in found))

    def _standing_for(self, state: int) -> int:
        if isinstance(self.reduction, Symmetry):
            return self.reduction.standing_for(state)[0]
        return state

    def parts(self, mask: int) -> Iterable[int]:
        """What is met of the bits of `mask`."""
        if self.compiled:
            return projected(self.states, mask)[0]
        return {state & mask for state in self.states}

    def marks(self, mask: int, wanted: Callable[[int], bool]) -> bytearray:
        """For each state a 1 if what it has of the bits of `mask` is `wanted`."""
        if self.compiled:
            import numpy as np

            met, places = projected(self.states, mask)
            known = np.array([wanted(part) for part in met], np.uint8)
            return bytearray(known[places].tobytes())
        found = {part: wanted(part) for part in self.parts(mask)}
        return bytearray(found[state & mask] for state in self.states)

    def all_marks(self, parts: Iterable[tuple[int, Callable[[int], bool]]]) -> bytearray:
        """For each state a 1 if each of these parts of it is wanted."""
        found = int.from_bytes(b"\1" * len(self.states))
        for mask, wanted in parts:
            if found:
                found &= int.from_bytes(self.marks(mask, wanted))
        return bytearray(found.to_bytes(len(self.states)))

    def leading_to(self, found: bytearray) -> bytearray:
        """For each state a 1 if from it some run comes to one that has a 1 in `found`."""
        spread(self._backwards, found)
        return found

    @property
    def compiled(self) -> bool:
        """Whether the states are an array of NumPy's, from a compiled loop."""
        return not isinstance(self.states, list)


COMPILE_FROM = 30_000
"""From how many states on compiling pays."""


def reach(
    composition: Composition,
    effort: Effort | None = None,
    reduction: Symmetry | PartialOrder | None = None,
    compiled: bool | None = None,
) -> Reached:
    """Every state of `composition` that can be reached, or as many as `effort` allows.

    With a reduction, of those only what it keeps; whether that is enough is for the caller to know.
    `compiled` says whether Numba compiles the loop; by default where that can be, and there are
    many states.
    """
    effort, found = effort or Effort(), None
    if not compiled:
        large = reduction is None and compiled is None and fits(composition)
        most = COMPILE_FROM if large else UNLIMITED
        found = _by_python(composition, effort, reduction, most)
    return found or _by_tables(composition, effort)


def _by_tables(composition: Composition, effort: Effort) -> Reached:
    found = explore_tables(tables_of(composition), effort)
    return Reached(
        composition,
        None,
        found.states,
        found.ends,
        found.expanded,
        found.transitions,
        found.depth,
        found.cut,
        lambda: found.parents,
        found.edges,
    )


def _by_python(
    composition: Composition,
    effort: Effort,
    reduction: Symmetry | PartialOrder | None,
    most: int,
) -> Reached | None:
    """None where there are more than `most` states."""
    states = list(composition.initial())
    numbers = {state: number for number, state in enumerate(states)}
    parents, offsets, targets = array("q", [-1] * len(states)), array("q", [0]), array("q")
    ends, depth, level, cut = list[int](), 0, len(states), ""

    def closed(state: int) -> bool:
        return numbers.get(state, len(states)) < len(offsets)

    def targets_of(state: int) -> Iterator[int]:
        if isinstance(reduction, PartialOrder):
            followed = reduction.followed(state, closed)
            return (state + move.difference for move in followed)
        leading = (state + move.difference for move in composition.moves(state))
        if isinstance(reduction, Symmetry):
            return (reduction.standing_for(target)[0] for target in leading)
        return leading

    for number, state in enumerate(states):  # grows while it is read
        if number == level:
            depth, level = depth + 1, len(states)
        if not number & 1023 or len(states) > effort.states:
            cut = effort.spent(len(states), depth, len(states) - number)
            if cut:
                break
        if len(states) > most:
            return None
        for target in targets_of(state):
            found = numbers.get(target)
            if found is None:
                found = numbers[target] = len(states)
                states.append(target)
                parents.append(number)
            targets.append(found)
        if len(targets) == offsets[-1]:
            ends.append(number)
        offsets.append(len(targets))
    return Reached(
        composition,
        reduction,
        states,
        ends,
        len(offsets) - 1,
        len(targets),
        depth,
        cut,
        lambda: parents,
        lambda: (offsets, targets),
    )
