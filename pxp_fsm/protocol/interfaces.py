"""The interfaces of a session: respondent, learner, reviewer.

Those of relations and of guards are beside what they speak of (`relations`, `situation`).
Everything here is a `Protocol`: whatever has these methods fits, and nothing is inherited.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pxp_fsm.protocol.messages import Answer, Instance, Message, Question


@runtime_checkable
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


@runtime_checkable
class Reviewer(Protocol):
    """A respondent that looks at its message once more before it is sent: a person."""

    async def review(self, question: Question, tag: str, answer: Answer) -> bool:
        """Whether to send it; otherwise the move is made again from the start.

        Such a respondent must not be a `Learner` too: it would learn the same message twice.
        """


@runtime_checkable
class CopyableLearner(Learner, Respondent, Protocol):
    """A learner that can be taught apart, to see what a lesson would do before it is kept."""

    def copy(self) -> CopyableLearner:
        """The same, with what it has learned; what it learns from then on, the first does not."""


@runtime_checkable
class Likelihood(Respondent, Protocol):
    """A respondent that knows how likely each of its answers is."""

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        """The natural logarithm of the probability of `prediction`: finite, and at most 0."""
