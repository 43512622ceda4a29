"""Members that never move again, whatever the capacity of FIFO channels: of any system.

Who can only receive, and from each member that it listens to either has something before it that it
does not take, or has nothing and that member never moves again, never moves again itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from proofs.systems.product import Configuration
from proofs.systems.wiring import System
from pxp_fsm.automaton import Kind, Transition


def still(system: System, configuration: Configuration) -> frozenset[int]:
    """The members that never move again; those that have no rows any more are among them."""
    rows = leaving(system, configuration)
    found = {
        place for place, own in enumerate(rows) if all(row.kind is Kind.RECEIVE for row in own)
    }
    buffers = dict(zip(system.links, configuration.buffers, strict=True))
    while True:
        moving = {
            place
            for place in found
            for row in rows[place]
            for sender in system.partners(place, row)
            if _may_receive(system, buffers.get((sender, place), ()), sender, place, row, found)
        }
        if not moving:
            return frozenset(found)
        found -= moving


def lost_for_good(system: System, configuration: Configuration) -> Iterator[str]:
    """The properties of `proofs.systems.compatibility` that nothing can mend any more."""
    stuck, rows = still(system, configuration), leaving(system, configuration)
    ends = (member.automaton.final for member in system.members)
    ended = [where in final for where, final in zip(configuration.at, ends, strict=True)]
    if any(rows[place] and not ended[place] for place in stuck):
        yield "progress"
    if any(
        buffer and link[1] in stuck
        for link, buffer in zip(system.links, configuration.buffers, strict=True)
    ):
        yield "eventual-reception"


def leaving(system: System, configuration: Configuration) -> tuple[tuple[Transition, ...], ...]:
    """By member: the rows that leave the state it is in."""
    return tuple(
        member.automaton.leaving(where)
        for member, where in zip(system.members, configuration.at, strict=True)
    )


def _may_receive(
    system: System,
    buffer: tuple[str, ...],
    sender: int,
    receiver: int,
    row: Transition,
    found: set[int],
) -> bool:
    """Whether `row` can take the first message, or one may still come."""
    if buffer:
        return row.label == buffer[0]
    return sender not in found and (sender, receiver) in system.links
