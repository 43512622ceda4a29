"""An agent at one end of a channel, driven from outside, for any table or for a session's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import field, replace
from typing import Any, Protocol

from pxp_fsm.automata.actions import Deliver, Exchange, Send
from pxp_fsm.automata.automaton import DECIDE, Automaton, Trigger, Valuation, sending
from pxp_fsm.automata.channels import Channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.errors import GuardError, NotEnabled, PXPError, Refused, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import GUARDS
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.actors import Turn
from pxp_fsm.sessions.agent import Agent, Seat
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.policy import update_context

Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Carries a coroutine to its end; `asyncio.run`, or the `run` of a runner that is kept."""

NOTHING = Answer("", "")


@dataclass(frozen=True, slots=True)
class EndpointAct:
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

    def act(self, event: Trigger, valuation: Valuation | None) -> EndpointAct:
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

    def act(self, event: Trigger, valuation: Valuation | None) -> EndpointAct:
        return EndpointAct(self.machine.automaton.step(self.machine.state, event, valuation).action)

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
    """An agent of INTERACT or PXP as a session runs it: `Seat.decide`, its rules, its machine.

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
        self.machine = Machine(automaton)
        self._instance = Instance("x", "")
        self._seat = Seat(
            name,
            replace(made, guards=self._driver),
            self._rules(automaton, Tag.TERM in tags),
            self._instance,
        )
        self._history: tuple[Message, ...] = ()
        self._run = run

    def _rules(self, automaton: Automaton, term: bool) -> Rules:
        if term:
            return Pxp(term=self._driver.term, hang_up=self._driver.term, table=automaton)
        return Interact(n=10**9, k=1, table=automaton)

    @property
    def name(self) -> str:
        return self._seat.name

    def act(self, event: Trigger, valuation: Valuation | None) -> EndpointAct:
        self._driver.valuation = valuation
        self._driver.hangs_up = event == sending(Tag.TERM)
        table, state = self.machine.automaton, self.machine.state
        context = tuple(map(update_context, self._history))
        guards, known = table.guards_of(state), self._history
        turn = Turn("", self._instance, self.name, state, guards, (), known, context=context)
        decision = self._run(self._seat.decide(turn, table))
        does = decision.row.trigger
        if does != event:
            raise NotEnabled(f"the agent's move is {does}, not {event}")
        payload = decision.payload
        return EndpointAct(
            f"+{decision.row.label}", payload if isinstance(payload, Answer) else NOTHING
        )

    def carried(self, message: Message) -> None:
        self._history = (*self._history, message)
        if message.receiver == self.name:
            self._seat.hear(message, last=False)


class Connection:
    """The machines of two ends as they run in a session: what is sent moves them, or is refused.

    With a capacity it is a bounded FIFO queue each way. Raises `TableError` where one of them sends
    what the other receives in no state.
    """

    def __init__(self, ends: Mapping[str, Machine], capacity: int = 0) -> None:
        members = tuple(Member(name, end.automaton) for name, end in ends.items())
        self._live = LiveSystem(System(members, Channel(capacity), free_names=True), ends)

    def carry(self, message: Message, valuation: Valuation | None = None) -> None:
        """Move the machines by `message`; `valuation` is what the sender's guards said.

        Raises `Refused` where the tables do not allow it, or the guards say something else.
        """
        sender, receiver, tag = message.sender, message.receiver, message.tag
        machine = self._live.machines[sender]
        row = machine.automaton.sends(machine.state, tag, receiver)
        if row is not None and row.guard is not None and valuation is not None:
            try:
                decided = machine.automaton.step(machine.state, DECIDE, valuation)
            except PXPError as error:
                raise Refused(f"{tag} was refused: {error}") from error
            if decided != row:
                raise Refused(f"{tag} was refused: the guards of {sender} say {decided.label}")
        synchronous = self._live.system.channel.synchronous
        self._live.take((Exchange if synchronous else Send)(sender, receiver, tag), message)

    def deliver(self, name: str) -> Message | None:
        """Move `name` by the oldest message on its way to it; None if there is none.

        Raises `Refused` where it cannot take it (an unspecified reception).
        """
        (sender,) = (other for other in self._live.machines if other != name)
        messages = self._live.messages.get((sender, name))
        if not messages:
            return None
        message = messages[0]
        self._live.take(Deliver(sender, name, message.tag), message)
        return message
