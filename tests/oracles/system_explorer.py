"""Systems explored the plain way, from the definition alone: a second explorer.

It shares no code with the first. A state is where each member is, what is on its way, and which
guard each member has settled without having sent its message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from proofs.systems import Channel, System
from pxp_fsm.automata.automaton import Kind, Transition

Buffers = tuple[tuple[tuple[int, int], tuple[str, ...]], ...]


class Place(NamedTuple):
    """A state: by member where it is and its guard that is settled, by link what is on its way."""

    at: tuple[str, ...]
    buffers: Buffers = ()
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What plain exploration finds."""

    states: int
    transitions: int
    deadlocks: int
    places: frozenset[Place]
    steps: dict[Place, tuple[Place, ...]]


def explored(system: System, channel: Channel, most: int) -> Found | None:
    """Everything that can be reached; None where there is more than `most` states."""
    members = system.members
    start = Place(tuple(m.automaton.initial for m in members), (), ("",) * len(members))
    steps: dict[Place, tuple[Place, ...]] = {}
    left, deadlocks = [start], 0
    seen = {start}
    while left:
        place = left.pop()
        steps[place] = tuple(_steps(system, channel, place))
        ended = all(at in m.automaton.final for at, m in zip(place.at, members, strict=True))
        deadlocks += not steps[place] and not (ended and not any(place.chosen))
        for target in steps[place]:
            if target not in seen:
                seen.add(target)
                left.append(target)
        if len(seen) > most:
            return None
    return Found(len(seen), sum(map(len, steps.values())), deadlocks, frozenset(seen), steps)


def _steps(system: System, channel: Channel, place: Place) -> Iterator[Place]:
    if any(place.chosen) and len(system.members) == 2 and not channel.capacity:
        return
    for i in range(len(system.members)):
        for row in _rows(system, place, i):
            sent = False
            for j in _partners(system, i, row):
                for target in _with(system, channel, place, i, j, row):
                    sent = True
                    yield target
            if row.kind is Kind.EVENT and row.guard:
                yield place._replace(at=_put(place.at, i, row.target))
            elif (
                row.guard and not sent and not place.chosen[i] and commits(system, channel, i, row)
            ):
                yield place._replace(chosen=_put(place.chosen, i, row.guard))
    events = {r.label for m in system.members for r in m.automaton.transitions if r.kind == "!"}
    for event in sorted(events):
        moving = [
            (i, row)
            for i in range(len(system.members))
            for row in _rows(system, place, i)
            if (row.kind, row.label, row.guard) == (Kind.EVENT, event, None)
        ]
        moved = place.at
        for i, row in moving:
            moved = _put(moved, i, row.target)
        if moving:
            yield place._replace(at=moved)


def _rows(system: System, place: Place, i: int) -> list[Transition]:
    """What member i can do: where it has settled a guard, nothing else."""
    rows = [r for r in system.members[i].automaton.transitions if r.source == place.at[i]]
    return [row for row in rows if place.chosen[i] in ("", row.guard)]


def _partners(system: System, i: int, row: Transition) -> list[int]:
    names = [member.name for member in system.members]
    return [j for j, name in enumerate(names) if j != i and row.partner in ("", name)]


def commits(system: System, channel: Channel, i: int, row: Transition) -> bool:
    """Whether settling a guard early makes a difference: always where sender and receiver meet;
    with buffers where the member could do something else while those it sends into are full."""
    if not channel.capacity:
        return True

    def buffers(of: Transition) -> set[int]:
        return {j for j in _partners(system, i, of) if _goes_to(system, i, j, of)}

    others = [r for r in system.members[i].automaton.transitions if r.source == row.source]
    return any(r.kind is not Kind.SEND or not r.guard or buffers(r) != buffers(row) for r in others)


def _with(
    system: System, channel: Channel, place: Place, i: int, j: int, row: Transition
) -> Iterator[Place]:
    """What member i can do by `row` with member j."""
    at, buffers = place.at, dict(place.buffers)
    moved, name = _put(at, i, row.target), system.members[i].name
    free = _put(place.chosen, i, "")
    if row.kind is Kind.SEND and not channel.capacity:
        for other in _receiving(system, j, row.label, name):
            if other.source == at[j] and not place.chosen[j]:
                yield Place(_put(moved, j, other.target), (), free)
    elif row.kind is Kind.SEND and _goes_to(system, i, j, row):
        on_way = buffers.get((i, j), ())
        channel = channel.of(name, system.members[j].name)
        if len(on_way) < channel.capacity:
            after = (*on_way, row.label)
            kept = tuple(sorted(after)) if channel.reordering else after
            yield Place(moved, _on_way({**buffers, (i, j): kept}), free)
        if channel.lossy:
            yield Place(moved, place.buffers, free)
    elif row.kind is Kind.RECEIVE and channel.capacity:
        on_way = buffers.get((j, i), ())
        channel = channel.of(system.members[j].name, name)
        heads = set(on_way) if channel.reordering else set(on_way[:1])
        if row.label in heads:
            rest = list(on_way)
            rest.remove(row.label)
            yield Place(moved, _on_way({**buffers, (j, i): tuple(rest)}), free)
            if channel.duplicating:
                yield Place(moved, place.buffers, free)


def _goes_to(system: System, i: int, j: int, row: Transition) -> bool:
    """Whether a row sends to j: it names j, j has a row for the tag, or there is nobody else."""
    heard = any(_receiving(system, j, row.label, system.members[i].name))
    return heard or bool(row.partner) or len(system.members) == 2


def _receiving(system: System, j: int, tag: str, sender: str) -> Iterator[Transition]:
    for row in system.members[j].automaton.transitions:
        if (row.kind, row.label) == (Kind.RECEIVE, tag) and row.partner in ("", sender):
            yield row


def _put(at: tuple[str, ...], place: int, state: str) -> tuple[str, ...]:
    return (*at[:place], state, *at[place + 1 :])


def _on_way(buffers: dict[tuple[int, int], tuple[str, ...]]) -> Buffers:
    return tuple(sorted((link, tags) for link, tags in buffers.items() if tags))
