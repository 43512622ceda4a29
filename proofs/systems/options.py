"""What each row of a system can do in a state, and why it can do nothing where it cannot.

The moves are those of `Composition.moves`. Where a row of a member's present state takes part in no
move with a partner, there is a reason. A reason is data; `str()` words it for people.
"""

from __future__ import annotations

from functools import cached_property, partial

from proofs.systems.encoding import Local
from proofs.systems.product import Action, Composition, LinkRows, Move
from proofs.systems.receptions import Receptions
from pxp_fsm.automata.actions import Send, Unreceived, WaitingMember
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.channels import Buffer
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settled:
    """The guard of the row is false: its member has settled another one and sends `tag` first."""

    member: str
    guard: str
    tag: str

    def __str__(self) -> str:
        return f"guard false: {self.member} has settled {self.guard} and sends {self.tag} first"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing happens any more: a message was chosen that its receiver does not take."""

    unreceived: Unreceived

    def __str__(self) -> str:
        return f"everything has stopped: {self.unreceived}"


@dataclass(frozen=True, slots=True)
class NotReceived:
    """The receiver cannot take the message in its present state."""

    unreceived: Unreceived

    def __str__(self) -> str:
        message = self.unreceived
        where = f"{message.receiver} in {message.state}"
        return f"peer cannot receive: {where} does not receive {message.tag}"


@dataclass(frozen=True, slots=True)
class ChannelFull:
    """The buffer of a link has no room."""

    sender: str
    receiver: str
    capacity: int

    def __str__(self) -> str:
        messages = "1 message is" if self.capacity == 1 else f"{self.capacity} messages are"
        return f"channel full: {messages} on the way from {self.sender} to {self.receiver}"


@dataclass(frozen=True, slots=True)
class NotSent:
    """Over a synchronous channel, the sender does not send the tag in its present state."""

    sender: str
    tag: str
    state: str

    def __str__(self) -> str:
        return f"not sent: {self.sender} in {self.state} cannot send {self.tag}"


@dataclass(frozen=True, slots=True)
class NotOnTheWay:
    """The tag is not in the buffer."""

    sender: str
    receiver: str
    tag: str

    def __str__(self) -> str:
        return f"not sent yet: no {self.tag} is on the way from {self.sender} to {self.receiver}"


@dataclass(frozen=True, slots=True)
class NeverSent:
    """No row of a member that may be the sender ("" is everybody) sends the tag to the receiver."""

    sender: str
    receiver: str
    tag: str

    def __str__(self) -> str:
        return (
            f"never sent: no row of {self.sender or 'anybody'} sends {self.tag} to {self.receiver}"
        )


@dataclass(frozen=True, slots=True)
class NotFirst:
    """The channel keeps the order, and another message is ahead of the tag."""

    sender: str
    receiver: str
    tag: str
    ahead: str

    def __str__(self) -> str:
        return (
            f"not first: {self.ahead} is ahead of {self.tag} on the way from {self.sender} to "
            f"{self.receiver}"
        )


Reason = (
    Settled | Stopped | NotReceived | ChannelFull | NotSent | NeverSent | NotOnTheWay | NotFirst
)
"""Why a row can do nothing."""

RowReason = tuple[Transition, Reason]


@dataclass(frozen=True, slots=True)
class MoveOption:
    """A row of the present state of the member with number `place`, and what it can do.

    `moves` are numbers of the state's moves. `reasons` say why the row can do nothing with a
    partner: one for each partner with whom it takes part in no move that delivers its message.
    """

    place: int
    row: Transition
    moves: tuple[int, ...]
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Deadlock:
    """Nothing can happen before the end: which messages nobody receives, and who waits."""

    unreceived: tuple[Unreceived, ...]
    waiting: tuple[WaitingMember, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, (*self.unreceived, *self.waiting)))


def _arrives(action: Action) -> bool:
    """Whether a message is received, or is sent and not lost."""
    return not (isinstance(action, Send) and action.lost)


class Options:
    """What can be asked of single states of a composition.

    >>> import pxp_fsm as pxp
    >>> options = Options(Composition(pxp.System.load("m=interact", "h=interact")))
    >>> (start,) = options.composition.initial()
    >>> for option in options.of(start)[:2]:
    ...     print(option.row.action, len(option.moves), *option.reasons)
    +INIT 1
    -INIT 1
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self._receptions = Receptions(composition)

    def of(self, state: int, moves: list[Move] | None = None) -> tuple[MoveOption, ...]:
        """Every row of every member's present state, in the order of members and tables.

        `moves` are those of the state, where they are known already.
        """
        available = self.composition.moves(state) if moves is None else moves
        taking: dict[tuple[int, Transition], list[int]] = {}
        for number, move in enumerate(available):
            for taken in move.rows:
                taking.setdefault(taken, []).append(number)
        options = list[MoveOption]()
        for place, member in enumerate(self.composition.system.members):
            reasons: dict[Transition, dict[Reason, None]] = {}
            for local in self.local_reasons[place]:
                for row, reason in local.of(state):
                    reasons.setdefault(row, {})[reason] = None
            for row in member.automaton.leaving(self._state_name(state, place)):
                numbers = tuple(taking.get((place, row), ()))
                options.append(MoveOption(place, row, numbers, tuple(reasons.get(row, ()))))
        return tuple(options)

    @cached_property
    def local_reasons(self) -> tuple[tuple[Local[list[RowReason]], ...], ...]:
        """For each member: why rows of its present state do nothing, with each partner and at all.

        Each list depends on parts of the state alone; a reason may be in several of them.
        """
        encoding, stops = self.composition.encoding, self.composition.system.stops
        places = range(len(encoding.fields))
        number = {link: len(places) + number for number, link in enumerate(encoding.links)}
        reasons = []
        for place in places:
            rows = self.composition.system.members[place].automaton.transitions
            partners = {
                other for row in rows for other in self.composition.system.partners(place, row)
            }
            locals_ = list[Local[list[RowReason]]]()
            for other in sorted(partners):
                links = [
                    number[link] for link in ((place, other), (other, place)) if link in number
                ]
                parts = (place, other, *links)
                locals_.append(Local(parts, partial(self._reasons, place, other)))
            # of two members that meet, a settled message of either stops both
            alone = tuple(places) if stops else (place,)
            locals_.append(Local(alone, partial(self._reasons, place, None)))
            reasons.append(tuple(locals_))
        return tuple(reasons)

    @cached_property
    def _between(self) -> dict[frozenset[int], list[LinkRows]]:
        """What can happen between two members."""
        units, system = self.composition.units, self.composition.system
        between: dict[frozenset[int], list[LinkRows]] = {}
        for number, unit in enumerate(units):
            link = system.links[number if unit.link is None else unit.link]
            between.setdefault(frozenset(link), []).append(unit)
        return between

    def deadlock(self, state: int) -> Deadlock | None:
        """Why nothing can happen in `state`; None where something can, or everybody has ended."""
        composition = self.composition
        if composition.moves(state) or composition.ended(state):
            return None
        unreceived = [
            message
            for ended in (False, True)
            for message in self._receptions.unreceived(state, ended=ended)
        ]
        options = self.of(state, [])
        waiting = tuple(
            self._waiting(state, place, options)
            for place in range(len(composition.system.members))
            if composition.encoding.fields[place].of(state) not in composition.finals[place]
            and not composition.encoding.is_bound(place, state)
        )
        return Deadlock(tuple(dict.fromkeys(unreceived)), waiting)

    def _waiting(self, state: int, place: int, options: tuple[MoveOption, ...]) -> WaitingMember:
        """What a member waits for where nothing can happen, and why none of it comes."""
        rows = [option for option in options if option.place == place]
        wanted = {
            kind: tuple(
                dict.fromkeys(
                    row.label + (f" {word} {row.partner}" if row.partner else "")
                    for row in (option.row for option in rows)
                    if row.kind is kind
                )
            )
            for kind, word in ((Kind.RECEIVE, "from"), (Kind.SEND, "to"))
        }
        causes = dict.fromkeys(self._cause(state, why) for row in rows for why in row.reasons)
        name, where = self._name(place), self._state_name(state, place)
        return WaitingMember(name, where, wanted[Kind.RECEIVE], wanted[Kind.SEND], tuple(causes))

    def _cause(self, state: int, reason: Reason) -> str:
        """A reason as the end of a sentence about a member: the same for several tags."""
        match reason:
            case NotSent(sender, _, where):
                cause = f"{sender} in {where} does not send it"
            case NotOnTheWay(sender, receiver) | NotFirst(sender, receiver):
                places = self.composition.system.places
                link = (places[sender], places[receiver])
                ahead = ", ".join(self._buffer(state, link))
                there = f"{ahead} comes first" if ahead else "nothing is on the way"
                cause = f"{there} from {sender}, which is in {self._state_name(state, link[0])}"
            case NeverSent(sender, _, tag):
                cause = f"{sender} never sends {tag}" if sender else f"nobody sends {tag}"
            case NotReceived(message):
                cause = f"{message.receiver} in {message.state} does not receive {message.tag}"
            case Settled(member, guard, tag):
                cause = f"{member} has settled {guard} and sends {tag} first"
            case Stopped(message):
                cause = f"{message.sender} sends {message.tag} first"
            case ChannelFull(sender, receiver):
                cause = f"the channel from {sender} to {receiver} is full"
            case _:
                cause = str(reason)
        return cause

    def _reasons(self, place: int, other: int | None, state: int) -> list[RowReason]:
        """Why rows of member `place` do nothing with member `other`, or at all (None)."""
        encoding, system = self.composition.encoding, self.composition.system
        settled = encoding.chosen_row(place, encoding.fields[place].of(state))
        stop, reasons = self._stop(state), list[RowReason]()
        met = set[Transition]() if other is None else self._met(place, other, state)
        rows = system.members[place].automaton.leaving(self._state_name(state, place))
        for row in rows:
            partners = system.partners(place, row)
            reason: Reason | None = None
            if settled is not None and settled != row:
                reason = Settled(self._name(place), settled.guard or "", settled.label)
            elif stop is not None:
                reason = stop
            elif other is None:
                if row.kind is Kind.RECEIVE and not partners:
                    reason = NeverSent("", self._name(place), row.label)
            elif other in partners and row not in met:
                if row.kind is Kind.SEND:
                    reason = self._not_sendable(state, place, other, row)
                else:
                    reason = self._not_receivable(state, other, place, row)
            if reason is not None:
                reasons.append((row, reason))
        return reasons

    def _met(self, place: int, other: int, state: int) -> set[Transition]:
        """The rows of `place` by which a message from or to `other` arrives or is on its way."""
        fields = self.composition.encoding.fields
        return {
            row
            for unit in self._between.get(frozenset((place, other)), ())
            if (own := fields[unit.member].of(state)) in unit.rows
            for move in unit.at(own, unit.other.of(state))
            if _arrives(move.action)
            for member, row in move.rows
            if member == place
        }

    def _stop(self, state: int) -> Stopped | None:
        """Why everything has stopped, if it has."""
        if not self.composition.system.stops:
            return None
        return next(map(Stopped, self._receptions.waiting(state)), None)

    def _not_sendable(self, state: int, place: int, other: int, row: Transition) -> Reason:
        sender, receiver = self._name(place), self._name(other)
        channel = self.composition.system.channel_of((place, other))
        if channel.synchronous:
            where = self._state_name(state, other)
            settled = self._settled(state, other)
            return settled or NotReceived(Unreceived(sender, receiver, row.label, where))
        return ChannelFull(sender, receiver, channel.capacity)

    def _not_receivable(self, state: int, place: int, other: int, row: Transition) -> Reason:
        """Why member `other` cannot take the tag of its `row` from member `place`."""
        sender, receiver = self._name(place), self._name(other)
        link = (place, other)
        if link not in self.composition.system.links or row.label not in (
            self.composition.encoding.tags(link)
        ):
            return NeverSent(sender, receiver, row.label)
        if self.composition.channel.synchronous:
            settled = self._settled(state, place)
            return settled or NotSent(sender, row.label, self._state_name(state, place))
        buffer = self._buffer(state, link)
        if row.label in buffer:
            return NotFirst(sender, receiver, row.label, buffer[0])
        return NotOnTheWay(sender, receiver, row.label)

    def _settled(self, state: int, place: int) -> Settled | None:
        encoding = self.composition.encoding
        row = encoding.chosen_row(place, encoding.fields[place].of(state))
        return None if row is None else Settled(self._name(place), row.guard or "", row.label)

    def _buffer(self, state: int, link: tuple[int, int]) -> Buffer:
        encoding = self.composition.encoding
        number = encoding.links.index(link)
        return encoding.contents[number].known[encoding.buffers[number].of(state)]

    def _name(self, place: int) -> str:
        return self.composition.system.members[place].name

    def _state_name(self, state: int, place: int) -> str:
        encoding = self.composition.encoding
        return encoding.state_name(place, encoding.fields[place].of(state))
