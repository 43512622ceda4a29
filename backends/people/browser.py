"""People on pages, and assistants, as agents: each question waits at a desk until it is answered.

The session asks as it asks at the terminal: the answer, then the tag (or MATCH and AGREE), then, a
person, for a last look. A question that waits is not stored: a run that goes on asks it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Protocol

from backends.people.choices import GuardChoice, WhyNot, choices_of, offers_of
from pxp_fsm.errors import DataError, NoAnswer, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Ask, LanguageModel, ModelRequest, OnText, Reply, layered
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Question, answer_problem
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.actors import Intent, Turn

LONGEST = 20_000
"""Characters of a prediction or an explanation that are taken."""
OWN = "own"
"""An answer that is typed."""
SEND, EDIT, WHY = "send", "edit", "why"


class QuestionKind(StrEnum):
    """What somebody is asked on the way to one message."""

    ANSWER = "answer"
    TAG = "tag"
    MATCH = "match"
    AGREE = "agree"
    LOOK = "look"


@dataclass(frozen=True, slots=True)
class SeatQuestion:
    """A question in `session`, to its person ("") or to the assistant who is its agent `who`.

    `offers` are answers that need not be typed. `choices` are the tags, for TAG; `texts` are the
    two that may count as the same, for MATCH and AGREE; `tag` and `answer` are the message, for
    LOOK, with `why` the other agent does not predict the same once that was asked.
    """

    session: str
    step: QuestionKind
    offers: Mapping[str, Answer] = field(default_factory=dict)
    choices: tuple[GuardChoice, ...] = ()
    texts: tuple[str, str] = ("", "")
    tag: str = ""
    answer: Answer | None = None
    why: str = ""
    tells_why: bool = False
    who: str = ""

    def key(self, number: int) -> str:
        """What tells it from any other question about message `number`, now and after a restart."""
        about = repr((self.session, number, self.step.value, self.texts, self.tag, self.answer))
        told = f"{about}{self.why}{self.who}".encode("utf-8", "replace")
        return hashlib.sha256(told).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Given:
    """What a person gave: a choice among what was offered, or an answer that they typed."""

    choice: str
    prediction: str = ""
    explanation: str = ""


class Desk(Protocol):
    """Where questions, and the turns of a system's members, wait for whoever is asked."""

    async def ask(self, asked: SeatQuestion) -> Given:
        """What they gave, `accepted`; waits as long as it takes."""

    async def decide(self, turn: Turn) -> Intent | None:
        """What a member wants to do at its turn; waits as long as it takes."""

    def listener(self, session: str) -> OnText | None:
        """Who is told the other agent's answer as it is written; None where nobody may be."""


def heard(model: LanguageModel, desk: Desk) -> LanguageModel:
    """`model`, whose answers are asked for piece by piece where they may be seen at `desk`."""

    def listen(ask: Ask, request: ModelRequest) -> Coroutine[Any, Any, Reply]:
        on_text = desk.listener(request.session) if request.purpose == "answer" else None
        return ask(request if on_text is None else replace(request, on_text=on_text))

    return layered(model, listen)


def accepted(asked: SeatQuestion, problem: Problem, reply: Given) -> Given:
    """`reply` as an answer to `asked`, a prediction as messages carry it.

    Raises `UsageError` or `DataError`, saying what is wrong, for what cannot be one.
    """
    words = _words(asked)
    if reply.choice not in words:
        raise UsageError(f"the answer must be one of: {', '.join(words)}")
    if asked.step is not QuestionKind.ANSWER:
        return Given(reply.choice)
    if reply.choice != OWN:
        answer = asked.offers[reply.choice]
        problem.from_text(answer.prediction)
    else:
        answer = bounded(Answer(reply.prediction, reply.explanation))
        answer = Answer(problem.from_text(answer.prediction), answer.explanation.strip())
    return Given(reply.choice, answer.prediction, answer.explanation)


def bounded(answer: Answer) -> Answer:
    """`answer`, which a message can carry; raises `DataError`, saying what is wrong."""
    wrong = answer_problem(answer)
    if wrong is not None:
        raise DataError(wrong)
    for name, text in (("prediction", answer.prediction), ("explanation", answer.explanation)):
        if len(text) > LONGEST:
            raise DataError(f"the {name} has {len(text):,} characters; at most {LONGEST:,}")
    return answer


def _words(asked: SeatQuestion) -> tuple[str, ...]:
    if asked.step is QuestionKind.ANSWER:
        return (OWN, *asked.offers)
    if asked.step is QuestionKind.TAG:
        return tuple(choice.guard for choice in asked.choices if choice.allowed)
    if asked.step is QuestionKind.LOOK:
        return (SEND, EDIT, WHY) if asked.tells_why and not asked.why else (SEND, EDIT)
    return tuple(word.value for word in (Outcome.YES, Outcome.NO, Outcome.UNSURE))


class BrowserPerson:
    """Answers, names tags, and looks at each message before it is sent, on a page.

    `why_not` answers, at the last look, why the other agent does not predict the same; None where
    that is not told.
    """

    name = "person in a browser"

    def __init__(self, desk: Desk, why_not: WhyNot | None = None) -> None:
        self.desk = desk
        self._why_not = why_not

    async def answer(self, question: Question) -> Answer:
        """Their prediction and explanation: typed, the other agent's, or their own latest."""
        asked = SeatQuestion(question.session, QuestionKind.ANSWER, offers_of(question))
        reply = await self.desk.ask(asked)
        return Answer(reply.prediction, reply.explanation)

    async def choose(self, situation: Situation, allowed: Sequence[str]) -> str:
        """The guard whose tag they name; only what automaton, j and k allow is accepted."""
        choices = choices_of(situation.rules, situation.guards, situation.number, allowed)
        asked = SeatQuestion(situation.received.session, QuestionKind.TAG, choices=choices)
        return (await self.desk.ask(asked)).choice

    async def review(self, question: Question, tag: str, answer: Answer) -> bool:
        """A last look at the message; whether to send it, or to make it again."""
        asked = SeatQuestion(
            question.session,
            QuestionKind.LOOK,
            tag=tag,
            answer=answer,
            tells_why=self._why_not is not None and bool(question.history),
        )
        while True:
            word = (await self.desk.ask(asked)).choice
            if word != WHY:
                return word == SEND
            why = self._why(question, answer.prediction)
            asked = replace(asked, why=why)

    def _why(self, question: Question, prediction: str) -> str:
        why_not, instance = self._why_not, question.instance
        try:
            explanation = None if why_not is None else why_not(instance, prediction, question.to)
        except NoAnswer as error:
            explanation = str(error)
        return explanation or "The other side cannot tell."


class Assistant:
    """Answers and names tags at a desk, as the agent `who` of each of its sessions."""

    name = "assistant"

    def __init__(self, desk: Desk, who: str) -> None:
        self._desk = desk
        self._who = who

    async def answer(self, question: Question) -> Answer:
        """Its prediction and explanation."""
        asked = SeatQuestion(question.session, QuestionKind.ANSWER, who=self._who)
        reply = await self._desk.ask(asked)
        return Answer(reply.prediction, reply.explanation)

    async def choose(self, situation: Situation, allowed: Sequence[str]) -> str:
        """The guard whose tag it names; only what automaton, j and k allow is accepted."""
        choices = choices_of(situation.rules, situation.guards, situation.number, allowed)
        session = situation.received.session
        asked = SeatQuestion(session, QuestionKind.TAG, choices=choices, who=self._who)
        return (await self._desk.ask(asked)).choice


class DeskRelation:
    """MATCH or AGREE by the word of a person (""), or of the assistant who is the agent `who`.

    Nothing is assumed of it.
    """

    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, desk: Desk, step: QuestionKind, who: str = "", session: str = "") -> None:
        self.name = Assistant.name if who else "person"
        self._desk = desk
        self._step = step
        self._who = who
        self._session = session

    def for_session(self, session: str) -> DeskRelation:
        """The same, asked in the session of that name."""
        return DeskRelation(self._desk, self._step, self._who, session)

    async def holds(self, left: str, right: str) -> Outcome:
        asked = SeatQuestion(self._session, self._step, texts=(left, right), who=self._who)
        reply = await self._desk.ask(asked)
        try:
            return Outcome(reply.choice)
        except ValueError as error:
            raise UsageError(f"{quoted(reply.choice)} is no answer") from error
