"""Breadth-first search of a model that is laid out in tables, in one compiled loop.

A state is an integer of at most `WIDEST` bits, and each move adds a difference to it. Visited
states stand in an open-addressing table, eight bytes a slot. States are expanded in batches: all
targets of a batch are computed and hashed before the first is looked up, so that their slots are
fetched from memory at the same time. The order is that of a queue, one state after another: the
numbers of the states, their parents and every count are those of the interpreter.

Two cores share a wide level. The first expands the states in its first half, the second those in
its other half; both enter what they meet in the one table, the second with a mark. What the first
meets with a mark, it takes over: in a queue it would have been met there. What still has a mark at
the end is the second's, and follows. So the order does not depend on who is faster.

Numba compiles `search` once and keeps it in the user's cache folder; `proofs.core.table_search`
grows the arrays between its runs, and looks whether the limits are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from proofs.core.compiling import cached_by_numba, exchange, prefetch

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
