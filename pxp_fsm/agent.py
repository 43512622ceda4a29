"""A PEX agent: a respondent that predicts and explains, with its own relations and guards.

`Agent` lives as long as an experiment; `Participant` is the agent in one session, with a machine
and a memory of what it judged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pxp_fsm.automaton import DECIDE, Event, Valuation, sending
from pxp_fsm.decisions import Guard
from pxp_fsm.errors import GuardError, NoAnswer, PXPError, UsageError
from pxp_fsm.interfaces import Guards, Learner, Relation, Respondent
from pxp_fsm.machine import Machine
from pxp_fsm.messages import Answer, Instance, Message, Question, Tag, answer_problem
from pxp_fsm.relations import (
    OracleFailed,
    Outcome,
    Relations,
    overdue,
    stopped_from_outside,
)
from pxp_fsm.rules import Rules
from pxp_fsm.situation import Situation


@dataclass(frozen=True)
class Agent:
    """An agent `name` (`m`, `h`) that asks `respondent`, judges by its relations, and decides.

    `query` is q of ASK_AGENT. `memo` remembers judgements within a session (see `Relations`).
    `timeout`, in seconds, bounds each question to the respondent, the guards and the relations;
    None waits for ever.
    """

    name: str
    respondent: Respondent
    guards: Guards
    match: Relation
    agree: Relation
    query: str = ""
    memo: bool = True
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable():
            raise UsageError(
                f"an agent's name is printable text, at least one character: {self.name!r}"
            )
        if self.timeout is not None and not self.timeout > 0:
            raise UsageError(f"a timeout is a number of seconds above 0, or None: {self.timeout!r}")

    def describe(self) -> str:
        """What the agent is made of, as a session records it."""
        return (
            f"{self.respondent.name} guards={self.guards.name} "
            f"MATCH={self.match.name} AGREE={self.agree.name}"
        )


@dataclass(frozen=True, slots=True)
class Move:
    """What an agent does when it is its turn: the event, what its guards said, tag and answer."""

    event: Event
    valuation: Valuation | None
    tag: str
    answer: Answer


class Participant:
    """An agent in one session about one instance."""

    def __init__(self, agent: Agent, rules: Rules, instance: Instance) -> None:
        self.agent = agent
        self.machine = Machine(rules.automaton)
        self.relations = Relations(
            agent.match,
            agent.agree,
            memo=agent.memo,
            timeout=agent.timeout,
            around=self._clock_stopped,
        )
        self._clock: asyncio.Timeout | None = None
        self._rules = rules
        self._instance = instance

    def hear(self, message: Message) -> None:
        """Take in a message that has just been received; INTERACT learns from each."""
        if self._rules.asks_each_time:
            self.learn(message)

    def learn(self, message: Message) -> None:
        """LEARN, where the respondent can; whatever goes wrong in it is `NoAnswer`."""
        respondent = self.agent.respondent
        if not isinstance(respondent, Learner):
            return
        try:
            respondent.learn(self._instance, message)
        except PXPError as error:
            raise NoAnswer(f"{respondent.name} could not learn: {error}") from error
        except Exception as error:
            cause = f"{respondent.name} could not learn: {type(error).__name__}: {error}"
            raise NoAnswer(cause) from error

    def hang_up(self, latest: Message) -> Move:
        """TERM right after one's own `latest` message, with the same pair."""
        return Move(sending(Tag.TERM), None, Tag.TERM, latest.answer)

    async def move(self, history: Sequence[Message], context: tuple[str, ...]) -> Move:
        """The agent's next move after `history` (Procedure AGENT; for PXP with g').

        Raises `NoAnswer`, `OracleFailed` or `GuardError`; the machine has not moved.
        """
        number = len(history) + 1
        question = Question(self.agent.query, self._instance, context, tuple(history))
        if self._rules.asks_each_time or number <= 2:
            fresh = await self._ask(question)
        else:
            fresh = history[-2].answer
        if number == 1:
            return Move(sending(Tag.INIT), None, Tag.INIT, fresh)
        if self._says_term(history):
            return Move(sending(Tag.TERM), None, Tag.TERM, fresh)
        own = history[-2].answer if number > 2 else fresh
        return await self._answer(question, own, fresh)

    async def _answer(self, question: Question, own: Answer, fresh: Answer) -> Move:
        received = question.history[-1]

        async def reconsider() -> Answer:
            if self._rules.asks_each_time:
                return fresh
            self.learn(received)
            said = received.answer
            self.relations.note_learning(said.prediction, said.explanation)
            return await self._ask(question)

        situation = Situation(
            rules=self._rules,
            agent=self.agent.name,
            number=len(question.history) + 1,
            instance=self._instance,
            received=received,
            own=own,
            relations=self.relations,
            guards=self.machine.automaton.guards_of(self.machine.state),
            _reconsider=reconsider,
        )
        valuation = await self._decide(situation)
        row = self.machine.automaton.step(self.machine.state, DECIDE, valuation)
        if row.guard not in situation.allowed:
            raise GuardError(
                f"{row.guard} can hold in no case at message {situation.number}; "
                f"possible there: {', '.join(situation.allowed)}"
            )
        may_change = self._rules.asks_each_time or row.guard in (Guard.REF, Guard.REV)
        answer = await situation.revised() if may_change else own
        if self._says_term(question.history, row.label):
            return Move(sending(Tag.TERM), None, Tag.TERM, answer)
        return Move(DECIDE, valuation, row.label, answer)

    def _says_term(self, history: Sequence[Message], answer: str | None = None) -> bool:
        try:
            return self._rules.says_term(history, answer)
        except Exception as error:
            cause = f"the policy for TERM: {type(error).__name__}: {error}"
            raise OracleFailed(Outcome.BROKEN, cause) from error

    async def _decide(self, situation: Situation) -> Valuation:
        try:
            async with asyncio.timeout(self.agent.timeout) as self._clock:
                return await self.agent.guards.decide(situation)
        except TimeoutError as error:
            why = str(error) or f"no answer within {self.agent.timeout} s"
            cause = f"guards ({self.agent.guards.name}): {why}"
            raise OracleFailed(Outcome.LATE, cause) from error
        except (NoAnswer, OracleFailed, GuardError):
            raise
        except Exception as error:
            cause = f"guards ({self.agent.guards.name}): {type(error).__name__}: {error}"
            raise OracleFailed(Outcome.BROKEN, cause) from error
        finally:
            self._clock = None

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """Stop the guards' clock while a question is asked that has a clock of its own."""
        clock = self._clock
        if clock is None or self.agent.timeout is None:
            yield
            return
        clock.reschedule(None)
        try:
            yield
        finally:
            clock.reschedule(asyncio.get_running_loop().time() + self.agent.timeout)

    async def _ask(self, question: Question) -> Answer:
        """ASK_AGENT; whatever goes wrong in a respondent is `NoAnswer` or late, with its cause."""
        respondent, started = self.agent.respondent, time.perf_counter()
        try:
            with self._clock_stopped():
                async with asyncio.timeout(self.agent.timeout):
                    answer = await respondent.answer(question)
        except TimeoutError as error:
            why = str(error) or f"no answer within {self.agent.timeout} s"
            raise OracleFailed(Outcome.LATE, f"{respondent.name}: {why}") from error
        except asyncio.CancelledError as error:
            if stopped_from_outside():
                raise
            raise NoAnswer(f"{respondent.name}: it cancelled itself") from error
        except PXPError as error:
            raise NoAnswer(f"{respondent.name}: {error}") from error
        except Exception as error:
            raise NoAnswer(f"{respondent.name}: {type(error).__name__}: {error}") from error
        if overdue(started, self.agent.timeout):
            cause = f"{respondent.name}: it took longer than {self.agent.timeout} s"
            raise OracleFailed(Outcome.LATE, cause)
        problem = answer_problem(answer)
        if problem is not None:
            raise NoAnswer(f"{respondent.name}: {problem}")
        return answer
