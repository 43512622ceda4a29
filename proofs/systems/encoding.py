"""A state of a system over a channel as one integer.

It says in which state each member is, and what is on its way on each link, each in bits of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from proofs.core.explore import TooLarge
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.channels import Buffer, Channel
from pxp_fsm.automata.system import System
from pxp_fsm.lazy_dataclasses import dataclass

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class BitField:
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


@dataclass(frozen=True, slots=True)
class Local(Generic[T]):
    """What depends on some parts of a state alone: `of` a state reads no others.

    `parts` are their numbers in `Encoding.parts`.
    """

    parts: tuple[int, ...]
    of: Callable[[int], T]


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
        number = self._numbers.setdefault(buffer, len(self.known))
        if number == len(self.known):
            if number >> MET_BITS:
                raise TooLarge(f"a buffer has more than {1 << MET_BITS:,} contents")
            self.known.append(buffer)
        return number


def _count(tags: int, capacity: int) -> int:
    return sum(tags**length for length in range(capacity + 1))


@dataclass(frozen=True)
class Encoding:
    """How the states of `system` are written, and read (see `configuration`)."""

    system: System

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

    def link_name(self, link: tuple[int, int]) -> str:
        """`hub:left`, as propositions name a link."""
        return ":".join(self.system.members[place].name for place in link)

    @cached_property
    def links(self) -> tuple[tuple[int, int], ...]:
        """The links that have a buffer; none with a synchronous channel."""
        return () if self.system.channel.synchronous else self.system.links

    @cached_property
    def numbers(self) -> tuple[dict[str, int], ...]:
        """The number of each state of each member, by its name."""
        return tuple(
            {state.name: number for number, state in enumerate(member.automaton.states)}
            for member in self.system.members
        )

    @cached_property
    def chosen(self) -> tuple[tuple[Transition, ...], ...]:
        """By member: the rows whose guard it may settle before it can send, in order."""
        return tuple(
            tuple(
                sorted(
                    self.system.choosable(place),
                    key=lambda row: (numbers[row.source], row.guard or ""),
                )
            )
            for place, numbers in enumerate(self.numbers)
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers the state of each member can have."""
        return tuple(
            len(states) + len(rows) for states, rows in zip(self.numbers, self.chosen, strict=True)
        )

    def tags(self, link: tuple[int, int]) -> tuple[str, ...]:
        """What may be sent on `link`."""
        sender, receiver = link
        rows = self.system.members[sender].automaton.transitions
        sent = {
            row.label
            for row in rows
            if row.kind is Kind.SEND and receiver in self.system.partners(sender, row)
        }
        return tuple(sorted(sent))

    @cached_property
    def contents(self) -> tuple[Contents, ...]:
        """The contents of each link's buffer; links of a kind number them alike."""
        contents: dict[tuple[Channel, tuple[str, ...]], Contents] = {}
        kinds = [(self.system.channel_of(link), self.tags(link)) for link in self.links]
        for kind in kinds:
            if kind not in contents:
                contents[kind] = Contents(*kind)
        return tuple(contents[kind] for kind in kinds)

    @cached_property
    def fields(self) -> tuple[BitField, ...]:
        """Where each member's state stands."""
        return _laid_out([(size - 1).bit_length() for size in self.sizes], 0)

    @cached_property
    def buffers(self) -> tuple[BitField, ...]:
        """Where each link's buffer stands."""
        last = self.fields[-1]
        start = last.shift + last.mask.bit_length()
        return _laid_out([contents.bits for contents in self.contents], start)

    @property
    def parts(self) -> tuple[BitField, ...]:
        """Where each part of a state stands: the members' states, then the buffers."""
        return (*self.fields, *self.buffers)

    @cached_property
    def bits(self) -> int:
        """How many bits a state has."""
        last = self.parts[-1]
        return last.shift + last.mask.bit_length()


def _laid_out(sizes: Iterable[int], start: int) -> tuple[BitField, ...]:
    fields = []
    for bits in sizes:
        fields.append(BitField(start, (1 << bits) - 1))
        start += bits
    return tuple(fields)
