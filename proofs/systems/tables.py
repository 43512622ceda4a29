"""A composition as the tables that the compiled search looks up."""

from __future__ import annotations

from typing import Any

from proofs.core.compiling import can_compile
from proofs.core.kernel import WIDEST, Tables
from proofs.systems.encoding import Field
from proofs.systems.product import Composition


def fits(composition: Composition) -> bool:
    """Whether a composition can be compiled: its states are narrow, and Numba is installed."""
    known = all(contents.complete for contents in composition.encoding.contents)
    return known and composition.encoding.bits <= WIDEST and can_compile()


def tables_of(composition: Composition) -> Tables:
    """What can happen, in the order of `Composition.moves`."""
    import numpy as np

    encoding = composition.encoding
    units, first, starts, rest = [], list[int](), list[int](), list[int]()
    widest = 0
    for unit in sorted(composition.units, key=lambda one: one.member):
        field, other = encoding.fields[unit.member], unit.other
        size, wide, known = (
            _numbers(composition, unit.other),
            other.mask + 1,
            dict[int, list[int]](),
        )
        for own in unit.rows:
            for number in range(size):
                moves = [move.difference for move in unit.at(own, number)]
                if moves:
                    known[own * wide + number] = moves
        most = max(map(len, known.values()), default=0)
        widest += most
        more = len(starts) if most > 1 else -1
        units.append((field.shift, field.mask, other.shift, other.mask, len(first), more))
        entries = [0] * ((field.mask + 1) * wide)
        for entry, moves in known.items():
            entries[entry] = 2 * moves[0] + 1
        first += entries
        if more >= 0:
            for entry in range(len(entries)):
                starts.append(len(rest))
                rest += known.get(entry, ())[1:]
            starts.append(len(rest))
    joint, parts, ready = _joint(composition)
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


Pairs = list[tuple[int, int]]


def _joint(composition: Composition) -> tuple[Pairs, list[tuple[int, int, int]], Pairs]:
    """What depends on several parts, guards that are settled and events: where the parts of each
    begin and how many must be ready, the parts, whether a part is ready with each number and what
    that adds to the state.
    """
    encoding = composition.encoding
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
    return joint, parts, ready


def _numbers(composition: Composition, part: Field) -> int:
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
