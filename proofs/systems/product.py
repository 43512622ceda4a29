"""The members of a system side by side, over a channel: what can happen, as a model.

A state is one integer: in which state each member is, and what is on its way on each link, each in
bits of its own. Every row that one member can take is a difference that is added to the state; the
differences come from the tables and from the channel's functions, once for each combination of a
member's state and a buffer (or of two members' states) that is met. Guards are free. An event from
outside reaches at once all members that have a row for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

from proofs.explore import TooLarge
from proofs.model import Step
from proofs.systems.channels import SYNCHRONOUS, Buffer, Channel
from proofs.systems.wiring import System
from pxp_fsm.automaton import Kind, Transition

EVENT = "!"
"""How a step says that an event from outside happened, where else two members stand."""

MOST_CONTENTS = 1 << 12
"""Up to how many contents of a buffer are numbered beforehand; others as they are met."""

MET_BITS = 24
"""How many bits the number of a buffer's contents has that are numbered as they are met."""


class Configuration(NamedTuple):
    """A state in words: where each member is, and what is on its way on each link."""

    at: tuple[str, ...]
    buffers: tuple[Buffer, ...]


class Move(NamedTuple):
    """What can happen: a label, what it adds to the state, and the rows that members take.

    Labels: `hub>left TASK` (sent and received in one step), `hub>left +TASK` (sent; `lost` after it
    where it was), `hub>left -TASK` (received; `kept` after it where a copy stays), `! CLOSE`.
    """

    label: str
    difference: int
    rows: tuple[tuple[int, Transition], ...]


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
    """The model of `system` over `channel`; its states are integers (see `configuration`)."""

    system: System
    channel: Channel = SYNCHRONOUS

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
            yield Step(move.label, state + move.difference)

    def moves(self, state: int) -> list[Move]:
        """What can happen in `state`, in an order that is the same on every run."""
        found: list[Move] = []
        for place, part in enumerate(self.fields):
            own = state >> part.shift & part.mask
            for unit in self.units_of[place][own]:
                other = state >> unit.other.shift & unit.other.mask
                found += unit.known[own].get(other) or unit.at(own, other)
        if self.events:
            found += self.outside(state)
        return found

    def propositions(self, state: int) -> frozenset[str]:
        """Where each member is: `hub@IDLE`, and by its number `1@IDLE`; `ended`; and of buffers
        `hub:left@empty`, `hub:left@full`, `hub:left@has.TASK`.
        """
        at, buffers = self.configuration(state)
        said = {"ended"} if self.ended(state) else set()
        for place, (member, where) in enumerate(zip(self.system.members, at, strict=True)):
            said |= {f"{member.name}@{where}", f"{place + 1}@{where}"}
        for link, buffer in zip(self.links, buffers, strict=True):
            name = self.link_name(link)
            said |= {f"{name}@has.{tag}" for tag in buffer}
            if not buffer:
                said.add(f"{name}@empty")
            if len(buffer) == self.channel.capacity:
                said.add(f"{name}@full")
        return frozenset(said)

    def configuration(self, state: int) -> Configuration:
        """`state` in words; the buffers in the order of `links`."""
        at = tuple(
            member.automaton.states[part.of(state)].name
            for member, part in zip(self.system.members, self.fields, strict=True)
        )
        buffers = tuple(
            contents.known[part.of(state)]
            for contents, part in zip(self.contents, self.buffers, strict=True)
        )
        return Configuration(at, buffers)

    def state(self, configuration: Configuration) -> int:
        """The integer that stands for `configuration`."""
        state = sum(
            self.numbers[place][where] << self.fields[place].shift
            for place, where in enumerate(configuration.at)
        )
        for contents, part, buffer in zip(
            self.contents, self.buffers, configuration.buffers, strict=True
        ):
            state += contents.number(buffer) << part.shift
        return state

    def ended(self, state: int) -> bool:
        """Whether every member is in an end state, whatever is still on its way."""
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
        sizes = [(len(states) - 1).bit_length() for states in self.numbers]
        return _laid_out(sizes, 0)

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
    def events(self) -> dict[str, dict[int, dict[int, Transition]]]:
        """By label, member and the number of its state: the rows for events from outside."""
        found: dict[str, dict[int, dict[int, Transition]]] = {}
        for place, member in enumerate(self.system.members):
            for row in member.automaton.transitions:
                if row.kind is Kind.EVENT:
                    rows = found.setdefault(row.label, {}).setdefault(place, {})
                    rows[self.numbers[place][row.source]] = row
        return found

    def outside(self, state: int) -> Iterator[Move]:
        """The events from outside that may happen in `state`."""
        for label, members in self.events.items():
            rows = tuple(
                (place, rows[where])
                for place, rows in members.items()
                if (where := self.fields[place].of(state)) in rows
            )
            if rows:
                difference = sum(self.step(place, row) for place, row in rows)
                yield Move(f"{EVENT} {label}", difference, rows)

    @cached_property
    def units_of(self) -> tuple[tuple[tuple[Unit, ...], ...], ...]:
        """By member and the number of its state: the units in which it can do something."""
        return tuple(
            tuple(
                tuple(unit for unit in self.units if unit.member == place and own in unit.rows)
                for own in range(len(self.numbers[place]))
            )
            for place in range(len(self.system.members))
        )

    def _meeting(self, sender: int, receiver: int) -> Unit:
        rows = self._rows(sender, receiver, Kind.SEND)
        states = self.system.members[receiver].automaton.states
        link = self._arrow(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            found = []
            for row in rows[own]:
                heard = self.system.taken(sender, receiver, states[other].name, row.label)
                if heard is not None:
                    both = ((sender, row), (receiver, heard))
                    difference = self.step(sender, row) + self.step(receiver, heard)
                    found.append(Move(f"{link} {row.label}", difference, both))
            return tuple(found)

        return Unit(sender, self.fields[receiver], rows, moves)

    def _sending(self, sender: int, receiver: int, number: int) -> Unit:
        rows = self._rows(sender, receiver, Kind.SEND)
        contents, part = self.contents[number], self.buffers[number]
        link = self._arrow(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            found = []
            for row in rows[own]:
                for sent in self.channel.after_sending(contents.known[other], row.label):
                    grown = contents.number(sent.buffer) - other << part.shift
                    label = f"{link} +{row.label}{' lost' if sent.lost else ''}"
                    found.append(Move(label, self.step(sender, row) + grown, ((sender, row),)))
            return tuple(found)

        return Unit(sender, part, rows, moves, number)

    def _taking(self, sender: int, receiver: int, number: int) -> Unit:
        rows = self._rows(receiver, sender, Kind.RECEIVE)
        contents, part = self.contents[number], self.buffers[number]
        link = self._arrow(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            found = []
            for offer in self.channel.offers(contents.known[other]):
                for row in rows[own]:
                    if row.label == offer.tag:
                        left = contents.number(offer.buffer) - other << part.shift
                        label = f"{link} -{row.label}{' kept' if offer.kept else ''}"
                        step = self.step(receiver, row)
                        found.append(Move(label, step + left, ((receiver, row),)))
            return tuple(found)

        return Unit(receiver, part, rows, moves, number)

    def _rows(self, place: int, other: int, kind: Kind) -> dict[int, list[Transition]]:
        """By the number of its state: the rows of `kind` by which `place` deals with `other`."""
        found: dict[int, list[Transition]] = {}
        for row in self.system.members[place].automaton.transitions:
            if row.kind is kind and other in self.system.partners(place, row):
                found.setdefault(self.numbers[place][row.source], []).append(row)
        return found

    def tags(self, link: tuple[int, int]) -> tuple[str, ...]:
        """What may be sent on `link`."""
        rows = self._rows(*link, Kind.SEND).values()
        return tuple(sorted({row.label for several in rows for row in several}))

    def step(self, place: int, row: Transition) -> int:
        """What a row of a member adds to the state."""
        numbers = self.numbers[place]
        return numbers[row.target] - numbers[row.source] << self.fields[place].shift

    def _arrow(self, sender: int, receiver: int) -> str:
        members = self.system.members
        return f"{members[sender].name}>{members[receiver].name}"


def _laid_out(sizes: Iterable[int], start: int) -> tuple[Field, ...]:
    fields = []
    for bits in sizes:
        fields.append(Field(start, (1 << bits) - 1))
        start += bits
    return tuple(fields)
