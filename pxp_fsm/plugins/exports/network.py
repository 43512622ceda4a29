"""A system over a channel as variables and guarded commands.

The variables are where each member is and what is on its way on each link; with formulas that speak
of the latest step, one more for each thing that they say of it. States and transitions are those of
`proofs.systems.product`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, product

from proofs.export.commands import (
    Add,
    All,
    AtLeast,
    CommandSystem,
    Copy,
    Domain,
    GuardedCommand,
    Is,
    Negation,
    Set,
    Some,
    Test,
    Update,
    Variable,
)
from proofs.logic.parsing import unknown
from proofs.systems.product import Composition
from proofs.systems.propositions import (
    AllEnded,
    AtState,
    Empty,
    Full,
    Has,
    OfState,
    OfStep,
    Proposition,
    named,
    told_by,
)
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import Kind, Transition, happening
from pxp_fsm.errors import UsageError

NOTHING = "nothing"
"""What is in a place of a buffer where no message is."""

MOST_COMMANDS = 20_000
"""Commands that are written; a text with more would be of no use to anybody."""


def network(composition: Composition, wanted: Iterable[str] = ()) -> CommandSystem:
    """The network of `composition`, in which the propositions `wanted` can be told.

    Raises `UsageError` for a proposition that there is none of, and for far too many commands.
    """
    wanted, known = frozenset(wanted), named(composition)
    if not wanted <= known.keys():
        raise unknown(wanted - known.keys(), frozenset(known), "there is no")
    meant = {name: known[name] for name in sorted(wanted | {"ended"})}
    return _Building(composition, meant).network()


class _Building:
    """The parts of a network, as they are put together."""

    def __init__(self, composition: Composition, wanted: Mapping[str, Proposition]) -> None:
        self.composition = composition
        self.system = composition.system
        self.at = tuple(
            Variable(
                ("at", member.name),
                Domain((member.name,), tuple(self._values(composition, place))),
                composition.encoding.numbers[place][member.automaton.initial],
            )
            for place, member in enumerate(self.system.members)
        )
        self.buffers = {link: self._buffer(link) for link in composition.encoding.links}
        flag = Domain(("said",), ("0", "1"), numbers=True)
        noted = (
            (name, proposition)
            for name, proposition in wanted.items()
            if isinstance(proposition, OfStep)
        )
        self.noted = {
            name: (Variable(("said", str(number)), flag), proposition)
            for number, (name, proposition) in enumerate(noted, start=1)
        }
        self.of_states = {
            n: proposition
            for n, proposition in wanted.items()
            if not isinstance(proposition, OfStep)
        }

    @staticmethod
    def _values(composition: Composition, place: int) -> Iterator[str]:
        """The states of a member; and with each guard that it has settled, beside it."""
        for number in range(composition.encoding.sizes[place]):
            name, row = (
                composition.encoding.state_name(place, number),
                composition.encoding.chosen_row(place, number),
            )
            yield name if row is None else f"{name} {row.guard}"

    def network(self) -> CommandSystem:
        places = (variable for buffer in self.buffers.values() for variable in buffer)
        commands = []
        for command in self._commands():
            commands.append(self._noting(command))
            if len(commands) > MOST_COMMANDS:
                raise UsageError(
                    f"{self.composition.name} takes more than {MOST_COMMANDS:,} commands to "
                    f"write; take a smaller capacity"
                )
        return CommandSystem(
            self.composition,
            (*self.at, *places, *(variable for variable, _ in self.noted.values())),
            tuple(commands),
            self._meanings(),
            Negation(Some(tuple(dict.fromkeys(self._possible())))),
        )

    def _possible(self) -> Iterator[Test]:
        """That something can happen, said shortly: by rows, not by places of buffers."""
        yield from (
            All(command.tests) for link in self._direct for command in self._meetings(*link)
        )
        for link, buffer in self.buffers.items():
            channel = self.system.channel_of(link)
            room: tuple[Test, ...] = (Is(buffer[-1], 0),)
            if channel.reordering:
                room = (Negation(AtLeast(buffer, channel.capacity)),)
            if channel.lossy:
                room = ()
            for row in self._rows(*link, Kind.SEND):
                yield from (All((here, *room)) for here in self._sources(link[0], row))
            yield from (All(command.tests) for command in self._takings(*link))
        yield from (All(command.tests) for command in self._choices())
        for place, member in enumerate(self.system.members):
            for row in member.automaton.transitions:
                if row.kind is Kind.EVENT and row.guard is None:
                    others = (second for second in range(len(self.at)) if second != place)
                    free = (test for other in others for test in self._is_free(other))
                    yield All((self._where(place, row), *free))

    @property
    def _direct(self) -> tuple[tuple[int, int], ...]:
        """The links over which sending and receiving are one step."""
        return self.system.links if self.composition.channel.synchronous else ()

    def _buffer(self, link: tuple[int, int]) -> tuple[Variable, ...]:
        """Places in order; or, where the order is lost, how many there are of each tag."""
        names = tuple(self.system.members[place].name for place in link)
        tags, channel = self.composition.encoding.tags(link), self.system.channel_of(link)
        if channel.reordering:
            counted = tuple(str(number) for number in range(channel.capacity + 1))
            domain = Domain(("count",), counted, numbers=True)
            return tuple(Variable(("count", *names, tag), domain) for tag in tags)
        domain = Domain(("on", *names), (NOTHING, *tags))
        return tuple(
            Variable(("on", *names, str(place)), domain) for place in range(1, channel.capacity + 1)
        )

    def _noting(self, command: GuardedCommand) -> GuardedCommand:
        if not self.noted:
            return command
        told = told_by(self.composition, command.action, command.guard)
        noted = tuple(
            Set(variable, int(proposition in told)) for variable, proposition in self.noted.values()
        )
        return replace(command, updates=command.updates + noted)

    def _commands(self) -> Iterator[GuardedCommand]:
        for link in self._direct:
            yield from self._meetings(*link)
        for link in self.composition.encoding.links:
            yield from self._sendings(*link)
            yield from self._takings(*link)
        yield from self._choices()
        yield from self._events()

    def _meetings(self, sender: int, receiver: int) -> Iterator[GuardedCommand]:
        for row in self._rows(sender, receiver, Kind.SEND):
            for number in range(self.composition.encoding.sizes[receiver]):
                heard = self.composition.taken(sender, receiver, number, row.label)
                if heard is None:
                    continue
                for here in self._sources(sender, row):
                    yield GuardedCommand(
                        Exchange(*self._names(sender, receiver), row.label),
                        (here, self._where(receiver, heard)),
                        (self._moves(sender, row), self._moves(receiver, heard)),
                        row.guard or "",
                    )

    def _sendings(self, sender: int, receiver: int) -> Iterator[GuardedCommand]:
        buffer = self.buffers[sender, receiver]
        lossy = self.system.channel_of((sender, receiver)).lossy
        for row in self._rows(sender, receiver, Kind.SEND):
            action = Send(*self._names(sender, receiver), row.label)
            there, guard = self._moves(sender, row), row.guard or ""
            for here in self._sources(sender, row):
                for room, put in self._puttings((sender, receiver), row.label, buffer):
                    yield GuardedCommand(action, (here, *room), (there, put), guard)
                if lossy:
                    yield GuardedCommand(replace(action, lost=True), (here,), (there,), guard)

    def _puttings(
        self, link: tuple[int, int], tag: str, buffer: tuple[Variable, ...]
    ) -> Iterator[tuple[tuple[Test, ...], Update]]:
        """Where there is room for `tag`, and how it comes in."""
        number = self.composition.encoding.tags(link).index(tag)
        channel = self.system.channel_of(link)
        if channel.reordering:
            yield (Negation(AtLeast(buffer, channel.capacity)),), Add(buffer[number], 1)
            return
        for place, variable in enumerate(buffer):
            before = (Negation(Is(buffer[place - 1], 0)),) if place else ()
            yield (*before, Is(variable, 0)), Set(variable, number + 1)

    def _takings(self, sender: int, receiver: int) -> Iterator[GuardedCommand]:
        link, channel = (sender, receiver), self.system.channel_of((sender, receiver))
        buffer, tags = self.buffers[link], self.composition.encoding.tags(link)
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
            action = Deliver(*self._names(*link), row.label)
            tests = (self._where(receiver, row), there)
            yield GuardedCommand(action, tests, (self._moves(receiver, row), *out))
            if channel.duplicating:
                kept = replace(action, kept=True)
                yield GuardedCommand(kept, tests, (self._moves(receiver, row),))

    def _choices(self) -> Iterator[GuardedCommand]:
        """A guard is settled, and nobody can be sent its message."""
        for place, rows in enumerate(self.composition.encoding.chosen):
            for row in rows:
                others = self.system.partners(place, row)
                yield GuardedCommand(
                    Choose(self.system.members[place].name, row.guard or "", row.label),
                    (
                        self._where(place, row),
                        *(self._blocked(place, other, row.label) for other in others),
                    ),
                    (Set(self.at[place], self._bound(place, row)),),
                )
            for row in self.composition.decisions(place):
                action = Decide(row.guard or "", row.label, self.system.members[place].name)
                free = (
                    test
                    for member in range(len(self.at))
                    if member != place
                    for test in self._is_free(member)
                )
                yield GuardedCommand(
                    action, (self._where(place, row), *free), (self._moves(place, row),)
                )

    def _blocked(self, place: int, other: int, tag: str) -> Test:
        """`place` cannot send `tag` to `other` now."""
        if not self.composition.channel.synchronous:
            return self._of_buffer(Full((place, other)))
        taking = (
            Is(self.at[other], number)
            for number in range(self.composition.encoding.sizes[other])
            if self.composition.taken(place, other, number, tag) is not None
        )
        return All((Negation(Some(tuple(taking))), *self._is_free(other)))

    def _events(self) -> Iterator[GuardedCommand]:
        """An event reaches at once all members that have a row for it in the state they are in."""
        members = range(len(self.system.members))
        for label in self.composition.events:
            by_member = [
                [
                    row
                    for row in self.system.members[place].automaton.transitions
                    if row.trigger == happening(label)
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
                yield GuardedCommand(External(label), tests, updates)

    def _reached(
        self, place: int, row: Transition | None, rows: list[Transition]
    ) -> Iterator[Test]:
        """That a member has `row` for an event; or, without one, that it has none of `rows`."""
        if row is not None:
            yield self._where(place, row)
        else:
            yield from (Negation(self._where(place, other)) for other in rows)
            yield from self._is_free(place)

    def _is_free(self, place: int) -> Iterator[Test]:
        """That a member does not stop everything, by a message that it cannot send."""
        if self.composition.system.stops:
            rows = self.composition.encoding.chosen[place]
            yield from (Negation(Is(self.at[place], self._bound(place, row))) for row in rows)

    def _rows(self, place: int, other: int, kind: Kind) -> Iterator[Transition]:
        """The rows of `kind` by which `place` deals with `other`."""
        for row in self.system.members[place].automaton.transitions:
            if row.kind is kind and other in self.system.partners(place, row):
                yield row

    def _where(self, place: int, row: Transition) -> Is:
        return Is(self.at[place], self.composition.encoding.numbers[place][row.source])

    def _moves(self, place: int, row: Transition) -> Set:
        return Set(self.at[place], self.composition.encoding.numbers[place][row.target])

    def _sources(self, place: int, row: Transition) -> Iterator[Is]:
        """Where a member can send by `row`: in its state, or bound to it by its guard."""
        yield self._where(place, row)
        if row in self.composition.encoding.chosen[place]:
            yield Is(self.at[place], self._bound(place, row))

    def _bound(self, place: int, row: Transition) -> int:
        composition = self.composition
        return len(composition.encoding.numbers[place]) + composition.encoding.chosen[place].index(
            row
        )

    def _names(self, sender: int, receiver: int) -> tuple[str, str]:
        return self.system.members[sender].name, self.system.members[receiver].name

    def _meanings(self) -> dict[str, Test]:
        """What each wanted proposition means of the variables."""
        meanings = {
            name: self._meaning(proposition) for name, proposition in self.of_states.items()
        }
        meanings |= {name: Is(variable, 1) for name, (variable, _) in self.noted.items()}
        return dict(sorted(meanings.items()))

    def _meaning(self, proposition: OfState) -> Test:
        match proposition:
            case AllEnded():
                return All(
                    tuple(
                        Some(tuple(Is(at, number) for number in sorted(final)))
                        for at, final in zip(self.at, self.composition.finals, strict=True)
                    )
                )
            case AtState(place, states):
                numbers = (
                    number
                    for number in range(self.composition.encoding.sizes[place])
                    if self.composition.encoding.state_name(place, number) in states
                )
                return Some(tuple(Is(self.at[place], number) for number in numbers))
            case _:
                return self._of_buffer(proposition)

    def _of_buffer(self, proposition: Empty | Full | Has) -> Test:
        link = proposition.link
        buffer, channel = self.buffers[link], self.system.channel_of(link)
        match proposition:
            case Empty():
                empty = Negation(AtLeast(buffer, 1))
                return empty if channel.reordering else Is(buffer[0], 0)
            case Full():
                full = Negation(Is(buffer[-1], 0))
                return AtLeast(buffer, channel.capacity) if channel.reordering else full
            case Has(_, labels):
                tags = self.composition.encoding.tags(link)
                numbers = [number for number, tag in enumerate(tags) if tag in labels]
                if channel.reordering:
                    return AtLeast(tuple(buffer[number] for number in numbers), 1)
                return Some(
                    tuple(Is(variable, number + 1) for variable in buffer for number in numbers)
                )
