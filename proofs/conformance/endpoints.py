"""An agent at one end of a channel, driven from outside, for any table or for a session's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pxp_fsm.automata.automaton import Automaton, Event, Valuation, sending
from pxp_fsm.errors import GuardError, NotEnabled, UsageError
from pxp_fsm.protocol.decisions import GUARDS
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent, Participant
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.session import update_context

Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Carries a coroutine to its end; `asyncio.run`, or the `run` of a runner that is kept."""

NOTHING = Answer("", "")


@dataclass(frozen=True, slots=True)
class Act:
    """What an agent does at an event: the action, as at a table's arrow, and what it says."""

    action: str
    answer: Answer = NOTHING


class End(Protocol):
    """An agent at a channel. The channel moves its machine; the agent says what it would do."""

    @property
    def name(self) -> str:
        """What it is called on the channel."""

    @property
    def machine(self) -> Machine:
        """The machine that the channel moves."""

    def act(self, event: Event, valuation: Valuation | None) -> Act:
        """What it does when `event` is due; raises an error of this package to refuse.

        It does not move its machine. `valuation` is what its guards say, where they decide.
        """

    def carried(self, message: Message) -> None:
        """A `message` of its own has been sent, or one of the other agent has come."""


Build = Callable[[str, Automaton], End]
"""Makes an agent of a name, for a table, at the beginning of a session."""


class TableEnd:
    """An agent that does what its machine's table says; `build` makes the machine."""

    def __init__(
        self, name: str, automaton: Automaton, build: Callable[[Automaton], Machine] = Machine
    ) -> None:
        self.name = name
        self.machine = build(automaton)

    def act(self, event: Event, valuation: Valuation | None) -> Act:
        return Act(self.machine.automaton.step(self.machine.state, event, valuation).action)

    def carried(self, message: Message) -> None:
        """Nothing is kept: the table is all that it goes by."""


@dataclass
class _Driver:
    """Guards and policy for TERM that say what they are told to."""

    name: str = "driven"
    follows_relations: bool = False
    valuation: Valuation | None = None
    hangs_up: bool = False

    async def decide(self, situation: Situation) -> Valuation:
        if self.valuation is None:
            raise GuardError("nothing is to be decided at this event")
        return self.valuation

    def term(self, _received: str, _own: str) -> bool:
        return self.hangs_up


@dataclass(frozen=True)
class _Mute:
    """A respondent and a relation that have nothing to say."""

    name: str = "mute"
    assumptions: frozenset[Assumption] = field(default=NOISY)

    async def answer(self, _question: Question) -> Answer:
        return NOTHING

    async def holds(self, _left: str, _right: str) -> Outcome:
        return Outcome.NO


class AgentEnd:
    """An agent of INTERACT or PXP as a session runs it: `Participant.move`, its rules, its machine.

    What its guards say and whether it sends TERM is driven from outside; j and k are not in the way
    (k = 1, no bound). `agent` gives respondent and relations, by default ones that say nothing.
    Raises `UsageError` for a table that is not of these two protocols.
    """

    def __init__(
        self, name: str, automaton: Automaton, agent: Agent | None = None, run: Run = asyncio.run
    ) -> None:
        tags = {t.label for t in automaton.transitions}
        if not set(automaton.guards) <= set(GUARDS) or Tag.INIT not in tags:
            raise UsageError(
                f"{automaton.name} is not a table of INTERACT or PXP, which agents of a session "
                f"follow; take its machine (TableEnd)"
            )
        self._driver = _Driver()
        mute = _Mute()
        made = agent or Agent(mute, match=mute, agree=mute)
        self._participant = Participant(
            name,
            replace(made, guards=self._driver),
            self._rules(automaton, Tag.TERM in tags),
            Instance("x", ""),
        )
        self._history: tuple[Message, ...] = ()
        self._run = run

    def _rules(self, automaton: Automaton, term: bool) -> Rules:
        if term:
            return Pxp(term=self._driver.term, hang_up=self._driver.term, table=automaton)
        return Interact(n=10**9, k=1, table=automaton)

    @property
    def name(self) -> str:
        return self._participant.name

    @property
    def machine(self) -> Machine:
        return self._participant.machine

    def act(self, event: Event, valuation: Valuation | None) -> Act:
        self._driver.valuation = valuation
        self._driver.hangs_up = event == sending(Tag.TERM)
        if self._history and self._history[-1].sender == self.name:
            move = self._participant.hang_up(self._history[-1])
        else:
            context = tuple(map(update_context, self._history))
            move = self._run(self._participant.move(self._history, context))
        row = self.machine.automaton.sends(self.machine.state, move.tag)
        does = sending(move.tag) if row is None else row.event
        if does != event:
            raise NotEnabled(f"the agent's move is {does}, not {event}")
        return Act(f"+{move.tag}", move.answer)

    def carried(self, message: Message) -> None:
        self._history = (*self._history, message)
        if message.receiver == self.name:
            self._participant.hear(message, last=False)
