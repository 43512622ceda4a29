"""The papers' rules in words of their own, for tests to compare running sessions with.

Nothing here is taken from the package but the messages themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import LEARN, Judgement, Outcome
from pxp_fsm.sessions.events import Event

TAG = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}
FOUR = frozenset(TAG.values())

SENDS = {
    "interact": {"IDLE": {"INIT"}, "DECIDE": FOUR},
    "pxp": {"IDLE": {"INIT"}, "DECIDE": FOUR | {"TERM"}},
    "pxp_hang_up": {"IDLE": {"INIT"}, "DECIDE": FOUR | {"TERM"}, "WAIT": {"TERM"}},
}
RECEIVES = {
    "interact": {"IDLE": {"INIT"}, "WAIT": FOUR},
    "pxp": {"IDLE": {"INIT"}, "WAIT": FOUR | {"TERM"}},
    "pxp_hang_up": {
        "IDLE": {"INIT"},
        "WAIT": FOUR | {"TERM"},
        "DECIDE": {"TERM"},
        "END": {"TERM"},
    },
}


@dataclass(frozen=True)
class Reading:
    """A protocol by its numbers: INTERACT where `n` is given, else PXP, or PXP(k)."""

    n: int | None
    k: int | None
    hang_up: Callable[[str, str], bool] | None = None

    @property
    def table(self) -> str:
        if self.n is not None:
            return "interact"
        return "pxp_hang_up" if self.hang_up else "pxp"

    def hangs_up(self, tags: Sequence[str]) -> bool:
        return self.hang_up is not None and len(tags) > 1 and self.hang_up(tags[-1], tags[-2])

    def allows(self, states: dict[str, str], sent: int, message: Message) -> bool:
        """Whether the two automata, m and h in `states`, can exchange `message` now."""
        if (message.session, message.number) != ("s", sent + 1):
            return False
        if {message.sender, message.receiver} != {"m", "h"}:
            return False
        return message.tag in SENDS[self.table].get(
            states[message.sender], ()
        ) and message.tag in RECEIVES[self.table].get(states[message.receiver], ())

    def possible(self, guard: str, number: int) -> bool:
        return guard != "REJ" or self.n is None or self.k is None or number > self.k

    def wants_revision(self, match: bool, agree: bool, number: int) -> bool:
        """Whether the tag depends on Changed (INTERACT) or on g' (PXP)."""
        if match is not agree:
            return True
        return not match and self.n is not None and self.k is not None and number <= self.k

    def guard(self, judged: Sequence[bool], number: int, revises: bool) -> str:
        """The guard that follows from what was judged, in the order in which it was asked."""
        match, agree, *later = judged
        wanted = self.wants_revision(match, agree, number)
        assert bool(later) == (wanted and revises)
        if match and agree:
            return "RAT"
        if not wanted:
            return "REJ"
        changed = self.n is not None and not all(later)
        reconciled = self.n is None and bool(later) and all(later)
        return "REV" if changed or reconciled else "REF"

    def term_instead(self, tags: Sequence[str], tag: str) -> bool:
        """PXP(k): a self-loop on `tag` that has been taken k times already."""
        if self.n is not None or self.k is None or tags[-1] != tag:
            return False
        return sum(pair == (tag, tag) for pair in pairwise(tags)) >= self.k

    def concluded(self, tags: Sequence[str]) -> bool:
        """PXP: TERM, for one's own RATIFY or REJECT was answered in kind."""
        return self.n is None and tags[-2:] in (["RATIFY"] * 2, ["REJECT"] * 2)

    def over(self, tags: Sequence[str]) -> str:
        """How a session with these tags has ended, empty if it has not."""
        if self.n is None:
            return "term" if tags[-1] == "TERM" else ""
        if tags[-1] == "REJECT":
            return "rejected"
        if list(tags[-2:]) == ["RATIFY", "RATIFY"]:
            return "ratified"
        return "bound" if len(tags) >= self.n else ""


def judged(entry: Event) -> list[bool]:
    return [j.outcome is Outcome.YES for j in entry.judgements if j.relation != LEARN]


def about(judgements: Sequence[Judgement]) -> list[tuple[str, str, str]]:
    return [(j.relation, j.left, j.right) for j in judgements if j.relation != LEARN]


def comparing(left: Answer, right: Answer) -> list[tuple[str, str, str]]:
    """The judgements by which `left` is compared with `right`, as a session logs them."""
    pairs = {
        "MATCH": (left.prediction, right.prediction),
        "AGREE": (left.explanation, right.explanation),
    }
    return [(name, digest(one), digest(other)) for name, (one, other) in pairs.items()]


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def in_order(reading: Reading, history: Sequence[Message]) -> None:
    """Assert what holds of any part of any session."""
    tags = [message.tag for message in history]
    assert [message.number for message in history] == list(range(1, len(history) + 1))
    assert all(message.sender != message.receiver for message in history)
    for place, message in enumerate(history):
        before = tags[:place]
        assert (message.tag == "INIT") is (place == 0)
        assert not place or not reading.over(before)
        again = reading.hangs_up(before) if place else False
        expected = "m" if not place else history[place - 1].sender
        assert (message.sender == expected) is (again or not place)
        assert not again or message.tag == "TERM"
        assert message.tag != "TERM" or place == len(tags) - 1
        assert message.tag != "REJECT" or reading.possible("REJ", message.number)
    assert reading.n is None or len(tags) <= reading.n


def context_of(message: Message) -> str:
    return json.dumps({"number": message.number, "sender": message.sender, "tag": message.tag})
