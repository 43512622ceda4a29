"""The small interfaces that other rooms fill: respondent, learner, relation, guards, blackboard.

Everything here is a `Protocol`: whatever has these methods fits, and nothing is inherited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pxp_fsm.messages import Answer, Instance, Message, Question

if TYPE_CHECKING:
    from pxp_fsm.automaton import Valuation
    from pxp_fsm.relations import Assumption, Judgement, Outcome
    from pxp_fsm.situation import Situation


class Respondent(Protocol):
    """What an agent asks for its predictions and explanations: a model, a database, a person."""

    @property
    def name(self) -> str:
        """What it is, as a session records it (`retrosynthesis`, `database`)."""

    async def answer(self, question: Question) -> Answer:
        """Its prediction and explanation (ASK_AGENT); raises `NoAnswer` where it has none."""


@runtime_checkable
class Learner(Protocol):
    """A respondent that learns from what the other agent sends (LEARN)."""

    def learn(self, instance: Instance, message: Message) -> None:
        """Take in `message`, which the other agent sent about `instance`.

        Must depend on what was learned before and on the arguments alone: an interrupted run is
        resumed by learning the stored messages again.
        """


class Relation(Protocol):
    """MATCH or AGREE of one agent: whether two texts count as the same for it."""

    @property
    def name(self) -> str:
        """What it compares by, as a session records it (`chemistry`, `exact`)."""

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """What is true of every answer it gives; empty for a judge that may say anything."""

    async def holds(self, left: str, right: str) -> Outcome:
        """Whether the relation holds of the ordered pair; raises where it cannot be decided."""


class Guards(Protocol):
    """What supplies the truth of the guards when an agent must answer."""

    @property
    def name(self) -> str:
        """What decides, as a session records it (`derived`, `direct`, `free`)."""

    async def decide(self, situation: Situation) -> Valuation:
        """The truth of every guard of the situation's state; asked once per message."""


class Blackboard(Protocol):
    """Where a session's messages go, one transaction each."""

    def append(self, message: Message, context: str, judgements: Sequence[Judgement]) -> None:
        """Store `message`, what it adds to the context, and what was judged to arrive at it.

        All of it or nothing. Raises `BlackboardError`.
        """

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how the session ended, and why; `judgements` led to no message.

        Closing a session again with the same ending changes nothing.
        """
