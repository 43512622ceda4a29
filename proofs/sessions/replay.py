"""Replay of a trace through the real machines: only traces that they reproduce are shown.

A trace says what MATCH and AGREE answered. Two running agents are given texts that realise its
states, and relations that answer just that for just the pairs that are to be compared; a real
session must send the same tags and bring the machines to the same states.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from proofs.core.explore import Trace
from proofs.core.model import Model, Step
from proofs.core.results import NotReplayed
from proofs.sessions.model import SessionModel, State
from proofs.sessions.scripted import ScriptedSession
from pxp_fsm.protocol.messages import Message


def replay(model: SessionModel, trace: Trace[State]) -> tuple[Message, ...]:
    """The messages of a real session that takes `trace`.

    Raises `NotReplayed` where the machines do something else.
    """
    return asyncio.run(_replayed(model, trace))


async def _replayed(model: SessionModel, trace: Trace[State]) -> tuple[Message, ...]:
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


class Place(NamedTuple, Generic[S]):
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
