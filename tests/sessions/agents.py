"""Agents for tests: respondents, relations and guards of every temper, and a blackboard."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from guards import Derived, FunctionRelation
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, Assumption, Judgement, Outcome, Relation
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.protocol.situation import Guards, Situation
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session

X = Instance("x", "an instance")
EXACT = FunctionRelation("exact", lambda left, right: left == right, EQUIVALENCE)

T = TypeVar("T")


def now(work: Coroutine[Any, Any, T]) -> T:
    """What `work` comes to."""
    return asyncio.run(work)


@dataclass
class ListBoard:
    """A blackboard in memory; its next `failures` appends fail."""

    entries: list[Event] = field(default_factory=list)
    endings: list[tuple[str, str, str]] = field(default_factory=list)
    left: list[Judgement] = field(default_factory=list)
    failures: int = 0
    opened: str = ""

    def open(self, session: Session) -> None:
        self.opened = session.name

    def append(self, session: str, event: Event) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is full")
        self.entries.append(event)

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        self.endings.append((session, ending, cause))
        self.left.extend(judgements)


@dataclass
class Saying:
    """A respondent by a function of the question, which may do anything."""

    say: Callable[[Question], Any]
    name: str = "saying"
    asked: int = 0

    async def answer(self, question: Question) -> Answer:
        self.asked += 1
        answer: Answer = self.say(question)
        if isinstance(answer, Awaitable):
            answer = await answer
        return answer


@dataclass
class Student:
    """Answers by a digest of what it is asked, of `seed` and of all that it has learned."""

    seed: str
    values: int = 3
    learned: list[str] = field(default_factory=list)
    name: str = "student"

    def learn(self, instance: Instance, message: Message) -> None:
        self.learned.append(f"{instance.key} {message}")

    async def answer(self, question: Question) -> Answer:
        text = f"{self.seed} {self.learned} {question} {question.history}"
        one, two = hashlib.sha256(text.encode()).digest()[:2]
        return Answer(str(one % self.values), str(two % self.values))


@dataclass
class Asked:
    """A relation by a function of the pair; keeps every pair that it was asked about."""

    say: Callable[[str, str], Any]
    name: str = "asked"
    assumptions: frozenset[Assumption] = NOISY
    pairs: list[tuple[str, str]] = field(default_factory=list)

    async def holds(self, left: str, right: str) -> Outcome:
        self.pairs.append((left, right))
        outcome: Outcome = self.say(left, right)
        if isinstance(outcome, Awaitable):
            outcome = await outcome
        return outcome


@dataclass
class Deciding:
    """Guards by a function of the situation, which may do anything."""

    say: Callable[[Situation], Any]
    name: str = "deciding"
    follows_relations: bool = False

    async def decide(self, situation: Situation) -> Valuation:
        valuation: Valuation = self.say(situation)
        if isinstance(valuation, Awaitable):
            valuation = await valuation
        return valuation


class Choices:
    """Runs through every sequence of choices, by backtracking over the last that is not used up.

    Use: `for _ in choices.runs(): ...`, in which `choices.among(n)` is each of 0 to n-1 in turn.
    """

    def __init__(self) -> None:
        self._script: list[tuple[int, int]] = []
        self._place = 0

    def among(self, options: int) -> int:
        if self._place == len(self._script):
            self._script.append((0, options))
        chosen, out_of = self._script[self._place]
        assert out_of == options, "the same choices so far must lead to the same question"
        self._place += 1
        return chosen

    def runs(self) -> Iterator[None]:
        while True:
            self._place = 0
            yield
            while self._script and self._script[-1][0] == self._script[-1][1] - 1:
                self._script.pop()
            if not self._script:
                return
            chosen, out_of = self._script.pop()
            self._script.append((chosen + 1, out_of))


def yes_or_no(holds: bool | int) -> Outcome:
    return Outcome.YES if holds else Outcome.NO


def agent(
    respondent: Respondent | None = None,
    *,
    guards: Guards | None = None,
    match: Relation = EXACT,
    agree: Relation | None = None,
    memo: bool = True,
    timeout: float | None = None,
) -> Agent:
    """An agent that says nothing new, unless told otherwise."""
    return Agent(
        respondent or Saying(lambda _question: Answer("same", "same")),
        match=match,
        agree=match if agree is None else agree,
        guards=guards or Derived(),
        memo=memo,
        timeout=timeout,
    )


def channel_of(capacity: int) -> str:
    """The channel of two agents with that capacity."""
    return f"fifo:{capacity}" if capacity else "sync"


def session(
    m: Agent, h: Agent, rules: Rules, board: ListBoard | None = None, **more: Any
) -> Session:
    """A session s between `m`, who begins, and `h`, about X; faults are only recorded."""
    more = {"record_faults": True, **more}
    return Session(rules, {"m": m, "h": h}, instance=X, name="s", blackboard=board, **more)


def tags(of: Session) -> tuple[str, ...]:
    """The tags of the session so far."""
    return tuple(message.tag for message in of.history)


def run(m: Agent, h: Agent, rules: Rules, **more: Any) -> Session:
    """The session between `m` and `h`, at its end."""
    ran = session(m, h, rules, **more)
    now(ran.run())
    return ran
