"""Messages that are not received, where they should be.

What is sent and not taken means something else with and without a buffer. Over a synchronous
channel it must be taken there and then, unless its receiver is busy with somebody else: then the
sender waits. Over one with buffers it may wait, and is an unspecified reception where the receiver
can do nothing but receive, and each link that it listens to offers only what it does not take
(Cécé and Finkel, Verification of programs with half-duplex communication, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from proofs.systems.product import Composition
from pxp_fsm.automata.automaton import Kind, Transition

Part = tuple[int, Callable[[int], bool]]
"""A mask of some of a state's bits, and whether something is wrong with those bits."""


@dataclass(frozen=True, slots=True)
class Unreceived:
    """A message that its receiver, in this state, does not receive."""

    sender: str
    receiver: str
    tag: str
    state: str

    def __str__(self) -> str:
        return f"{self.receiver} in {self.state} does not receive {self.tag} from {self.sender}"


class Receptions:
    """What the members of a composition do not receive."""

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._system = composition.system

    def unspecified(self) -> Iterator[Part]:
        """Where a message is not received that should be."""
        composition = self._composition
        if composition.channel.synchronous:
            yield self._everybody, lambda state: any(self._refused(state, ended=False))
            return
        for place, field in enumerate(composition.encoding.fields):
            mask = field.bits
            for link, buffer in zip(
                composition.encoding.links, composition.encoding.buffers, strict=True
            ):
                mask |= buffer.bits if link[1] == place else 0
            yield mask, partial(_some, self._refused_by, place)

    def orphans(self) -> Iterator[Part]:
        """Where a message is left, or can be sent, for a member that has ended."""
        composition = self._composition
        if composition.channel.synchronous:
            yield self._everybody, lambda state: any(self._refused(state, ended=True))
        for number, (_, receiver) in enumerate(composition.encoding.links):
            mask = (
                composition.encoding.fields[receiver].bits
                | composition.encoding.buffers[number].bits
            )
            yield mask, partial(_some, self._left_on, number)

    def unreceived(self, state: int, *, ended: bool) -> tuple[Unreceived, ...]:
        """The messages that are not received in `state`, by members that have ended or have not."""
        places = range(len(self._system.members))
        if self._composition.channel.synchronous:
            found = [*self._refused(state, ended=ended)]
        elif ended:
            links = range(len(self._composition.encoding.links))
            found = [one for number in links for one in self._left_on(number, state)]
        else:
            found = [one for place in places for one in self._refused_by(place, state)]
        return tuple(dict.fromkeys([*found, *(() if ended else self.waiting(state))]))

    def waiting(self, state: int) -> Iterator[Unreceived]:
        """What members have chosen to send and nobody takes now."""
        for place, field in enumerate(self._composition.encoding.fields):
            row = self._composition.encoding.chosen_row(place, field.of(state))
            if row is not None:
                links = ((place, other) for other in self._system.partners(place, row))
                refused = (link for link in links if not self._takes(state, link, row.label))
                yield from (self._unreceived(state, link, row.label) for link in refused)

    @property
    def _everybody(self) -> int:
        return sum(field.bits for field in self._composition.encoding.fields)

    def _left_on(self, number: int, state: int) -> Iterator[Unreceived]:
        """What a link holds that its receiver, who has ended, does not take."""
        composition, link = self._composition, self._composition.encoding.links[number]
        there = composition.encoding.buffers[number].of(state)
        if there and self._has_ended(state, link[1]):
            offers = composition.channel.offers(composition.encoding.contents[number].known[there])
            tags = dict.fromkeys(offer.tag for offer in offers)
            if not any(self._takes(state, link, tag) for tag in tags):
                yield from (self._unreceived(state, link, tag) for tag in tags)

    def _refused(self, state: int, *, ended: bool) -> Iterator[Unreceived]:
        """What could be sent now and is taken by nobody, by those who have ended or have not."""
        for place in range(len(self._system.members)):
            for row in self._rows(state, place):
                if row.kind is not Kind.SEND:
                    continue
                others = self._system.partners(place, row)
                if any(self._takes(state, (place, other), row.label) for other in others):
                    continue
                going_on = [other for other in others if not self._has_ended(state, other)]
                if ended is bool(going_on) or any(
                    self._is_busy(state, other, place) for other in going_on
                ):
                    continue
                for other in going_on or others:
                    yield self._unreceived(state, (place, other), row.label)

    def _is_busy(self, state: int, place: int, sender: int) -> bool:
        """Whether `place` has something to do with somebody else than `sender`."""
        return any(
            set(self._system.partners(place, row)) - {sender} for row in self._rows(state, place)
        )

    def _refused_by(self, place: int, state: int) -> Iterator[Unreceived]:
        """What waits on the links of a member that can only receive, and takes nothing of it."""
        rows = self._rows(state, place)
        if self._has_ended(state, place) or any(row.kind is not Kind.RECEIVE for row in rows):
            return
        heard = {other for row in rows for other in self._system.partners(place, row)}
        composition, found = self._composition, list[Unreceived]()
        for link, field, contents in zip(
            composition.encoding.links,
            composition.encoding.buffers,
            composition.encoding.contents,
            strict=True,
        ):
            if link[1] != place or link[0] not in heard:
                continue
            offers = composition.channel.offers(contents.known[field.of(state)])
            tags = dict.fromkeys(offer.tag for offer in offers)
            if not tags or any(self._takes(state, link, tag) for tag in tags):
                return
            found += (self._unreceived(state, link, tag) for tag in tags)
        yield from found

    def _unreceived(self, state: int, link: tuple[int, int], tag: str) -> Unreceived:
        sender, receiver = (self._system.members[place].name for place in link)
        composition = self._composition
        number = composition.encoding.fields[link[1]].of(state)
        return Unreceived(sender, receiver, tag, composition.encoding.state_name(link[1], number))

    def _takes(self, state: int, link: tuple[int, int], tag: str) -> bool:
        number = self._composition.encoding.fields[link[1]].of(state)
        return self._composition.taken(*link, number, tag) is not None

    def _has_ended(self, state: int, place: int) -> bool:
        composition = self._composition
        return composition.encoding.fields[place].of(state) in composition.finals[place]

    def _rows(self, state: int, place: int) -> tuple[Transition, ...]:
        return self._leaving[place][self._composition.encoding.fields[place].of(state)]

    @cached_property
    def _leaving(self) -> tuple[tuple[tuple[Transition, ...], ...], ...]:
        return tuple(
            tuple(self._composition.leaving(place, number) for number in range(size))
            for place, size in enumerate(self._composition.encoding.sizes)
        )


def _some(find: Callable[[int, int], Iterator[Unreceived]], which: int, state: int) -> bool:
    return any(True for _ in find(which, state))
