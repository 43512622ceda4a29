"""The compiled search of a model that is laid out in tables, breadth first, by one core or two.

A state is an integer of at most `WIDEST` bits, and each move adds a difference to it. Visited
states stand in an open-addressing table, eight bytes a slot. States are expanded in batches: all
targets of a batch are computed and hashed before the first is looked up, so that their slots are
fetched from memory at the same time. The order is that of a queue, one state after another: the
numbers of the states, their parents and every count are those of the interpreter.

Two cores share a wide level. The first expands the states in its first half, the second those in
its other half; both enter what they meet in the one table, the second with a mark. What the first
meets with a mark, it takes over: in a queue it would have been met there. What still has a mark at
the end is the second's, and follows. So the order does not depend on who is faster.

Numba compiles `search` once and keeps it in the user's cache folder. Between its runs the arrays
grow, and the limits are kept. For each state there are eight bytes of its own, one that says how
many were met first from it, and eight for each slot of the table, of which a quarter, and from
2^23 slots on three quarters, are filled.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from proofs.core.compiling import cached_by_numba, exchange, prefetch
from proofs.core.limits import UNLIMITED, Effort

WIDEST = 62
"""How many bits a state may have."""

BATCH = 32
"""How many states are expanded before their targets are looked up."""

COUNT, DONE, STEPS, ENDS, DEPTH, LEVEL = range(6)
"""What `progress` counts: states, states that are expanded, their steps, those without a step;
the depth of the next state, and the number of the first state of the next level."""

ALONE, FIRST, SECOND = range(3)
"""Who searches: one, or each of two."""

POSITIVE = (1 << 63) - 1
"""A mask that changes no index, and takes the second's mark from an entry of the table."""


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


def search(  # noqa: PLR0912, PLR0915 - one loop: what it calls with arrays is not inlined
    states: Any,
    children: Any,
    ends: Any,
    slots: Any,
    old: Any,
    index: Any,
    offsets: Any,
    targets: Any,
    met: Any,
    spots: Any,
    keys: Any,
    places: Any,
    begins: Any,
    progress: Any,
    who: int,
    base: int,
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

    The slots `old` are entered before. What is new is put into `met`, from number `base` on; the
    `SECOND` of two notes the slots of what it meets in `spots`. With an `index`, a number for each
    slot, nothing new is met: then `offsets` and `targets` are filled. (Numba leaves out the test
    for a negative index where the index is seen to be none: hence `& POSITIVE`.)
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
    mark = -POSITIVE - 1 if who == SECOND else 0
    if numbering:
        offsets[0] = 0
        for begin in range(0, count, most):
            size = min(most, count - begin)
            for k in range(size):
                places[k] = _hash(states[begin + k]) >> shift & mask
                prefetch(slots, places[k])
            for k in range(size):
                slot = places[k] & POSITIVE
                while slots[slot] != 0:
                    slot = (slot + 1) & mask & POSITIVE
                slots[slot] = states[begin + k] + 1
                index[slot] = begin + k
    while done < count and done < until:
        batch = min(len(begins) - 1, count - done)
        if numbering:
            batch = min(batch, until - done)
        elif count + most > room or ended + batch > len(ends):
            break
        elif who != ALONE:
            batch = min(batch, until - done)
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
            known = count
            for k in range(here, beyond):
                key, slot = keys[k] + 1, places[k] & POSITIVE
                there = slots[slot]
                while there & POSITIVE != key:
                    if there != 0:
                        slot = (slot + 1) & mask & POSITIVE
                    elif who == ALONE or exchange(slots, slot, 0, key | mark) == 0:
                        break
                    there = slots[slot]
                if there == 0 or (there < 0 and who == FIRST):
                    if who == SECOND:
                        spots[(count - base) & POSITIVE] = slot
                    else:
                        slots[slot] = key
                    met[(count - base) & POSITIVE] = keys[k]
                    count += 1
            children[done & POSITIVE] = count - known
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


def settle(
    states: Any,
    children: Any,
    slots: Any,
    met: Any,
    spots: Any,
    begin: int,
    end: int,
    count: int,
) -> int:
    """Put what the second has met, and the first has not, behind the others; how many there are.

    The second has expanded the states from number `begin` to `end`.
    """
    at = 0
    for number in range(begin, end):
        kept = 0
        for k in range(at, at + children[number]):
            if k + BATCH < len(spots):
                prefetch(slots, spots[k + BATCH] & len(slots) - 1)
            slot = spots[k] & POSITIVE
            if slots[slot] < 0:
                slots[slot] &= POSITIVE
                states[count + kept] = met[k]
                kept += 1
        at += children[number]
        children[number] = kept
        count += kept
    return count


@cache
def compiled_search() -> Any:
    """`search`, compiled when first called, or loaded from the user's cache folder."""
    return cached_by_numba(search, (_hash,))


@cache
def compiled_settling() -> Any:
    """`settle`, compiled in the same way."""
    return cached_by_numba(settle)


_CHUNK = 1 << 19
"""After how many states the loop returns, so that limits and interrupts are seen."""

_SHARED = 1 << 12
"""From how many states of a level on two share it."""

_TARGETS = 1 << 21
"""How many states two may meet before what they have met is put together."""

_FIRST_SLOTS = 1 << 16
"""How many slots a search begins with: a page of them that holds no state is not touched."""

_LARGE = 1 << 19
"""From how many entries on an array is in huge pages and grows where it stands."""

_HUGE = 1 << 23
"""From how many slots on memory counts for more than the length of searches in them."""

_PIECE = 1 << 22
"""How many slots are moved to a larger table before their memory is given back."""

_MOST = (1 << 31) - 1
"""How many states can be numbered."""

_BLOCK = 1 << 20
"""How many states are looked at together."""


@dataclass(frozen=True)
class Visited:
    """What a search has found: the states in breadth-first order.

    `children` says how many states were met first from each. `ends` are the numbers of states
    without a step. States from number `expanded` on have not been looked at, since the search was
    `cut` for this reason.
    """

    tables: Tables
    states: Any
    children: Any
    ends: Any
    expanded: int
    transitions: int
    depth: int
    cut: str

    @cached_property
    def parents(self) -> Any:
        """The number of the state from which each was met first; -1 for the first state."""
        import numpy as np

        parents, count = np.full(len(self.states), -1, np.int32), 1
        for begin in range(0, self.expanded, _BLOCK):
            children = self.children[begin : begin + _BLOCK]
            found = np.repeat(np.arange(begin, begin + len(children), dtype=np.int32), children)
            parents[count : count + len(found)] = found
            count += len(found)
        return parents

    def edges(self) -> tuple[Any, Any]:
        """Where each step leads: the targets of state i are `targets[offsets[i]:offsets[i + 1]]`.

        They are computed again, since few questions need them.
        """
        import numpy as np

        offsets = np.empty(self.expanded + 1, np.int64)
        targets = np.empty(self.transitions + BATCH * (self.tables.widest + 1), np.int32)
        progress = np.array([len(self.states), 0, 0, 0, 0, 0], np.int64)
        slots, nothing = np.zeros(_slots_for(len(self.states)), np.int64), np.empty(0, np.int64)
        index = np.empty(len(slots), np.int32)
        compiled_search()(
            self.states, self.children, self.ends, slots, nothing, index, offsets, targets,
            nothing, nothing, *_room(self.tables), progress, ALONE, 0, 0, UNLIMITED, self.expanded,
            self.tables.keep, *self.tables.arrays,
        )  # fmt: skip
        return offsets, targets[: self.transitions]


def cores() -> int:
    """How many cores a search uses: those that this process may use, at most two."""
    allowed = getattr(os, "sched_getaffinity", None)
    return min(2, len(allowed(0)) if allowed else os.cpu_count() or 1)


def explore_tables(tables: Tables, effort: Effort, workers: int | None = None) -> Visited:
    """Every state that can be reached, breadth first, or as many as `effort` allows.

    `workers` are one or two; by default `cores()`. The answer is the same.
    """
    with ThreadPoolExecutor(1) as second:
        search = _Search(tables, second if (workers or cores()) > 1 else None)
        return search.run(effort)


class _Search:
    """The arrays of a search, which grow."""

    def __init__(self, tables: Tables, second: ThreadPoolExecutor | None) -> None:
        import numpy as np

        self._tables, self._second, self._most = tables, second, BATCH * (tables.widest + 1)
        self._scratch, self._nothing = _room(tables), np.empty(0, np.int64)
        self._others = _room(tables)
        self._unused = np.empty(0, np.int32)
        self._slots = np.zeros(_slots_for(2 * self._most), np.int64)
        room = _holds(len(self._slots))
        self._states = np.empty(room, np.int64)
        self._children = np.empty(room, np.uint8 if tables.widest < 256 else np.int32)
        self._ends = np.empty(2 * BATCH, np.int32)
        self._states[0] = tables.start
        self._slots[_place(tables.start, len(self._slots))] = tables.start + 1
        self._progress = np.array([1, 0, 0, 0, 0, 1], np.int64)
        self._share = _TARGETS // (tables.widest + 1)
        self._met, self._spots, self._ended = self._nothing, self._nothing, self._unused

    def run(self, effort: Effort) -> Visited:
        progress, cut = self._progress, ""
        while progress[DONE] < progress[COUNT]:
            count, done = int(progress[COUNT]), int(progress[DONE])
            cut = effort.spent(count, int(progress[DEPTH]), count - done)
            if cut:
                break
            if self._second is None or not self._both(self._second, effort.states):
                until = done + (_CHUNK if self._second is None else 4 * _SHARED)
                room = min(len(self._states), _holds(len(self._slots)))
                whole = self._states, self._ends, self._scratch, progress, ALONE, 0
                self._search(whole, room, effort.states, until)
            cut = self._grow()
            if cut:
                break
        count, ended = int(progress[COUNT]), int(progress[ENDS])
        done, steps, depth = int(progress[DONE]), int(progress[STEPS]), int(progress[DEPTH])
        found = self._states[:count], self._children[:done], self._ends[:ended]
        return Visited(self._tables, *found, done, steps, depth, cut)

    def _both(self, second: ThreadPoolExecutor, limit: int) -> bool:
        """Expand a part of a level, each a half; False where it is narrow, or room is scarce."""
        import numpy as np

        progress, most = self._progress, self._most
        count, done, steps, ended, _, level = map(int, progress)
        room = min(len(self._states), _holds(len(self._slots)), limit) - count - 2 * most
        size = min(level - done, self._share, room // (self._tables.widest + 1))
        if size < _SHARED:
            return False
        if not len(self._met):
            self._met = np.empty(_TARGETS // 2 + most, np.int64)
            self._spots, self._ended = np.empty_like(self._met), np.empty(self._share, np.int32)
        if ended + size > len(self._ends):
            self._ends.resize(2 * (ended + size), refcheck=False)
        middle, beyond = done + size // 2, done + size
        mine = np.array([count, done, steps, ended, 0, -1], np.int64)
        others = np.array([count, middle, 0, 0, 0, -1], np.int64)
        theirs = self._met, self._ended, self._others, others, SECOND, count
        job = second.submit(self._search, theirs, UNLIMITED, UNLIMITED, beyond)
        own = self._states, self._ends, self._scratch, mine, FIRST, 0
        self._search(own, UNLIMITED, UNLIMITED, middle)
        job.result()
        count = compiled_settling()(
            self._states, self._children, self._slots, self._met, self._spots, middle, beyond,
            int(mine[COUNT]),
        )  # fmt: skip
        ended, more = int(mine[ENDS]), int(others[ENDS])
        self._ends[ended : ended + more] = self._ended[:more]
        progress[:4] = count, beyond, mine[STEPS] + others[STEPS], ended + more
        if beyond == level and beyond < count:
            progress[DEPTH], progress[LEVEL] = progress[DEPTH] + 1, count
        return True

    def _search(
        self, which: tuple[Any, ...], room: int, limit: int, until: int, old: Any = None
    ) -> None:
        found, ends, scratch, progress, who, base = which
        compiled_search()(
            self._states, self._children, ends, self._slots, self._nothing if old is None else old,
            self._unused, self._nothing, self._unused, found, self._spots, *scratch, progress, who,
            base, room, limit, until, self._tables.keep, *self._tables.arrays,
        )  # fmt: skip

    def _grow(self) -> str:
        """Make room for a batch; why it cannot be, where the states cannot be numbered."""
        import numpy as np

        count, holds = int(self._progress[COUNT]), _holds(len(self._slots))
        needed = count + self._most
        if self._progress[ENDS] + BATCH > len(self._ends):
            self._ends.resize(2 * len(self._ends), refcheck=False)
        if needed > holds:
            wide = len(self._slots) << (2 if len(self._slots) < _LARGE else 1)
            old = self._slots
            self._slots = np.zeros(max(wide, _slots_for(needed)), np.int64)
            holds = _holds(len(self._slots))
            while len(old):
                self._move(old[-_PIECE:])
                old.resize(max(0, len(old) - _PIECE), refcheck=False)
        if needed > _MOST:
            return f"more than {_MOST:,} states, which is all that can be numbered"
        needed = min(needed if self._second is None else count + _TARGETS, holds)
        if needed > len(self._states):
            size = min(_MOST, holds, needed + self._most + (len(self._states) >> 2))
            self._states = _larger(self._states, size)
            self._children = _larger(self._children, size)
        return ""

    def _move(self, old: Any) -> None:
        """Enter these slots of a smaller table, on one core: two wait for each other's pages."""
        nobody = self._states, self._ends, self._scratch, self._progress, ALONE, 0
        self._search(nobody, 0, 0, 0, old)


def _larger(array: Any, size: int) -> Any:
    """The array with room for so many entries."""
    import numpy as np

    if len(array) >= 2 * _LARGE:
        array.resize(size, refcheck=False)
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


def _holds(slots: int) -> int:
    """How many states so many slots hold: a quarter is faster, three quarters take less memory."""
    return slots // 4 if slots < _HUGE else slots * 3 // 4


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
