"""Channels between members of a system: what becomes of a message on its way.

A channel is a parameter of a check. Each directed pair of members has a buffer of its own: a tuple
of tags, the oldest first. The functions are pure; nothing here knows who sends or receives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

Buffer = tuple[str, ...]
"""The tags on their way, the oldest first; in alphabetical order where the channel reorders."""

LARGEST = 64
"""The largest capacity that is taken."""

FAULTS = ("lossy", "duplicating", "reordering")
"""What a channel with a buffer may do to messages, as it is written."""


class SendOutcome(NamedTuple):
    """What may become of a message that is sent: the buffer then, and whether it was lost."""

    buffer: Buffer
    lost: bool


class Offer(NamedTuple):
    """A message that may be delivered next, the buffer then, and whether a copy stays in it."""

    tag: str
    buffer: Buffer
    kept: bool


@dataclass(frozen=True, slots=True)
class Channel:
    """Synchronous with capacity 0; else a buffer of so many messages each way.

    A reliable buffer keeps the order (FIFO), and blocks the sender while it is full. A lossy one
    may lose each message as it is sent, and does where it is full. A duplicating one may deliver
    each again, before the next. A reordering one delivers any of those on their way. `links` are
    those that have a channel of their own, by the names of sender and receiver (`of`).

    Those that are as all others are left out.

    >>> parse_channel("fifo:2,far:hub=lossy:1").of("far", "hub").name
    'lossy:1'
    """

    capacity: int = 0
    lossy: bool = False
    duplicating: bool = False
    reordering: bool = False
    links: tuple[tuple[str, str, Channel], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.capacity <= LARGEST:
            raise UsageError(
                f"a channel's capacity is 0 (synchronous) to {LARGEST}, not {self.capacity}"
            )
        faulty = self.lossy or self.duplicating or self.reordering
        if faulty and not self.capacity:
            raise UsageError(
                "a synchronous channel has no buffer, so it loses, duplicates and reorders nothing"
            )
        if self.links and not (
            self.capacity
            and all(channel.capacity and not channel.links for channel in self.each[1:])
        ):
            raise UsageError(
                "a link has a channel of its own only where all have buffers; write fifo:1 in "
                "place of sync"
            )
        if self.links:  # one way to write each: it is stored, and part of fingerprints
            common = replace(self, links=())
            own = sorted(
                (link for link in self.links if link[2] != common), key=lambda link: link[:2]
            )
            object.__setattr__(self, "links", tuple(own))

    @property
    def name(self) -> str:
        """As it is written: `sync`, `lossy+reordering:3`, `fifo:2,far:hub=lossy:1`."""
        if not self.capacity:
            return "sync"
        faults = (self.lossy, self.duplicating, self.reordering)
        faulty = [fault for fault, there in zip(FAULTS, faults, strict=True) if there]
        own = (f",{sender}:{receiver}={channel.name}" for sender, receiver, channel in self.links)
        return f"{'+'.join(faulty) or 'fifo'}:{self.capacity}{''.join(own)}"

    @property
    def each(self) -> tuple[Channel, ...]:
        """The channel of links without one of their own, then those of the others."""
        return (self, *(channel for _, _, channel in self.links))

    def of(self, sender: str, receiver: str) -> Channel:
        """The channel that carries messages from one member to another."""
        for link in self.links:
            if link[:2] == (sender, receiver):
                return link[2]
        return self

    @property
    def synchronous(self) -> bool:
        """Whether sending and receiving are one step."""
        return not self.capacity

    def after_sending(self, buffer: Buffer, tag: str) -> Iterator[SendOutcome]:
        """What may become of `tag`, sent into `buffer`; nothing where the sender must wait."""
        if len(buffer) < self.capacity:
            longer = (*buffer, tag)
            yield SendOutcome(tuple(sorted(longer)) if self.reordering else longer, lost=False)
        if self.lossy:
            yield SendOutcome(buffer, lost=True)

    def offers(self, buffer: Buffer) -> Iterator[Offer]:
        """The messages of `buffer` that may be delivered next."""
        for place, tag in enumerate(buffer):
            if tag in buffer[:place]:
                continue
            yield Offer(tag, (*buffer[:place], *buffer[place + 1 :]), kept=False)
            if self.duplicating:
                yield Offer(tag, buffer, kept=True)
            if not self.reordering:
                return


SYNCHRONOUS = Channel()
"""Sending and receiving are one step."""

_LINK = re.compile(r"\s*([^\W\d_]\w*):([^\W\d_]\w*)=([^=\s]+)\s*")

_WRITTEN = re.compile(r"(?P<kinds>[a-z]+(\+[a-z]+)*)(:(?P<capacity>[0-9]+))?")


def parse_channel(text: str) -> Channel:
    """The channel that `text` means: `sync`, `fifo:2`, `lossy:1`, `lossy+reordering:2` ...

    `fifo:2,far:hub=lossy:1` is another one for what far sends to hub. Raises `UsageError` for
    anything else, with what could be meant.
    """
    first, *others = text.split(",")
    channel, own = _parsed(first), dict[tuple[str, str], Channel]()
    for other in others:
        match = _LINK.fullmatch(other)
        if match is None or match[1] == match[2]:
            raise UsageError(
                f"{quoted(other.strip())} is no link with a channel of its own; write "
                f"SENDER:RECEIVER=CHANNEL (fifo:1,far:hub=lossy:1)"
            )
        if match.group(1, 2) in own:
            raise UsageError(f"the channel {quoted(text)} says two things of one link; drop one")
        own[match[1], match[2]] = _parsed(match[3])
    return replace(channel, links=tuple((*link, own_channel) for link, own_channel in own.items()))


def _parsed(text: str) -> Channel:
    if text == "sync":
        return SYNCHRONOUS
    match = _WRITTEN.fullmatch(text)
    kinds = match["kinds"].split("+") if match else []
    if match is None or not set(kinds) <= {"fifo", *FAULTS}:
        raise UsageError(
            f"there is no channel {quoted(text)}; write sync, or fifo:C, lossy:C, duplicating:C, "
            f"reordering:C with a capacity C, several joined by + (lossy+reordering:2)"
        )
    if len(set(kinds)) != len(kinds) or {"fifo", "reordering"} <= set(kinds):
        raise UsageError(f"the channel {quoted(text)} says two things at once; drop one of them")
    digits = (match["capacity"] or "").lstrip("0")
    if not digits:
        raise UsageError(f"the channel {quoted(text)} needs a capacity from 1: {'+'.join(kinds)}:2")
    if len(digits) > len(str(LARGEST)):
        raise UsageError(f"the channel {quoted(text)} is too large: its capacity is 1 to {LARGEST}")
    lossy, duplicating, reordering = (fault in kinds for fault in FAULTS)
    return Channel(int(digits), lossy, duplicating, reordering)
