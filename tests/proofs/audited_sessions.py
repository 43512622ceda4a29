"""Sessions of the real machines as recordings, with judges and answers of a test's choice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from proofs.audit import AuditedMessage, AuditedSession
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import (
    NOISY,
    Assumption,
    JudgedAnswer,
    Judgement,
    Outcome,
    digest,
    held,
)
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session

Relate = Callable[[str, str], bool]


@dataclass
class Related:
    """A relation by a function of the two texts."""

    relate: Relate
    name: str = "related"
    assumptions: frozenset[Assumption] = NOISY

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if self.relate(left, right) else Outcome.NO


@dataclass
class Saying:
    """A respondent that says one answer after the other, the last one again and again."""

    answers: Iterator[tuple[str, str]]
    name: str = "saying"
    last: tuple[str, str] = ("", "")

    async def answer(self, question: Question) -> Answer:
        self.last = next(self.answers, self.last)
        return Answer(*self.last)


class Deriving:
    """Guards by the decision functions."""

    name = "derived"
    follows_relations = True

    async def decide(self, situation: Situation) -> Valuation:
        return await situation.derived()


@dataclass
class Kept:
    """A blackboard in memory."""

    entries: list[Event] = field(default_factory=list)
    closing: tuple[Judgement, ...] = ()
    opened: str = ""

    def open(self, session: Session) -> None:
        self.opened = session.name

    def append(self, session: str, event: Event) -> None:
        self.entries.append(event)

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        self.closing = tuple(judgements)


def run(
    rules: Rules,
    answers: Iterator[tuple[str, str]],
    relate: Relate,
    *,
    memo: bool = False,
    limit: int = 30,
) -> tuple[Session, AuditedSession]:
    """A real session in which both agents answer in turn from `answers` and judge by `relate`."""
    kept = Kept()
    shared = Saying(answers)
    members = {
        name: Agent(
            shared, match=Related(relate), agree=Related(relate), guards=Deriving(), memo=memo
        )
        for name in ("m", "h")
    }
    session = Session(
        rules, members, instance="x", name="s", blackboard=kept, limit=limit, record_faults=True
    )
    ending = asyncio.run(session.run()).ending
    return session, recording(kept.entries, ending, kept.closing)


def recording(
    entries: Sequence[Event], ending: str | None, closing: Sequence[Judgement] = ()
) -> AuditedSession:
    """What is recorded of a session whose agents' guards follow from their relations."""
    said = tuple(
        AuditedMessage(
            entry.carried.sender == "m",
            entry.carried.tag,
            digest(entry.carried.answer.prediction),
            digest(entry.carried.answer.explanation),
            tuple(chain.from_iterable(map(judged, entry.judgements))),
        )
        for entry in entries
    )
    rest = tuple(chain.from_iterable(map(judged, closing)))
    return AuditedSession("s", said, ending, rest, (True, True))


def judged(one: Judgement) -> Iterator[JudgedAnswer]:
    """A judgement as it is recorded; LEARN is none."""
    if one.relation in ("MATCH", "AGREE"):
        yield JudgedAnswer(one.relation, one.left, one.right, held(one.outcome))
