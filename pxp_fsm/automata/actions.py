"""What can happen in a model, as types; `str()` is the label that people read."""

from __future__ import annotations

from dataclasses import dataclass


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


Action = Say | Exchange | Send | Deliver | Choose | External | Decide | Blocked
"""What can happen; no code reads the label."""
