"""Messages that are not received, from the definitions, on places of the plain explorer."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.systems import Channel, System
from pxp_fsm.automata.automaton import Kind, Transition
from tests.oracles.system_explorer import Found, Place, _receiving, _rows

Missed = tuple[int, int, str]
"""A sender, a receiver and a tag that is not received."""


OPPOSITE = {Kind.SEND: Kind.RECEIVE, Kind.RECEIVE: Kind.SEND}


def partners(system: System, i: int, row: Transition) -> list[int]:
    """The members that a row names; where it names none, all that have a row for the other end.

    Of two members, what nobody receives can only be sent to the other one.
    """
    others = [j for j in range(len(system.members)) if j != i]
    name = system.members[i].name
    if row.partner or row.kind is Kind.EVENT:
        return [j for j in others if system.members[j].name == row.partner]
    found = [
        j
        for j in others
        if any(
            (other.kind, other.label) == (OPPOSITE[row.kind], row.label)
            and other.partner in ("", name)
            for other in system.members[j].automaton.transitions
        )
    ]
    return others if not found and row.kind is Kind.SEND and len(others) == 1 else found


def ended(system: System, place: Place, i: int) -> bool:
    """Whether member i is in an end state and has nothing to send."""
    return place.at[i] in system.members[i].automaton.final and not place.chosen[i]


def takes(system: System, place: Place, i: int, j: int, tag: str) -> bool:
    """Whether member j receives the tag of member i now."""
    name = system.members[i].name
    rows = _receiving(system, j, tag, name)
    return not place.chosen[j] and any(row.source == place.at[j] for row in rows)


def listens(system: System, place: Place, j: int) -> set[int]:
    """With whom member j has something to do."""
    return {i for row in _rows(system, place, j) for i in partners(system, j, row)}


def heads(system: System, channel: Channel, place: Place, i: int, j: int) -> tuple[str, ...]:
    """The tags that the link from i to j offers now."""
    on_way = dict(place.buffers).get((i, j), ())
    own = channel.of(system.members[i].name, system.members[j].name)
    return tuple(dict.fromkeys(on_way if own.reordering else on_way[:1]))


def unspecified(system: System, channel: Channel, place: Place) -> Iterator[Missed]:
    """What is not received by members that have not ended."""
    everybody = range(len(system.members))
    if not channel.capacity:
        for i in everybody:
            for row in _rows(system, place, i):
                others = partners(system, i, row)
                here = [j for j in others if not ended(system, place, j)]
                if row.kind is not Kind.SEND or not here:
                    continue
                if any(takes(system, place, i, j, row.label) for j in others):
                    continue
                if not any(listens(system, place, j) - {i} for j in here):
                    yield from ((i, j, row.label) for j in here)
        return
    for j in everybody:
        rows, heard = _rows(system, place, j), listens(system, place, j)
        if ended(system, place, j) or not rows or any(r.kind is not Kind.RECEIVE for r in rows):
            continue
        offers = {i: heads(system, channel, place, i, j) for i in heard if (i, j) in system.links}
        if offers and all(
            tags and not any(takes(system, place, i, j, tag) for tag in tags)
            for i, tags in offers.items()
        ):
            yield from ((i, j, tag) for i, tags in offers.items() for tag in tags)


def orphans(system: System, channel: Channel, place: Place) -> Iterator[Missed]:
    """What is left, or can be sent, for members that have ended."""
    everybody = range(len(system.members))
    for i in everybody:
        for row in _rows(system, place, i) if not channel.capacity else ():
            others = partners(system, i, row)
            taken = any(takes(system, place, i, j, row.label) for j in others)
            gone = all(ended(system, place, j) for j in others)
            if row.kind is Kind.SEND and gone and not taken:
                yield from ((i, j, row.label) for j in others)
        for j in everybody if channel.capacity else ():
            tags = heads(system, channel, place, i, j)
            if ended(system, place, j) and not any(takes(system, place, i, j, t) for t in tags):
                yield from ((i, j, tag) for tag in tags)


def waiting(system: System, place: Place) -> Iterator[Missed]:
    """What members have chosen to send and nobody takes now."""
    for i, guard in enumerate(place.chosen):
        for row in _rows(system, place, i) if guard else ():
            for j in partners(system, i, row):
                if not takes(system, place, i, j, row.label):
                    yield i, j, row.label


def bound_for_ever(found: Found) -> set[Place]:
    """The places from which no run frees a member of the message that it has chosen."""
    before: dict[Place, set[Place]] = {}
    for place, targets in found.steps.items():
        for target in targets:
            before.setdefault(target, set()).add(place)
    wrong = set[Place]()
    for i in range(max((len(place.chosen) for place in found.places), default=0)):
        free = [place for place in found.places if not place.chosen[i]]
        seen = set(free)
        while free:
            for place in before.get(free.pop(), set()) - seen:
                seen.add(place)
                free.append(place)
        wrong |= found.places - seen
    return wrong
