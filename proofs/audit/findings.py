"""The kinds of findings of an audit; no recorded text is quoted in them."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple

from proofs.languages import Word, symbol
from pxp_fsm.automata.actions import Exchange, Send
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import JudgedAnswer
from pxp_fsm.sessions.events import Event


class Possible(IntEnum):
    """The most that can be assumed of the judges of a session, as far as was recorded."""

    NEVER = 0
    NOISY = 1
    TOLERANCE = 2
    EQUIVALENCE = 3

    @property
    def words(self) -> str:
        """For a person."""
        return _WORDS[self]


_WORDS = {
    Possible.NEVER: "for no correct agents",
    Possible.NOISY: "for noisy judges alone",
    Possible.TOLERANCE: "for tolerance, not for equivalence",
    Possible.EQUIVALENCE: "for equivalence",
}


class FindingKind(StrEnum):
    """The kinds of findings."""

    MESSAGE = "impossible message"
    TAG = "tag against its judgements"
    QUESTION = "judged other texts"
    PAIR = "changed pair"
    PAYLOAD = "wrong payload"
    ENDING = "wrong ending"
    ITSELF = "text unlike itself"
    TWICE = "judged twice, differently"
    MIRROR = "mirror image judged differently"
    APART = "agents judged differently"
    CHAIN = "similar, not the same"
    TAGS_NOISY = "tags of noisy judges"
    TAGS_TOLERANCE = "tags of a tolerance"
    ASSUMED = "assumption contradicted"

    @property
    def leaves(self) -> Possible:
        """What can still be assumed of the judges of a session with such a finding."""
        if self in FAULTS:
            return Possible.EQUIVALENCE if self is FindingKind.ENDING else Possible.NEVER
        if self in (FindingKind.CHAIN, FindingKind.TAGS_TOLERANCE):
            return Possible.TOLERANCE
        return Possible.EQUIVALENCE if self is FindingKind.ASSUMED else Possible.NOISY


FAULTS = frozenset(
    {
        FindingKind.MESSAGE,
        FindingKind.TAG,
        FindingKind.QUESTION,
        FindingKind.PAIR,
        FindingKind.PAYLOAD,
        FindingKind.ENDING,
    }
)
"""What agents, judges and records that work as they should never leave, whatever is judged."""

ABOUT: dict[FindingKind, str] = {
    FindingKind.MESSAGE: "no agent that follows the protocol can have sent it, whatever was judged",
    FindingKind.TAG: "the recorded judgements make another guard true",
    FindingKind.QUESTION: "what was judged is not what the protocol compares at this message",
    FindingKind.PAIR: "PXP's RATIFY and REJECT carry the agent's pair unchanged",
    FindingKind.PAYLOAD: "what a message of a system carries does not fit the schema of its table",
    FindingKind.ENDING: "the recorded ending is not the one that the rules give",
    FindingKind.ITSELF: "a text was judged not to be like itself: not reflexive",
    FindingKind.TWICE: "one agent judged one pair in two ways: not deterministic",
    FindingKind.MIRROR: "one agent judged (a, b) and (b, a) in two ways: not symmetric",
    FindingKind.APART: "the two agents judged one pair in two ways: not shared",
    FindingKind.CHAIN: "texts were linked by yes from one to the next, and the ends judged no: "
    "not transitive",
    FindingKind.TAGS_NOISY: "no tolerance gives these tags; nothing that was judged is needed to "
    "see it",
    FindingKind.TAGS_TOLERANCE: "no equivalence gives these tags, a tolerance does",
    FindingKind.ASSUMED: "the session is recorded as one whose judges do not do this",
}
"""What each kind means."""


class AuditedAnswer(NamedTuple):
    """A judge's answer as evidence: whose, at which message, of which texts, and what it was.

    The texts are told as the messages that carry them (0: none does). `implied` where no answer is
    recorded, and the tag of the message stands for it.
    """

    number: int
    agent: str
    relation: str
    left: int
    right: int
    held: bool
    implied: bool = False

    def __str__(self) -> str:
        answer = ("yes" if self.held else "no") + (" by its tag" if self.implied else "")
        places = (
            f"message {message}" if message else "a text not sent"
            for message in (self.left, self.right)
        )
        return f"{self.agent} at {self.number}: {self.relation}({', '.join(places)}) = {answer}"


class AuditFinding(NamedTuple):
    """Something found at a message (None: the session): what, and the answers that show it.

    `possible` are the tags that could have been sent there, where that is what is wrong.
    """

    kind: FindingKind
    number: int | None
    what: str
    answers: tuple[AuditedAnswer, ...] = ()
    possible: tuple[str, ...] = ()


@dataclass(frozen=True)
class FollowedSession:
    """What following the rules or tables says of a session.

    `possible` is what may be assumed of the judges by its tags, `findings` where that shows, and
    what else does not follow; `ending` is how the rules end it, None where they do not.
    """

    possible: Possible
    findings: tuple[AuditFinding, ...]
    ending: str | None


class AuditedMessage(NamedTuple):
    """A message: who sent it, its tag, its two texts, and what was judged to arrive at it."""

    initiator: bool
    tag: str
    prediction: str
    explanation: str
    judged: tuple[JudgedAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditedSession:
    """A recorded session: what was `said` in one of two agents, the `events` of another.

    That is of a system, or where it names `agents` of several that answer each other.

    `ending` is None where it is not over. Of two agents, `closing` was judged for a message that
    was never sent; `derived` says of initiator and responder whether their tags follow from their
    relations; `assumptions` are those under which it is said to have run.
    """

    name: str
    said: tuple[AuditedMessage, ...]
    ending: str | None
    closing: tuple[JudgedAnswer, ...] = ()
    derived: tuple[bool, bool] = (False, False)
    assumptions: frozenset[str] = frozenset()
    events: tuple[Event, ...] | None = None
    agents: tuple[str, ...] = ()

    @property
    def word(self) -> Word:
        """Its tag sequence; the initiator is m."""
        return tuple(
            symbol("m" if message.initiator else "h", message.tag) for message in self.said
        )

    @property
    def counts(self) -> str:
        """What the numbers of its findings count."""
        return "message" if self.events is None or self.agents else "action"

    @property
    def steps(self) -> tuple[str, ...]:
        """What happened in it, in words."""
        if self.events is None:
            return tuple(self.word)
        return tuple(str(event.action) for event in self.events)

    @property
    def messages(self) -> int:
        """How many messages were sent in it."""
        if self.events is None:
            return len(self.said)
        return sum(isinstance(event.action, Exchange | Send) for event in self.events)
