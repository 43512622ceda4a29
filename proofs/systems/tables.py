"""A composition as the tables that the compiled search looks up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proofs.core.table_search import WIDEST, Tables
from proofs.systems.encoding import BitField
from proofs.systems.product import Composition, LinkRows, Move
from pxp_fsm.automata.actions import External


def fits(composition: Composition) -> bool:
    """Whether the states of a composition fit into the compiled search."""
    known = all(contents.complete for contents in composition.encoding.contents)
    return known and composition.encoding.bits <= WIDEST


Values = Callable[[Sequence[Move]], Sequence[int]]
"""Numbers of the moves of a state. What an event adds by one row does not depend on its others."""


def differences_of(moves: Sequence[Move]) -> list[int]:
    """What each move adds to a state that says where the members and messages are, and no more."""
    return [move.difference for move in moves]


def tables_of(composition: Composition, values: Values = differences_of) -> Tables:
    """What can happen, in the order of `Composition.moves`.

    With `values` it has these numbers where the differences are.
    """
    encoding = composition.encoding
    units, first, starts, rest = list[int](), list[int](), list[int](), list[int]()
    widest = 0
    for unit in ordered(composition):
        field, other = encoding.fields[unit.member], unit.other
        known = entries_of(composition, unit)
        most = max(map(len, known.values()), default=0)
        widest += most
        more = len(starts) if most > 1 else -1
        units += (field.shift, field.mask, other.shift, other.mask, len(first), more)
        numbers = {entry: values(moves) for entry, moves in known.items()}
        entries = [0] * ((field.mask + 1) * (other.mask + 1))
        for entry, (own, *_) in numbers.items():
            entries[entry] = 2 * own + 1
        first += entries
        if more >= 0:
            for entry in range(len(entries)):
                starts.append(len(rest))
                rest += numbers.get(entry, ())[1:]
            starts.append(len(rest))
    joint, parts, ready = joint_of(composition, values)
    (start,) = composition.initial()
    widest += len(joint) // 3
    keep = (1 << encoding.bits) - 1
    return Tables(start, keep, widest, units, first, starts, rest, joint, parts, ready)


def ordered(composition: Composition) -> list[LinkRows]:
    """The units in the order in which `Composition.moves` looks at them."""
    return sorted(composition.units, key=lambda unit: unit.member)


def entries_of(composition: Composition, unit: LinkRows) -> dict[int, tuple[Move, ...]]:
    """What can happen in a unit, by the number of its entry, where anything can."""
    size, entries = _numbers(composition, unit.other), dict[int, tuple[Move, ...]]()
    for own in unit.rows:
        for number in range(size):
            moves = unit.at(own, number)
            if moves:
                entries[own * (unit.other.mask + 1) + number] = moves
    return entries


def joint_of(composition: Composition, values: Values) -> tuple[list[int], list[int], list[int]]:
    """What depends on several parts, guards that are settled and events: where the parts of each
    begin, how many must be ready and what is added besides; the parts; whether a part is ready with
    each number and what that adds to the state.
    """
    encoding = composition.encoding
    joint, parts, ready = list[int](), list[int](), [0, 0]
    for (place, own), choices in composition.choices.items():
        field = encoding.fields[place]
        for choice in choices:
            joint += (len(parts) // 3, len(choice.blocked) + 1, *values([choice.move]))
            parts += (field.shift, field.mask, len(ready) // 2)
            for at in range(field.mask + 1):
                ready += (int(at == own), 0)
            for other, blocked in choice.blocked:
                parts += (other.shift, other.mask, len(ready) // 2)
                size = _numbers(composition, other)
                for at in range(other.mask + 1):
                    ready += (int(at < size and blocked(at)), 0)
    for label, rows in composition.events.items():
        (besides,) = values([Move(External(label), 0, ())])
        joint += (len(parts) // 3, 1, besides)
        for place, field in enumerate(encoding.fields):
            if place not in rows and not composition.system.stops:
                continue
            parts += (field.shift, field.mask, len(ready) // 2)
            by_state = rows.get(place, {})
            for number in range(field.mask + 1):
                row = by_state.get(number)
                if composition.system.stops and number >= len(encoding.numbers[place]):
                    # A member that has settled a guard stops every event: what the other parts
                    # count does not make up for it.
                    ready += (-len(encoding.fields), 0)
                elif row is None:
                    ready += (0, 0)
                else:
                    step = composition.step(place, row)
                    (added,) = values([Move(External(label), step, ((place, row),))])
                    ready += (1, added - besides)
    joint += (len(parts) // 3, 0, 0)
    return joint, parts, ready


def _numbers(composition: Composition, part: BitField) -> int:
    """How many numbers a part of the state can have."""
    encoding = composition.encoding
    if part in encoding.buffers:
        return len(encoding.contents[encoding.buffers.index(part)].known)
    return encoding.sizes[encoding.fields.index(part)]
