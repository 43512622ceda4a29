"""A PEX agent: a respondent that predicts and explains, with its own relations and guards.

`Agent` lives as long as an experiment; `Seat` is the agent in one session, with a name and a memory
of what it judged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from pxp_fsm.automata.automaton import DECIDE, Automaton, Valuation
from pxp_fsm.errors import NOT_THEIRS, GuardError, NoAnswer, PXPError, UsageError, WrongType, quoted
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.interfaces import Learner, Respondent, Reviewer
from pxp_fsm.protocol.messages import (
    Answer,
    Episode,
    Instance,
    Message,
    Question,
    Tag,
    answer_problem,
    is_answer,
)
from pxp_fsm.protocol.relations import (
    LEARN,
    Judgement,
    OracleFailed,
    Outcome,
    Relation,
    Relations,
    awaited,
)
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.protocol.situation import Derived, Guards, Situation
from pxp_fsm.sessions.actors import Decision, Turn
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.functions import (
    AnswerFunction,
    GuardFunction,
    RelationFunction,
    answered,
    as_guards,
    as_relation,
    as_respondent,
    checked_name,
)
from pxp_fsm.sessions.learning import Gate, Lessons

_T = TypeVar("_T")

DERIVED = Derived()
"""The guards of an agent that is given none."""


@dataclass(frozen=True, init=False)
class Agent:
    """Who takes part in a session: a respondent, relations MATCH and AGREE, and guards.

    Each may be a plain function, sync or async: the respondent of a `Question`, that returns an
    `Answer`; a relation of two texts, that returns a truth value; the guards of a `Situation`, that
    name the guard that holds. Without `guards` they follow from MATCH and AGREE (`Derived`).

    `query` is q of ASK_AGENT. `memo` remembers judgements within a session (see `Relations`).
    `timeout`, in seconds, bounds each question to the respondent, the guards and the relations;
    None waits for ever. `gate` decides what it keeps of what it learns; None keeps everything.

    >>> import pxp_fsm as pxp
    >>> def expert(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> pxp.Agent(expert, match=pxp.exact, agree=pxp.normalised_text).describe()
    'expert guards=derived MATCH=exact AGREE=normalised text'

    Raises `UsageError` for what is neither a function nor has what its interface asks for.
    """

    respondent: Respondent
    match: Relation
    agree: Relation
    guards: Guards
    query: str
    memo: bool
    timeout: float | None
    gate: Gate | None

    def __init__(
        self,
        respondent: Respondent | AnswerFunction,
        *,
        match: Relation | RelationFunction | str,
        agree: Relation | RelationFunction | str,
        guards: Guards | GuardFunction = DERIVED,
        query: str = "",
        memo: bool = True,
        timeout: float | None = None,
        gate: Gate | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise UsageError(f"a timeout is a number of seconds above 0, or None: {timeout!r}")
        fields = {
            "respondent": as_respondent(respondent),
            "match": as_relation(match),
            "agree": as_relation(agree),
            "guards": as_guards(guards),
            "query": query,
            "memo": memo,
            "timeout": timeout,
            "gate": gate,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        if gate is not None:
            gate.check(self.respondent)

    def describe(self) -> str:
        """What the agent is made of, as a session records it."""
        gate = "" if self.gate is None else f" LEARN={self.gate.name}"
        return (
            f"{self.respondent.name} guards={self.guards.name} "
            f"MATCH={self.match.name} AGREE={self.agree.name}{gate}"
        )


Members = Mapping[str, Agent]
"""The agents of a session by their names; the first begins."""


class Outgoing(NamedTuple):
    """What an agent sends when it is its turn; the row of the tag names the guard that is true."""

    tag: str
    answer: Answer


class _Clock:
    """The time in which an agent's guards have to decide, while they do."""

    running: asyncio.Timeout | None = None


class Seat:
    """The agent `name` in one session about one instance: it decides there, and learns.

    `partner` is whom it talks to, `earlier` what it is carried on from. `session` is the session's
    name, which is told to whoever is asked. An agent that talks to several has a seat for each;
    what it has judged is known `beside`, in its other seats. `instead` are the answers that
    messages of those numbers carry in place of its own. Raises `UsageError` for a name that cannot
    be shown.
    """

    def __init__(
        self,
        name: str,
        agent: Agent,
        rules: Rules,
        instance: Instance,
        earlier: tuple[Episode, ...] = (),
        *,
        partner: str = "",
        session: str = "",
        beside: Seat | None = None,
        instead: Mapping[int, Answer] = MappingProxyType({}),
    ) -> None:
        self.name = checked_name("an agent's", name)
        self.agent = agent
        self._partner = partner
        self._instead = instead
        # An agent does one thing at a time, so that one clock and one log serve all its seats.
        self._clock: _Clock = _Clock() if beside is None else beside._clock
        self.relations: Relations = (
            Relations(
                agent.match,
                agent.agree,
                memo=agent.memo,
                timeout=agent.timeout,
                around=self._clock_stopped,
                session=session,
            )
            if beside is None
            else beside.relations
        )
        self._rules = rules
        self._instance = instance
        self._session = session
        self._earlier = earlier
        self._learns = isinstance(agent.respondent, Learner)
        self._reviews = agent.respondent if isinstance(agent.respondent, Reviewer) else None
        self._lessons = None if agent.gate is None else Lessons(agent.gate, instance, earlier)

    def hear(self, message: Message, *, last: bool) -> None:
        """Take in a message that has just been received; INTERACT learns from each.

        `last` says that the session is over and nothing will be said in answer.
        """
        if not self._rules.asks_each_time:
            return
        if self._lessons is None or (last and self._lessons.keeps_unweighed):
            self.learn(message)
        else:
            self._lessons.hear(message)

    def learn(self, message: Message) -> None:
        """LEARN, where the respondent can; whatever goes wrong in it is `NoAnswer`."""
        if self._learns:
            self._teach(self.agent.respondent, message)

    def learn_again(self, received: Message, judgements: Sequence[Judgement]) -> None:
        """LEARN from `received` as the stored `judgements` on its answer say that it was."""
        for judgement in judgements:
            if judgement.relation != LEARN:
                continue
            if self._lessons is None or self._lessons.again(received, judgement):
                self.learn(received)

    def episode(
        self, history: Sequence[Message], context: Sequence[str], categories: Sequence[str]
    ) -> Episode:
        """What a later session's context holds of this one for the agent."""
        kept = tuple(history) if self._lessons is None else self._lessons.visible(history)
        added, category_of = (
            dict(zip(history, values, strict=True)) for values in (context, categories)
        )
        return Episode(
            self._instance,
            kept,
            tuple(added[message] for message in kept),
            tuple(category_of[message] for message in kept),
        )

    def _teach(self, respondent: Respondent, message: Message) -> None:
        if not isinstance(respondent, Learner):
            return
        try:
            respondent.learn(self._instance, message)
        except NOT_THEIRS:
            raise
        except PXPError as error:
            raise NoAnswer(f"{respondent.name} could not learn: {error}") from error
        except Exception as error:
            cause = f"{respondent.name} could not learn: {type(error).__name__}: {error}"
            raise NoAnswer(cause, error) from error

    def describe(self) -> str:
        """What the agent is made of, as a session records it."""
        return self.agent.describe()

    def left(self) -> tuple[Judgement, ...]:
        """What it judged that has led to no event; it is told once."""
        return self.relations.take_log()

    def withdrawing(self) -> Callable[[], object]:
        """A function that takes back what it has judged since."""
        return self.relations.withdrawing()

    def replayed(self, event: Event, history: Sequence[Message]) -> None:
        """Take over what it learned and judged to arrive at its stored `event`."""
        if history:
            self.learn_again(history[-1], event.judgements)
        self.relations.remember(event.judgements)

    async def decide(self, turn: Turn, table: Automaton) -> Decision:
        """The agent's next message (Procedure AGENT; for PXP with g').

        After its own latest message it hangs up, with the same pair. A `Reviewer` sees a message
        before it counts, and may want to make it again. Raises `NoAnswer`, `OracleFailed` or
        `GuardError`; the machine has not moved.
        """
        history = turn.messages
        if history and history[-1].sender == self.name:
            move = Outgoing(Tag.TERM.value, history[-1].answer)
        else:
            move = await self._move(turn, table)
        row = table.sends(turn.state, move.tag, self._partner)
        if row is None:
            sends = (row.label for row in table.own_rows(turn.state))
            raise GuardError(
                f"{self.name} has {move.tag} to send in state {turn.state}, in which {table.name} "
                f"sends {', '.join(dict.fromkeys(sends)) or 'nothing'}"
            )
        return Decision(row, self._partner, move.answer, "", self.left())

    async def _move(self, turn: Turn, table: Automaton) -> Outgoing:
        question = Question(
            self.agent.query,
            self._instance,
            turn.context,
            turn.messages,
            (*self._earlier, *turn.others),
            self._session,
            categories=turn.categories,
            to=turn.to,
            overview=turn.overview,
        )
        while True:
            withdraw = self.relations.withdrawing()
            move = await self._next(question, turn, table)
            if self._reviews is None:
                return move
            review = partial(self._reviews.review, question, move.tag, move.answer)
            with self._clock_stopped():
                sends = await self._said(self.agent.respondent, review)
            if sends:
                return move
            for judgement in withdraw():
                if self._lessons is not None and judgement.relation == LEARN:
                    self.relations.note(judgement)  # a lesson is weighed once

    async def _next(self, question: Question, turn: Turn, table: Automaton) -> Outgoing:
        history, number = question.history, len(question.history) + 1
        before, asks = history[-2].answer if number > 2 else None, self._rules.asks_each_time
        if not asks and turn.current is not None:  # what it told others counts here too
            before = turn.current
        instead = self._instead.get(question.number)
        if instead is not None:  # what it is compared with, and what it sends: it does not LEARN
            turn = replace(turn, learns=False)
            before = before if asks else instead
        stands = instead or (None if asks and turn.learns else turn.current or before)
        fresh = await self._fresh(question, before) if stands is None else stands
        if number == 1:
            return Outgoing(Tag.INIT.value, fresh)
        if turn.settled and self._says_term(history):
            return Outgoing(Tag.TERM.value, fresh)
        return await self._answer(question, before or fresh, fresh, turn, table)

    async def _fresh(self, question: Question, before: Answer | None) -> Answer:
        """The answer that `question` is given now: anew, or as `before` where the gate refuses."""
        if self._lessons is None or not self._lessons.pending:
            return await self._ask(self._as_kept(question))
        with self._clock_stopped():
            answer, judgement = await self._lessons.settle(
                question, before, self.agent.respondent, self.agent.match, self._asked, self._teach
            )
        self.relations.note(judgement)
        return answer

    def _as_kept(self, question: Question) -> Question:
        return question if self._lessons is None else self._lessons.shown(question)

    async def _answer(
        self, question: Question, own: Answer, fresh: Answer, turn: Turn, table: Automaton
    ) -> Outgoing:
        received = question.history[-1]

        async def reconsider() -> Answer:
            if self._rules.asks_each_time:
                return fresh
            if not turn.learns:
                return own
            if self._lessons is not None:
                self._lessons.hear(received)
                return await self._fresh(question, own)
            self.learn(received)
            received_answer = received.answer
            self.relations.note_learning(received_answer.prediction, received_answer.explanation)
            return await self._ask(question)

        situation = Situation(
            rules=self._rules,
            agent=self.name,
            number=len(question.history) + 1,
            instance=self._instance,
            received=received,
            own=own,
            relations=self.relations,
            guards=turn.guards,
            learns=turn.learns or self._rules.asks_each_time,
            overview=turn.overview,
            _reconsider=reconsider,
        )
        valuation = await self._decide(situation)
        row = table.step(turn.state, DECIDE, valuation)
        if row.guard not in situation.allowed:
            raise GuardError(
                f"{row.guard} can hold in no case at message {situation.number}; "
                f"possible there: {', '.join(situation.allowed)}"
            )
        answer = await situation.pair(self._rules.carries(row.guard))
        if self._says_term(question.history, row.label):
            return Outgoing(Tag.TERM.value, answer)
        return Outgoing(row.label, answer)

    def _says_term(self, history: Sequence[Message], answer: str | None = None) -> bool:
        try:
            return self._rules.says_term(history, answer)
        except Exception as error:
            cause = f"the policy for TERM: {type(error).__name__}: {error}"
            raise OracleFailed(Outcome.BROKEN, cause, error) from error

    async def _decide(self, situation: Situation) -> Valuation:
        try:
            async with asyncio.timeout(self.agent.timeout) as self._clock.running:
                return await awaited(self.agent.guards.decide(situation))
        except TimeoutError as error:
            why = str(error) or f"no answer within {self.agent.timeout} s"
            cause = f"guards ({self.agent.guards.name}): {why}"
            raise OracleFailed(Outcome.LATE, cause) from error
        except (NoAnswer, OracleFailed, GuardError, *NOT_THEIRS):
            raise
        except Exception as error:
            cause = f"guards ({self.agent.guards.name}): {type(error).__name__}: {error}"
            fault = None if isinstance(error, PXPError) else error
            raise OracleFailed(Outcome.BROKEN, cause, fault) from error
        finally:
            self._clock.running = None

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """Stop the guards' clock while a question is asked that has a clock of its own."""
        clock = self._clock.running
        if clock is None or self.agent.timeout is None:
            yield
            return
        clock.reschedule(None)
        try:
            yield
        finally:
            clock.reschedule(asyncio.get_running_loop().time() + self.agent.timeout)

    async def _ask(self, question: Question) -> Answer:
        """ASK_AGENT, with the guards' clock stopped."""
        with self._clock_stopped():
            return await self._asked(self.agent.respondent, question)

    async def _asked(self, respondent: Respondent, question: Question) -> Answer:
        """ASK_AGENT: an answer that a message can carry, or `NoAnswer` or late."""
        answer = await self._said(respondent, partial(respondent.answer, question))
        problem = answer_problem(answer)
        if problem is None:
            return answer
        fault = None
        if not is_answer(answer):
            fault = WrongType(f"{respondent.name} returned {quoted(answer)}: {problem}")
        raise NoAnswer(f"{respondent.name}: {problem}", fault)

    async def _said(self, respondent: Respondent, ask: Callable[[], Awaitable[_T]]) -> _T:
        """What a respondent says; a fault in it is `NoAnswer` or late, with its cause."""
        return await answered(respondent.name, ask, self.agent.timeout, NoAnswer)
