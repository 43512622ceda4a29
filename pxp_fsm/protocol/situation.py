"""Guards, and the situation in which an agent must decide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Protocol, runtime_checkable

from pxp_fsm.automata.automaton import Valuation, one_hot
from pxp_fsm.errors import GuardError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import GUARDS, Guard
from pxp_fsm.protocol.messages import Answer, Instance, Message, Overview
from pxp_fsm.protocol.relations import Relations
from pxp_fsm.protocol.rules import MATCH, Role, Rules, derive


@dataclass
class Situation:
    """Agent `agent` must answer `received` with message `number` of the session.

    `own` is the pair that the received one is compared with (y'', e''): one's latest message, or
    for message 2 the fresh answer. `guards` are the names to be decided, exactly one of them true.
    Where it may not LEARN (`learns`), it keeps its pair, so that PXP's REV does not hold. Of a
    session of several agents `number` is that in their channel, and `overview` has all of it.
    """

    rules: Rules
    agent: str
    number: int
    instance: Instance
    received: Message
    own: Answer
    relations: Relations
    guards: tuple[str, ...]
    learns: bool = field(default=True, kw_only=True)
    overview: Overview | None = field(default=None, kw_only=True, repr=False)
    _reconsider: Callable[[], Awaitable[Answer]] = field(repr=False)
    _revised: Answer | None = field(default=None, repr=False)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The guards that some outcome of MATCH, AGREE and revision makes true here."""
        possible = self.rules.allowed(self.number)
        kept = [guard for guard in self.guards if self.learns or guard != Guard.REV]
        return tuple(guard for guard in kept if guard in possible)

    def choosing(self, guard: str) -> Valuation:
        """The valuation that makes `guard` alone true; `GuardError` where there is no such here."""
        if guard not in self.guards:
            raise GuardError(f"there is no guard {guard!r}; there are {', '.join(self.guards)}")
        return one_hot(guard, self.guards)

    async def revised(self) -> Answer:
        """The pair (y, e) that the agent would send if it revised; computed once.

        INTERACT: the answer already asked for. PXP: the agent LEARNs from the received message
        and answers again.
        """
        if self._revised is None:
            self._revised = await self._reconsider()
        return self._revised

    async def derived(self, *, revises: bool = True) -> Valuation:
        """The guards as the protocol's decision functions derive them from MATCH and AGREE.

        The relations are asked only as far as the guard depends on them. With `revises` false the
        agent never changes its answer: what would be REV is REF, and its first pair stands.
        """
        revises = revises and self.learns
        if not revises:
            self._revised = self.own
        answers: list[bool] = []
        while True:
            decision = derive(self.rules, self.number, answers, revises=revises)
            if isinstance(decision, Guard):
                return one_hot(decision, tuple(GUARDS))
            left, right = await self.pair(decision.left), await self.pair(decision.right)
            if decision.relation == MATCH:
                held = await self.relations.match(left.prediction, right.prediction)
            else:
                held = await self.relations.agree(left.explanation, right.explanation)
            answers.append(held)

    async def pair(self, role: Role) -> Answer:
        """The pair (y, e) with this role here; the new one is computed once."""
        if role is Role.NEW:
            return await self.revised()
        return self.own if role is Role.OWN else self.received.answer


@runtime_checkable
class Guards(Protocol):
    """What supplies the truth of the guards when an agent must answer."""

    @property
    def name(self) -> str:
        """What decides, as a session records it (`derived`, `direct`, `free`)."""

    @property
    def follows_relations(self) -> bool:
        """Whether they follow from MATCH and AGREE; where not, a session assumes nothing."""

    async def decide(self, situation: Situation) -> Valuation:
        """The truth of every guard of the situation's state; asked once per message."""


class Derived:
    """RAT, REF, REV and REJ by the protocol's decision functions.

    `revises=False` makes an oracle agent: its first answer is taken to be correct, so each of its
    messages carries it, whatever its respondent says later, and what would be REV is REF. Relations
    are asked only as far as the guard depends on them.

    >>> import pxp_fsm as pxp
    >>> pxp.Derived(revises=False).name
    'derived, never revises'
    """

    follows_relations = True

    def __init__(self, *, revises: bool = True) -> None:
        self._revises = revises

    @property
    def name(self) -> str:
        return "derived" if self._revises else "derived, never revises"

    async def decide(self, situation: Situation) -> Valuation:
        return await situation.derived(revises=self._revises)
