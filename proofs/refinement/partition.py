"""Partition refinement: the classes of states that are strongly bisimilar.

States are in one class until they differ in which classes their edges lead to. In each round only
the states are looked at of which a successor came into another class in the round before, and of
the parts of a class the largest keeps its number. A state that gets a new number is in a part of at
most half the size, so it gets one at most log n times, and over all rounds at most m log n states
are looked at, each along its own edges: O(d m log n) for n states, m edges and at most d of them
from one state (Jacobs and Wißmann, Fast Coalgebraic Bisimilarity Minimization, POPL 2023; for one
label it is Paige and Tarjan, Three Partition Refinement Algorithms, SIAM J. Comput. 16, 1987).

The rounds are those of Kanellakis and Smolka: after round r two states are in one class if and only
if nobody can tell them apart in r steps. So what was logged of each round gives a formula of least
depth that tells two states apart (`proofs.refinement.formulas`).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property

from proofs.core.graphs import turned_round
from proofs.core.kernels import Array, Runner
from proofs.core.table_search import place_of, shift_for
from proofs.core.webassembly import I32, I64, U8, wrapping_product
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class Labelled:
    """A graph whose edges have labels: those of state i are `offsets[i]` to `offsets[i + 1]`."""

    runner: Runner
    offsets: Array
    targets: Array
    labels: Array

    @property
    def states(self) -> int:
        return len(self.offsets) - 1

    def edges(self, state: int) -> list[tuple[int, int]]:
        """The edges of a state: label and target."""
        places = range(self.offsets[state], self.offsets[state + 1])
        return [(self.labels[place], self.targets[place]) for place in places]


@dataclass(frozen=True)
class Partition:
    """The class of each state, from 0 to `classes` - 1.

    `log` has for each change of a class the state, its class before, and the round, in order.
    """

    graph: Labelled
    class_of: Array
    classes: int
    log: tuple[Sequence[int], Sequence[int], Sequence[int]]

    @cached_property
    def _changes(self) -> dict[int, list[tuple[int, int]]]:
        changes: dict[int, list[tuple[int, int]]] = {}
        for state, before, number in zip(*self.log, strict=True):
            changes.setdefault(state, []).append((number, before))
        return changes

    def class_after(self, state: int, rounds: int) -> int:
        """The class of a state when there had been so many rounds."""
        for number, before in self._changes.get(state, ()):
            if number > rounds:
                return before
        return int(self.class_of[state])

    def parted(self, first: int, other: int) -> int:
        """The round after which two states that are not bisimilar are in different classes."""
        if self.class_of[first] == self.class_of[other]:
            raise ValueError(f"states {first} and {other} are bisimilar")
        rounds = {number for state in (first, other) for number, _ in self._changes.get(state, ())}
        return next(
            number
            for number in sorted(rounds)
            if self.class_after(first, number) != self.class_after(other, number)
        )

    def after(self, classes: Array) -> Array:
        """The class here of each of `classes`, which are states of this graph."""
        targets = self.graph.runner.new("i", len(classes))
        self.graph.runner.run(look_up, classes, self.class_of, targets)
        return targets

    def quotient(self) -> Labelled:
        """The graph of the classes; edges with one label to one class are one."""
        graph, runner = self.graph, self.graph.runner
        states = graph.states
        members = runner.new("i", self.classes)
        runner.run(pick, self.class_of, members)
        keys, offsets = runner.new("q", len(graph.targets)), runner.new("i", self.classes + 1)
        arguments = (graph.offsets, graph.targets, graph.labels, self.class_of, members)
        count = runner.run(contract, *arguments, states, keys, offsets)
        targets, labels = runner.new("i", count), runner.new("i", count)
        runner.run(unpack, keys, states, targets, labels)
        return Labelled(runner, offsets, targets, labels)


def refined(graph: Labelled) -> Partition:
    """The coarsest partition in which states of one class are bisimilar."""
    runner, states = graph.runner, graph.states
    starts, sources = turned_round(runner, graph.offsets, graph.targets, states)
    size = 1 << max(4, (2 * states - 1).bit_length())
    room = max(1, states)

    def numbers(count: int = room) -> Array:
        return runner.new("i", count)

    block, sizes, head, after, before = (numbers() for _ in range(5))
    keys = runner.new("q", max(1, len(graph.targets)))
    counts, dirty, group, leader, members, sibling, latest, given = (numbers() for _ in range(8))
    marked, slots = runner.new("B", room), numbers(size)
    states_log, before_log, rounds_log = numbers(2 * room), numbers(2 * room), numbers(2 * room)
    at = runner.new("q", 4)
    runner.run(begin, block, sizes, head, after, before, dirty, marked, at)
    logs: tuple[array[int], array[int], array[int]] = (array("i"), array("i"), array("i"))
    while True:
        left = runner.run(
            refine,
            *(graph.offsets, graph.targets, graph.labels, starts, sources),
            *(block, sizes, head, after, before, keys, counts, dirty, marked, slots),
            *(group, leader, members, sibling, latest, given),
            *(states_log, before_log, rounds_log, at),
        )
        used = at[LOGGED]
        for kept, written in zip(logs, (states_log, before_log, rounds_log), strict=True):
            kept.extend(written[:used])
        at[LOGGED] = 0
        if not left:
            break
    return Partition(graph, block, at[BLOCKS] if states else 0, logs)


BLOCKS, DIRTY, ROUNDS, LOGGED = range(4)
"""What is where in `at`: how many classes there are, how many states are to be looked at, how many
rounds there were, and how many changes were logged since the log was emptied."""

_MIX = 6364136223846793005


def begin(
    block: I32, sizes: I32, head: I32, after: I32, before: I32, dirty: I32, marked: U8, at: I64
) -> int:
    """Put all states into class 0, to be looked at. A class is a list, linked both ways."""
    states = len(block)
    for state in range(states):
        block[state] = 0
        dirty[state] = state
        marked[state] = 1
        after[state] = state + 1 if state + 1 < states else -1
        before[state] = state - 1
    head[0], sizes[0] = 0, states
    at[BLOCKS], at[DIRTY], at[ROUNDS], at[LOGGED] = 1, states, 0, 0
    return 0


def refine(  # noqa: PLR0912, PLR0915 - one loop over the rounds; a kernel is translated as a whole
    offsets: I32,
    targets: I32,
    labels: I32,
    starts: I32,
    sources: I32,
    block: I32,
    sizes: I32,
    head: I32,
    after: I32,
    before: I32,
    keys: I64,
    counts: I32,
    dirty: I32,
    marked: U8,
    slots: I32,
    group: I32,
    leader: I32,
    members: I32,
    sibling: I32,
    latest: I32,
    given: I32,
    states_log: I32,
    before_log: I32,
    rounds_log: I32,
    at: I64,
) -> int:
    """Refine until nothing changes, or the log has no room for another round; 1 in that case.

    A round has four parts. (1) Each dirty state's signature, its edges as keys label * n + class,
    sorted and each once, is put where its edges are; dirty states of one class with one signature
    are a group, found by a hash of both, in `slots`. (2) Dirty states leave the lists of their
    classes, so that the clean rest stands there: no dirty state has the signature of a clean one,
    since a successor of it has a number that is new. (3) The largest of the rest and of the groups
    keeps the number of the class. (4) The states before those that changed are dirty next.
    """
    states, low = len(block), len(slots) - 1
    shift = shift_for(len(slots))
    while at[DIRTY] > 0:
        if at[LOGGED] + states > len(states_log):
            return 1
        at[ROUNDS] += 1
        count, groups, logged = at[DIRTY], 0, at[LOGGED]
        # (1)
        for number in range(count):
            state = dirty[number]
            own = signature(offsets, targets, labels, block, keys, states, state)
            counts[state] = own
            mixed = block[state] + 1
            for place in range(offsets[state], offsets[state] + own):
                mixed = wrapping_product(mixed ^ keys[place], _MIX)
                mixed ^= mixed >> 29 & 0x7FFFFFFFF
            slot = place_of(mixed, shift, low)
            while slots[slot] != 0 and not_alike(
                keys, offsets, counts, block, state, leader[slots[slot] - 1]
            ):
                slot = (slot + 1) & low
            if slots[slot] == 0:
                leader[groups], members[groups] = state, 0
                sibling[groups] = latest[block[state]]
                groups += 1
                latest[block[state]] = groups
                given[groups - 1] = slot
                slots[slot] = groups
            group[state] = slots[slot] - 1
            members[group[state]] += 1
        for number in range(groups):
            slots[given[number]] = 0
        # (2)
        for number in range(count):
            state = dirty[number]
            marked[state] = 0
            own, next_one, last_one = block[state], after[state], before[state]
            sizes[own] -= 1
            if last_one >= 0:
                after[last_one] = next_one
            else:
                head[own] = next_one
            if next_one >= 0:
                before[next_one] = last_one
        # (3)
        for number in range(groups):
            own = block[leader[number]]
            if latest[own] > 0 and latest[own] - 1 == number:
                largest, most, other = -1, sizes[own], number
                while other >= 0:
                    if members[other] > most:
                        largest, most = other, members[other]
                    other = sibling[other] - 1
                if largest >= 0 and sizes[own] > 0:
                    fresh = at[BLOCKS]
                    at[BLOCKS] += 1
                    sizes[fresh], head[fresh] = sizes[own], head[own]
                    moved = head[own]
                    while moved >= 0:
                        states_log[logged], before_log[logged] = moved, own
                        rounds_log[logged] = at[ROUNDS]
                        logged += 1
                        block[moved] = fresh
                        moved = after[moved]
                    sizes[own], head[own] = 0, -1
                other = number
                while other >= 0:
                    if other == largest:
                        given[other] = own
                    else:
                        given[other] = at[BLOCKS]
                        head[at[BLOCKS]], sizes[at[BLOCKS]] = -1, 0
                        at[BLOCKS] += 1
                    other = sibling[other] - 1
                latest[own] = 0
        for number in range(count):
            state = dirty[number]
            fresh = given[group[state]]
            if fresh != block[state]:
                states_log[logged], before_log[logged] = state, block[state]
                rounds_log[logged] = at[ROUNDS]
                logged += 1
                block[state] = fresh
            after[state], before[state] = head[fresh], -1
            if head[fresh] >= 0:
                before[head[fresh]] = state
            head[fresh] = state
            sizes[fresh] += 1
        # (4)
        count = 0
        for number in range(at[LOGGED], logged):
            moved = states_log[number]
            for place in range(starts[moved], starts[moved + 1]):
                source = sources[place]
                if marked[source] == 0:
                    marked[source] = 1
                    dirty[count] = source
                    count += 1
        at[DIRTY], at[LOGGED] = count, logged
    return 0


def signature(
    offsets: I32, targets: I32, labels: I32, block: I32, keys: I64, states: int, state: int
) -> int:
    """Put the edges of a state, as labels and classes, sorted to where its edges are; how many."""
    first, end = offsets[state], offsets[state + 1]
    for place in range(first, end):
        keys[place] = labels[place] * states + block[targets[place]]
    return first_once(keys, first, sort(keys, first, end))


def sort(keys: I64, first: int, end: int) -> int:
    """Sort a part of the keys, by gaps that shrink (Shell); where the part ends."""
    gap = 1
    while 3 * gap + 1 < end - first:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(first + gap, end):
            key, hole = keys[place], place
            while hole >= first + gap and keys[hole - gap] > key:
                keys[hole] = keys[hole - gap]
                hole -= gap
            keys[hole] = key
        gap = gap // 3
    return end


def first_once(keys: I64, first: int, end: int) -> int:
    """Keep each of a sorted part of the keys once, at its beginning; how many there are."""
    count = 0
    for place in range(first, end):
        if count == 0 or keys[first + count - 1] != keys[place]:
            keys[first + count] = keys[place]
            count += 1
    return count


def not_alike(keys: I64, offsets: I32, counts: I32, block: I32, state: int, other: int) -> int:
    """1 where two states are of different classes or signatures."""
    if block[state] != block[other] or counts[state] != counts[other]:
        return 1
    begin, begin_other = offsets[state], offsets[other]
    for number in range(counts[state]):
        if keys[begin + number] != keys[begin_other + number]:
            return 1
    return 0


def look_up(places: I32, values: I32, looked_up: I32) -> int:
    """The values at some places."""
    for number in range(len(places)):
        looked_up[number] = values[places[number]]
    return 0


def pick(class_of: I32, members: I32) -> int:
    """Some state of each class."""
    for state in range(len(class_of)):
        members[class_of[state]] = state
    return 0


def contract(
    offsets: I32,
    targets: I32,
    labels: I32,
    class_of: I32,
    members: I32,
    states: int,
    keys: I64,
    begins: I32,
) -> int:
    """The edges of one state of each class, as keys, and where those of each begin; how many."""
    count = 0
    for number in range(len(members)):
        first = count
        state = members[number]
        for place in range(offsets[state], offsets[state + 1]):
            keys[count] = labels[place] * states + class_of[targets[place]]
            count += 1
        count = first + first_once(keys, first, sort(keys, first, count))
        begins[number + 1] = count
    return count


def unpack(keys: I64, states: int, targets: I32, labels: I32) -> int:
    """The labels and targets of keys."""
    for place in range(len(targets)):
        labels[place] = keys[place] // states
        targets[place] = keys[place] % states
    return 0
