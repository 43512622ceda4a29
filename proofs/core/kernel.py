"""Breadth-first search of a model that is laid out in tables, in one compiled loop.

A state is an integer of at most `WIDEST` bits, and each move adds a difference to it. Visited
states stand in an open-addressing table, eight bytes a slot. States are expanded in batches: all
targets of a batch are computed and hashed before the first is looked up, so that their slots are
fetched from memory at the same time. The order is that of a queue, one state after another: the
numbers of the states, their parents and every count are those of the interpreter.

Numba compiles `search` once and keeps it in the user's cache folder; Python grows the arrays
between its runs, and looks whether the limits are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from proofs.core.compiling import cached_by_numba, prefetch
from proofs.core.limits import UNLIMITED, Effort

WIDEST = 62
"""How many bits a state may have."""

BATCH = 32
"""How many states are expanded before their targets are looked up."""

CHUNK = 1 << 19
"""After how many states the loop returns, so that limits and interrupts are seen."""

COUNT, DONE, STEPS, ENDS, DEPTH, LEVEL = range(6)
"""What `progress` counts: states, states that are expanded, their steps, those without a step;
the depth of the next state, and the number of the first state of the next level."""

POSITIVE = (1 << 63) - 1
"""A mask that changes no index."""

_FIRST_SLOTS = 1 << 13
_LARGE = 1 << 19
"""From how many entries on an array is in huge pages and grows where it stands."""

_HUGE = 1 << 23
"""From how many slots on memory counts for more than the length of searches in them."""

_MOST = (1 << 31) - 1
"""How many states can be numbered."""


@dataclass(frozen=True)
class Tables:
    """A model as arrays of 64-bit integers; `keep` are the bits on which moves depend.

    A unit is a row (shift, mask, shift, mask, base, more): two parts of the state with their masks,
    which number an entry from `base` on. `first[entry]` is the first move there: twice its
    difference, plus one; 0 where there is none. Where `more` is not negative, the other moves are
    `rest[starts[more + own]:starts[more + own + 1]]`, by the entry's place in the unit.

    What depends on more parts is joint: `joint[j]` says where its `parts` begin, how many must be
    ready, and what is added besides. A part is a row (shift, mask, base); `ready[base + number]`
    says whether it is ready with this number, and what it adds. A joint move that needs two parts
    or more needs all.
    """

    start: int
    keep: int
    widest: int
    units: Any
    first: Any
    starts: Any
    rest: Any
    joint: Any
    parts: Any
    ready: Any

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What `search` looks up."""
        return (self.units, self.first, self.starts, self.rest, self.joint, self.parts, self.ready)


@dataclass(frozen=True)
class Visited:
    """What a search has found: the states in breadth-first order, and the parent of each.

    `ends` are the numbers of states without a step. States from number `expanded` on have not been
    looked at, since the search was `cut` for this reason.
    """

    tables: Tables
    states: Any
    parents: Any
    ends: Any
    slots: Any
    expanded: int
    transitions: int
    depth: int
    cut: str

    def edges(self) -> tuple[Any, Any]:
        """Where each step leads: the targets of state i are `targets[offsets[i]:offsets[i + 1]]`.

        They are computed again, since few questions need them.
        """
        import numpy as np

        offsets = np.empty(self.expanded + 1, np.int64)
        targets = np.empty(self.transitions + BATCH * (self.tables.widest + 1), np.int32)
        progress = np.array([len(self.states), 0, 0, 0, 0, 0], np.int64)
        index = np.empty(len(self.slots), np.int32)
        arrays = (self.states, self.parents, self.ends, self.slots, self.slots[:0])
        compiled_search()(
            *arrays, index, offsets, targets, *_room(self.tables), progress, 0, UNLIMITED,
            self.expanded, self.tables.keep, *self.tables.arrays,
        )  # fmt: skip
        return offsets, targets[: self.transitions]


def explore_tables(tables: Tables, effort: Effort, name: str = "") -> Visited:
    """Every state that can be reached, breadth first, or as many as `effort` allows."""
    import numpy as np

    loop, scratch = compiled_search(), _room(tables)
    most = BATCH * (tables.widest + 1)
    states, parents = np.empty(2 * most, np.int64), np.empty(2 * most, np.int32)
    ends, nothing = np.empty(2 * BATCH, np.int32), np.empty(0, np.int64)
    slots, old = np.zeros(_slots_for(2 * most), np.int64), nothing
    states[0], parents[0] = tables.start, -1
    slots[_place(tables.start, len(slots))] = tables.start + 1
    progress = np.array([1, 0, 0, 0, 0, 1], np.int64)
    unused, cut = np.empty(0, np.int32), ""
    while progress[DONE] < progress[COUNT]:
        count, done = int(progress[COUNT]), int(progress[DONE])
        cut = effort.spent(count, int(progress[DEPTH]), count - done)
        if cut:
            break
        room = min(len(states), _holds(len(slots)))
        loop(
            states, parents, ends, slots, old, unused, nothing, unused, *scratch, progress,
            room, effort.states, done + CHUNK, tables.keep, *tables.arrays,
        )  # fmt: skip
        old, count = nothing, int(progress[COUNT])
        if count + most > len(states):
            if len(states) >= _MOST:
                cut = f"more than {_MOST:,} states, which is all that can be numbered"
                break
            states, parents = _larger(states, count, most), _larger(parents, count, most)
        if progress[ENDS] + BATCH > len(ends):
            ends.resize(2 * len(ends), refcheck=False)
        if count + most > _holds(len(slots)):
            wide = len(slots) << (2 if len(slots) < _LARGE else 1)
            old, slots = slots, np.zeros(max(wide, _slots_for(count + most)), np.int64)
    if len(old):
        slots = old
    count, ended = int(progress[COUNT]), int(progress[ENDS])
    found = (states[:count], parents[:count], ends[:ended], slots)
    return Visited(
        tables, *found, int(progress[DONE]), int(progress[STEPS]), int(progress[DEPTH]), cut
    )


def _larger(array: Any, count: int, room: int) -> Any:
    """The array, of which `count` entries are used, with room for more."""
    import numpy as np

    size = min(_MOST, len(array) + room + (len(array) >> 2))
    if len(array) >= 2 * _LARGE:
        array.resize(size, refcheck=False)
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[:count] = array[:count]
    return larger


def _holds(slots: int) -> int:
    """How many states so many slots hold: a quarter is faster, five eighths take less memory."""
    return slots // 4 if slots < _HUGE else slots * 5 // 8


def _slots_for(states: int) -> int:
    """How many slots hold so many states; a power of two."""
    slots = _FIRST_SLOTS
    while _holds(slots) < states:
        slots *= 2
    return slots


def _room(tables: Tables) -> tuple[Any, Any, Any]:
    """Where a batch puts its targets, their places, and where those of each state begin."""
    import numpy as np

    most = BATCH * (tables.widest + 1)
    return np.empty(most, np.int64), np.empty(most, np.int64), np.empty(BATCH + 1, np.int64)


def _place(state: int, slots: int) -> int:
    """Where a state belongs among so many slots: `_hash` for Python's integers."""
    most = (1 << 64) - 1
    mixed = state * 0x9E3779B97F4A7C15 & most
    mixed ^= mixed >> 32
    mixed = mixed * 0xD6E8FEB86659FD93 & most
    return mixed >> 65 - slots.bit_length()


def search(  # noqa: PLR0912, PLR0915 - one loop: what it calls with arrays is not inlined
    states: Any,
    parents: Any,
    ends: Any,
    slots: Any,
    old: Any,
    index: Any,
    offsets: Any,
    targets: Any,
    keys: Any,
    places: Any,
    begins: Any,
    progress: Any,
    room: int,
    limit: int,
    until: int,
    keep: int,
    units: Any,
    first: Any,
    starts: Any,
    rest: Any,
    joint: Any,
    parts: Any,
    ready: Any,
) -> None:
    """Expand states up to number `until`, as long as there is room and at most `limit` are met.

    The slots `old` are entered before. With an `index`, a number for each slot, nothing new is
    met: then `offsets` and `targets` are filled. (Numba leaves out the test for a negative index
    where the index is seen to be none: hence `& POSITIVE`.)
    """
    mask, shift = len(slots) - 1, 64
    while (1 << (64 - shift)) < len(slots):
        shift -= 1
    for o in range(len(old)):
        if old[o] != 0:
            slot = _hash(old[o] - 1) >> shift & mask & POSITIVE
            while slots[slot] != 0:
                slot = (slot + 1) & mask & POSITIVE
            slots[slot] = old[o]
    count, done, steps, ended = progress[0], progress[1], progress[2], progress[3]
    depth, level = progress[4], progress[5]
    numbering, most, wide = len(index) > 0, len(keys), len(units) // 6
    if numbering:
        offsets[0] = 0
        for begin in range(0, count, most):
            size = min(most, count - begin)
            for k in range(size):
                places[k] = _hash(states[begin + k]) >> shift & mask
                prefetch(slots, places[k])
            for k in range(size):
                slot = places[k] & POSITIVE
                while slots[slot] != states[begin + k] + 1:
                    slot = (slot + 1) & mask & POSITIVE
                index[slot] = begin + k
    while done < count and done < until:
        batch = min(len(begins) - 1, count - done)
        if numbering:
            batch = min(batch, until - done)
        elif count + most > room or ended + batch > len(ends):
            break
        found = 0
        for b in range(batch):
            begins[b] = found
            state, at = states[done + b] & keep, 0
            for _ in range(wide):
                own, other = units[at + 1], units[at + 3]
                place = (state >> units[at] & own) * (other + 1) + (state >> units[at + 2] & other)
                move = first[(units[at + 4] + place) & POSITIVE]
                keys[found & POSITIVE] = state + (move >> 1)
                found += move & 1
                more = units[at + 5]
                if more >= 0:
                    for k in range(starts[more + place], starts[more + place + 1]):
                        keys[found] = state + rest[k]
                        found += 1
                at += 6
            for j in range(len(joint) - 1):
                target, there = state + joint[j, 2], 0
                for p in range(joint[j, 0], joint[j + 1, 0]):
                    at = parts[p, 2] + (state >> parts[p, 0] & parts[p, 1])
                    there += ready[at, 0]
                    target += ready[at, 1]
                    if joint[j, 1] > 1 and not ready[at, 0]:
                        break
                if there >= joint[j, 1]:
                    keys[found] = target
                    found += 1
        begins[batch] = found
        for k in range(found):
            slot = _hash(keys[k]) >> shift & mask & POSITIVE
            places[k] = slot
            prefetch(slots, slot)
            if numbering:
                prefetch(index, slot)
        for b in range(batch):
            here, beyond = begins[b] & POSITIVE, begins[b + 1]
            steps += beyond - here
            if numbering:
                for k in range(here, beyond):
                    key, slot = keys[k] + 1, places[k] & POSITIVE
                    while slots[slot] != key:
                        slot = (slot + 1) & mask & POSITIVE
                    targets[steps - beyond + k] = index[slot]
                done += 1
                offsets[done] = steps
                continue
            for k in range(here, beyond):
                key, slot = keys[k] + 1, places[k] & POSITIVE
                there = slots[slot]
                while there != key:
                    if there == 0:
                        slots[slot] = key
                        states[count & POSITIVE] = keys[k]
                        parents[count & POSITIVE] = done
                        count += 1
                        break
                    slot = (slot + 1) & mask & POSITIVE
                    there = slots[slot]
            if here == beyond:
                ends[ended] = done
                ended += 1
            done += 1
            if done == level and done < count:
                depth, level = depth + 1, count
            if count > limit:
                until = done
                break
    progress[0], progress[1], progress[2], progress[3] = count, done, steps, ended
    progress[4], progress[5] = depth, level


def _hash(state: Any) -> Any:
    """A hash whose high bits are the place of a state in a table of any size.

    So a table of twice the size has the states in the same order, and is filled in one pass.
    """
    mixed = state * -7046029254386353131
    mixed ^= mixed >> 32 & 0xFFFFFFFF
    return mixed * -2965442102133645933


@cache
def compiled_search() -> Any:
    """`search`, compiled when first called, or loaded from the user's cache folder."""
    return cached_by_numba(search, (_hash,))
