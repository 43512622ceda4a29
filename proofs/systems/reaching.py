"""Every reachable state of a composition, breadth first, in little memory; or as far as allowed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from proofs.effort import Effort
from proofs.explore import Trace
from proofs.model import Step
from proofs.systems.partial_order import PartialOrder
from proofs.systems.product import Composition
from proofs.systems.symmetry import Symmetry, unfolded


@dataclass(frozen=True)
class Reached:
    """The states that are reached, in breadth-first order, and where each leads.

    The steps of the state with number i lead to `targets[offsets[i]:offsets[i + 1]]`; `parents` is
    the number of the state from which each was reached first. Where `cut` says why exploring
    stopped, states from number `expanded` on have not been looked at.
    """

    composition: Composition
    reduction: Symmetry | PartialOrder | None
    states: Sequence[int]
    parents: Sequence[int]
    offsets: Sequence[int]
    targets: Sequence[int]
    depth: int
    cut: str = ""

    @property
    def expanded(self) -> int:
        """How many states have been looked at, with all that can happen in them."""
        return len(self.offsets) - 1

    @property
    def transitions(self) -> int:
        return len(self.targets)

    def find(self, holds: Callable[[int], bool]) -> Trace[int] | None:
        """A shortest trace to a state in which `holds`; None if none was reached."""
        for number, state in enumerate(self.states):
            if holds(state):
                return self.trace_to(number)
        return None

    def dead_ends(self) -> Iterator[int]:
        """The numbers of the states in which nothing can happen."""
        for number in range(self.expanded):
            if self.offsets[number] == self.offsets[number + 1]:
                yield number

    def trace_to(self, number: int) -> Trace[int]:
        """A shortest trace to the state with this number."""
        found: list[tuple[str, int]] = []
        while (parent := self.parents[number]) >= 0:
            source, target = self.states[parent], self.states[number]
            label = next(
                move.label
                for move in self.composition.moves(source)
                if self._standing_for(source + move.difference) == target
            )
            found.append((label, target))
            number = parent
        start, found = self.states[number], found[::-1]
        if isinstance(self.reduction, Symmetry):
            return Trace(start, tuple(unfolded(self.reduction, start, found, 0)[0]))
        return Trace(start, tuple(Step(label, target) for label, target in found))

    def _standing_for(self, state: int) -> int:
        if isinstance(self.reduction, Symmetry):
            return self.reduction.standing_for(state)[0]
        return state

    def leading_to(self, wanted: Callable[[int], bool]) -> bytearray:
        """For each state a 1 if from it some run comes to one that is `wanted`."""
        found = bytearray(len(self.states))
        left = [number for number, state in enumerate(self.states) if wanted(state)]
        for number in left:
            found[number] = 1
        starts, sources = self._backwards()
        while left:
            number = left.pop()
            for source in sources[starts[number] : starts[number + 1]]:
                if not found[source]:
                    found[source] = 1
                    left.append(source)
        return found

    def _backwards(self) -> tuple[Sequence[int], Sequence[int]]:
        """The steps turned round, laid out as they are forwards."""
        starts = array("q", bytes(8 * (len(self.states) + 1)))
        for target in self.targets:
            starts[target + 1] += 1
        for number in range(len(self.states)):
            starts[number + 1] += starts[number]
        sources, free = array("q", bytes(8 * len(self.targets))), starts[:]
        for number in range(self.expanded):
            for target in self.targets[self.offsets[number] : self.offsets[number + 1]]:
                sources[free[target]] = number
                free[target] += 1
        return starts, sources


def reach(
    composition: Composition,
    effort: Effort | None = None,
    reduction: Symmetry | PartialOrder | None = None,
) -> Reached:
    """Every state of `composition` that can be reached, or as many as `effort` allows.

    With a reduction, of those only what it keeps; whether that is enough is for the caller to know.
    """
    effort = effort or Effort()
    states = list(composition.initial())
    numbers = {state: number for number, state in enumerate(states)}
    parents, offsets, targets = array("q", [-1] * len(states)), array("q", [0]), array("q")
    depth, level, cut = 0, len(states), ""

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
        for target in targets_of(state):
            found = numbers.get(target)
            if found is None:
                found = numbers[target] = len(states)
                states.append(target)
                parents.append(number)
            targets.append(found)
        offsets.append(len(targets))
    return Reached(composition, reduction, states, parents, offsets, targets, depth, cut)
