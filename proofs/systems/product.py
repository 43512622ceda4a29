"""The members of a system side by side, over a channel: what can happen, as a model.

A state is one integer (see `proofs.systems.encoding`). Every row that one member can take is a
difference that is added to the state; the differences come from the tables and from the channel's
functions, once for each combination of a member's state and a buffer (or of two members' states)
that is met. An event from outside reaches at once all members that have a row for it.

Guards are free, and a member settles them alone: the guard names the message. Where it can be sent
at once, choosing and sending are one step. Where it cannot, choosing is a step of its own: the
member's state then has a number of its own, from which it can send that message and nothing else.
A row without a guard that cannot be sent is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property, partial
from typing import NamedTuple

from proofs.core.explore import Step
from proofs.systems.encoding import BitField, Encoding, Local
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.channels import Channel
from pxp_fsm.automata.system import System
from pxp_fsm.automata.unfolding import written
from pxp_fsm.lazy_dataclasses import dataclass

Action = Exchange | Send | Deliver | Choose | Decide | External
"""What can happen in a system."""


class Move(NamedTuple):
    """What can happen, what it adds to the state, and the rows that members take, or choose."""

    action: Action
    difference: int
    rows: tuple[tuple[int, Transition], ...]


class ChosenRow(NamedTuple):
    """A guard that a member can settle without sending a message then.

    It names a message that cannot be sent at once, or an event that the member causes by itself.
    `blocked` are parts of the state, each with a test on its number: all must be passed.
    """

    move: Move
    blocked: tuple[tuple[BitField, Callable[[int], bool]], ...]


@dataclass(frozen=True, slots=True)
class LinkRows:
    """The rows of one member that go over one link: they depend on its state and one other field.

    That is the buffer of the link with number `link`, or with a synchronous channel the other
    member's state. `rows` are those rows by the number of the member's state; `moves` gives what
    can happen for two numbers, and `known` remembers it.
    """

    member: int
    other: BitField
    rows: dict[int, list[Transition]]
    moves: Callable[[int, int], tuple[Move, ...]]
    link: int | None = None
    known: dict[int, dict[int, tuple[Move, ...]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.known.update({own: {} for own in self.rows})

    def at(self, own: int, other: int) -> tuple[Move, ...]:
        """What can happen where the two parts have these numbers."""
        moves = self.known[own].get(other)
        if moves is None:
            moves = self.known[own][other] = self.moves(own, other)
        return moves


@dataclass(frozen=True)
class Composition:
    """The model of `system`; its states are integers that `encoding` writes and reads."""

    system: System

    @cached_property
    def encoding(self) -> Encoding:
        """How states are written as integers."""
        return Encoding(self.system)

    @property
    def channel(self) -> Channel:
        return self.system.channel

    @property
    def name(self) -> str:
        return f"{self.system.name} over {self.channel.name}"

    def initial(self) -> Iterable[int]:
        yield sum(
            self.encoding.numbers[place][member.automaton.initial]
            << self.encoding.fields[place].shift
            for place, member in enumerate(self.system.members)
        )

    def successors(self, state: int) -> Iterator[Step[int]]:
        for move in self.moves(state):
            yield Step(move.action, state + move.difference)

    def moves(self, state: int) -> list[Move]:
        """What can happen in `state`, in an order that is the same on every run."""
        moves: list[Move] = []
        for place, part in enumerate(self.encoding.fields):
            own = state >> part.shift & part.mask
            for unit in self.units_of[place][own]:
                other = state >> unit.other.shift & unit.other.mask
                moves += unit.known[own].get(other) or unit.at(own, other)
        if self.choices:
            moves += self.choosing(state)
        if self.events:
            moves += self.outside(state)
        return moves

    @property
    def local_moves(self) -> tuple[Local[list[Move]], ...]:
        """What can happen, by the parts of the state that it depends on.

        `moves` of a state are those of these, one after the other.

        >>> import pxp_fsm as pxp
        >>> composition = Composition(pxp.System.load("pxp", channel="fifo:1"))
        >>> [len(local.of(0)) for local in composition.local_moves], len(composition.moves(0))
        ([1, 0, 1, 0], 2)
        """
        number = {part: place for place, part in enumerate(self.encoding.parts)}
        everybody = tuple(range(len(self.encoding.fields)))
        local = [
            Local((unit.member, number[unit.other]), partial(self._moves_of, unit))
            for place in everybody
            for unit in self.units
            if unit.member == place
        ]
        for place in everybody:
            rows = [
                choice
                for (member, _), some in self.choices.items()
                if member == place
                for choice in some
            ]
            if rows:
                blocking = {place, *(number[part] for row in rows for part, _ in row.blocked)}
                local.append(Local(tuple(sorted(blocking)), partial(self._choosing_of, place)))
        for label, members in self.events.items():
            read = everybody if self.system.stops else members
            local.append(Local(tuple(read), partial(self._outside_of, label)))
        return tuple(local)

    def _moves_of(self, unit: LinkRows, state: int) -> list[Move]:
        own = self.encoding.fields[unit.member].of(state)
        return list(unit.at(own, unit.other.of(state))) if own in unit.rows else []

    def propositions(self, state: int) -> frozenset[str]:
        """Where each member is: `hub@IDLE`, and by its number `1@IDLE`; `ended`; and of buffers
        `hub:left@empty`, `hub:left@full`, `hub:left@has.TASK`.
        """
        at, buffers, _ = self.encoding.configuration(state)
        there = {"ended"} if self.ended(state) else set()
        for place, (member, where) in enumerate(zip(self.system.members, at, strict=True)):
            regions = member.automaton.regions
            names = [name for name, states in regions.items() if where in states]
            if where not in regions:
                names.append(where)
            there |= {f"{who}@{name}" for who in (member.name, place + 1) for name in names}
        for link, buffer in zip(self.encoding.links, buffers, strict=True):
            name = self.encoding.link_name(link)
            there |= {f"{name}@has.{written(tag)}" for tag in buffer}
            if not buffer:
                there.add(f"{name}@empty")
            if len(buffer) == self.system.channel_of(link).capacity:
                there.add(f"{name}@full")
        return frozenset(there)

    def leaving(self, place: int, number: int) -> tuple[Transition, ...]:
        """The rows by which a member can go on from the state with this number."""
        row = self.encoding.chosen_row(place, number)
        if row is not None:
            return (row,)
        table = self.system.members[place].automaton
        return table.leaving(table.states[number].name)

    def taken(self, sender: int, receiver: int, number: int, tag: str) -> Transition | None:
        """The row by which `receiver`, in the state with this number, takes `tag` from `sender`."""
        if number >= len(self.encoding.numbers[receiver]):
            return None
        return self.system.taken(sender, receiver, self.encoding.state_name(receiver, number), tag)

    def ended(self, state: int) -> bool:
        """Whether every member is in an end state, whatever is still on its way.

        A member that has settled a guard has a message to send, and has not ended.
        """
        return all(
            part.of(state) in final
            for part, final in zip(self.encoding.fields, self.finals, strict=True)
        )

    @cached_property
    def finals(self) -> tuple[frozenset[int], ...]:
        """The numbers of each member's end states."""
        return tuple(
            frozenset(self.encoding.numbers[place][name] for name in member.automaton.final)
            for place, member in enumerate(self.system.members)
        )

    @cached_property
    def units(self) -> tuple[LinkRows, ...]:
        """What can happen, apart from events from outside."""
        if self.channel.synchronous:
            return tuple(self._meeting(*link) for link in self.system.links)
        return tuple(
            unit
            for number, (sender, receiver) in enumerate(self.encoding.links)
            for unit in (
                self._sending(sender, receiver, number),
                self._taking(sender, receiver, number),
            )
        )

    @cached_property
    def choices(self) -> dict[tuple[int, int], tuple[ChosenRow, ...]]:
        """By member and the number of its state: the guards that it may settle without sending."""
        choices: dict[tuple[int, int], tuple[ChosenRow, ...]] = {}
        for place, rows in enumerate(self.encoding.chosen):
            name = self.system.members[place].name
            for index, row in enumerate(rows):
                own = self.encoding.numbers[place][row.source]
                difference = (
                    len(self.encoding.numbers[place]) + index - own
                    << self.encoding.fields[place].shift
                )
                move = Move(Choose(name, row.guard or "", row.label), difference, ((place, row),))
                choice = ChosenRow(move, tuple(self._blocked(place, row)))
                choices[place, own] = (*choices.get((place, own), ()), choice)
            for row in self.decisions(place):
                own = self.encoding.numbers[place][row.source]
                action = Decide(row.guard or "", row.label, name)
                move = Move(action, self.step(place, row), ((place, row),))
                choice = ChosenRow(move, tuple(self._going_on(place)))
                choices[place, own] = (*choices.get((place, own), ()), choice)
        return choices

    def decisions(self, place: int) -> Iterator[Transition]:
        """The rows for events that a member causes by itself, when their guard is true."""
        rows = self.system.members[place].automaton.transitions
        return (row for row in rows if row.kind is Kind.EVENT and row.guard is not None)

    def _going_on(self, place: int) -> Iterator[tuple[BitField, Callable[[int], bool]]]:
        """When nobody else has stopped everything."""
        for other in range(len(self.encoding.fields)):
            if self.system.stops and other != place:
                yield (
                    self.encoding.fields[other],
                    range(len(self.encoding.numbers[other])).__contains__,
                )

    def _blocked(
        self, place: int, row: Transition
    ) -> Iterator[tuple[BitField, Callable[[int], bool]]]:
        """When the message of `row` cannot be sent: nobody takes it, or the buffers are full."""
        for other in self.system.partners(place, row):
            if self.channel.synchronous:
                yield self.encoding.fields[other], partial(self._refuses, place, other, row.label)
            else:
                link = self.encoding.links.index((place, other))
                yield (
                    self.encoding.buffers[link],
                    partial(self._is_full, link),
                )

    def _refuses(self, sender: int, receiver: int, tag: str, number: int) -> bool:
        if self.system.stops and number >= len(self.encoding.numbers[receiver]):
            return False
        return self.taken(sender, receiver, number, tag) is None

    def _is_full(self, link: int, number: int) -> bool:
        capacity = self.system.channel_of(self.encoding.links[link]).capacity
        return len(self.encoding.contents[link].known[number]) == capacity

    def choosing(self, state: int) -> Iterator[Move]:
        """The guards that members can settle in `state`, whose messages have to wait."""
        for place in range(len(self.encoding.fields)):
            yield from self._choosing_of(place, state)

    def _choosing_of(self, place: int, state: int) -> list[Move]:
        return [
            choice.move
            for choice in self.choices.get((place, self.encoding.fields[place].of(state)), ())
            if all(blocked(field.of(state)) for field, blocked in choice.blocked)
        ]

    @cached_property
    def events(self) -> dict[str, dict[int, dict[int, Transition]]]:
        """By label, member and the number of its state: the rows for events from outside."""
        events: dict[str, dict[int, dict[int, Transition]]] = {}
        for place, member in enumerate(self.system.members):
            for row in member.automaton.transitions:
                if row.kind is Kind.EVENT and row.guard is None:
                    rows = events.setdefault(row.label, {}).setdefault(place, {})
                    rows[self.encoding.numbers[place][row.source]] = row
        return events

    def outside(self, state: int) -> Iterator[Move]:
        """The events from outside that may happen in `state`."""
        for label in self.events:
            yield from self._outside_of(label, state)

    def _outside_of(self, label: str, state: int) -> list[Move]:
        if self.system.stops and any(
            self.encoding.chosen_row(place, part.of(state))
            for place, part in enumerate(self.encoding.fields)
        ):
            return []
        taken = tuple(
            (place, rows[where])
            for place, rows in self.events[label].items()
            if (where := self.encoding.fields[place].of(state)) in rows
        )
        difference = sum(self.step(place, row) for place, row in taken)
        return [Move(External(label), difference, taken)] if taken else []

    @cached_property
    def units_of(self) -> tuple[tuple[tuple[LinkRows, ...], ...], ...]:
        """By member and the number of its state: the units in which it can do something."""
        return tuple(
            tuple(
                tuple(unit for unit in self.units if unit.member == place and own in unit.rows)
                for own in range(self.encoding.sizes[place])
            )
            for place in range(len(self.system.members))
        )

    def _meeting(self, sender: int, receiver: int) -> LinkRows:
        rows = self._rows(sender, receiver, Kind.SEND)
        names = self._names(sender, receiver)

        def moves(own: int, other: int) -> tuple[Move, ...]:
            possible = []
            for row in rows[own]:
                heard = self.taken(sender, receiver, other, row.label)
                if heard is not None:
                    both = ((sender, row), (receiver, heard))
                    difference = self.step(sender, row, own) + self.step(receiver, heard)
                    possible.append(Move(Exchange(*names, row.label), difference, both))
            return tuple(possible)

        return LinkRows(sender, self.encoding.fields[receiver], rows, moves)

    def _sending(self, sender: int, receiver: int, number: int) -> LinkRows:
        rows = self._rows(sender, receiver, Kind.SEND)
        contents, part = self.encoding.contents[number], self.encoding.buffers[number]
        names, channel = self._names(sender, receiver), self.system.channel_of((sender, receiver))

        def moves(own: int, other: int) -> tuple[Move, ...]:
            possible = []
            for row in rows[own]:
                for sent in channel.after_sending(contents.known[other], row.label):
                    grown = contents.number(sent.buffer) - other << part.shift
                    action = Send(*names, row.label, lost=sent.lost)
                    step = self.step(sender, row, own) + grown
                    possible.append(Move(action, step, ((sender, row),)))
            return tuple(possible)

        return LinkRows(sender, part, rows, moves, number)

    def _taking(self, sender: int, receiver: int, number: int) -> LinkRows:
        rows = self._rows(receiver, sender, Kind.RECEIVE)
        contents, part = self.encoding.contents[number], self.encoding.buffers[number]
        names, channel = self._names(sender, receiver), self.system.channel_of((sender, receiver))

        def moves(own: int, other: int) -> tuple[Move, ...]:
            possible = []
            for offer in channel.offers(contents.known[other]):
                for row in rows[own]:
                    if row.label == offer.tag:
                        left = contents.number(offer.buffer) - other << part.shift
                        action = Deliver(*names, row.label, kept=offer.kept)
                        step = self.step(receiver, row)
                        possible.append(Move(action, step + left, ((receiver, row),)))
            return tuple(possible)

        return LinkRows(receiver, part, rows, moves, number)

    def _rows(self, place: int, other: int, kind: Kind) -> dict[int, list[Transition]]:
        """By the number of its state: the rows of `kind` by which `place` deals with `other`."""
        rows: dict[int, list[Transition]] = {}
        for row in self.system.members[place].automaton.transitions:
            if row.kind is kind and other in self.system.partners(place, row):
                rows.setdefault(self.encoding.numbers[place][row.source], []).append(row)
                if row in self.encoding.chosen[place]:
                    bound = len(self.encoding.numbers[place]) + self.encoding.chosen[place].index(
                        row
                    )
                    rows[bound] = [row]
        return rows

    def step(self, place: int, row: Transition, number: int | None = None) -> int:
        """What a row of a member adds to the state, from its source or the state with `number`."""
        numbers = self.encoding.numbers[place]
        source = numbers[row.source] if number is None else number
        return numbers[row.target] - source << self.encoding.fields[place].shift

    def _names(self, sender: int, receiver: int) -> tuple[str, str]:
        members = self.system.members
        return members[sender].name, members[receiver].name
