"""What can happen in a model, as types; `str()` is the label that people read."""

from __future__ import annotations

from typing import NamedTuple

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Say:
    """In a session, `agent` sends a message with `tag` and the other agent receives it."""

    agent: str
    tag: str

    def __str__(self) -> str:
        return f"{self.agent} {self.tag}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """Over a synchronous channel, `tag` is sent and received in one step."""

    sender: str
    receiver: str
    tag: str

    def __str__(self) -> str:
        return f"{self.sender}>{self.receiver} {self.tag}"


@dataclass(frozen=True, slots=True)
class Send:
    """`tag` is put into the buffer of a link, or lost on its way where `lost`."""

    sender: str
    receiver: str
    tag: str
    lost: bool = False

    def __str__(self) -> str:
        return f"{self.sender}>{self.receiver} +{self.tag}{' lost' if self.lost else ''}"


@dataclass(frozen=True, slots=True)
class Deliver:
    """`tag` is taken from the buffer of a link; a copy stays there where `kept`."""

    sender: str
    receiver: str
    tag: str
    kept: bool = False

    def __str__(self) -> str:
        return f"{self.sender}>{self.receiver} -{self.tag}{' kept' if self.kept else ''}"


@dataclass(frozen=True, slots=True)
class Choose:
    """`member` has settled its guard, which names `tag`; the message has not been taken yet."""

    member: str
    guard: str
    tag: str

    def __str__(self) -> str:
        return f"{self.member} {self.guard}/+{self.tag}"


@dataclass(frozen=True, slots=True)
class External:
    """An event from outside reaches at once all members that have a row for it."""

    label: str

    def __str__(self) -> str:
        return f"! {self.label}"


@dataclass(frozen=True, slots=True)
class Decide:
    """A decision takes the row of `guard` with the event `label`: of `member`, in a system."""

    guard: str
    label: str
    member: str = ""

    def __str__(self) -> str:
        if self.member:
            return f"{self.member} {self.guard}/!{self.label}"
        return f"{self.guard} {self.label}"


@dataclass(frozen=True, slots=True)
class Blocked:
    """In a session, `agent` cannot do what the rules demand, for this reason; it stops there."""

    agent: str
    reason: str

    def __str__(self) -> str:
        return f"{self.agent} {self.reason}"


SystemAction = Exchange | Send | Deliver | Choose | Decide | External
"""What can happen in a system."""

Action = Say | SystemAction | Blocked
"""What can happen; no code reads the label."""


@dataclass(frozen=True, slots=True)
class Unreceived:
    """What cannot happen but should: the message is not received, as `receiver` is in `state`."""

    sender: str
    receiver: str
    tag: str
    state: str

    def __str__(self) -> str:
        return (
            f"{self.sender} sends {self.tag}; {self.receiver} in {self.state} does not receive it"
        )


@dataclass(frozen=True, slots=True)
class WaitingMember:
    """A member that has not ended where nothing can happen, and why nothing of it comes about.

    It receives `tags` there, and sends what `sends` names.

    >>> print(WaitingMember("m", "WAIT", ("ACK", "NACK"), (), ("h in DONE does not send it",)))
    m waits in WAIT for ACK or NACK: h in DONE does not send it
    """

    member: str
    state: str
    tags: tuple[str, ...]
    sends: tuple[str, ...]
    causes: tuple[str, ...]

    def __str__(self) -> str:
        wanted = [f"for {_listed(self.tags)}"] if self.tags else []
        wanted += [f"to send {_listed(self.sends)}"] if self.sends else []
        waits = " or ".join(wanted) or "for nothing that can happen"
        sentence = f"{self.member} waits in {self.state} {waits}"
        return f"{sentence}: {', and '.join(self.causes)}" if self.causes else sentence


def _listed(names: tuple[str, ...]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


class ActionRecord(NamedTuple):
    """An action of a system as five words, for files and databases; "" is no such part."""

    kind: str
    member: str
    partner: str
    label: str
    guard: str


def record_of(action: SystemAction) -> ActionRecord:
    """`action` as words; `action_of` reads them.

    >>> record_of(Send("hub", "left", "TASK", lost=True))
    ActionRecord(kind='lose', member='hub', partner='left', label='TASK', guard='')
    """
    match action:
        case Exchange(sender, receiver, tag):
            return ActionRecord("exchange", sender, receiver, tag, "")
        case Send(sender, receiver, tag, lost):
            return ActionRecord("lose" if lost else "send", sender, receiver, tag, "")
        case Deliver(sender, receiver, tag, kept):
            return ActionRecord("duplicate" if kept else "deliver", sender, receiver, tag, "")
        case Choose(member, guard, tag):
            return ActionRecord("choose", member, "", tag, guard)
        case Decide(guard, label, member):
            return ActionRecord("decide", member, "", label, guard)
        case External(label):
            return ActionRecord("external", "", "", label, "")


KINDS = ("exchange", "send", "lose", "deliver", "duplicate", "choose", "decide", "external")
"""The kinds of actions of a system, as `record_of` writes them."""


def action_of(record: ActionRecord) -> SystemAction:
    """The action that `record` means; raises `UsageError` where it means none."""
    kind, member, partner, label, guard = record
    match kind:
        case "exchange":
            return Exchange(member, partner, label)
        case "send" | "lose":
            return Send(member, partner, label, lost=kind == "lose")
        case "deliver" | "duplicate":
            return Deliver(member, partner, label, kept=kind == "duplicate")
        case "choose":
            return Choose(member, guard, label)
        case "decide":
            return Decide(guard, label, member)
        case "external":
            return External(label)
    raise UsageError(f"there is no action {quoted(kind)}; there are {', '.join(KINDS)}")
