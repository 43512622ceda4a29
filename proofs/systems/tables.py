"""A composition as the tables that the compiled search looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.core.compiling import can_compile
from proofs.core.table_search import WIDEST, Tables
from proofs.systems.encoding import BitField
from proofs.systems.product import Composition, LinkRows, Move
from pxp_fsm.automata.actions import External


def fits(composition: Composition) -> bool:
    """Whether a composition can be compiled: its states are narrow, and Numba is installed."""
    known = all(contents.complete for contents in composition.encoding.contents)
    return known and composition.encoding.bits <= WIDEST and can_compile()


Adds = Callable[[Move], int]
"""What a move adds to the state."""


def difference_of(move: Move) -> int:
    """What a move adds to a state that says where the members and messages are, and no more."""
    return move.difference


def tables_of(composition: Composition, adds: Adds = difference_of) -> Tables:
    """What can happen, in the order of `Composition.moves`.

    With `adds` the state says more, in the bits beyond those of the composition: what a move puts
    there, whatever was there before.
    """
    import numpy as np

    encoding = composition.encoding
    units, first, starts, rest = [], list[int](), list[int](), list[int]()
    widest = 0
    for unit in ordered(composition):
        field, other, known = (
            encoding.fields[unit.member],
            unit.other,
            entries_of(composition, unit),
        )
        most = max(map(len, known.values()), default=0)
        widest += most
        more = len(starts) if most > 1 else -1
        units.append((field.shift, field.mask, other.shift, other.mask, len(first), more))
        entries = [0] * ((field.mask + 1) * (other.mask + 1))
        for entry, moves in known.items():
            entries[entry] = 2 * adds(moves[0]) + 1
        first += entries
        if more >= 0:
            for entry in range(len(entries)):
                starts.append(len(rest))
                rest += map(adds, known.get(entry, ())[1:])
            starts.append(len(rest))
    joint, parts, ready = joint_of(composition, adds)
    (start,) = composition.initial()
    return Tables(
        start,
        (1 << encoding.bits) - 1,
        widest + len(joint),
        np.array(units, np.int64).ravel(),
        np.array(first, np.int64),
        np.array(starts, np.int64),
        np.array(rest, np.int64),
        np.array(joint, np.int64),
        np.array(parts, np.int64).reshape(-1, 3),
        np.array(ready, np.int64),
    )


def ordered(composition: Composition) -> list[LinkRows]:
    """The units in the order in which `Composition.moves` looks at them."""
    return sorted(composition.units, key=lambda one: one.member)


def entries_of(composition: Composition, unit: LinkRows) -> dict[int, tuple[Move, ...]]:
    """What can happen in a unit, by the number of its entry, where anything can."""
    size, found = _numbers(composition, unit.other), dict[int, tuple[Move, ...]]()
    for own in unit.rows:
        for number in range(size):
            moves = unit.at(own, number)
            if moves:
                found[own * (unit.other.mask + 1) + number] = moves
    return found


Threes = list[tuple[int, int, int]]
Pairs = list[tuple[int, int]]


def joint_of(composition: Composition, adds: Adds) -> tuple[Threes, Threes, Pairs]:
    """What depends on several parts, guards that are settled and events: where the parts of each
    begin, how many must be ready and what is added besides; the parts; whether a part is ready with
    each number and what that adds to the state.
    """
    encoding = composition.encoding
    joint, parts, ready = Threes(), Threes(), [(0, 0)]
    for (place, own), choices in composition.choices.items():
        field = encoding.fields[place]
        for choice in choices:
            joint.append((len(parts), len(choice.blocked) + 1, adds(choice.move)))
            parts.append((field.shift, field.mask, len(ready)))
            ready += ((int(at == own), 0) for at in range(field.mask + 1))
            for other, blocked in choice.blocked:
                parts.append((other.shift, other.mask, len(ready)))
                size = _numbers(composition, other)
                ready += ((int(at < size and blocked(at)), 0) for at in range(other.mask + 1))
    for label, rows in composition.events.items():
        joint.append((len(parts), 1, adds(Move(External(label), 0, ()))))
        for place, field in enumerate(encoding.fields):
            if place not in rows and not composition.system.stops:
                continue
            parts.append((field.shift, field.mask, len(ready)))
            by_state = rows.get(place, {})
            for number in range(field.mask + 1):
                row = by_state.get(number)
                stops = composition.system.stops and number >= len(encoding.numbers[place])
                step = (0, 0) if row is None else (1, composition.step(place, row))
                ready.append((-len(encoding.fields), 0) if stops else step)
    joint.append((len(parts), 0, 0))
    return joint, parts, ready


def labelled(
    composition: Composition,
    states: Any,
    offsets: Any,
    word: Callable[[Move], int],
    adds: Adds = difference_of,
) -> Any:
    """For each step of `states`, in the order of `Visited.edges`, the 31 bits that `word` gives it.

    Moves with the same action to the same state are one step, with the bits of both.
    """
    import numpy as np

    found = np.zeros(offsets[-1], np.int32)
    units, events = [], _events_of(composition, word)
    for unit in ordered(composition):
        field, other, known = (
            composition.encoding.fields[unit.member],
            unit.other,
            entries_of(composition, unit),
        )
        most = max(map(len, known.values()), default=0)
        size = (field.mask + 1) * (other.mask + 1)
        many, words = np.zeros(size, np.int64), np.zeros((most, size), np.int64)
        for entry, moves in known.items():
            many[entry] = len(moves)
            for place, move in enumerate(moves):
                key = (move.action, adds(move))
                same = (one for one in moves if (one.action, adds(one)) == key)
                for one in same:
                    words[place, entry] |= word(one)
        units.append((field, other, many, words))
    joint, parts, ready = (np.array(one, np.int64) for one in joint_of(composition, adds))
    choices = [word(one.move) for some in composition.choices.values() for one in some]
    for begin in range(0, len(offsets) - 1, _BLOCK):
        end = min(begin + _BLOCK, len(offsets) - 1)
        block, at = states[begin:end], offsets[begin:end].copy()
        for field, other, many, words in units:
            entry = (block >> field.shift & field.mask) * (other.mask + 1)
            entry += block >> other.shift & other.mask
            there = many[entry]
            for place, some in enumerate(words):
                chosen = np.flatnonzero(there > place)
                found[at[chosen] + place] = some[entry[chosen]]
            at += there
        for number in range(len(joint) - 1):
            there, told = np.zeros(len(block), np.int64), np.zeros(len(block), np.int64)
            for part in range(joint[number, 0], joint[number + 1, 0]):
                shift, mask, base = parts[part]
                place = base + (block >> shift & mask)
                there += ready[place, 0]
                told |= events[place] if number >= len(choices) else choices[number]
            chosen = np.flatnonzero(there >= joint[number, 1])
            found[at[chosen]] = told[chosen]
            at[chosen] += 1
    return found


def _events_of(composition: Composition, word: Callable[[Move], int]) -> Any:
    """By the place of a part's number in `joint_of`: the bits that events have of its row."""
    import numpy as np

    _, _, ready = joint_of(composition, lambda _: 0)
    found, place = np.zeros(len(ready), np.int64), len(ready)
    for label, rows in reversed(composition.events.items()):
        for member, field in reversed(list(enumerate(composition.encoding.fields))):
            if member not in rows and not composition.system.stops:
                continue
            place -= field.mask + 1
            for number, row in rows.get(member, {}).items():
                found[place + number] = word(Move(External(label), 0, ((member, row),)))
    return found


def _numbers(composition: Composition, part: BitField) -> int:
    """How many numbers a part of the state can have."""
    encoding = composition.encoding
    if part in encoding.buffers:
        return len(encoding.contents[encoding.buffers.index(part)].known)
    return encoding.sizes[encoding.fields.index(part)]


_TABLE_BITS = 20
"""Up to how many bits of a state are looked up in a table, not sorted."""

_BLOCK = 1 << 16
"""How many states are looked at together, so that what is computed stays in the cache."""


def projected(states: Any, mask: int) -> tuple[list[int], Any]:
    """What is met of the bits of `mask`, and for each state where in that list its part stands."""
    import numpy as np

    if mask.bit_count() > _TABLE_BITS:
        parts, places = np.unique(states & mask, return_inverse=True)
        return parts.tolist(), places
    runs, width, left = list[tuple[int, int, int]](), 0, mask
    while left:
        shift = (left & -left).bit_length() - 1
        size = (~(left >> shift) & (left >> shift) + 1).bit_length() - 1
        runs.append((shift, width, (1 << size) - 1))
        left, width = left & ~(((1 << size) - 1) << shift), width + size
    keys, there = np.zeros(len(states), np.int32), np.zeros(1 << width, np.bool_)
    for begin in range(0, len(states), _BLOCK):
        block, here = states[begin : begin + _BLOCK], keys[begin : begin + _BLOCK]
        for shift, low, most in runs:
            here |= ((block >> shift & most) << low).astype(np.int32)
        there[here] = True
    found = np.flatnonzero(there)
    numbers = np.zeros(1 << width, np.int32)
    numbers[found] = np.arange(len(found))
    met = [
        sum(((key >> low) & most) << shift for shift, low, most in runs) for key in found.tolist()
    ]
    return met, numbers[keys]
