"""Replay of a trace through the real machines: only traces that they reproduce are shown.

A trace says what MATCH and AGREE answered. Two running agents are given texts that realise its
states, and relations that answer just that for just the pairs that are to be compared; a real
session must send the same tags and bring the machines to the same states.

The texts that such a session carries realise the states of `SessionModel`: they are equal where the
model knows them to be. Each message is compared with what is due: the tag, the pair, both machines'
states, the ending, what is learned, and which texts were compared, in which order.

Tag and ending are compared with the model, and with what the decision functions say by themselves;
that those are the papers' is a claim of its own (`decides-as-written`). Which pairs are to be
compared is written here in the papers' words (arXiv 2410.20600, Procedures 1 and 2; arXiv
2301.01819 as cited there), apart from `pxp_fsm.protocol.rules.derive`, which both the model and the
session follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from proofs.core.explore import Model, Step, Trace
from proofs.core.results import NotReplayed
from proofs.sessions.model import AGENTS, SessionModel, SessionState, tag_of
from proofs.sessions.relational import RelationOutcome, Structure
from pxp_fsm.automata.actions import Blocked, Say
from pxp_fsm.errors import PXPError
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import category
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.relations import (
    EQUIVALENCE,
    LEARN,
    MEMO_GIVES,
    Assumption,
    Judgement,
    Outcome,
    digest,
)
from pxp_fsm.protocol.rules import Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session

Asked = tuple[str, str, str, bool]
"""MATCH, AGREE or LEARN, the two texts, and the answer (of LEARN: True)."""


class Expected(NamedTuple):
    """What is due at the next message: the model's step, the pair sent, the questions in order.

    `tag` is what the decision functions make of the answers; `texts` are the pairs that the
    respondent is to give, in order; `learns` is whether anything is learned: PXP's speaker LEARNs
    from what it received, INTERACT's listener from what is sent.
    """

    step: Step[SessionState]
    tag: str
    pair: Answer
    asked: tuple[Asked, ...] = ()
    texts: tuple[Answer, ...] = ()
    learns: bool = False


@dataclass
class _Script:
    """What respondents, relations and policy say at the next message, and what came of it."""

    texts: list[Answer] = field(default_factory=list)
    answers: dict[tuple[str, str, str], list[bool]] = field(default_factory=dict)
    term: bool = False
    questions: list[Question] = field(default_factory=list)
    learned: list[Message] = field(default_factory=list)
    logged: tuple[Judgement, ...] = ()
    fault: str = ""


class _Respondent:
    """A respondent, and a learner, by the script."""

    name = "script"

    def __init__(self, script: _Script) -> None:
        self._script = script

    async def answer(self, question: Question) -> Answer:
        self._script.questions.append(question)
        return self._script.texts.pop(0)

    def learn(self, instance: Instance, message: Message) -> None:
        self._script.learned.append(message)


class _Relation:
    """MATCH or AGREE by the script; what it does not have is not to be asked."""

    def __init__(self, name: str, script: _Script, assumptions: frozenset[Assumption]) -> None:
        self.name = name
        # that it is the same for both agents is for the session to see, not for one of them to say
        self.assumptions = assumptions | {Assumption.SHARED}
        self._script = script

    async def holds(self, left: str, right: str) -> Outcome:
        answers = self._script.answers.get((self.name, left, right))
        if not answers:
            self._script.fault = f"{self.name} is asked of {left} and {right}"
            return Outcome.BROKEN
        if answers.pop(0):
            return Outcome.YES
        return Outcome.NO if self.name == "MATCH" else Outcome.UNSURE  # which counts as no


class _Board:
    """A blackboard that hands what was judged to the script."""

    def __init__(self, script: _Script) -> None:
        self._script = script

    def open(self, session: Session) -> None:
        """Nothing is to be recorded of it."""

    def append(self, session: str, event: Event) -> None:
        self._script.logged = event.judgements

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """How it ended is read from the session."""


class ScriptedSession:
    """A session under `rules` between two agents whose relations satisfy `assumptions`.

    A judge that is deterministic and reflexive is remembered, as it is by default.
    """

    def __init__(self, rules: Rules, assumptions: frozenset[Assumption]) -> None:
        self._assumed = assumptions
        self._script = script = _Script()
        self._numbers = count(1)
        self._rules, self._learns = rules, isinstance(rules, Pxp)
        if isinstance(rules, Pxp):
            rules = replace(rules, term=lambda _received, _own: script.term)
        match, agree, other = (
            _Relation(name, script, assumptions) for name in ("MATCH", "AGREE", "AGREE")
        )
        shared = Assumption.SHARED in assumptions
        judges = ((match, agree), (match, agree if shared else other))
        self._session = Session(
            rules,
            {
                name: Agent(
                    _Respondent(script), match=match, agree=agree, memo=assumptions >= MEMO_GIVES
                )
                for name, (match, agree) in zip(AGENTS, judges, strict=True)
            },
            instance="x",
            blackboard=_Board(script),
            limit=sys.maxsize,
            record_faults=True,
        )

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far."""
        return self._session.history

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """What the session says that it assumes."""
        return self._session.assumptions

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes the session back to where it is now."""
        return self._session.withdrawing()

    async def send(self, expected: Expected) -> str:
        """Let the session send its next message; what is not as expected, "" if all is."""
        script, session, step = self._script, self._session, expected.step
        script.texts, script.learned, script.answers = list(expected.texts), [], {}
        script.logged, script.fault, script.questions = (), "", []
        told = (session.instance, session.history, session.context, session.name)
        script.term = not step.facts and tag_of(step) == Tag.TERM
        for name, left, right, answer in expected.asked:
            script.answers.setdefault((name, left, right), []).append(answer)
        try:
            event = await session.step()
            message = None if event is None else event.carried
        except PXPError as error:
            message, script.fault = None, str(error)
        if isinstance(step.action, Blocked) or message is None:
            blocked = isinstance(step.action, Blocked) and message is None
            sent = f"the session sends {message.tag}" if message else script.fault or session.cause
            return "" if blocked else f"{sent}; by the model {step.label}"
        ending = "" if session.ending is None else session.ending.value
        learned = session.history[-2:-1] if self._learns else (message,)
        compared: tuple[tuple[str, object, object], ...] = (
            ("sent is", Say(message.sender, message.tag), step.action),
            ("sent is", message.tag, expected.tag),
            ("the pair is", message.answer, expected.pair),
            ("compared are", _logged(script, expected), expected.asked),
            ("the machines are at", tuple(session.states.values()), step.target.at),
            ("the ending is", ending, step.target.over),
            ("the ending is", ending, self._ending()),
            ("told is", self._told(), [told] * len(expected.texts)),
            ("learned is", script.learned, list(learned if expected.learns else ())),
            ("not asked for are", script.texts, []),
        )
        wrong = (
            f"{subject} {actual}, by the model {due}"
            for subject, actual, due in compared
            if actual != due
        )
        return next(wrong, "")

    def _told(self) -> list[tuple[object, ...]]:
        """What the respondent was told with each question."""
        asked = self._script.questions
        return [
            (question.instance, question.history, question.context, question.session)
            for question in asked
        ]

    def after(self, step: Step[SessionState]) -> Expected:
        """What is due at a step of a trace, by the answers that are its facts."""
        if not step.facts:
            return self.unasked(step)
        match, agree, *revision = step.facts
        sent = step.target.predictions, step.target.explanations
        # of a pair that is not sent, the trace knows how it was compared and nothing else
        kept = [
            structure if self._sends_own(step) else _compared(same)
            for structure, same in zip(sent, (match, agree), strict=True)
        ]
        unchanged = (*revision, False, False)
        y = RelationOutcome(match, unchanged[0], kept[0], sent[0])
        e = RelationOutcome(agree, unchanged[1], kept[1], sent[1])
        return self.answer(step, y, e)

    def _sends_own(self, step: Step[SessionState]) -> bool:
        return not self._learns or len(step.facts) == 2

    def unasked(self, step: Step[SessionState]) -> Expected:
        """What is due at INIT, or TERM by the policy: nothing is compared, one's latest is sent."""
        history = self._session.history
        if len(history) > 1:
            return Expected(step, Tag.TERM, history[-2].answer, learns=not self._learns)
        received = history[-1].answer if history else Answer("", "")
        fresh = self._pair(received, step.target.predictions, step.target.explanations)
        tag = Tag.TERM if history else Tag.INIT
        return Expected(step, tag, fresh, texts=(fresh,), learns=not self._learns)

    def answer(self, step: Step[SessionState], y: RelationOutcome, e: RelationOutcome) -> Expected:
        """What is due where MATCH and AGREE say `y` and `e`, as the papers write it."""
        received, *before = [message.answer for message in reversed(self._session.history[-2:])]
        own = before[0] if before else self._pair(received, y.kept, e.kept)
        revised = len(step.facts) > 2
        if self._learns:
            new, other = self._pair(received, y.taken, e.taken), received
        else:
            new, other = self._fresh(received, own, y, e, second=not before), own
        asked: list[Asked] = [
            ("MATCH", received.prediction, own.prediction, y.same),
            ("AGREE", received.explanation, own.explanation, e.same),
        ]
        if revised and self._learns:
            asked.append((LEARN, received.prediction, received.explanation, True))
        if revised:
            asked.append(("MATCH", new.prediction, other.prediction, y.revision))
        if revised and y.revision:
            asked.append(("AGREE", new.explanation, other.explanation, e.revision))
        if not self._learns:
            return Expected(step, self._tag(step), new, tuple(asked), (new,), learns=True)
        texts = (*(() if before else (own,)), *((new,) if revised else ()))
        pair = new if revised else own
        return Expected(step, self._tag(step), pair, tuple(asked), texts, learns=revised)

    def _tag(self, step: Step[SessionState]) -> str:
        """What the decision functions make of the answers that are the facts of `step`."""
        match, agree, *revision = step.facts
        judged, number = category(match, agree), len(self.history) + 1
        asked = self._rules.depends_on_revision(judged, number)
        guard = self._rules.guard(judged, asked and self._rules.revises(all(revision)), number)
        if asked != bool(revision):
            return f"{guard} without the questions on which it depends"
        sender = self.history[-1].receiver
        rows = self._rules.automaton.leaving(self._session.states[sender])
        tag = next((row.label for row in rows if row.guard == guard), "")
        return Tag.TERM if tag and self._rules.says_term(self.history, tag) else tag

    def _ending(self) -> str:
        """How the session should have ended after its latest message, "" if it should not."""
        return (self.history and self._rules.ending(self.history)) or ""

    def _fresh(
        self, received: Answer, own: Answer, y: RelationOutcome, e: RelationOutcome, *, second: bool
    ) -> Answer:
        """INTERACT's fresh pair: message 2 compares it with itself."""
        if second:
            return own
        new = self._pair(received, y.taken, e.taken)
        if self._assumed == EQUIVALENCE:  # what is related is equal, so unchanged is equal too
            return Answer(
                own.prediction if y.revision else new.prediction,
                own.explanation if e.revision else new.explanation,
            )
        return new

    def _pair(self, received: Answer, y: Structure, e: Structure) -> Answer:
        """A pair that is related to the received one as the structures say."""
        return Answer(self._text(y, received.prediction), self._text(e, received.explanation))

    def _text(self, structure: Structure, received: str) -> str:
        """The received text where the structure has the two equal, else a new one."""
        related = structure.left if self._assumed == EQUIVALENCE else structure.equal
        return received if (0, 1) in related else f"t{next(self._numbers)}"


def _logged(script: _Script, expected: Expected) -> tuple[Asked, ...]:
    """What was judged, with the texts that are expected in place of their digests."""
    texts = {digest(text): text for asked in expected.asked for text in asked[1:3]}
    return tuple(
        (
            judgement.relation,
            texts.get(judgement.left, judgement.left),
            texts.get(judgement.right, judgement.right),
            judgement.outcome is Outcome.YES,
        )
        for judgement in script.logged
    )


def _compared(same: bool) -> Structure:
    """Two values of which the first agrees with the second, or not."""
    related = frozenset({(0, 1)} if same else ())
    return Structure(2, related, related)


def replay(model: SessionModel, trace: Trace[SessionState]) -> tuple[Message, ...]:
    """The messages of a real session that takes `trace`.

    Raises `NotReplayed` where the machines do something else.
    """
    return asyncio.run(_replayed(model, trace))


async def _replayed(model: SessionModel, trace: Trace[SessionState]) -> tuple[Message, ...]:
    session = ScriptedSession(model.rules, model.theory.assumptions)
    for step in trace.steps:
        difference = await session.send(session.after(step))
        if difference:
            raise NotReplayed(
                f"at message {len(session.history)} the model says {step.label} and states "
                f"{step.target.at}; {difference}",
                trace,
            )
    return session.history


S = TypeVar("S", bound=Hashable)


class ReplayPoint(NamedTuple, Generic[S]):
    """A state of the model, and how many actions of the word have been followed to it."""

    state: S
    followed: int


@dataclass(frozen=True)
class PrefixModel(Generic[S]):
    """`model`, restricted to runs that begin with `word`; `complete` runs end with it too."""

    model: Model[S]
    word: tuple[Hashable, ...]

    @property
    def name(self) -> str:
        return f"{self.model.name} along {' '.join(map(str, self.word))}"

    def initial(self) -> Iterable[ReplayPoint[S]]:
        return (ReplayPoint(state, 0) for state in self.model.initial())

    def successors(self, place: ReplayPoint[S]) -> Iterator[Step[ReplayPoint[S]]]:
        if place.followed == len(self.word):
            return
        for step in self.model.successors(place.state):
            if step.action == self.word[place.followed]:
                yield Step(step.action, ReplayPoint(step.target, place.followed + 1), step.facts)

    def propositions(self, place: ReplayPoint[S]) -> frozenset[str]:
        return self.model.propositions(place.state)
