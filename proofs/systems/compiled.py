"""Exploring a large composition with a compiled loop: the states in one array, in a hash table.

Sessions over explicit values (`proofs.sessions.compiled`) have a loop of their own: all their
states, reachable or not, fit into a map with a byte each, so that nothing is hashed; and what a
step adds to a state depends on all of it, so that every transition would have to be tabulated.

The differences that `Composition` adds to states are laid out in arrays, one for each combination
of the two parts on which a row depends. Numba compiles the loop once and keeps it in the user's
cache folder; Python grows the arrays between its runs, and looks whether there is enough memory.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from proofs.core.limits import Effort
from proofs.sessions.compiled import cached_by_numba
from proofs.systems.encoding import Field
from proofs.systems.product import Composition

WIDEST = 62
"""How many bits a state may have here."""

CHUNK = 200_000
"""After how many states the loop comes back, to be interrupted or told that it is enough."""

_FIRST = 1 << 16

_TABLE_BITS = 20
"""Up to how many bits of a state are looked up in a table, not sorted."""


def fits(composition: Composition) -> bool:
    """Whether a composition can be explored so: its states are narrow, and Numba is installed."""
    known = all(contents.complete for contents in composition.encoding.contents)
    return known and composition.encoding.bits <= WIDEST and find_spec("numba") is not None


def explored(composition: Composition, effort: Effort) -> tuple[Any, Any, Any, Any, int, str]:
    """Every state that can be reached, breadth first, or as many as `effort` allows.

    These are the states, parents, offsets, targets, depth and cut of
    `proofs.systems.reachability.Reached`.
    """
    import numpy as np

    tables, widest = _tables(composition), len(composition.events)
    widest += sum(map(len, composition.choices.values()))
    for unit in composition.units:
        widest += max(
            (len(moves) for known in unit.known.values() for moves in known.values()), default=0
        )
    room = max(_FIRST, 4 * widest)
    loop = compiled_loop()
    (start,) = composition.initial()
    states, parents = np.zeros(room, np.int64), np.full(room, -1, np.int32)
    offsets, targets = np.zeros(room + 1, np.int64), np.zeros(4 * room, np.int32)
    slots, keys = np.full(_power(8 * room), -1, np.int32), np.zeros(widest + 1, np.int64)
    states[0], count, done, entered, cut = start, 1, 0, 0, ""
    while done < count:
        cut = effort.spent(count, _depth(parents, done), count - done)
        if cut:
            break
        until = min(done + CHUNK, effort.states + 1)
        here = (entered, count, done, until, widest)
        count, done = loop(states, parents, offsets, targets, slots, keys, *here, *tables)
        entered = count
        if 2 * (count + widest) > len(states):
            states = np.concatenate((states, np.zeros(len(states), np.int64)))
            parents = np.concatenate((parents, np.full(len(parents), -1, np.int32)))
            offsets = np.concatenate((offsets, np.zeros(len(offsets), np.int64)))
        if 2 * (offsets[done] + widest) > len(targets):
            targets = np.concatenate((targets, np.zeros(len(targets), np.int32)))
        if 4 * (count + widest) > len(slots):
            slots, entered = np.full(4 * len(slots), -1, np.int32), 0
    depth = _depth(parents, max(0, done - 1))
    steps = offsets[: done + 1], targets[: offsets[done]]
    return states[:count], parents[:count], *steps, depth, cut


def _power(number: int) -> int:
    return 1 << number.bit_length()


def _depth(parents: Any, number: int) -> int:
    depth = 0
    while parents[number] >= 0:
        number, depth = parents[number], depth + 1
    return depth


def _tables(composition: Composition) -> tuple[Any, ...]:
    """What the loop looks up: for each unit its two parts and where its differences begin, the
    differences; then what depends on several parts, guards that are settled and events: where the
    parts of each begin and how many must be ready, the parts, whether a part is ready with each
    number and what that adds to the state.
    """
    import numpy as np

    encoding, units, starts, differences = composition.encoding, [], [0], list[int]()
    for unit in sorted(composition.units, key=lambda one: one.member):
        first, other = encoding.fields[unit.member], unit.other
        units.append((first.shift, first.mask, other.shift, other.mask, len(starts) - 1))
        size = _numbers(composition, unit.other)
        for place in range(first.mask + 1):
            for number in range(other.mask + 1):
                if place in unit.rows and number < size:
                    differences += (move.difference for move in unit.at(place, number))
                starts.append(len(differences))
    joint, parts, ready = list[tuple[int, int]](), list[tuple[int, int, int]](), [(0, 0)]
    for (place, own), choices in composition.choices.items():
        field = encoding.fields[place]
        for choice in choices:
            joint.append((len(parts), len(choice.blocked) + 1))
            parts.append((field.shift, field.mask, len(ready)))
            difference = choice.move.difference
            ready += ((1, difference) if at == own else (0, 0) for at in range(field.mask + 1))
            for other, blocked in choice.blocked:
                parts.append((other.shift, other.mask, len(ready)))
                size = _numbers(composition, other)
                ready += ((int(at < size and blocked(at)), 0) for at in range(other.mask + 1))
    for rows in composition.events.values():
        joint.append((len(parts), 1))
        for place, field in enumerate(encoding.fields):
            if place not in rows and not composition.stops:
                continue
            parts.append((field.shift, field.mask, len(ready)))
            by_state = rows.get(place, {})
            for number in range(field.mask + 1):
                row = by_state.get(number)
                stops = composition.stops and number >= len(encoding.numbers[place])
                adds = (0, 0) if row is None else (1, composition.step(place, row))
                ready.append((-len(encoding.fields), 0) if stops else adds)
    joint.append((len(parts), 0))
    return (
        np.array(units, np.int64).reshape(-1, 5),
        np.array(starts, np.int64),
        np.array(differences, np.int64),
        np.array(joint, np.int64),
        np.array(parts, np.int64).reshape(-1, 3),
        np.array(ready, np.int64),
    )


def _numbers(composition: Composition, part: Field) -> int:
    """How many numbers a part of the state can have."""
    encoding = composition.encoding
    if part in encoding.buffers:
        return len(encoding.contents[encoding.buffers.index(part)].known)
    return encoding.sizes[encoding.fields.index(part)]


def follow(  # noqa: PLR0912 - one loop, since what is called from it is not inlined
    states: Any,
    parents: Any,
    offsets: Any,
    targets: Any,
    slots: Any,
    keys: Any,
    entered: int,
    count: int,
    done: int,
    until: int,
    widest: int,
    units: Any,
    starts: Any,
    differences: Any,
    joint: Any,
    parts: Any,
    ready: Any,
) -> tuple[int, int]:
    """Look at states from number `done` on, as long as there is room; how many there are then.

    The `count` states from number `entered` on are entered into the hash table before. `keys` has
    room for what one state leads to.
    """
    mask = len(slots) - 1
    branches = offsets[done]
    while entered < count or (done < count and done < until):
        again = entered < count
        found = 0
        if again:
            keys[0] = states[entered]
            found = 1
        else:
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
                    keys[found] = state + differences[place]
                    found += 1
            for j in range(len(joint) - 1):
                target = state
                there = 0
                for p in range(joint[j, 0], joint[j + 1, 0]):
                    at = parts[p, 2] + ((state >> parts[p, 0]) & parts[p, 1])
                    there += ready[at, 0]
                    target += ready[at, 1]
                    if joint[j, 1] > 1 and not ready[at, 0]:
                        break
                if there >= joint[j, 1]:
                    keys[found] = target
                    found += 1
        for k in range(found):
            slot = keys[k] * -7046029254386353131
            slot = (slot ^ (slot >> 29)) & mask
            while slots[slot] >= 0 and states[slots[slot]] != keys[k]:
                slot = (slot + 1) & mask
            if again:
                slots[slot] = entered
                entered += 1
                continue
            if slots[slot] < 0:
                slots[slot] = count
                states[count] = keys[k]
                parents[count] = done
                count += 1
                entered += 1
            targets[branches] = slots[slot]
            branches += 1
        if not again:
            done += 1
            offsets[done] = branches
    return count, done


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
def compiled_loop() -> Any:
    """`follow`, compiled when first called, or loaded from the user's cache folder."""
    return cached_by_numba(follow)


@cache
def compiled_backwards() -> Any:
    """`backwards`, in the same way."""
    return cached_by_numba(backwards)
