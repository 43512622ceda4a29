"""The compiled search of a model that is laid out in tables, breadth first.

A state is an integer of at most `WIDEST` bits, and each move adds a difference to it. Visited
states stand in an open-addressing table, eight bytes a slot. States are expanded in batches: all
targets of a batch are computed and hashed before the first is looked up, so that their slots are
fetched from memory at the same time. The order is that of a queue, one state after another: the
numbers of the states, their parents and every count are those of the interpreter.

For each state there are eight bytes of its own, two that say how many were met first from it, and
eight for each slot of the table, of which a quarter, and from 2^23 slots on three quarters, are
filled. The table is the last array of the memory: it grows where it is, and is filled again from
the states. Between runs of the kernels it grows, and the limits are kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property

from proofs.core.explore import TooLarge
from proofs.core.kernels import Array, Compiled, Runner
from proofs.core.limits import Effort
from proofs.core.webassembly import I32, I64, U16, prefetch, wrapping_product
from pxp_fsm.lazy_dataclasses import dataclass

WIDEST = 62
"""How many bits a state may have."""

BATCH = 32
"""How many states are expanded before their targets are looked up."""

ENDED = (1 << 16) - 1
"""What `children` has of a state without a step."""

COUNT, DONE, STEPS, DEPTH, LEVEL = range(5)
"""What `progress` counts: states, states that are expanded, their steps; the depth of the next
state, and the number of the first state of the next level."""


@dataclass(frozen=True)
class Tables:
    """A model as lists of integers; `keep` are the bits of a state on which moves depend.

    A unit is six entries of `units` (shift, mask, shift, mask, base, more): two parts of the state
    with their masks, which number an entry from `base` on. `first[entry]` is the first move there:
    twice its difference, plus one; 0 where there is none. Where `more` is not negative, the other
    moves are `rest[starts[more + own]:starts[more + own + 1]]`, by the entry's place in the unit.

    What depends on more parts is joint, three entries of `joint` and at the end one more: where its
    parts begin, how many must be ready, and what is added besides. A part is three entries of
    `parts` (shift, mask, base); `ready` has two for `base` + number: whether it is ready with this
    number, and what it adds. A joint move that needs two parts or more needs all.

    Nothing else is known of how a state is packed. No state has more than `widest` moves.
    """

    start: int
    keep: int
    widest: int
    units: Sequence[int]
    first: Sequence[int]
    starts: Sequence[int]
    rest: Sequence[int]
    joint: Sequence[int]
    parts: Sequence[int]
    ready: Sequence[int]

    def arrays(self, runner: Runner) -> tuple[Array, ...]:
        """What `expand` looks up."""
        looked_up = self.units, self.first, self.starts, self.rest, self.joint, self.parts
        return tuple(runner.put("q", entries) for entries in (*looked_up, self.ready))


def expand(
    state: int,
    base: int,
    values: I64,
    filled: int,
    units: I64,
    first: I64,
    starts: I64,
    rest: I64,
    joint: I64,
    parts: I64,
    ready: I64,
) -> int:
    """Put `base` and what is added by each move of `state` into `values`, from place `filled` on.

    The order is that of `Composition.moves`: the units, then what is joint. The result is the first
    place that is free. One more place is written to, so `values` has one more than there are moves.
    """
    for at in range(0, len(units), 6):
        own, other = units[at + 1], units[at + 3]
        entry = (state >> units[at] & own) * (other + 1) + (state >> units[at + 2] & other)
        move = first[units[at + 4] + entry]
        # Written whether there is a move or not: to see that would cost more than to write.
        values[filled] = base + (move >> 1)
        filled += move & 1
        more = units[at + 5]
        if more >= 0:
            for k in range(starts[more + entry], starts[more + entry + 1]):
                values[filled] = base + rest[k]
                filled += 1
    for j in range(0, len(joint) - 3, 3):
        target, there = base + joint[j + 2], 0
        for p in range(3 * joint[j], 3 * joint[j + 3], 3):
            place = 2 * (parts[p + 2] + (state >> parts[p] & parts[p + 1]))
            there += ready[place]
            target += ready[place + 1]
            if joint[j + 1] > 1 and ready[place] == 0:
                break
        if there >= joint[j + 1]:
            values[filled] = target
            filled += 1
    return filled


def place_of(state: int, shift: int, mask: int) -> int:
    """The slot where the search for a state begins: the high bits of a hash.

    Two rounds of a product and a shift spread every bit of the state over the high bits.
    """
    mixed = wrapping_product(state, -7046029254386353131)
    mixed ^= mixed >> 32 & 0xFFFFFFFF
    return wrapping_product(mixed, -2965442102133645933) >> shift & mask


def shift_for(slots: int) -> int:
    """By how much a hash is shifted for a table of so many slots, a power of two."""
    shift = 64
    while 1 << (64 - shift) < slots:
        shift -= 1
    return shift


def search(
    states: I64,
    children: U16,
    slots: I64,
    keys: I64,
    places: I64,
    begins: I64,
    progress: I64,
    room: int,
    limit: int,
    until: int,
    keep: int,
    units: I64,
    first: I64,
    starts: I64,
    rest: I64,
    joint: I64,
    parts: I64,
    ready: I64,
) -> int:
    """Expand states up to number `until`, as long as there is `room` and at most `limit` are met.

    A slot holds a state plus one, so that 0 is a free slot; what is in it stays there. A state is
    in the first free slot from its place on, so a search for it ends where it is or belongs: some
    slots stay free, since `room` is less than their number, and all of a batch may be new. The
    states of a batch are looked up one after another in the order of a queue: only computing and
    fetching are done for all of them before.
    """
    mask, shift = len(slots) - 1, shift_for(len(slots))
    count, done, steps = progress[0], progress[1], progress[2]
    depth, level = progress[3], progress[4]
    while done < count and done < until and count + len(keys) <= room:
        batch, filled = min(len(begins) - 1, count - done), 0
        for b in range(batch):
            begins[b] = filled
            state = states[done + b] & keep
            filled = expand(
                state, state, keys, filled, units, first, starts, rest, joint, parts, ready
            )
        begins[batch] = filled
        for k in range(filled):
            places[k] = place_of(keys[k], shift, mask)
            prefetch(slots, places[k])
        for b in range(batch):
            here, beyond, known = begins[b], begins[b + 1], count
            steps += beyond - here
            for k in range(here, beyond):
                key, slot = keys[k] + 1, places[k]
                while slots[slot] != 0 and slots[slot] != key:
                    slot = (slot + 1) & mask
                if slots[slot] == 0:
                    slots[slot] = key
                    states[count] = keys[k]
                    count += 1
            children[done] = ENDED if here == beyond else count - known
            done += 1
            if done == level and done < count:
                depth, level = depth + 1, count
            if count > limit:
                until = done  # what is left of the batch is expanded again, where it goes on
                break
    progress[0], progress[1], progress[2] = count, done, steps
    progress[3], progress[4] = depth, level
    return 0


def enter(states: I64, slots: I64, places: I64, count: int) -> int:
    """Enter the first `count` states, all different, into slots that are free."""
    mask, shift = len(slots) - 1, shift_for(len(slots))
    begin = 0
    while begin < count:
        size = min(len(places), count - begin)
        for k in range(size):
            places[k] = place_of(states[begin + k], shift, mask)
            prefetch(slots, places[k])
        for k in range(size):
            slot = places[k]
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = states[begin + k] + 1
        begin += size
    return 0


def number(states: I64, slots: I64, index: I32, places: I64) -> int:
    """Put the number of each state into `index`, at the slot in which it is."""
    mask, shift = len(slots) - 1, shift_for(len(slots))
    begin = 0
    while begin < len(states):
        size = min(len(places), len(states) - begin)
        for k in range(size):
            places[k] = place_of(states[begin + k], shift, mask)
            prefetch(slots, places[k])
        for k in range(size):
            slot = places[k]
            while slots[slot] != states[begin + k] + 1:
                slot = (slot + 1) & mask
            index[slot] = begin + k
        begin += size
    return 0


def follow_steps(
    states: I64,
    slots: I64,
    index: I32,
    offsets: I32,
    targets: I32,
    keys: I64,
    places: I64,
    keep: int,
    units: I64,
    first: I64,
    starts: I64,
    rest: I64,
    joint: I64,
    parts: I64,
    ready: I64,
) -> int:
    """Put the numbers of the targets of each state that is expanded into `targets`.

    Each of them is in the table, so that every search in it ends.
    """
    mask, shift = len(slots) - 1, shift_for(len(slots))
    expanded, done, steps = len(offsets) - 1, 0, 0
    while done < expanded:
        batch, filled = min(BATCH, expanded - done), 0
        for b in range(batch):
            state = states[done + b] & keep
            filled = expand(
                state, state, keys, filled, units, first, starts, rest, joint, parts, ready
            )
            offsets[done + b + 1] = steps + filled
        for k in range(filled):
            places[k] = place_of(keys[k], shift, mask)
            prefetch(slots, places[k])
            prefetch(index, places[k])
        for k in range(filled):
            key, slot = keys[k] + 1, places[k]
            while slots[slot] != key:
                slot = (slot + 1) & mask
            targets[steps + k] = index[slot]
        steps += filled
        done += batch
    return steps


def label_steps(
    states: I64,
    labels: U16,
    values: I64,
    keep: int,
    expanded: int,
    units: I64,
    first: I64,
    starts: I64,
    rest: I64,
    joint: I64,
    parts: I64,
    ready: I64,
) -> int:
    """Put what is added by each move of each state that is expanded into `labels`, in their order.

    The tables are laid out as those of `expand`, with bits of labels in place of differences.
    """
    steps = 0
    for done in range(expanded):
        filled = expand(
            states[done] & keep, 0, values, 0, units, first, starts, rest, joint, parts, ready
        )
        for k in range(filled):
            labels[steps + k] = values[k]
        steps += filled
    return steps


def parents_of(children: U16, parents: I32) -> int:
    """The number of the state from which each was met first; -1 of the first state.

    States are numbered as they are met, so those that were met first from a state follow those that
    were met first from the states before it.
    """
    count = 1
    parents[0] = -1
    for source in range(len(children)):
        many = 0 if children[source] == ENDED else children[source]
        for target in range(count, count + many):
            parents[target] = source
        count += many
    return count


def ends_of(children: U16, ends: I32) -> int:
    """The numbers of the states without a step, as far as there is room; how many there are."""
    count = 0
    for source in range(len(children)):
        if children[source] == ENDED:
            if count < len(ends):
                ends[count] = source
            count += 1
    return count


_CHUNK = 1 << 19
"""After how many states the kernel returns, so that limits and interrupts are seen."""

_FIRST_SLOTS = 1 << 16
"""How many slots a search begins with: a page of them that holds no state is not touched."""

_LARGE = 1 << 19
"""Up to how many slots the table grows by four."""

_HUGE = 1 << 23
"""From how many slots on memory counts for more than the length of searches in them."""

_MOST = (1 << 31) - 1
"""How many states can be numbered."""

_BYTES_OF_STATE = 21.5
"""How many bytes of addresses there are for each state: ten of its own, and the slots."""


@dataclass(frozen=True)
class Begun:
    """What another search has found so far: its states, the first `expanded` of them expanded.

    `children` says of these how many were met first from each, or `ENDED`. `level` is the number of
    the first state of the level after that of the next one, which is at `depth`.
    """

    states: Sequence[int]
    children: Sequence[int]
    transitions: int = 0
    depth: int = 0
    level: int = 1


@dataclass(frozen=True)
class Visited:
    """What a search has found: the states in breadth-first order.

    `children` says how many states were met first from each. `ends` are the numbers of states
    without a step. States from number `expanded` on have not been looked at, since the search was
    `cut` for this reason.
    """

    runner: Compiled
    tables: Tables
    states: Array
    children: Array
    expanded: int
    transitions: int
    depth: int
    cut: str

    @cached_property
    def parents(self) -> Array:
        """The number of the state from which each was met first; -1 for the first state."""
        parents = self.runner.new("i", len(self.states))
        self.runner.run(parents_of, self.children, parents)
        return parents

    @cached_property
    def ends(self) -> Array:
        """The numbers of the states without a step."""
        none = self.runner.new("i", 0)
        ends = self.runner.new("i", self.runner.run(ends_of, self.children, none))
        self.runner.run(ends_of, self.children, ends)
        return ends

    def edges(self) -> tuple[Array, Array]:
        """Where each step leads: the targets of state i are `targets[offsets[i]:offsets[i + 1]]`.

        They are computed again, since few questions need them.
        """
        runner = self.runner
        offsets = runner.new("i", self.expanded + 1)
        targets = runner.new("i", self.transitions)
        keys, places, _ = _room(runner, self.tables)
        arrays = self.tables.arrays(runner)
        # Nothing more is entered: three quarters full it is small enough to be as fast.
        slots = runner.new("q", 1 << (len(self.states) * 4 // 3).bit_length())
        index = runner.new("i", len(slots))
        runner.run(enter, self.states, slots, places, len(self.states))
        runner.run(number, self.states, slots, index, places)
        runner.run(
            follow_steps, self.states, slots, index, offsets, targets, keys, places,
            self.tables.keep, *arrays,
        )  # fmt: skip
        runner.release(slots)
        runner.release(index)
        return offsets, targets

    def labels(self, tables: Tables) -> Array:
        """For each step what `tables` have in place of its difference, a number of 16 bits."""
        labels = self.runner.new("H", self.transitions)
        values = self.runner.new("q", tables.widest + 1)
        self.runner.run(
            label_steps, self.states, labels, values, tables.keep, self.expanded,
            *tables.arrays(self.runner),
        )  # fmt: skip
        return labels


def explore_tables(tables: Tables, effort: Effort, begun: Begun | None = None) -> Visited:
    """Every state that can be reached, breadth first, or as many as `effort` allows.

    The search goes on from what was `begun`. Raises `TooLarge` where there is no memory for it.
    """
    return _Search(tables, begun or Begun((tables.start,), ())).run(effort)


class _Search:
    """The arrays of a search, of which the table of visited states grows."""

    def __init__(self, tables: Tables, begun: Begun) -> None:
        runner = Compiled()
        self._runner, self._tables = runner, tables
        self._arrays, self._scratch = tables.arrays(runner), _room(runner, tables)
        self._progress = runner.new("q", 5)
        # Addresses for as many states as there can be: memory is taken where they are touched.
        room = min(_MOST, int(runner.most / _BYTES_OF_STATE))
        self._states, self._children = runner.new("q", room), runner.new("H", room)
        count, done = len(begun.states), len(begun.children)
        self._states[:count] = _packed("q", begun.states)
        self._children[:done] = _packed("H", begun.children)
        self._progress[:] = _packed("q", (count, done, begun.transitions, begun.depth, begun.level))
        self._most = BATCH * (tables.widest + 1)
        self._slots = runner.new("q", _slots_for(count + 2 * self._most))
        runner.run(enter, self._states, self._slots, self._scratch[1], count)

    def run(self, effort: Effort) -> Visited:
        progress, cut = self._progress, ""
        while progress[DONE] < progress[COUNT]:
            count, done = progress[COUNT], progress[DONE]
            cut = effort.spent(count, progress[DEPTH], count - done) or self._grow()
            if cut:
                break
            room = min(len(self._states), _holds(len(self._slots)))
            self._runner.run(
                search, self._states, self._children, self._slots, *self._scratch, progress, room,
                effort.states, done + _CHUNK, self._tables.keep, *self._arrays,
            )  # fmt: skip
        self._runner.release(self._slots)
        count, done, steps, depth, _ = progress
        tables = self._states[:count], self._children[:done]
        return Visited(self._runner, self._tables, *tables, done, steps, depth, cut)

    def _grow(self) -> str:
        """Make room for a batch; why it cannot be, where there are too many states."""
        needed = self._progress[COUNT] + self._most
        if needed > len(self._states):
            return f"more than {len(self._states):,} states, which is all there is room for"
        if needed > _holds(len(self._slots)):
            wide = len(self._slots) << (2 if len(self._slots) < _LARGE else 1)
            size = max(wide, _slots_for(needed))
            try:
                slots = self._runner.enlarged(self._slots, size)
            except TooLarge as error:
                return str(error)
            self._runner.clear(self._slots)
            self._slots = slots
            self._runner.run(
                enter, self._states, self._slots, self._scratch[1], self._progress[COUNT]
            )
        return ""


def _packed(kind: str, values: Iterable[int]) -> memoryview:
    """Numbers as what is copied into an array at once."""
    return memoryview(array(kind, values))


def _holds(slots: int) -> int:
    """How many states so many slots hold: a quarter is faster, three quarters take less memory."""
    return slots // 4 if slots < _HUGE else slots * 3 // 4


def _slots_for(states: int) -> int:
    """How many slots hold so many states; a power of two."""
    slots = _FIRST_SLOTS
    while _holds(slots) < states:
        slots *= 2
    return slots


def _room(runner: Runner, tables: Tables) -> tuple[Array, Array, Array]:
    """Where a batch puts its targets, their places, and where those of each state begin."""
    most = BATCH * (tables.widest + 1)
    return runner.new("q", most), runner.new("q", most), runner.new("q", BATCH + 1)
