"""What every system must pass over any channel, each with a shortest trace where it fails.

What is sent and not taken means something else with and without a buffer. Over a synchronous
channel it must be taken there and then, unless its receiver is busy with somebody else: then the
sender waits. Over one with buffers it may wait, and is an unspecified reception where the receiver
can do nothing but receive, and each link that it listens to offers only what it does not take
(Cécé and Finkel, Verification of programs with half-duplex communication, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial

from proofs.systems.reaching import Reached
from proofs.systems.replaying import shown
from proofs.systems.symmetry import Symmetry
from proofs.verdicts import Status, Verdict
from pxp_fsm.automaton import Kind, Transition

Wrong = Callable[[int], bool]
Part = tuple[int, Wrong]
"""A mask of some of a state's bits, and whether something is wrong with those bits."""


class Standing:
    """The standing checks of what was reached of a composition."""

    def __init__(self, reached: Reached) -> None:
        self._reached = reached
        self._composition = reached.composition
        self._system = reached.composition.system

    @cached_property
    def checks(self) -> Mapping[str, Callable[[], Verdict]]:
        """The checks by name."""
        return {
            "no-deadlock": self.no_deadlock,
            "no-unspecified-reception": lambda: self._never(self._unspecified()),
            "no-orphan-message": lambda: self._never(self._orphan()),
            "nothing-sent-after-the-end": lambda: self._never(self._talking_on()),
            "end-reachable-from-everywhere": self.can_always_end,
            "no-dead-row": self.no_dead_row,
        }

    def no_deadlock(self) -> Verdict:
        """Every state in which nothing can happen is one in which every member has ended."""
        for number in self._reached.dead_ends():
            if not self._composition.ended(int(self._reached.states[number])):
                return self._failed(number)
        return self._unbroken()

    def can_always_end(self) -> Verdict:
        """From every reachable state some run leads to where every member has ended."""
        if self._reached.cut:
            return Verdict(Status.UNKNOWN, self._reached.cut)
        ended = self._reached.marks(self._everybody, self._composition.ended)
        can = self._reached.leading_to(ended)
        missing = can.find(0)
        return self._unbroken() if missing < 0 else self._failed(missing)

    def no_dead_row(self) -> Verdict:
        """Every row of every member is taken in some run."""
        rows = [
            (place, row)
            for place, member in enumerate(self._system.members)
            for row in member.automaton.transitions
        ]
        taken = {self._kind_of(*one) for one in self._taken()}
        dead = [self._row_in_words(*one) for one in rows if self._kind_of(*one) not in taken]
        if not dead:
            return Verdict(Status.HOLDS)
        if self._reached.cut:
            return Verdict(Status.UNKNOWN, self._reached.cut)
        return Verdict(Status.FAILS, f"never taken: {', '.join(dict.fromkeys(dead))}")

    def _taken(self) -> Iterator[tuple[int, Transition]]:
        """Every row that is taken, with its member."""
        composition = self._composition
        for unit in composition.units:
            own = composition.fields[unit.member]
            for part in self._reached.parts(own.bits | unit.other.bits):
                if own.of(part) in unit.rows:
                    for move in unit.at(own.of(part), unit.other.of(part)):
                        yield from move.rows
        for members in composition.events.values():
            for place, rows in members.items():
                field = composition.fields[place]
                there = {field.of(part) for part in self._reached.parts(field.bits)}
                yield from ((place, row) for number, row in rows.items() if number in there)

    def _kind_of(self, place: int, row: Transition) -> tuple[object, ...]:
        """What a row shares with those that are it by another name, where symmetry is used."""
        partner = self._alike[self._system.places[row.partner]] if row.partner else ""
        return (self._alike[place], row.source, row.action.split(" ")[0], row.target, partner)

    @cached_property
    def _alike(self) -> tuple[int, ...]:
        """For each member one that stands for it: itself, where symmetry is not used."""
        found = list(range(len(self._system.members)))
        if isinstance(self._reached.reduction, Symmetry):
            for one in self._reached.reduction.classes:
                for place in one:
                    found[place] = one[0]
        return tuple(found)

    def _never(self, parts: Iterable[Part]) -> Verdict:
        """In no state a part of it is wrong; each part is judged once, however often it is met."""
        first = [self._reached.marks(mask, wrong).find(1) for mask, wrong in parts]
        found = [number for number in first if number >= 0]
        return self._failed(min(found)) if found else self._unbroken()

    def _failed(self, number: int) -> Verdict:
        trace = shown(self._composition, self._reached.trace_to(number))
        return Verdict(Status.FAILS, trace=trace)

    def _unbroken(self) -> Verdict:
        cut = self._reached.cut
        return Verdict(Status.UNKNOWN, cut) if cut else Verdict(Status.HOLDS)

    def _unspecified(self) -> Iterator[Part]:
        composition = self._composition
        if composition.channel.synchronous:
            yield self._everybody, lambda state: any(self._refused_now(state, orphan=False))
        for place in range(len(self._system.members)):
            mask = composition.fields[place].bits
            for link, buffer in zip(composition.links, composition.buffers, strict=True):
                mask |= buffer.bits if link[1] == place else 0
            if composition.links:
                yield mask, partial(self._refuses_all, place)

    def _orphan(self) -> Iterator[Part]:
        composition = self._composition
        if composition.channel.synchronous:
            yield self._everybody, lambda state: any(self._refused_now(state, orphan=True))
        for number, (_, receiver) in enumerate(composition.links):
            mask = composition.fields[receiver].bits | composition.buffers[number].bits
            yield mask, partial(self._is_left, number)

    def _talking_on(self) -> Iterator[Part]:
        for place, field in enumerate(self._composition.fields):
            yield field.bits, partial(self._talks_on, place)

    @property
    def _everybody(self) -> int:
        return sum(field.bits for field in self._composition.fields)

    def _is_left(self, number: int, state: int) -> bool:
        """Whether a link holds what its receiver, who has ended, does not take."""
        composition, link = self._composition, self._composition.links[number]
        there = composition.buffers[number].of(state)
        if not there or not self._has_ended(state, link[1]):
            return False
        offers = composition.channel.offers(composition.contents[number].known[there])
        where = self._at(state, link[1])
        return not any(self._system.taken(*link, where, offer.tag) for offer in offers)

    def _talks_on(self, place: int, state: int) -> bool:
        sends = any(row.kind is Kind.SEND for row in self._rows(state, place))
        return sends and self._has_ended(state, place)

    def _refused_now(self, state: int, *, orphan: bool) -> Iterator[bool]:
        """Whether a row that could send is taken by nobody, who has ended (orphan) or has not."""
        for place in range(len(self._system.members)):
            for row in self._rows(state, place):
                if row.kind is not Kind.SEND:
                    continue
                others = self._system.partners(place, row)
                taken = (
                    self._system.taken(place, other, self._at(state, other), row.label)
                    for other in others
                )
                if any(taken):
                    continue
                going_on = [other for other in others if not self._has_ended(state, other)]
                if orphan:
                    yield not going_on
                else:
                    yield bool(going_on) and not any(
                        self._is_busy(state, other, place) for other in going_on
                    )

    def _is_busy(self, state: int, place: int, sender: int) -> bool:
        """Whether `place` has something to do with somebody else than `sender`."""
        return any(
            set(self._system.partners(place, row)) - {sender} for row in self._rows(state, place)
        )

    def _refuses_all(self, place: int, state: int) -> bool:
        """Whether a member can only receive, and takes nothing of what waits on each link."""
        rows = self._rows(state, place)
        if self._has_ended(state, place) or any(row.kind is not Kind.RECEIVE for row in rows):
            return False
        heard = {other for row in rows for other in self._system.partners(place, row)}
        composition, where = self._composition, self._at(state, place)
        for link, field, contents in zip(
            composition.links, composition.buffers, composition.contents, strict=True
        ):
            if link[1] != place or link[0] not in heard:
                continue
            offers = list(composition.channel.offers(contents.known[field.of(state)]))
            if not offers or any(self._system.taken(*link, where, one.tag) for one in offers):
                return False
        return bool(heard)

    def _at(self, state: int, place: int) -> str:
        member = self._system.members[place].automaton
        return member.states[self._composition.fields[place].of(state)].name

    def _has_ended(self, state: int, place: int) -> bool:
        composition = self._composition
        return composition.fields[place].of(state) in composition.finals[place]

    def _rows(self, state: int, place: int) -> tuple[Transition, ...]:
        return self._leaving[place][self._composition.fields[place].of(state)]

    @cached_property
    def _leaving(self) -> tuple[tuple[tuple[Transition, ...], ...], ...]:
        return tuple(
            tuple(member.automaton.leaving(state.name) for state in member.automaton.states)
            for member in self._system.members
        )

    def _row_in_words(self, place: int, row: Transition) -> str:
        return f"row {row.row} of {self._system.members[place].name} ({row.source} {row.action})"
