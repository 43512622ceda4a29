"""The members of a system side by side, over a channel: what can happen, as a model.

A state is one integer: in which state each member is, and what is on its way on each link, each in
bits of its own. Every row that one member can take is a difference that is added to the state; the
differences come from the tables and from the channel's functions, once for each combination of a
member's state and a buffer (or of two members' states) that is met. An event from outside reaches
at once all members that have a row for it.

Guards are free, and a member settles them alone: the guard names the message. Where it can be sent
at once, choosing and sending are one step. Where it cannot, choosing is a step of its own: the
member's state then has a number of its own, from which it can send that message and nothing else.
A row without a guard that cannot be sent is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import NamedTuple

from proofs.core.actions import Choose, Decide, Deliver, Exchange, External, Send
from proofs.core.explore import TooLarge
from proofs.core.model import Step
from proofs.systems.channels import Buffer, Channel
from proofs.systems.system import System
from pxp_fsm.automata.automaton import Kind, Transition

Action = Exchange | Send | Deliver | Choose | Decide | External
"""What can happen in a system."""

MOST_CONTENTS = 1 << 12
"""Up to how many contents of a buffer are numbered beforehand; others as they are met."""

MET_BITS = 24
"""How many bits the number of a buffer's contents has that are numbered as they are met."""


class Configuration(NamedTuple):
    """A state in words: where each member is, and what is on its way on each link.

    `chosen` is the guard that each member has settled without having sent its message yet, "" for a
    member without; () where there is none with.
    """

    at: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    chosen: tuple[str, ...] = ()


class Move(NamedTuple):
    """What can happen, what it adds to the state, and the rows that members take, or choose."""

    action: Action
    difference: int
    rows: tuple[tuple[int, Transition], ...]


class Choice(NamedTuple):
    """A guard that a member can settle without sending a message then.

    It names a message that cannot be sent at once, or an event that the member causes by itself.
    `blocked` are parts of the state, each with a test on its number: all must be passed.
    """

    move: Move
    blocked: tuple[tuple[Field, Callable[[int], bool]], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """Where a part of the state stands in the integer."""

    shift: int
    mask: int

    @property
    def bits(self) -> int:
        """A state of which all bits of this part are set, and no others."""
        return self.mask << self.shift

    def of(self, state: int) -> int:
        """The part's number in `state`."""
        return state >> self.shift & self.mask


class Contents:
    """The contents that a buffer can have, numbered; the empty one is 0."""

    def __init__(self, channel: Channel, tags: Iterable[str]) -> None:
        self._numbers: dict[Buffer, int] = {(): 0}
        self.known: list[Buffer] = [()]
        tags = sorted(tags)
        if not channel.synchronous and _count(len(tags), channel.capacity) <= MOST_CONTENTS:
            for length in range(1, channel.capacity + 1):
                for buffer in product(tags, repeat=length):
                    if not channel.reordering or tuple(sorted(buffer)) == buffer:
                        self.number(buffer)
            self.bits = (len(self.known) - 1).bit_length()
            self.complete = True
        else:
            self.bits, self.complete = MET_BITS, channel.synchronous

    def number(self, buffer: Buffer) -> int:
        """The number of `buffer`; a new one where it was not met before."""
        found = self._numbers.setdefault(buffer, len(self.known))
        if found == len(self.known):
            if found >> MET_BITS:
                raise TooLarge(f"a buffer has more than {1 << MET_BITS:,} contents")
            self.known.append(buffer)
        return found


def _count(tags: int, capacity: int) -> int:
    return sum(tags**length for length in range(capacity + 1))


@dataclass(frozen=True, slots=True)
class Unit:
    """The rows of one member that go over one link: they depend on its state and one other field.

    That is the buffer of the link with number `link`, or with a synchronous channel the other
    member's state. `rows` are those rows by the number of the member's state; `moves` gives what
    can happen for two numbers, and `known` remembers it.
    """

    member: int
    other: Field
    rows: dict[int, list[Transition]]
    moves: Callable[[int, int], tuple[Move, ...]]
    link: int | None = None
    known: dict[int, dict[int, tuple[Move, ...]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.known.update({own: {} for own in self.rows})

    def at(self, own: int, other: int) -> tuple[Move, ...]:
        """What can happen where the two parts have these numbers."""
        found = self.known[own].get(other)
        if found is None:
            found = self.known[own][other] = self.moves(own, other)
        return found


@dataclass(frozen=True)
class Composition:
    """The model of `system`; its states are integers (see `configuration`)."""

    system: System

    @property
    def channel(self) -> Channel:
        return self.system.channel

    @property
    def name(self) -> str:
        return f"{self.system.name} over {self.channel.name}"

    def initial(self) -> Iterable[int]:
        yield sum(
            self.numbers[place][member.automaton.initial] << self.fields[place].shift
            for place, member in enumerate(self.system.members)
        )

    def successors(self, state: int) -> Iterator[Step[int]]:
        for move in self.moves(state):
            yield Step(move.action, state + move.difference)

    def moves(self, state: int) -> list[Move]:
        """What can happen in `state`, in an order that is the same on every run."""
        found: list[Move] = []
        for place, part in enumerate(self.fields):
            own = state >> part.shift & part.mask
            for unit in self.units_of[place][own]:
                other = state >> unit.other.shift & unit.other.mask
                found += unit.known[own].get(other) or unit.at(own, other)
        if self.choices:
            found += self.choosing(state)
        if self.events:
            found += self.outside(state)
        return found

    def propositions(self, state: int) -> frozenset[str]:
        """Where each member is: `hub@IDLE`, and by its number `1@IDLE`; `ended`; and of buffers
        `hub:left@empty`, `hub:left@full`, `hub:left@has.TASK`.
        """
        at, buffers, _ = self.configuration(state)
        there = {"ended"} if self.ended(state) else set()
        for place, (member, where) in enumerate(zip(self.system.members, at, strict=True)):
            there |= {f"{member.name}@{where}", f"{place + 1}@{where}"}
        for link, buffer in zip(self.links, buffers, strict=True):
            name = self.link_name(link)
            there |= {f"{name}@has.{tag}" for tag in buffer}
            if not buffer:
                there.add(f"{name}@empty")
            if len(buffer) == self.channel.capacity:
                there.add(f"{name}@full")
        return frozenset(there)

    def configuration(self, state: int) -> Configuration:
        """`state` in words; the buffers in the order of `links`."""
        numbers = [part.of(state) for part in self.fields]
        at = tuple(map(self.state_name, range(len(numbers)), numbers))
        rows = tuple(map(self.chosen_row, range(len(numbers)), numbers))
        chosen = tuple("" if row is None else row.guard or "" for row in rows)
        buffers = tuple(
            contents.known[part.of(state)]
            for contents, part in zip(self.contents, self.buffers, strict=True)
        )
        return Configuration(at, buffers, chosen if any(rows) else ())

    def state(self, configuration: Configuration) -> int:
        """The integer that stands for `configuration`."""
        guards = configuration.chosen or ("",) * len(configuration.at)
        state = sum(
            self._number(place, where, guard) << self.fields[place].shift
            for place, (where, guard) in enumerate(zip(configuration.at, guards, strict=True))
        )
        for contents, part, buffer in zip(
            self.contents, self.buffers, configuration.buffers, strict=True
        ):
            state += contents.number(buffer) << part.shift
        return state

    def _number(self, place: int, where: str, guard: str) -> int:
        if not guard:
            return self.numbers[place][where]
        settled = ((row.source, row.guard) for row in self.chosen[place])
        return len(self.numbers[place]) + list(settled).index((where, guard))

    def state_name(self, place: int, number: int) -> str:
        """The state that a member is in, by its number."""
        row = self.chosen_row(place, number)
        return (
            self.system.members[place].automaton.states[number].name if row is None else row.source
        )

    def chosen_row(self, place: int, number: int) -> Transition | None:
        """The row by which a member is bound to send, in the state with this number."""
        beyond = number - len(self.numbers[place])
        return self.chosen[place][beyond] if beyond >= 0 else None

    def is_bound(self, place: int, state: int) -> bool:
        """Whether a member has settled a guard in `state`, and waits to send its message."""
        return self.fields[place].of(state) >= len(self.numbers[place])

    def leaving(self, place: int, number: int) -> tuple[Transition, ...]:
        """The rows by which a member can go on from the state with this number."""
        row = self.chosen_row(place, number)
        if row is not None:
            return (row,)
        table = self.system.members[place].automaton
        return table.leaving(table.states[number].name)

    def taken(self, sender: int, receiver: int, number: int, tag: str) -> Transition | None:
        """The row by which `receiver`, in the state with this number, takes `tag` from `sender`."""
        if number >= len(self.numbers[receiver]):
            return None
        return self.system.taken(sender, receiver, self.state_name(receiver, number), tag)

    def ended(self, state: int) -> bool:
        """Whether every member is in an end state, whatever is still on its way.

        A member that has settled a guard has a message to send, and has not ended.
        """
        return all(
            part.of(state) in final for part, final in zip(self.fields, self.finals, strict=True)
        )

    def link_name(self, link: tuple[int, int]) -> str:
        """`hub:left`, as propositions name a link."""
        return ":".join(self.system.members[place].name for place in link)

    @cached_property
    def links(self) -> tuple[tuple[int, int], ...]:
        """The links that have a buffer; none with a synchronous channel."""
        return () if self.channel.synchronous else self.system.links

    @cached_property
    def numbers(self) -> tuple[dict[str, int], ...]:
        """The number of each state of each member, by its name."""
        return tuple(
            {state.name: number for number, state in enumerate(member.automaton.states)}
            for member in self.system.members
        )

    @cached_property
    def chosen(self) -> tuple[tuple[Transition, ...], ...]:
        """By member: the rows whose guard it may settle before it can send.

        Over a buffer these are the rows of states that have another way on, which does not wait for
        the same buffers: else it is the same to wait first and to choose then.
        """
        return tuple(
            tuple(
                sorted(self._chosen(place), key=lambda row: (numbers[row.source], row.guard or ""))
            )
            for place, numbers in enumerate(self.numbers)
        )

    def _chosen(self, place: int) -> Iterator[Transition]:
        system, table = self.system, self.system.members[place].automaton
        if self.channel.lossy:
            return
        for state in table.states:
            rows = table.leaving(state.name)
            deciding = [row for row in rows if row.kind is Kind.SEND and row.guard is not None]
            ways = {system.partners(place, row) for row in deciding}
            if self.channel.synchronous or len(deciding) < len(rows) or len(ways) > 1:
                yield from deciding

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers the state of each member can have."""
        return tuple(
            len(states) + len(rows) for states, rows in zip(self.numbers, self.chosen, strict=True)
        )

    @cached_property
    def finals(self) -> tuple[frozenset[int], ...]:
        """The numbers of each member's end states."""
        return tuple(
            frozenset(self.numbers[place][name] for name in member.automaton.final)
            for place, member in enumerate(self.system.members)
        )

    @cached_property
    def contents(self) -> tuple[Contents, ...]:
        """The contents of each link's buffer; links on which the same is sent number them alike."""
        found: dict[tuple[str, ...], Contents] = {}
        for link in self.links:
            tags = self.tags(link)
            if tags not in found:
                found[tags] = Contents(self.channel, tags)
        return tuple(found[self.tags(link)] for link in self.links)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Where each member's state stands."""
        return _laid_out([(size - 1).bit_length() for size in self.sizes], 0)

    @cached_property
    def buffers(self) -> tuple[Field, ...]:
        """Where each link's buffer stands."""
        last = self.fields[-1]
        start = last.shift + last.mask.bit_length()
        return _laid_out([contents.bits for contents in self.contents], start)

    @cached_property
    def bits(self) -> int:
        """How many bits a state has."""
        last = (*self.fields, *self.buffers)[-1]
        return last.shift + last.mask.bit_length()

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """What can happen, apart from events from outside."""
        if self.channel.synchronous:
            return tuple(self._meeting(*link) for link in self.system.links)
        return tuple(
            unit
            for number, (sender, receiver) in enumerate(self.links)
            for unit in (
                self._sending(sender, receiver, number),
                self._taking(sender, receiver, number),
            )
        )

    @cached_property
    def choices(self) -> dict[tuple[int, int], tuple[Choice, ...]]:
        """By member and the number of its state: the guards that it may settle without sending."""
        found: dict[tuple[int, int], tuple[Choice, ...]] = {}
        for place, rows in enumerate(self.chosen):
            name = self.system.members[place].name
            for index, row in enumerate(rows):
                own = self.numbers[place][row.source]
                difference = len(self.numbers[place]) + index - own << self.fields[place].shift
                move = Move(Choose(name, row.guard or "", row.label), difference, ((place, row),))
                choice = Choice(move, tuple(self._blocked(place, row)))
                found[place, own] = (*found.get((place, own), ()), choice)
            for row in self.decisions(place):
                own = self.numbers[place][row.source]
                action = Decide(row.guard or "", row.label, name)
                move = Move(action, self.step(place, row), ((place, row),))
                choice = Choice(move, tuple(self._going_on(place)))
                found[place, own] = (*found.get((place, own), ()), choice)
        return found

    def decisions(self, place: int) -> Iterator[Transition]:
        """The rows for events that a member causes by itself, when their guard is true."""
        rows = self.system.members[place].automaton.transitions
        return (row for row in rows if row.kind is Kind.EVENT and row.guard is not None)

    def _going_on(self, place: int) -> Iterator[tuple[Field, Callable[[int], bool]]]:
        """When nobody else has stopped everything."""
        for other in range(len(self.fields)):
            if self.stops and other != place:
                yield self.fields[other], range(len(self.numbers[other])).__contains__

    def _blocked(
        self, place: int, row: Transition
    ) -> Iterator[tuple[Field, Callable[[int], bool]]]:
        """When the message of `row` cannot be sent: nobody takes it, or the buffers are full."""
        for other in self.system.partners(place, row):
            if self.channel.synchronous:
                yield self.fields[other], partial(self._refuses, place, other, row.label)
            else:
                link = self.links.index((place, other))
                yield self.buffers[link], partial(self._is_full, self.contents[link])

    def _refuses(self, sender: int, receiver: int, tag: str, number: int) -> bool:
        if self.stops and number >= len(self.numbers[receiver]):
            return False
        return self.taken(sender, receiver, number, tag) is None

    def _is_full(self, contents: Contents, number: int) -> bool:
        return len(contents.known[number]) == self.channel.capacity

    def choosing(self, state: int) -> Iterator[Move]:
        """The guards that members can settle in `state`, whose messages have to wait."""
        for place, part in enumerate(self.fields):
            for choice in self.choices.get((place, part.of(state)), ()):
                if all(blocked(field.of(state)) for field, blocked in choice.blocked):
                    yield choice.move

    @cached_property
    def events(self) -> dict[str, dict[int, dict[int, Transition]]]:
        """By label, member and the number of its state: the rows for events from outside."""
        found: dict[str, dict[int, dict[int, Transition]]] = {}
        for place, member in enumerate(self.system.members):
            for row in member.automaton.transitions:
                if row.kind is Kind.EVENT and row.guard is None:
                    rows = found.setdefault(row.label, {}).setdefault(place, {})
                    rows[self.numbers[place][row.source]] = row
        return found

    def outside(self, state: int) -> Iterator[Move]:
        """The events from outside that may happen in `state`."""
        if self.stops and any(
            self.chosen_row(place, part.of(state)) for place, part in enumerate(self.fields)
        ):
            return
        for label, members in self.events.items():
            rows = tuple(
                (place, rows[where])
                for place, rows in members.items()
                if (where := self.fields[place].of(state)) in rows
            )
            if rows:
                difference = sum(self.step(place, row) for place, row in rows)
                yield Move(External(label), difference, rows)

    @property
    def stops(self) -> bool:
        """Whether nothing happens any more where a message has been chosen that cannot be sent.

        Of two members that meet there is nobody else whose steps could lead to where it can.
        """
        return self.channel.synchronous and len(self.fields) == 2

    @cached_property
    def units_of(self) -> tuple[tuple[tuple[Unit, ...], ...], ...]:
        """By member and the number of its state: the units in which it can do something."""
        return tuple(
            tuple(
                tuple(unit for unit in self.units if unit.member == place and own in unit.rows)
                for own in range(self.sizes[place])
            )
            for place in range(len(self.system.members))
        )

    def _meeting(self, sender: int, receiver: int) -> Unit:
        rows = self._rows(sender, receiver, Kind.SEND)
        names = self._names(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            found = []
            for row in rows[own]:
                heard = self.taken(sender, receiver, other, row.label)
                if heard is not None:
                    both = ((sender, row), (receiver, heard))
                    difference = self.step(sender, row, own) + self.step(receiver, heard)
                    found.append(Move(Exchange(*names, row.label), difference, both))
            return tuple(found)

        return Unit(sender, self.fields[receiver], rows, moves)

    def _sending(self, sender: int, receiver: int, number: int) -> Unit:
        rows = self._rows(sender, receiver, Kind.SEND)
        contents, part = self.contents[number], self.buffers[number]
        names = self._names(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            found = []
            for row in rows[own]:
                for sent in self.channel.after_sending(contents.known[other], row.label):
                    grown = contents.number(sent.buffer) - other << part.shift
                    action = Send(*names, row.label, lost=sent.lost)
                    step = self.step(sender, row, own) + grown
                    found.append(Move(action, step, ((sender, row),)))
            return tuple(found)

        return Unit(sender, part, rows, moves, number)

    def _taking(self, sender: int, receiver: int, number: int) -> Unit:
        rows = self._rows(receiver, sender, Kind.RECEIVE)
        contents, part = self.contents[number], self.buffers[number]
        names = self._names(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            found = []
            for offer in self.channel.offers(contents.known[other]):
                for row in rows[own]:
                    if row.label == offer.tag:
                        left = contents.number(offer.buffer) - other << part.shift
                        action = Deliver(*names, row.label, kept=offer.kept)
                        step = self.step(receiver, row)
                        found.append(Move(action, step + left, ((receiver, row),)))
            return tuple(found)

        return Unit(receiver, part, rows, moves, number)

    def _rows(self, place: int, other: int, kind: Kind) -> dict[int, list[Transition]]:
        """By the number of its state: the rows of `kind` by which `place` deals with `other`."""
        found: dict[int, list[Transition]] = {}
        for row in self.system.members[place].automaton.transitions:
            if row.kind is kind and other in self.system.partners(place, row):
                found.setdefault(self.numbers[place][row.source], []).append(row)
                if row in self.chosen[place]:
                    bound = len(self.numbers[place]) + self.chosen[place].index(row)
                    found[bound] = [row]
        return found

    def tags(self, link: tuple[int, int]) -> tuple[str, ...]:
        """What may be sent on `link`."""
        rows = self._rows(*link, Kind.SEND).values()
        return tuple(sorted({row.label for several in rows for row in several}))

    def step(self, place: int, row: Transition, number: int | None = None) -> int:
        """What a row of a member adds to the state, from its source or the state with `number`."""
        numbers = self.numbers[place]
        source = numbers[row.source] if number is None else number
        return numbers[row.target] - source << self.fields[place].shift

    def _names(self, sender: int, receiver: int) -> tuple[str, str]:
        members = self.system.members
        return members[sender].name, members[receiver].name


def _laid_out(sizes: Iterable[int], start: int) -> tuple[Field, ...]:
    fields = []
    for bits in sizes:
        fields.append(Field(start, (1 << bits) - 1))
        start += bits
    return tuple(fields)
