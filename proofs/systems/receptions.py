"""Messages that are not received, where they should be.

What is sent and not taken means something else with and without a buffer. Over a synchronous
channel it must be taken there and then, unless its receiver is busy with somebody else: then the
sender waits. Over one with buffers it may wait, and is an unspecified reception where the receiver
can do nothing but receive, and each link that it listens to offers only what it does not take
(Cécé and Finkel, Verification of programs with half-duplex communication, Inf. Comput. 202,
2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial

from proofs.systems.product import Composition
from pxp_fsm.automata.actions import Unreceived
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.unfolding import written

Part = tuple[int, Callable[[int], bool]]
"""A mask of some of a state's bits, and whether something is wrong with those bits."""

Parts = tuple[Part, ...]
"""Parts of a state: something is wrong with it where it is with all of them."""


def _alike(messages: Iterable[Unreceived]) -> tuple[Unreceived, ...]:
    """Each once; of a tag that is not received whatever it carries, the tag."""
    by_tag = dict[Unreceived, dict[Unreceived, None]]()
    for message in messages:
        by_tag.setdefault(replace(message, tag=written(message.tag)), {})[message] = None
    return tuple(plain if len(some) > 1 else next(iter(some)) for plain, some in by_tag.items())


class Receptions:
    """What the members of a composition do not receive."""

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._system = composition.system

    def unspecified(self) -> Iterator[Parts]:
        """Where a message is not received that should be."""
        composition = self._composition
        if composition.channel.synchronous:
            yield ((self._everybody, lambda state: any(self._refused(state, ended=False))),)
            return
        for place, field in enumerate(composition.encoding.fields):
            yield (
                (field.bits, partial(self._only_receives, place)),
                *(
                    (field.bits | buffer.bits, partial(self._is_not_taken, number))
                    for number, buffer in enumerate(composition.encoding.buffers)
                    if composition.encoding.links[number][1] == place
                ),
            )

    def orphans(self) -> Iterator[Parts]:
        """Where a message is left, or can be sent, for a member that has ended."""
        composition = self._composition
        if composition.channel.synchronous:
            yield ((self._everybody, lambda state: any(self._refused(state, ended=True))),)
        for number, (_, receiver) in enumerate(composition.encoding.links):
            mask = (
                composition.encoding.fields[receiver].bits
                | composition.encoding.buffers[number].bits
            )
            yield ((mask, lambda state, number=number: any(self._left_on(number, state))),)  # type: ignore[misc] # mypy sees no default in a lambda

    def unreceived(self, state: int, *, ended: bool) -> tuple[Unreceived, ...]:
        """The messages that are not received in `state`, by members that have ended or have not."""
        places = range(len(self._system.members))
        if self._composition.channel.synchronous:
            messages = [*self._refused(state, ended=ended)]
        elif ended:
            links = range(len(self._composition.encoding.links))
            messages = [message for number in links for message in self._left_on(number, state)]
        else:
            messages = [message for place in places for message in self._refused_by(place, state)]
        return _alike([*messages, *(() if ended else self.waiting(state))])

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
        if composition.encoding.buffers[number].of(state) and self._has_ended(state, link[1]):
            tags = self._offered(number, state)
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
        links = [n for n, link in enumerate(self._composition.encoding.links) if link[1] == place]
        if not self._only_receives(place, state):
            return
        if all(self._is_not_taken(number, state) for number in links):
            for number in links:
                link = self._composition.encoding.links[number]
                if link[0] in self._heard(place, state):
                    tags = self._offered(number, state)
                    yield from (self._unreceived(state, link, tag) for tag in tags)

    def _only_receives(self, place: int, state: int) -> bool:
        """Whether a member has not ended, and can do nothing but receive on some link."""
        if not self.waits(place, state):
            return False
        heard = self._heard(place, state)
        return any(
            sender in heard
            for sender, receiver in self._composition.encoding.links
            if receiver == place
        )

    def waits(self, place: int, state: int) -> bool:
        """Whether a member has not ended, and can do nothing but receive."""
        rows = self._rows(state, place)
        if not rows or self._has_ended(state, place):
            return False
        return all(row.kind is Kind.RECEIVE for row in rows)

    def _is_not_taken(self, number: int, state: int) -> bool:
        """Whether a link, where its receiver listens to it, offers only what is not taken."""
        link = self._composition.encoding.links[number]
        if link[0] not in self._heard(link[1], state):
            return True
        tags = self._offered(number, state)
        return bool(tags) and not any(self._takes(state, link, tag) for tag in tags)

    def _heard(self, place: int, state: int) -> set[int]:
        """To whom a member listens."""
        rows = self._rows(state, place)
        return {other for row in rows for other in self._system.partners(place, row)}

    def _offered(self, number: int, state: int) -> tuple[str, ...]:
        """The tags that a link offers next."""
        encoding = self._composition.encoding
        there = encoding.contents[number].known[encoding.buffers[number].of(state)]
        offers = self._system.channel_of(encoding.links[number]).offers(there)
        return tuple(dict.fromkeys(offer.tag for offer in offers))

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
