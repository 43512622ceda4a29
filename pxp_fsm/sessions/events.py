"""What happens in a session: events, as they are stored, and what a faulty channel does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pxp_fsm.automata.actions import Decide, Deliver, Exchange, External, Send, SystemAction
from pxp_fsm.automata.channels import Channel
from pxp_fsm.automata.system import System
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import NOTHING, Message
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.live import LiveSystem


@dataclass(frozen=True, slots=True)
class Faults:
    """How often a faulty channel loses a message, or delivers it again: probabilities, 0 to 1.

    A lossy channel loses what finds its buffer full in any case.

    >>> import pxp_fsm as pxp
    >>> pxp.Faults(loss=0.5)
    Faults(loss=0.5, duplication=0.1)
    """

    loss: float = 0.1
    duplication: float = 0.1

    def of(self, channel: Channel) -> str:
        """What of them can happen on `channel`, in words; empty where nothing can.

        >>> import pxp_fsm as pxp
        >>> from pxp_fsm.automata.channels import parse_channel
        >>> pxp.Faults().of(parse_channel("fifo:1,far:hub=lossy:1"))
        'loss 0.1'
        """
        loses = any(link_channel.lossy for link_channel in channel.each)
        doubles = any(link_channel.duplicating for link_channel in channel.each)
        kinds = [f"loss {self.loss}"] * loses + [f"duplication {self.duplication}"] * doubles
        return ", ".join(kinds)

    def __post_init__(self) -> None:
        for name in ("loss", "duplication"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise UsageError(f"{name} is a probability from 0 to 1, not {quoted(value)}")


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a session, by its number from 1: an action, and what belongs to it.

    `guard` is the one that was true for it. `message` is what was sent, lost, delivered or chosen
    (its number is that of the event that sent it, or will). `addition` is what the event adds to
    the context C, which all members know; `memory`, as JSON, what the member that decided it
    remembers from then on, which it alone knows; "" is what it did before. `judgements` led to it.

    >>> import pxp_fsm as pxp
    >>> said = pxp.Message("talk", 1, "m", "INIT", pxp.Answer("mammal", "It breathes air."), "h")
    >>> event = pxp.Event.of_message(said)
    >>> str(event.action), event.carried.answer.prediction
    ('m>h INIT', 'mammal')
    """

    number: int
    action: SystemAction
    guard: str = ""
    message: Message | None = None
    addition: str = ""
    memory: str = ""
    judgements: tuple[Judgement, ...] = ()

    @classmethod
    def of_message(
        cls,
        message: Message,
        addition: str = "",
        judgements: Iterable[Judgement] = (),
    ) -> Event:
        """The event that `message` was sent and received, in a session that counts messages."""
        action = Exchange(message.sender, message.receiver, message.tag)
        return cls(message.number, action, "", message, addition, "", tuple(judgements))

    @property
    def carried(self) -> Message:
        """The message; `UsageError` where the event is one without."""
        if self.message is None:
            raise UsageError(f"event {self.number} ({self.action}) carries no message")
        return self.message

    @property
    def label(self) -> str:
        """The label of the row by which somebody decided or something happened outside."""
        return self.action.label if isinstance(self.action, Decide | External) else ""

    def in_session(self, session: str) -> Event:
        """The same event, of the session of that name."""
        if self.message is None:
            return self
        return replace(self, message=replace(self.message, session=session))


def events_of(system: System, actions: Iterable[SystemAction]) -> tuple[Event, ...]:
    """A trace as what would be stored of it, without payloads; the oldest message is delivered.

    Raises `Refused` where an action cannot happen.
    """
    live, events = LiveSystem(system), list[Event]()
    for number, action in enumerate(actions, 1):
        message = None
        if isinstance(action, Exchange | Send):
            message = Message("", number, action.sender, action.tag, NOTHING, action.receiver)
        elif isinstance(action, Deliver):
            message = next(iter(live.offered(action)), None)
        live.take(action, message)
        events.append(Event(number, action, message=message))
    return tuple(events)
