"""Systems explored the plain way, from the definition alone: a second explorer.

It shares no code with the first. A state is where each member is, and what is on its way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofs.systems import Channel, System
from pxp_fsm.automaton import Kind, Transition

Buffers = dict[tuple[int, int], tuple[str, ...]]
Place = tuple[tuple[str, ...], tuple[tuple[tuple[int, int], tuple[str, ...]], ...]]


@dataclass(frozen=True)
class Found:
    """What plain exploration finds."""

    states: int
    transitions: int
    deadlocks: int
    places: frozenset[Place]


def explored(system: System, channel: Channel, most: int) -> Found | None:
    """Everything that can be reached; None where there is more than `most` states."""
    start: Place = (tuple(m.automaton.initial for m in system.members), ())
    seen, left, transitions, deadlocks = {start}, [start], 0, 0
    while left:
        place = left.pop()
        found = list(_steps(system, channel, place))
        transitions += len(found)
        done = all(at in m.automaton.final for at, m in zip(place[0], system.members, strict=True))
        deadlocks += not found and not done
        for target in found:
            if target not in seen:
                seen.add(target)
                left.append(target)
        if len(seen) > most:
            return None
    return Found(len(seen), transitions, deadlocks, frozenset(seen))


def _steps(system: System, channel: Channel, place: Place) -> Iterator[Place]:
    at, buffers = place[0], dict(place[1])
    names = [member.name for member in system.members]
    for i, member in enumerate(system.members):
        for row in member.automaton.transitions:
            for j, name in enumerate(names):
                if row.source == at[i] and j != i and row.partner in ("", name):
                    yield from _with(system, channel, at, buffers, i, j, row)
    events = {r.label for m in system.members for r in m.automaton.transitions if r.kind == "!"}
    for event in sorted(events):
        moving = [
            (i, row)
            for i, member in enumerate(system.members)
            for row in member.automaton.transitions
            if (row.kind, row.label, row.source) == (Kind.EVENT, event, at[i])
        ]
        moved = at
        for i, row in moving:
            moved = _put(moved, i, row.target)
        if moving:
            yield _place(moved, buffers)


def _with(
    system: System,
    channel: Channel,
    at: tuple[str, ...],
    buffers: Buffers,
    i: int,
    j: int,
    row: Transition,
) -> Iterator[Place]:
    """What member i can do by `row` with member j."""
    moved, name = _put(at, i, row.target), system.members[i].name
    if row.kind is Kind.SEND and not channel.capacity:
        for other in _receiving(system, j, row.label, name):
            if other.source == at[j]:
                yield _place(_put(moved, j, other.target), buffers)
    elif row.kind is Kind.SEND and any(_receiving(system, j, row.label, name)):
        on_way = buffers.get((i, j), ())
        if len(on_way) < channel.capacity:
            after = (*on_way, row.label)
            kept = tuple(sorted(after)) if channel.reordering else after
            yield _place(moved, {**buffers, (i, j): kept})
        if channel.lossy:
            yield _place(moved, buffers)
    elif row.kind is Kind.RECEIVE and channel.capacity:
        on_way = buffers.get((j, i), ())
        heads = set(on_way) if channel.reordering else set(on_way[:1])
        if row.label in heads:
            rest = list(on_way)
            rest.remove(row.label)
            yield _place(moved, {**buffers, (j, i): tuple(rest)})
            if channel.duplicating:
                yield _place(moved, buffers)


def _receiving(system: System, j: int, tag: str, sender: str) -> Iterator[Transition]:
    for row in system.members[j].automaton.transitions:
        if (row.kind, row.label) == (Kind.RECEIVE, tag) and row.partner in ("", sender):
            yield row


def _put(at: tuple[str, ...], place: int, state: str) -> tuple[str, ...]:
    return (*at[:place], state, *at[place + 1 :])


def _place(at: tuple[str, ...], buffers: Buffers) -> Place:
    return at, tuple(sorted((link, tags) for link, tags in buffers.items() if tags))
