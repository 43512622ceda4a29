"""A system over a channel as variables and guarded commands.

The variables are where each member is and what is on its way on each link; with formulas that speak
of the latest step, one more for each thing that they say of it. States and transitions are those of
`proofs.systems.product`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, product

from proofs.exchange.commands import (
    Add,
    All,
    AtLeast,
    Command,
    Copy,
    Domain,
    Is,
    Isnt,
    Network,
    Set,
    Some,
    Test,
    Update,
    Variable,
)
from proofs.logic.mistakes import unknown
from proofs.systems.product import EVENT, Composition
from proofs.systems.propositions import of_steps, said_by, vocabulary
from pxp_fsm.automaton import Kind, Transition
from pxp_fsm.errors import UsageError

NOTHING = "nothing"
"""What is in a place of a buffer where no message is."""

MOST_COMMANDS = 20_000
"""Commands that are written; a text with more would be of no use to anybody."""


def network(composition: Composition, wanted: Iterable[str] = ()) -> Network:
    """The network of `composition`, in which the propositions `wanted` can be told.

    Raises `UsageError` for a proposition that there is none of, and for far too many commands.
    """
    wanted = frozenset(wanted)
    known = vocabulary(composition)
    if not wanted <= known:
        raise unknown(wanted - known, known, "there is no")
    return _Building(composition, wanted & of_steps(composition)).network(wanted | {"ended"})


class _Building:
    """The parts of a network, as they are put together."""

    def __init__(self, composition: Composition, noted: frozenset[str]) -> None:
        self.composition = composition
        self.system = composition.system
        self.capacity = composition.channel.capacity
        self.at = tuple(
            Variable(
                ("at", member.name),
                Domain((member.name,), tuple(state.name for state in member.automaton.states)),
                composition.numbers[place][member.automaton.initial],
            )
            for place, member in enumerate(self.system.members)
        )
        self.buffers = {link: self._buffer(link) for link in composition.links}
        flag = Domain(("said",), ("0", "1"), numbers=True)
        self.noted = {
            name: Variable(("said", str(number)), flag)
            for number, name in enumerate(sorted(noted), start=1)
        }

    def network(self, wanted: frozenset[str]) -> Network:
        places = (variable for buffer in self.buffers.values() for variable in buffer)
        commands = []
        for command in self._commands():
            commands.append(self._noting(command))
            if len(commands) > MOST_COMMANDS:
                raise UsageError(
                    f"{self.composition.name} takes more than {MOST_COMMANDS:,} commands to "
                    f"write; take a smaller capacity"
                )
        return Network(
            self.composition,
            (*self.at, *places, *self.noted.values()),
            tuple(commands),
            {name: self._meaning(name) for name in sorted(wanted)},
            Isnt(Some(tuple(dict.fromkeys(self._possible())))),
        )

    def _possible(self) -> Iterator[Test]:
        """That something can happen, said shortly: by rows, not by places of buffers."""
        yield from (
            All(command.tests) for link in self._direct for command in self._meetings(*link)
        )
        for link, buffer in self.buffers.items():
            room: tuple[Test, ...] = (Is(buffer[-1], 0),)
            if self.composition.channel.reordering:
                room = (Isnt(AtLeast(buffer, self.capacity)),)
            if self.composition.channel.lossy:
                room = ()
            for row in self._rows(*link, Kind.SEND):
                yield All((self._where(link[0], row), *room))
            yield from (All(command.tests) for command in self._takings(*link))
        for place, member in enumerate(self.system.members):
            for row in member.automaton.transitions:
                if row.kind is Kind.EVENT:
                    yield All((self._where(place, row),))

    @property
    def _direct(self) -> tuple[tuple[int, int], ...]:
        """The links over which sending and receiving are one step."""
        return self.system.links if self.composition.channel.synchronous else ()

    def _buffer(self, link: tuple[int, int]) -> tuple[Variable, ...]:
        """Places in order; or, where the order is lost, how many there are of each tag."""
        names = tuple(self.system.members[place].name for place in link)
        tags = self.composition.tags(link)
        if self.composition.channel.reordering:
            counted = tuple(str(number) for number in range(self.capacity + 1))
            domain = Domain(("count",), counted, numbers=True)
            return tuple(Variable(("count", *names, tag), domain) for tag in tags)
        domain = Domain(("on", *names), (NOTHING, *tags))
        return tuple(
            Variable(("on", *names, str(place)), domain) for place in range(1, self.capacity + 1)
        )

    def _noting(self, command: Command) -> Command:
        if not self.noted:
            return command
        said = said_by(self.composition, command.label, command.guard)
        noted = tuple(Set(var, int(name in said)) for name, var in self.noted.items())
        return replace(command, updates=command.updates + noted)

    def _commands(self) -> Iterator[Command]:
        for link in self._direct:
            yield from self._meetings(*link)
        for link in self.composition.links:
            yield from self._sendings(*link)
            yield from self._takings(*link)
        yield from self._events()

    def _meetings(self, sender: int, receiver: int) -> Iterator[Command]:
        states = self.system.members[receiver].automaton.states
        for row in self._rows(sender, receiver, Kind.SEND):
            for state in states:
                heard = self.system.taken(sender, receiver, state.name, row.label)
                if heard is not None:
                    yield Command(
                        f"{self._arrow(sender, receiver)} {row.label}",
                        (self._where(sender, row), self._where(receiver, heard)),
                        (self._moves(sender, row), self._moves(receiver, heard)),
                        row.guard or "",
                    )

    def _sendings(self, sender: int, receiver: int) -> Iterator[Command]:
        buffer = self.buffers[sender, receiver]
        for row in self._rows(sender, receiver, Kind.SEND):
            label, here = f"{self._arrow(sender, receiver)} +{row.label}", self._where(sender, row)
            there, guard = self._moves(sender, row), row.guard or ""
            for room, put in self._puttings((sender, receiver), row.label, buffer):
                yield Command(label, (here, *room), (there, put), guard)
            if self.composition.channel.lossy:
                yield Command(f"{label} lost", (here,), (there,), guard)

    def _puttings(
        self, link: tuple[int, int], tag: str, buffer: tuple[Variable, ...]
    ) -> Iterator[tuple[tuple[Test, ...], Update]]:
        """Where there is room for `tag`, and how it comes in."""
        number = self.composition.tags(link).index(tag)
        if self.composition.channel.reordering:
            yield (Isnt(AtLeast(buffer, self.capacity)),), Add(buffer[number], 1)
            return
        for place, variable in enumerate(buffer):
            before = (Isnt(Is(buffer[place - 1], 0)),) if place else ()
            yield (*before, Is(variable, 0)), Set(variable, number + 1)

    def _takings(self, sender: int, receiver: int) -> Iterator[Command]:
        link, channel = (sender, receiver), self.composition.channel
        buffer, tags = self.buffers[link], self.composition.tags(link)
        for row in self._rows(receiver, sender, Kind.RECEIVE):
            if row.label not in tags:
                continue
            number = tags.index(row.label)
            out: tuple[Update, ...]
            if channel.reordering:
                there: Test = AtLeast((buffer[number],), 1)
                out = (Add(buffer[number], -1),)
            else:
                there = Is(buffer[0], number + 1)
                moved = (Copy(to, after) for to, after in pairwise(buffer))
                out = (*moved, Set(buffer[-1], 0))
            label = f"{self._arrow(*link)} -{row.label}"
            tests = (self._where(receiver, row), there)
            yield Command(label, tests, (self._moves(receiver, row), *out))
            if channel.duplicating:
                yield Command(f"{label} kept", tests, (self._moves(receiver, row),))

    def _events(self) -> Iterator[Command]:
        """An event reaches at once all members that have a row for it in the state they are in."""
        members = range(len(self.system.members))
        for label in self.composition.events:
            by_member = [
                [
                    row
                    for row in self.system.members[place].automaton.transitions
                    if row.kind is Kind.EVENT and row.label == label
                ]
                for place in members
            ]
            for chosen in product(*([*rows, None] for rows in by_member)):
                if not any(chosen):
                    continue
                tests = tuple(
                    test
                    for place, row in enumerate(chosen)
                    for test in self._reached(place, row, by_member[place])
                )
                updates = tuple(
                    self._moves(place, row) for place, row in enumerate(chosen) if row is not None
                )
                yield Command(f"{EVENT} {label}", tests, updates)

    def _reached(
        self, place: int, row: Transition | None, rows: list[Transition]
    ) -> Iterator[Test]:
        """That a member has `row` for an event; or, without one, that it has none of `rows`."""
        if row is not None:
            yield self._where(place, row)
        else:
            yield from (Isnt(self._where(place, other)) for other in rows)

    def _rows(self, place: int, other: int, kind: Kind) -> Iterator[Transition]:
        """The rows of `kind` by which `place` deals with `other`."""
        for row in self.system.members[place].automaton.transitions:
            if row.kind is kind and other in self.system.partners(place, row):
                yield row

    def _where(self, place: int, row: Transition) -> Is:
        return Is(self.at[place], self.composition.numbers[place][row.source])

    def _moves(self, place: int, row: Transition) -> Set:
        return Set(self.at[place], self.composition.numbers[place][row.target])

    def _arrow(self, sender: int, receiver: int) -> str:
        members = self.system.members
        return f"{members[sender].name}>{members[receiver].name}"

    def _meaning(self, name: str) -> Test:
        if name in self.noted:
            return Is(self.noted[name], 1)
        if name == "ended":
            return All(
                tuple(
                    Some(tuple(Is(at, number) for number in sorted(final)))
                    for at, final in zip(self.at, self.composition.finals, strict=True)
                )
            )
        subject, _, what = name.partition("@")
        if ":" not in subject:
            place = self._place(subject)
            return Is(self.at[place], self.composition.numbers[place][what])
        first, second = (self._place(one) for one in subject.split(":"))
        return self._of_buffer((first, second), what)

    def _of_buffer(self, link: tuple[int, int], what: str) -> Test:
        buffer, tags = self.buffers[link], self.composition.tags(link)
        number = tags.index(what.removeprefix("has.")) if what.startswith("has.") else 0
        if self.composition.channel.reordering:
            if what == "empty":
                return Isnt(AtLeast(buffer, 1))
            if what == "full":
                return AtLeast(buffer, self.capacity)
            return AtLeast((buffer[number],), 1)
        if what == "empty":
            return Is(buffer[0], 0)
        if what == "full":
            return Isnt(Is(buffer[-1], 0))
        return Some(tuple(Is(variable, number + 1) for variable in buffer))

    def _place(self, subject: str) -> int:
        places = self.system.places
        return places[subject] if subject in places else int(subject) - 1
