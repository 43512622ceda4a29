"""Exploring a large composition with a compiled loop: the states in one array, in a hash table.

The differences that `Composition` adds to states are laid out in arrays, one for each combination
of the two parts on which a row depends. Numba compiles the loop once and keeps it in the user's
cache folder; Python grows the arrays between its runs, and looks whether there is enough memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from proofs.compiled import cached_by_numba
from proofs.effort import Effort
from proofs.systems.product import Composition, Unit

WIDEST = 62
"""How many bits a state may have here."""

CHUNK = 200_000
"""After how many states the loop comes back, to be interrupted or told that it is enough."""

_FIRST = 1 << 16

_TABLE_BITS = 20
"""Up to how many bits of a state are looked up in a table, not sorted."""


@dataclass(frozen=True)
class Arrays:
    """The reached states and their steps, as `proofs.systems.reaching.Reached` has them."""

    states: Any
    parents: Any
    offsets: Any
    targets: Any
    depth: int
    cut: str


def fits(composition: Composition) -> bool:
    """Whether a composition can be explored so: its states are narrow, and Numba is installed."""
    known = all(contents.complete for contents in composition.contents)
    return known and composition.bits <= WIDEST and find_spec("numba") is not None


def explored(composition: Composition, effort: Effort) -> Arrays:
    """Every state that can be reached, breadth first, or as many as `effort` allows."""
    import numpy as np

    tables, widest = _tables(composition), len(composition.events)
    for unit in composition.units:
        widest += max(
            (len(moves) for known in unit.known.values() for moves in known.values()), default=0
        )
    room = max(_FIRST, 4 * widest)
    loop, again = compiled_loops()
    (start,) = composition.initial()
    states, parents = np.zeros(room, np.int64), np.full(room, -1, np.int32)
    offsets, targets = np.zeros(room + 1, np.int64), np.zeros(4 * room, np.int32)
    slots = np.full(_power(8 * room), -1, np.int32)
    states[0], count, done, cut = start, 1, 0, ""
    again(slots, states, count)
    while done < count:
        cut = effort.spent(count, _depth(parents, done), count - done)
        if cut:
            break
        until = min(done + CHUNK, effort.states + 1)
        here = (count, done, until, widest)
        count, done = loop(states, parents, offsets, targets, slots, *here, *tables)
        if 2 * (count + widest) > len(states):
            states = np.concatenate((states, np.zeros(len(states), np.int64)))
            parents = np.concatenate((parents, np.full(len(parents), -1, np.int32)))
            offsets = np.concatenate((offsets, np.zeros(len(offsets), np.int64)))
        if 2 * (offsets[done] + widest) > len(targets):
            targets = np.concatenate((targets, np.zeros(len(targets), np.int32)))
        if 4 * (count + widest) > len(slots):
            slots = np.full(4 * len(slots), -1, np.int32)
            again(slots, states, count)
    depth = _depth(parents, max(0, done - 1))
    return Arrays(
        states[:count],
        parents[:count],
        offsets[: done + 1],
        targets[: offsets[done]],
        depth,
        cut,
    )


def _power(number: int) -> int:
    return 1 << number.bit_length()


def _depth(parents: Any, number: int) -> int:
    depth = 0
    while parents[number] >= 0:
        number, depth = parents[number], depth + 1
    return depth


def _tables(composition: Composition) -> tuple[Any, ...]:
    """What the loop looks up: for each unit its two parts and where its differences begin, the
    differences; for each event its members' parts and differences.
    """
    import numpy as np

    units, starts, differences = [], [0], list[int]()
    for unit in sorted(composition.units, key=lambda one: one.member):
        own, other = composition.fields[unit.member], unit.other
        units.append((own.shift, own.mask, other.shift, other.mask, len(starts) - 1))
        size = _size(composition, unit)
        for place in range(own.mask + 1):
            for number in range(other.mask + 1):
                if place in unit.rows and number < size:
                    differences += (move.difference for move in unit.at(place, number))
                starts.append(len(differences))
    events, members, steps = [0], list[tuple[int, int, int]](), list[tuple[int, int]]()
    for rows in composition.events.values():
        for place, by_state in rows.items():
            field = composition.fields[place]
            members.append((field.shift, field.mask, len(steps)))
            for number in range(field.mask + 1):
                row = by_state.get(number)
                steps.append((0, 0) if row is None else (1, composition.step(place, row)))
        events.append(len(members))
    return (
        np.array(units, np.int64).reshape(-1, 5),
        np.array(starts, np.int64),
        np.array(differences, np.int64),
        np.array(events, np.int64),
        np.array(members, np.int64).reshape(-1, 3),
        np.array(steps, np.int64).reshape(-1, 2),
    )


def _size(composition: Composition, unit: Unit) -> int:
    """How many numbers the other part of a unit can have."""
    if unit.link is not None:
        return len(composition.contents[unit.link].known)
    return len(composition.numbers[composition.fields.index(unit.other)])


def follow(
    states: Any,
    parents: Any,
    offsets: Any,
    targets: Any,
    slots: Any,
    count: int,
    done: int,
    until: int,
    widest: int,
    units: Any,
    starts: Any,
    differences: Any,
    events: Any,
    members: Any,
    steps: Any,
) -> tuple[int, int]:
    """Look at states from number `done` on, as long as there is room; how many there are then."""
    mask = len(slots) - 1
    branches = offsets[done]
    while done < count and done < until:
        if 2 * (count + widest) > len(slots) or count + widest > len(states):
            break
        if branches + widest > len(targets):
            break
        state = states[done]
        for u in range(len(units)):
            own = (state >> units[u, 0]) & units[u, 1]
            other = (state >> units[u, 2]) & units[u, 3]
            at = units[u, 4] + own * (units[u, 3] + 1) + other
            for place in range(starts[at], starts[at + 1]):
                target = state + differences[place]
                slot = target * -7046029254386353131
                slot = (slot ^ (slot >> 29)) & mask
                while slots[slot] >= 0 and states[slots[slot]] != target:
                    slot = (slot + 1) & mask
                if slots[slot] < 0:
                    slots[slot] = count
                    states[count] = target
                    parents[count] = done
                    count += 1
                targets[branches] = slots[slot]
                branches += 1
        for e in range(len(events) - 1):
            target = state
            taken = 0
            for m in range(events[e], events[e + 1]):
                at = members[m, 2] + ((state >> members[m, 0]) & members[m, 1])
                taken += steps[at, 0]
                target += steps[at, 1]
            if taken:
                slot = target * -7046029254386353131
                slot = (slot ^ (slot >> 29)) & mask
                while slots[slot] >= 0 and states[slots[slot]] != target:
                    slot = (slot + 1) & mask
                if slots[slot] < 0:
                    slots[slot] = count
                    states[count] = target
                    parents[count] = done
                    count += 1
                targets[branches] = slots[slot]
                branches += 1
        done += 1
        offsets[done] = branches
    return count, done


def enter(slots: Any, states: Any, count: int) -> None:
    """Enter the first `count` states into an empty hash table."""
    mask = len(slots) - 1
    for number in range(count):
        slot = states[number] * -7046029254386353131
        slot = (slot ^ (slot >> 29)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number


def backwards(offsets: Any, targets: Any, found: Any, sources: Any, starts: Any, left: Any) -> None:
    """Spread the 1s of `found` to all states from which one is reached.

    `starts` and `sources` have room for the steps turned round, `left` for every state.
    """
    states, expanded = len(found), len(offsets) - 1
    for place in range(len(targets)):
        starts[targets[place] + 1] += 1
    for number in range(states):
        starts[number + 1] += starts[number]
    waiting = 0
    for number in range(states):
        left[number] = starts[number]
    for number in range(expanded):
        for place in range(offsets[number], offsets[number + 1]):
            target = targets[place]
            sources[left[target]] = number
            left[target] += 1
    for number in range(states):
        if found[number]:
            left[waiting] = number
            waiting += 1
    while waiting:
        waiting -= 1
        number = left[waiting]
        for place in range(starts[number], starts[number + 1]):
            source = sources[place]
            if not found[source]:
                found[source] = 1
                left[waiting] = source
                waiting += 1


def projected(states: Any, mask: int) -> tuple[list[int], Any]:
    """What is met of the bits of `mask`, and for each state where in that list its part stands."""
    import numpy as np

    if mask.bit_count() > _TABLE_BITS:
        parts, places = np.unique(states & mask, return_inverse=True)
        return parts.tolist(), places
    keys, runs, width = np.zeros(len(states), np.int32), list[tuple[int, int, int]](), 0
    left = mask
    while left:
        shift = (left & -left).bit_length() - 1
        size = (~(left >> shift) & (left >> shift) + 1).bit_length() - 1
        runs.append((shift, width, (1 << size) - 1))
        keys |= (((states >> shift) & ((1 << size) - 1)) << width).astype(np.int32)
        left, width = left & ~(((1 << size) - 1) << shift), width + size
    there = np.zeros(1 << width, np.bool_)
    there[keys] = True
    found = np.flatnonzero(there)
    numbers = np.zeros(1 << width, np.int32)
    numbers[found] = np.arange(len(found))
    met = [
        sum(((key >> low) & most) << shift for shift, low, most in runs) for key in found.tolist()
    ]
    return met, numbers[keys]


@cache
def compiled_loops() -> tuple[Any, Any]:
    """`follow` and `enter`, compiled when first called, or loaded from the user's cache folder."""
    return cached_by_numba(follow), cached_by_numba(enter)


@cache
def compiled_backwards() -> Any:
    """`backwards`, in the same way."""
    return cached_by_numba(backwards)
