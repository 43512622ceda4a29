"""The board of a panel: what follows from the messages so far, as one value.

It has no texts of its own: a pair is whatever can be compared, an `Answer` in a session and a
number where a check explores. Sessions and checks ask the same functions who owes a message, who
may LEARN, what has changed and what the verdicts are, so that what is found of one holds of the
other.
Agents are numbered from 0, in the order in which they were given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import IntEnum
from itertools import combinations
from typing import NamedTuple, TypeVar

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.panels.panel import Panel, PanelVerdict, Scheduling
from pxp_fsm.protocol.messages import Answer, CurrentPair, Message, Overview, Tag
from pxp_fsm.protocol.rules import Interact

_T = TypeVar("_T")

Pair = Hashable
Alike = Callable[[Pair, Pair], bool]
"""Whether two pairs match and agree."""

Two = tuple[bool, bool]
LOOPS = (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
"""The tags that can answer themselves, in the order in which a channel counts that."""


class ChannelStatus(IntEnum):
    """Of a channel: its INIT is owed, somebody owes an answer, or it is over."""

    WAITS = 0
    OPEN = 1
    CLOSED = 2


class Talk(NamedTuple):
    """A channel as it stands; what belongs to its two ends is in their order.

    `opener` begins its conversation, and `speaker` spoke last. `said` are the latest tags of the
    two ends, INIT among them and TERM not, `pairs` what these messages carried. `moved[e]` says
    which of the two ends has changed its pair since the latest message of end e. `loops` counts how
    often a tag has answered itself, `sent` the messages of the conversation, `still` its latest
    answers in which no end has changed its pair or its tag. `since` is the number of the message
    since which it waits, `numbers` are those of its messages.
    """

    opener: int
    status: ChannelStatus = ChannelStatus.WAITS
    speaker: int = -1
    said: tuple[str, str] = ("", "")
    pairs: tuple[Pair, Pair] = (None, None)
    moved: tuple[Two, Two] = ((False, False), (False, False))
    loops: tuple[int, ...] = (0, 0, 0, 0)
    sent: int = 0
    still: int = 0
    since: int = 0
    numbers: tuple[int, ...] = ()

    def ratified(self, end: int) -> bool:
        """Whether the latest message of that end is a fresh RATIFY: neither has changed since."""
        return self.said[end] == Tag.RATIFY and not any(self.moved[end])


class PanelBoard(NamedTuple):
    """What a panel's messages come to: current pairs, how often each agent changed, channels.

    `speaker` spoke last, message `number`.
    """

    current: tuple[Pair, ...]
    changes: tuple[int, ...]
    talks: tuple[Talk, ...]
    speaker: int = -1
    number: int = 0


class Owed(NamedTuple):
    """Agent `member` owes a message to `partner`, in the channel of that number."""

    member: int
    partner: int
    channel: int


class PanelLayout:
    """A panel of agents of these names: who owes what, who may LEARN, and the verdicts."""

    def __init__(self, panel: Panel, names: Sequence[str]) -> None:
        self.panel = panel
        self.names = tuple(names)
        places = self.places = {name: place for place, name in enumerate(self.names)}
        self.links = tuple((places[a], places[b]) for a, b in panel.links(self.names))
        self.channels = {
            ends: number
            for number, link in enumerate(self.links)
            for ends in (link, (link[1], link[0]))
        }
        unknown = [name for name, _ in panel.without if name not in places]
        if unknown:
            raise UsageError(f"the panel has no agent {quoted(unknown[0])}, to go on without")
        self.leaves: dict[int, list[int]] = {}
        for name, number in panel.without:
            self.leaves.setdefault(number, []).append(places[name])
        self.own = tuple(
            tuple(number for number, link in enumerate(self.links) if place in link)
            for place in range(len(self.names))
        )

    def start(self) -> PanelBoard:
        """The board before the first message."""
        many = len(self.names)
        talks = tuple(Talk(first) for first, _ in self.links)
        return self._left(PanelBoard((None,) * many, (0,) * many, talks))

    def _left(self, board: PanelBoard) -> PanelBoard:
        """The board when those have left who leave after its message."""
        closed = {
            channel for place in self.leaves.get(board.number, ()) for channel in self.own[place]
        }
        if not closed:
            return board
        talks = [
            talk._replace(status=ChannelStatus.CLOSED) if number in closed else talk
            for number, talk in enumerate(board.talks)
        ]
        return board._replace(talks=tuple(talks))

    def present(self, board: PanelBoard) -> tuple[int, ...]:
        """The agents that have not left."""
        gone = {
            place
            for number, some in self.leaves.items()
            if number <= board.number
            for place in some
        }
        return tuple(place for place in range(len(self.names)) if place not in gone)

    def owed(self, board: PanelBoard) -> tuple[Owed, ...]:
        """Who owes a message to whom, by channel."""
        owed, calls = [], self.panel.call
        for number, (talk, (first, second)) in enumerate(zip(board.talks, self.links, strict=True)):
            if talk.status is ChannelStatus.CLOSED:
                continue
            member = talk.opener
            if talk.status is ChannelStatus.OPEN:
                member = second if talk.speaker == first else first
            elif calls and (self._busy(board, first) or self._busy(board, second)):
                continue
            owed.append(Owed(member, first + second - member, number))
        return tuple(owed)

    def _busy(self, board: PanelBoard, place: int) -> bool:
        return any(board.talks[number].status is ChannelStatus.OPEN for number in self.own[place])

    def due(self, board: PanelBoard, owed: tuple[Owed, ...] | None = None) -> tuple[Owed, ...]:
        """Those of which the schedule lets one speak next: one, or under FREE all that owe.

        Who `owed` a message may be given where it is known.
        """
        owed = self.owed(board) if owed is None else owed
        first = self._first(board, owed)
        if board.number in self.panel.skips and len(first) == 1 and len(owed) > 1:
            return self._first(board, tuple(duty for duty in owed if duty not in first))
        return first

    def drawn(self, board: PanelBoard, due: Sequence[Owed], session: str) -> Owed | None:
        """Who of those that are `due` speaks next in a session: of several, one that is drawn.

        The draw goes by the session's place in its run, so that a fork goes on alike.
        """
        if len(due) < 2:
            return due[0] if due else None
        place = session.partition("/")[2] or session
        return random.Random(f"{self.panel.seed}/{place}/{board.number + 1}").choice(due)

    def _first(self, board: PanelBoard, owed: tuple[Owed, ...]) -> tuple[Owed, ...]:
        if not owed or self.panel.schedule == Scheduling.FREE:
            return owed
        if self.panel.schedule == Scheduling.ROUND_ROBIN:
            many, last = len(self.names), board.speaker
            member = min(
                {duty.member for duty in owed}, key=lambda place: (place - last - 1) % many
            )
            owed = tuple(duty for duty in owed if duty.member == member)
        return (min(owed, key=lambda duty: (board.talks[duty.channel].since, duty.channel)),)

    def learns(self, board: PanelBoard, member: int, channel: int) -> bool:
        """Whether the panel's rules let an agent LEARN in a channel now."""
        panel = self.panel
        if panel.limit is not None and board.changes[member] >= panel.limit:
            return False
        if not (panel.alone or panel.commit):
            return True
        for number in self.own[member]:
            talk = board.talks[number]
            if number == channel:
                continue
            if panel.alone and talk.status is ChannelStatus.OPEN:
                return False
            if panel.commit and talk.ratified(self.links[number].index(member)):
                return False
        return True

    def settled(self, board: PanelBoard, channel: int) -> bool:
        """Whether neither end has changed since its own latest message in the channel."""
        first, second = board.talks[channel].moved
        return not first[0] and not second[1]

    def overview(
        self,
        board: PanelBoard,
        messages: Sequence[Message],
        owed: Iterable[Owed],
        speaks: Owed | None,
    ) -> Overview:
        """What everybody may see after `messages`, which have led to `board`.

        Those who are `owed` a message come with who owes it; one of them `speaks` next.
        """
        pairs = tuple(
            CurrentPair(name, pair if isinstance(pair, Answer) else None, version)
            for name, pair, version in zip(self.names, board.current, board.changes, strict=True)
        )
        speaker = None if speaks is None else self._named(speaks)
        return Overview(pairs, tuple(map(self._named, owed)), tuple(messages), speaker)

    def _named(self, owed: Owed) -> tuple[str, str]:
        return self.names[owed.member], self.names[owed.partner]

    def read(self, messages: Sequence[Message]) -> list[PanelBoard]:
        """The boards of a session: before its first message, and after each."""
        boards = [self.start()]
        for _ in messages:
            boards.append(self.take(boards[-1], messages))
        return boards

    def take(self, board: PanelBoard, messages: Sequence[Message]) -> PanelBoard:
        """The board after the next of a session's messages."""
        message = messages[board.number]
        sender, receiver = self.places[message.sender], self.places[message.receiver]
        talk = board.talks[self.channels[sender, receiver]]
        numbers = () if message.tag == Tag.INIT else talk.numbers
        previous = messages[numbers[-1] - 1].tag if numbers else ""
        ending = self.panel.rules.ending_after(len(numbers) + 1, message.tag, previous)
        closes = ending is not None
        after = self.after(board, sender, receiver, message.tag, message.answer, closes=closes)
        return self._left(after) if self.leaves else after

    def after(
        self, board: PanelBoard, sender: int, receiver: int, tag: str, pair: Pair, *, closes: bool
    ) -> PanelBoard:
        """The board after one more message; `closes` says that its channel is over with it."""
        channel, number = self.channels[sender, receiver], board.number + 1
        changed = board.current[sender] is not None and board.current[sender] != pair
        talks = list(board.talks)
        if changed:
            for own in self.own[sender]:
                talks[own] = self._moved(board, talks[own], own, sender, reopens=own != channel)
        talk = talks[channel]
        if tag == Tag.INIT:
            talk = Talk(talk.opener, numbers=())
        talks[channel] = self._sent(talk, channel, sender, tag, pair, number, changed)._replace(
            status=ChannelStatus.CLOSED if closes else ChannelStatus.OPEN
        )
        current, changes = list(board.current), list(board.changes)
        current[sender], changes[sender] = pair, changes[sender] + changed
        return PanelBoard(tuple(current), tuple(changes), tuple(talks), sender, number)

    def changed_elsewhere(self, board: PanelBoard, member: int, pair: Pair) -> PanelBoard:
        """The board after an agent has changed its pair in a channel that is not on it."""
        talks, current, changes = list(board.talks), list(board.current), list(board.changes)
        for own in self.own[member]:
            talks[own] = self._moved(board, talks[own], own, member, reopens=True)
        current[member], changes[member] = pair, changes[member] + 1
        return board._replace(current=tuple(current), changes=tuple(changes), talks=tuple(talks))

    def _moved(
        self, board: PanelBoard, talk: Talk, channel: int, member: int, *, reopens: bool
    ) -> Talk:
        """A channel after one of its ends has changed its pair."""
        own = self.links[channel].index(member)
        first, second = talk.moved
        moved = (
            _put(first, own, True) if talk.said[0] else first,
            _put(second, own, True) if talk.said[1] else second,
        )
        talk = talk._replace(moved=moved, still=0)
        present = self.present(board) if self.leaves else range(len(self.names))
        stays = all(place in present for place in self.links[channel])
        if reopens and stays and self.panel.reopen and talk.status is ChannelStatus.CLOSED:
            return talk._replace(status=ChannelStatus.WAITS, opener=member, since=board.number + 1)
        return talk

    def _sent(
        self,
        talk: Talk,
        channel: int,
        sender: int,
        tag: str,
        pair: Pair,
        number: int,
        changed: bool,
    ) -> Talk:
        own = self.links[channel].index(sender)
        talk = talk._replace(
            speaker=sender,
            since=number,
            sent=talk.sent + 1,
            numbers=(*talk.numbers, number),
        )
        if tag == Tag.TERM:  # what stands between the two stays as it was
            return talk
        before, received = talk.said[own], talk.said[1 - own]
        loops = talk.loops
        if received == tag and tag in LOOPS:
            place = LOOPS.index(Tag(tag))
            loops = (*loops[:place], loops[place] + 1, *loops[place + 1 :])
        still = 0
        if tag != Tag.INIT and not changed:
            # an answer by another tag than its end's answer before begins a run with the other's
            kept = before in ("", Tag.INIT, tag)
            still = (talk.still if kept else min(talk.still, 1)) + 1
        return talk._replace(
            said=_put(talk.said, own, tag),
            pairs=_put(talk.pairs, own, pair),
            moved=_put(talk.moved, own, (False, False)),
            loops=loops,
            still=still,
        )

    def agrees(self, board: PanelBoard, alike: Alike) -> bool:
        """Whether everybody has a current pair, and all of them match and agree."""
        current = [board.current[place] for place in self.present(board)]
        if None in current:
            return False
        return all(alike(left, right) for left, right in combinations(current, 2))

    def verdicts(self, board: PanelBoard, alike: Alike, window: int) -> frozenset[PanelVerdict]:
        """What can be said of a board by itself; whether it was there before needs others."""
        verdicts, agrees = set[PanelVerdict](), self.agrees(board, alike)
        status = [talk.status for talk in board.talks]
        present = self.present(board)
        talks = [
            talk
            for link, talk in zip(self.links, board.talks, strict=True)
            if all(place in present for place in link)
        ]
        ratified = all(talk.ratified(end) for talk in talks for end in (0, 1))
        if agrees:
            verdicts.add(PanelVerdict.AGREEMENT)
        if agrees and ratified:
            verdicts.add(PanelVerdict.CONSENSUS)
        elif ChannelStatus.OPEN in status and ChannelStatus.WAITS not in status:
            still = min(talk.still for talk in board.talks if talk.status is ChannelStatus.OPEN)
            if still >= window:
                verdicts.add(PanelVerdict.IMPASSE)
        if not agrees and all(state is ChannelStatus.CLOSED for state in status):
            verdicts.add(PanelVerdict.SPLIT)
        return frozenset(verdicts)

    def key(self, board: PanelBoard) -> PanelBoard:
        """The board as far as what comes next depends on it: two that are alike here go on alike.

        Numbers of messages, and how often agents changed, are left out as far as nothing depends on
        them: of the queue its order counts, and of changes those up to the limit.
        """
        queue = self.queue(board)
        talks = [self.channel_key(talk, n, queue[n]) for n, talk in enumerate(board.talks)]
        return self.board_key(board, talks)

    def queue(self, board: PanelBoard) -> Sequence[int]:
        """The place of each channel in the queue; 0 for all where there is none."""
        if self.panel.schedule == Scheduling.FREE:
            return (0,) * len(board.talks)
        waiting = {talk.since for talk in board.talks if talk.status is not ChannelStatus.CLOSED}
        ranks = {since: rank for rank, since in enumerate(sorted(waiting))}
        return [ranks.get(talk.since, 0) for talk in board.talks]

    def channel_key(self, talk: Talk, number: int, place: int) -> Talk:
        """A channel as far as what comes next depends on it, in its place of the queue."""
        rules, goes_on = self.panel.rules, talk.status is ChannelStatus.OPEN
        counts = isinstance(rules, Interact)
        loops = rules.n is None and rules.k is not None
        pairs = talk.pairs if goes_on else (None, None)
        if goes_on and not counts:  # PXP compares with the current pair, not with one's message
            pairs = _put(pairs, 1 - self.links[number].index(talk.speaker), None)
        return talk._replace(
            opener=talk.opener if talk.status is ChannelStatus.WAITS else -1,
            pairs=pairs,
            loops=talk.loops if loops and goes_on else (0, 0, 0, 0),
            sent=talk.sent if counts and goes_on else 0,
            still=0,
            since=place if talk.status is not ChannelStatus.CLOSED else 0,
            numbers=(),
        )

    def board_key(self, board: PanelBoard, talks: Sequence[Talk]) -> PanelBoard:
        """A board of such channels. The next message is after all that its queue has."""
        limit, newest = self.panel.limit, max(talk.since for talk in talks)
        changes = tuple(0 if limit is None else min(count, limit) for count in board.changes)
        turn = board.speaker if self.panel.schedule == Scheduling.ROUND_ROBIN else -1
        return PanelBoard(board.current, changes, tuple(talks), turn, newest)

    def recurs(
        self, boards: Sequence[PanelBoard], keys: Sequence[PanelBoard] | None = None
    ) -> bool:
        """Whether the last of `boards` was there before, with a change in between.

        The `keys` of the boards may be given where they are known.
        """
        keys = list(map(self.key, boards)) if keys is None else keys
        changes = sum(boards[-1].changes)
        return any(
            key == keys[-1] and sum(board.changes) < changes
            for board, key in zip(boards, keys, strict=True)
        )


def _put(pair: tuple[_T, _T], place: int, value: _T) -> tuple[_T, _T]:
    return (value, pair[1]) if place == 0 else (pair[0], value)
