"""One session: two agents, one instance, one channel; sequential, resumable at any message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from pxp_fsm import defaults
from pxp_fsm.errors import (
    GuardError,
    NoAnswer,
    Refused,
    SessionFailed,
    UsageError,
    WrongType,
    quoted,
)
from pxp_fsm.protocol.interfaces import Blackboard
from pxp_fsm.protocol.messages import Episode, Instance, Message, Tag, storable, text_problem
from pxp_fsm.protocol.relations import (
    Assumption,
    Judgement,
    OracleFailed,
    Outcome,
    session_assumptions,
)
from pxp_fsm.protocol.rules import AGREE, FAULTS, MATCH, Ending, Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Agent, Members, Outgoing, Participant
from pxp_fsm.sessions.channel import Channel
from pxp_fsm.sessions.functions import checked_name, ending_of, waited_for


def _number(members: object) -> str:
    return str(len(members)) if isinstance(members, Mapping) else quoted(members)


CLOSE = "CLOSE"
"""The event by which INTERACT's schedule closes a session."""


@runtime_checkable
class Registry(Protocol):
    """A blackboard that has to know of a session before its first message."""

    def register(self, session: Session) -> None:
        """Record `session`, its agents and its instance, unless that was done already."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored message with what it added to the context and what was judged to arrive at it."""

    message: Message
    context: str
    judgements: tuple[Judgement, ...]


ContextFunction = Callable[[Instance, Message, tuple[str, ...]], str]
"""UPDATE_CONTEXT: from the instance, message j and C_(j-1), what message j adds to the context."""


def update_context(message: Message) -> str:
    """UPDATE_CONTEXT where none is given: C is derived from M, as JSON.

    It refers to the message; the texts are in the message table (`Question.history`) and are not
    repeated.
    """
    return json.dumps({"number": message.number, "sender": message.sender, "tag": message.tag})


class Session:
    """A session that follows `rules` between `members`, two agents by their names.

    The first of them begins (the machine m in the papers). `instance` is what it is about; a text
    is an instance that is its own key. `name` is the session's, as messages carry it.

    `limit` bounds the number of messages of a protocol that has no bound of its own; a session
    that reaches it has the ending `LIMIT`. `blackboard`, if given, receives each message in a
    transaction of its own, under the session's name; `on_message` is called after that. `earlier`
    is what each agent, by its name, carries in its context from sessions before. `update_context`
    says what each message adds to the context C; without it C is derived from the messages alone.

    What an agent's own code raises ends the session, and is raised again once that ending is
    stored. With `record_faults` it is only recorded, in `cause` and `fault`, as where one run has
    many sessions. `NoAnswer` and a late oracle are endings like others.

    >>> import pxp_fsm as pxp
    >>> def whale(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.normalised_text)
    >>> members = {"m": agent, "h": agent}
    >>> session = pxp.Session(pxp.Interact(n=10, k=3), members, instance="What is a whale?")
    >>> print(session.run_sync().ending)
    ratified
    >>> [message.tag for message in session.history]
    ['INIT', 'RATIFY', 'RATIFY']
    """

    def __init__(
        self,
        rules: Rules,
        members: Members,
        *,
        instance: Instance | str,
        name: str = defaults.SESSION,
        blackboard: Blackboard | None = None,
        capacity: int = 0,
        limit: int = defaults.LIMIT,
        on_message: Callable[[Message], None] | None = None,
        earlier: Mapping[str, tuple[Episode, ...]] = MappingProxyType({}),
        record_faults: bool = False,
        update_context: ContextFunction | None = None,
    ) -> None:
        if not isinstance(rules, Interact | Pxp):
            raise UsageError(
                f"a session follows Interact or Pxp, or is of a System of other tables "
                f"(System.load), not {quoted(rules)}"
            )
        if not isinstance(members, Mapping) or len(members) != 2:
            raise UsageError(
                f'a session has two agents by their names, {{"m": ..., "h": ...}}; '
                f"it was given {_number(members)}"
            )
        if limit < 1:
            raise UsageError(f"a session's limit must be at least 1 message, not {limit}")
        self.name = checked_name("a session's", name)
        self.instance = Instance(instance, instance) if isinstance(instance, str) else instance
        self.rules = rules
        self.history: tuple[Message, ...] = ()
        self.context: tuple[str, ...] = ()
        self.categories: tuple[str, ...] = ()
        self.ending: Ending | None = None
        self.cause = ""
        self.fault: Exception | None = None
        self._blackboard = blackboard
        self._limit = limit
        self._on_message = on_message
        self._record_faults = record_faults
        self._update_context = update_context
        for each, agent in members.items():
            if not isinstance(agent, Agent):
                raise UsageError(
                    f"{quoted(each)} must be a pxp.Agent(respondent, match=..., agree=...), "
                    f"not {quoted(agent)}"
                )
        self._participants = tuple(
            Participant(each, agent, rules, self.instance, earlier.get(each, ()), session=name)
            for each, agent in members.items()
        )
        self._channel = Channel(name, {p.name: p.machine for p in self._participants}, capacity)

    def __repr__(self) -> str:
        names = " and ".join(p.name for p in self._participants)
        state = "not over" if self.ending is None else self.ending.value
        if self.ending in FAULTS:
            state += f": {self.cause}"
        return (
            f"<Session {self.name}: {self.rules.name} between {names}, "
            f"{len(self.history)} messages, {state}>"
        )

    @property
    def agents(self) -> Members:
        """The agents of the session by their names; the first begins."""
        return {p.name: p.agent for p in self._participants}

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """The assumptions on MATCH and AGREE under which this session runs."""
        left, right = self._participants
        if not (left.agent.guards.follows_relations and right.agent.guards.follows_relations):
            return frozenset()
        return session_assumptions(left.relations, right.relations)

    def episodes(self) -> dict[str, Episode]:
        """What each agent, by its name, may carry in its context to later sessions."""
        said = self.history, self.context, self.categories
        return {p.name: p.episode(*said) for p in self._participants}

    @property
    def states(self) -> dict[str, str]:
        """The present state of each agent's machine."""
        return {p.name: p.machine.state for p in self._participants}

    async def run(self) -> Session:
        """Carry the session to its end, and return it; its `ending` says why it is over."""
        while self.ending is None:
            await self.step()
        return self

    def run_sync(self) -> Session:
        """The same for a caller that is not async; in a notebook, beside its running loop."""
        return waited_for(self.run())

    async def step(self) -> Message | None:
        """The next message; None where the session ended without one (no answer, a late oracle).

        Raises what an agent's own code has raised.
        """
        if self.ending is not None:
            raise UsageError(f"session {self.name} has ended ({self.ending.value})")
        if not self.history and isinstance(self._blackboard, Registry):
            self._blackboard.register(self)
        speaker, listener = self._turn()
        self._deliver()
        move = None
        try:
            move = await self._move(speaker)
        except (NoAnswer, OracleFailed, GuardError) as error:
            self._fail(error)
        if move is None:
            self._raise_fault()
            return None
        number, (tag, answer) = len(self.history) + 1, move
        message = Message(self.name, number, speaker.name, tag, answer, listener.name)
        context = self._added(message)
        judgements = speaker.relations.take_log()

        def store(carried: Message) -> None:
            if self._blackboard is not None:
                self._blackboard.append(carried, context, judgements)

        self._channel.carry(message, None, store)
        self._sent(Entry(message, context, judgements), listener)
        if self._on_message is not None:
            self._on_message(message)
        self._raise_fault()
        return message

    def replay(self, entries: Sequence[Entry], closing: Sequence[Judgement] = ()) -> None:
        """Rebuild the machines, memories and what was learned from stored messages.

        `closing` is what was judged and learned for a message that was never sent, because a fault
        ended the session. Raises `Refused` where a stored message is not one that the automata and
        the rules allow.
        """
        for entry in entries:
            speaker, listener = self._turn(entry.message)
            self._deliver()
            self._check_stored(entry, speaker)
            if self.history:
                speaker.learn_again(self.history[-1], entry.judgements)
            speaker.relations.remember(entry.judgements)
            self._channel.carry(entry.message)
            self._sent(entry, listener)
            self._raise_fault()
        if closing and self.history:
            self._turn()[0].learn_again(self.history[-1], closing)

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes the session back to where it is now: for trying each continuation.

        What is stored stays stored, and what respondents have learned or weighed stays learned.
        """
        kept = self.history, self.context, self.categories, self.ending, self.cause, self.fault
        back: list[Callable[[], object]] = [p.relations.withdrawing() for p in self._participants]
        back.append(self._channel.withdrawing())

        def withdraw() -> None:
            self.history, self.context, self.categories = kept[:3]
            self.ending, self.cause, self.fault = kept[3:]
            for one in back:
                one()

        return withdraw

    def _added(self, message: Message) -> str:
        """What `message` adds to the context; what a user's function raises is raised."""
        if self._update_context is None:
            return update_context(message)
        added = self._update_context(self.instance, message, self.context)
        if not isinstance(added, str) or text_problem(added) is not None:
            raise WrongType(f"UPDATE_CONTEXT returned {quoted(added)}, not a text to be stored")
        return added

    def _check_stored(self, entry: Entry, speaker: Participant) -> None:
        """What a channel cannot know: j and k, who starts, that the session goes on."""
        message = entry.message
        where = f"stored message {message.number} of {self.name} ({message.tag})"
        if self.ending is not None:
            raise Refused(f"{where}: the session had ended before it ({self.ending.value})")
        if not self.history and speaker is not self._participants[0]:
            raise Refused(f"{where}: {self._participants[0].name} starts, not {message.sender}")
        row = speaker.machine.automaton.sends(speaker.machine.state, message.tag, message.receiver)
        if row is None or row.guard is None:
            return
        allowed = self.rules.allowed(message.number)
        if row.guard not in allowed:
            raise Refused(
                f"{where}: {row.guard} can hold in no case at this message; "
                f"possible there: {', '.join(allowed)}"
            )

    def _turn(self, message: Message | None = None) -> tuple[Participant, Participant]:
        """Who sends the next message and who receives it: the two alternate.

        An agent that hangs up speaks twice. A stored `message` says itself who sent it.
        """
        first, second = self._participants
        if message is not None:
            speaks_first = message.sender == first.name
        else:
            speaks_first = self.rules.functions.initiator_speaks(len(self.history) + 1)
            if self.rules.hangs_up(self.history):
                speaks_first = not speaks_first
        return (first, second) if speaks_first else (second, first)

    def _deliver(self) -> None:
        """Move each agent by what is on its way to it; one who hangs up leaves two messages."""
        for participant in self._participants:
            self._channel.deliver(participant.name)

    async def _move(self, speaker: Participant) -> Outgoing:
        if self.history and self.history[-1].sender == speaker.name:
            return speaker.hang_up(self.history[-1])
        return await speaker.move(self.history, self.context, self.categories)

    def _sent(self, entry: Entry, listener: Participant) -> None:
        """Note a message that was carried; the listener hears it; the schedule may close."""
        message = entry.message
        self.history = (*self.history, message)
        self.context = (*self.context, entry.context)
        self.categories = (*self.categories, _category(self.rules, entry.judgements))
        ending = self.rules.ending(self.history)
        if ending is not None:
            self._deliver()
            self._close(ending)
        try:
            listener.hear(message, last=ending is not None)
        except NoAnswer as error:
            self.fault = error.fault
            if ending is None:
                self._fail(error)
            return
        if ending is None and self.rules.n is None and len(self.history) >= self._limit:
            self._end(Ending.LIMIT, f"stopped after {self._limit} messages")

    def _close(self, ending: Ending) -> None:
        """End the session; machines that TERM has not brought to their end, the schedule does."""
        self._channel.close(CLOSE)
        tags = " ".join(message.tag for message in self.history[-2:])
        causes = {
            Ending.BOUND: f"the bound of {self.rules.n} messages",
            Ending.TERM: f"{Tag.TERM} by {self.history[-1].sender}",
        }
        self._end(ending, causes.get(ending, tags))

    def _fail(self, error: NoAnswer | OracleFailed | GuardError) -> None:
        self.fault = error.fault if isinstance(error, SessionFailed) else None
        self._end(ending_of(error), str(error))

    def _raise_fault(self) -> None:
        """Raise what an agent's own code raised, with its traceback; the ending is stored."""
        if self.fault is not None and not self._record_faults:
            raise self.fault

    def _end(self, ending: Ending, cause: str) -> None:
        self.ending, self.cause = ending, storable(cause)
        if self._blackboard is not None:
            left = tuple(j for p in self._participants for j in p.relations.take_log())
            self._blackboard.close(self.name, ending.value, self.cause, left)


def _category(rules: Rules, judgements: Sequence[Judgement]) -> str:
    """What a received pair was found to be; empty where MATCH and AGREE were not judged."""
    first: dict[str, bool] = {}
    for judgement in judgements:
        first.setdefault(judgement.relation, judgement.outcome is Outcome.YES)
    if MATCH not in first or AGREE not in first:
        return ""
    return str(rules.functions.category(first[MATCH], first[AGREE]))
