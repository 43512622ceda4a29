"""Replay of a trace through the real machines: only traces that they reproduce are shown.

A trace says what MATCH and AGREE answered; two running agents are given oracles that answer just
that, in the order in which agents with derived guards ask, and a real session must send the same
tags and bring the machines to the same states.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from proofs.core.actions import Say
from proofs.core.explore import Trace
from proofs.core.model import Model, Step
from proofs.sessions.model import AGENTS, SessionModel, State, speaker_of, tag_of
from pxp_fsm.errors import PXPError
from pxp_fsm.protocol.messages import Answer, Message, Question, Tag
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome
from pxp_fsm.protocol.rules import Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session


class NotReplayed(PXPError):
    """The real machines do not do what a trace says: the model or the machines are wrong."""


class _Scripted:
    """A relation that gives the answers of a trace, in order."""

    name = "trace"
    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, answers: Iterable[bool]) -> None:
        self._answers = iter(tuple(answers))

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if next(self._answers) else Outcome.NO


class _Numbered:
    """A respondent whose every answer is new."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._number = 0

    async def answer(self, question: Question) -> Answer:
        self._number += 1
        return Answer(f"y{self._number} of {self.name}", f"e{self._number} of {self.name}")


def replay(model: SessionModel, trace: Trace[State]) -> tuple[Message, ...]:
    """The messages of a real session that takes `trace`.

    Raises `NotReplayed` where the machines do something else.
    """
    members = {
        name: Agent(
            _Numbered(name),
            match=_Scripted(_answers(trace, name, 0)),
            agree=_Scripted(_answers(trace, name, 1)),
            memo=False,
        )
        for name in AGENTS
    }
    session = Session(_rules(model.rules, trace), members, instance="x", record_faults=True)
    for step in trace.steps:
        sent = asyncio.run(session.step())
        got = Say(sent.sender, sent.tag) if sent else f"nothing ({session.cause})"
        states = tuple(session.states.values())
        if got != step.action or states != step.target.at:
            raise NotReplayed(
                f"after {len(session.history)} messages the model says {step.label} and states "
                f"{step.target.at}, the machines {got} and {states}"
            )
    return session.history


def _answers(trace: Trace[State], agent: str, relation: int) -> Iterable[bool]:
    """What MATCH (0) or AGREE (1) of `agent` answered: facts alternate between the two."""
    for step in trace.steps:
        if AGENTS[speaker_of(step)] == agent:
            yield from step.facts[relation::2]


def _rules(rules: Rules, trace: Trace[State]) -> Rules:
    """The model leaves PXP's TERM open; the trace says when an agent chose it."""
    if not isinstance(rules, Pxp):
        return rules
    chosen = iter([_chooses_term(step) for step in trace.steps[1:]])
    return replace(rules, term=lambda _received, _own: next(chosen, False))


def _chooses_term(step: Step[State]) -> bool:
    return tag_of(step) == Tag.TERM and not step.facts


S = TypeVar("S", bound=Hashable)


class Place(NamedTuple, Generic[S]):
    """A state of the model, and how many actions of the word have been followed to it."""

    state: S
    followed: int


@dataclass(frozen=True)
class Following(Generic[S]):
    """`model`, restricted to runs that begin with `word`; `complete` runs end with it too."""

    model: Model[S]
    word: tuple[Hashable, ...]

    @property
    def name(self) -> str:
        return f"{self.model.name} along {' '.join(map(str, self.word))}"

    def initial(self) -> Iterable[Place[S]]:
        return (Place(state, 0) for state in self.model.initial())

    def successors(self, place: Place[S]) -> Iterator[Step[Place[S]]]:
        if place.followed == len(self.word):
            return
        for step in self.model.successors(place.state):
            if step.action == self.word[place.followed]:
                yield Step(step.action, Place(step.target, place.followed + 1), step.facts)

    def propositions(self, place: Place[S]) -> frozenset[str]:
        return self.model.propositions(place.state)
