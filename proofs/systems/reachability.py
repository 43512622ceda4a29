"""Every reachable state of a composition, breadth first, in little memory; or as far as allowed.

`proofs.core.explore` keeps every step of a model with its action. Here a step is a number: the
composition gives a state's actions again. That is smaller, can be compiled, and can be asked about
where exploring was cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cached_property

from proofs.core.explore import Step, TooLarge, Trace
from proofs.core.graphs import Arrays, spread, turned_round
from proofs.core.kernels import Array, Interpreter, Runner
from proofs.core.limits import UNLIMITED, Effort
from proofs.core.table_search import (
    ENDED,
    WIDEST,
    Begun,
    Visited,
    explore_tables,
    place_of,
    shift_for,
)
from proofs.core.webassembly import I32, I64, U8
from proofs.systems.partial_order import PartialOrder
from proofs.systems.product import Action, Composition, Move
from proofs.systems.propositions import Noting, OfStep
from proofs.systems.symmetry import Symmetry, unfolded
from proofs.systems.tables import fits, tables_of
from pxp_fsm.lazy_dataclasses import dataclass

Edges = tuple[Array, Array]
"""The steps of the state with number i lead to `targets[offsets[i]:offsets[i + 1]]`."""


class NotedSteps:
    """States that also say what is true of the latest step, as far as a formula asks for it.

    Each set of what can be true is numbered as it is met; the number is in the bits beyond those of
    the composition, which alone decide what can happen.
    """

    def __init__(self, noting: Noting) -> None:
        self._noting = noting
        self.shift = noting.composition.encoding.bits
        self.keep = (1 << self.shift) - 1
        self._numbers: dict[frozenset[OfStep], int] = {frozenset(): 0}

    def differences(self, moves: Sequence[Move]) -> list[int]:
        """What each move adds to a state without a number."""
        differences = [move.difference for move in moves]
        if self._noting.noted:
            for place, move in enumerate(moves):
                latest = self._noting.latest(move)
                differences[place] += (
                    self._numbers.setdefault(latest, len(self._numbers)) << self.shift
                )
        return differences

    @property
    def latest(self) -> list[frozenset[OfStep]]:
        """The sets by their numbers."""
        return list(self._numbers)

    @property
    def bits(self) -> int:
        """How many bits a state has."""
        return self.shift + (len(self._numbers) - 1).bit_length()


@dataclass(frozen=True)
class Reached:
    """The states that are reached, in breadth-first order.

    `ends` are the numbers of those in which nothing can happen. Where `cut` says why exploring
    stopped, states from number `expanded` on have not been looked at. `noted` are the steps that
    states tell of.
    """

    composition: Composition
    reduction: Symmetry | PartialOrder | None
    runner: Runner
    noted: NotedSteps
    states: Sequence[int]
    ends: Sequence[int]
    expanded: int
    transitions: int
    depth: int
    cut: str = ""
    find_parents: Callable[[], Sequence[int]] = field(default=list, repr=False, compare=False)
    find_edges: Callable[[], Edges] = field(default=lambda: ([0], []), repr=False, compare=False)
    visited: Visited | None = field(default=None, repr=False, compare=False)

    @cached_property
    def parents(self) -> Sequence[int]:
        """The number of the state from which each was reached first; -1 where it starts."""
        return self.find_parents()

    @cached_property
    def edges(self) -> Edges:
        """Where each step leads, by the numbers of states."""
        return self.find_edges()

    @cached_property
    def _backwards(self) -> Arrays:
        return turned_round(self.runner, *self.edges, len(self.states))

    def trace_to(self, number: int) -> Trace[int]:
        """A shortest trace to the state with this number."""
        steps: list[tuple[Action, int]] = []
        while (parent := self.parents[number]) >= 0:
            source, target = self.states[parent], self.states[number]
            action = next(
                move.action
                for move in self.composition.moves(source)
                if self._standing_for(source + move.difference) == target
            )
            steps.append((action, target))
            number = parent
        start, steps = self.states[number], steps[::-1]
        if isinstance(self.reduction, Symmetry):
            return Trace(start, tuple(unfolded(self.reduction, start, steps, 0)[0]))
        return Trace(start, tuple(Step(action, target) for action, target in steps))

    def along(self, start: int, edges: Sequence[int]) -> Trace[int]:
        """The trace from the state with number `start` along these edges, each a place in the
        targets of `edges`.
        """
        offsets, targets = self.edges
        steps, number = list[Step[int]](), start
        for edge in edges:
            move = self.composition.moves(self.states[number] & self.noted.keep)[
                edge - offsets[number]
            ]
            number = targets[edge]
            steps.append(Step(move.action, self.states[number] & self.noted.keep))
        return Trace(self.states[start] & self.noted.keep, tuple(steps))

    def _standing_for(self, state: int) -> int:
        if isinstance(self.reduction, Symmetry):
            return self.reduction.standing_for(state)[0]
        return state

    def parts(self, mask: int) -> Iterable[int]:
        """What is met of the bits of `mask`."""
        if self.visited is not None:
            met: Iterable[int] = _parts(self.runner, self.states, mask)[1]
            return met
        return {state & mask for state in self.states}

    def marks(self, mask: int, wanted: Callable[[int], bool]) -> bytearray:
        """For each state a 1 if what it has of the bits of `mask` is `wanted`."""
        if self.visited is None:
            known = {part: wanted(part) for part in self.parts(mask)}
            return bytearray(known[state & mask] for state in self.states)
        runner = self.runner
        slots, parts = _parts(runner, self.states, mask)
        truth = runner.put("B", map(wanted, parts))
        marks = runner.new("B", len(self.states))
        runner.run(mark, self.states, mask, slots, parts, truth, marks)
        marked = bytearray(marks)
        for unused in (marks, truth, parts, slots):
            runner.release(unused)
        return marked

    def all_marks(self, parts: Iterable[tuple[int, Callable[[int], bool]]]) -> bytearray:
        """For each state a 1 if each of these parts of it is wanted."""
        marks = int.from_bytes(b"\1" * len(self.states))
        for mask, wanted in parts:
            if marks:
                marks &= int.from_bytes(self.marks(mask, wanted))
        return bytearray(marks.to_bytes(len(self.states)))

    def leading_to(self, goals: bytearray) -> bytearray:
        """For each state a 1 if from it some run comes to one that has a 1 in `goals`."""
        marks = self.runner.put("B", goals)
        spread(self.runner, self._backwards, marks)
        return bytearray(marks)

    def labels(self, label: Callable[[Sequence[Move]], Sequence[int]]) -> Array:
        """For each edge the number that `label` gives its move among those of its state.

        Numbers have 16 bits; see `proofs.systems.tables.Values`.
        """
        if self.visited is not None:
            return self.visited.labels(tables_of(self.composition, label))
        moves = (self.composition.moves(state & self.noted.keep) for state in self.states)
        return self.runner.put("H", (number for some in moves for number in label(some)))


def _parts(runner: Runner, states: Array, mask: int) -> tuple[Array, Array]:
    """A table of what is met of the bits of `mask`, and the entries in it that are taken."""
    size = 1 << min(mask.bit_count() + 1, 10)
    while True:
        slots, parts = runner.new("i", size), runner.new("q", size // 2)
        count = runner.run(collect, states, mask, slots, parts)
        if count >= 0:
            return slots, parts[:count]
        runner.release(parts)
        runner.release(slots)
        size *= 8


def collect(states: I64, mask: int, slots: I32, parts: I64) -> int:
    """Put what is met of the bits of `mask` into `parts`; how many there are, -1 if there is no
    room for all.

    A slot has the number of a part plus one; half of the slots stay free, so that searches end.
    """
    low, shift, count = len(slots) - 1, shift_for(len(slots)), 0
    for number in range(len(states)):
        part = states[number] & mask
        slot = place_of(part, shift, low)
        while slots[slot] != 0 and parts[slots[slot] - 1] != part:
            slot = (slot + 1) & low
        if slots[slot] == 0:
            if count == len(parts):
                return -1
            parts[count] = part
            count += 1
            slots[slot] = count
    return count


def mark(states: I64, mask: int, slots: I32, parts: I64, truth: U8, marks: U8) -> int:
    """Put the truth of the part of each state into `marks`; each part is in the slots."""
    low, shift = len(slots) - 1, shift_for(len(slots))
    for number in range(len(states)):
        part = states[number] & mask
        slot = place_of(part, shift, low)
        while parts[slots[slot] - 1] != part:
            slot = (slot + 1) & low
        marks[number] = truth[slots[slot] - 1]
    return 0


COMPILE_FROM = 10_000
"""From how many states on compiling pays."""


def reach(
    composition: Composition,
    effort: Effort | None = None,
    reduction: Symmetry | PartialOrder | None = None,
    compiled: bool | None = None,
    noting: Noting | None = None,
) -> Reached:
    """Every state of `composition` that can be reached, or as many as `effort` allows.

    With a reduction, of those only what it keeps; whether that is enough is for the caller to know.
    `compiled` says whether the search is compiled from the start, or never; by default it is from
    `COMPILE_FROM` states on, where states fit. States tell of their latest step what `noting` asks.
    """
    effort = effort or Effort()
    noted = NotedSteps(noting or Noting(composition, ()))
    most = UNLIMITED
    if compiled is not False and reduction is None and fits(composition):
        most = 0 if compiled else COMPILE_FROM
    return _by_python(composition, effort, reduction, noted, most)


def _by_tables(
    composition: Composition, effort: Effort, noted: NotedSteps, begun: Begun
) -> Reached | None:
    """None where what is noted of steps makes the states too wide."""
    tables = tables_of(composition, noted.differences)
    if noted.bits > WIDEST or tables.widest >= ENDED:
        return None
    reached = explore_tables(tables, effort, begun=begun)
    return Reached(
        composition,
        None,
        reached.runner,
        noted,
        reached.states,
        reached.ends,
        reached.expanded,
        reached.transitions,
        reached.depth,
        reached.cut,
        lambda: reached.parents,
        reached.edges,
        reached,
    )


def _by_python(
    composition: Composition,
    effort: Effort,
    reduction: Symmetry | PartialOrder | None,
    noted: NotedSteps,
    most: int,
) -> Reached:
    """From more than `most` states on the search goes on in tables, where that can be."""
    states = list(composition.initial())
    numbers = {state: number for number, state in enumerate(states)}
    parents, offsets, targets = array("i", [-1] * len(states)), array("i", [0]), array("i")
    ends, depth, level, cut = list[int](), 0, len(states), ""
    keep = noted.keep

    def closed(state: int) -> bool:
        return numbers.get(state, len(states)) < len(offsets)

    def targets_of(state: int) -> list[int]:
        if isinstance(reduction, PartialOrder):
            followed = reduction.followed(state, closed)
            return [state + move.difference for move in followed]
        if isinstance(reduction, Symmetry):
            leading = (state + move.difference for move in composition.moves(state))
            return [reduction.standing_for(target)[0] for target in leading]
        state &= keep
        return [state + added for added in noted.differences(composition.moves(state))]

    for number, state in enumerate(states):  # grows while it is read
        if number == level:
            depth, level = depth + 1, len(states)
        if not number & 1023 or len(states) > effort.states:
            cut = effort.spent(len(states), depth, len(states) - number)
            if cut:
                break
        if len(states) > most:
            begun = Begun(states, _children(parents, offsets), len(targets), depth, level)
            reached = _by_tables(composition, effort, noted, begun)
            if reached is not None:
                return reached
            most = UNLIMITED
        try:
            found = targets_of(state)
        except TooLarge as error:  # a buffer has more contents than can be numbered
            cut = str(error)
            break
        for target in found:
            place = numbers.get(target)
            if place is None:
                place = numbers[target] = len(states)
                states.append(target)
                parents.append(number)
            targets.append(place)
        if len(targets) == offsets[-1]:
            ends.append(number)
        offsets.append(len(targets))
    return Reached(
        composition,
        reduction,
        Interpreter(),
        noted,
        states,
        ends,
        len(offsets) - 1,
        len(targets),
        depth,
        cut,
        lambda: parents,
        lambda: (offsets, targets),
    )


def _children(parents: Sequence[int], offsets: Sequence[int]) -> Sequence[int]:
    """For each state that is expanded how many were met first from it, or `ENDED`."""
    children = array("H", bytes(2 * (len(offsets) - 1)))
    for parent in parents:
        if parent >= 0:
            children[parent] += 1
    for number in range(len(children)):
        if offsets[number] == offsets[number + 1]:
            children[number] = ENDED
    return children
