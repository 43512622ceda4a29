"""A session of INTERACT or PXP between two agents, by itself: the naive second implementation.

It knows two agents, whose turn it is and one channel, and nothing of systems and policies. The
session that runs is compared with it (`tests/sessions/test_two_party.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from types import MappingProxyType
from typing import NoReturn, TypeVar

from pxp_fsm import defaults
from pxp_fsm.automata.actions import Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import DECIDE, Automaton, Valuation, happening
from pxp_fsm.automata.channels import Channel as Behaviour
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.errors import (
    NOT_THEIRS,
    GuardError,
    NoAnswer,
    PXPError,
    Refused,
    SessionFailed,
    UsageError,
    WrongType,
    quoted,
)
from pxp_fsm.protocol.decisions import category
from pxp_fsm.protocol.interfaces import Learner, Respondent, Reviewer
from pxp_fsm.protocol.messages import (
    Answer,
    Episode,
    Instance,
    Message,
    Question,
    Tag,
    answer_problem,
    is_answer,
    storable,
    text_problem,
)
from pxp_fsm.protocol.relations import (
    LEARN,
    Assumption,
    Judgement,
    OracleFailed,
    Outcome,
    Relations,
    awaited,
    session_assumptions,
)
from pxp_fsm.protocol.rules import AGREE, FAULTS, MATCH, Ending, Interact, Pxp, Rules
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent, Members, Outgoing
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.functions import answered, checked_name, ending_of, waited_for
from pxp_fsm.sessions.learning import Lessons
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.policy import CLOSE, ContextFunction, update_context
from pxp_fsm.sessions.session import Store

_T = TypeVar("_T")
StoreMessage = Callable[[Message], None]


class Channel:
    """Connects the machines of two named agents in one session.

    `ends` maps each agent's name to its machine. Raises `TableError` where one of them sends what
    the other receives in no state, `UsageError` where there are not two.
    """

    def __init__(self, session: str, ends: Mapping[str, Machine], capacity: int = 0) -> None:
        if len(ends) != 2:
            raise UsageError(f"a channel joins two agents of different names, not {len(ends)}")
        self.session = session
        pair = _pair(tuple((name, end.automaton) for name, end in ends.items()), capacity)
        self._live = LiveSystem(pair, ends)
        self._sent = 0

    def carry(
        self,
        message: Message,
        valuation: Valuation | None = None,
        store: StoreMessage | None = None,
    ) -> None:
        """Check `message`, `store` it, and only then move the machines.

        `valuation` is what the sender's guards said; without one (a message from outside, or a
        replay) the guard of the row that sends the tag counts as the true one.

        Raises `Refused`, with the reason, for anything the session or the two automata do not
        allow; and whatever `store` raises. In either case nothing has moved.
        """
        self._check_envelope(message)
        sender, tag, receiver = message.sender, message.tag, message.receiver
        meets = self._live.system.channel.synchronous
        action = Exchange(sender, receiver, tag) if meets else Send(sender, receiver, tag)
        if valuation is not None:
            self._check_guards(message, valuation)
        storing = None if store is None else partial(store, message)
        self._live.take(action, message, storing, partial(_called, message))
        self._sent += 1

    def deliver(self, name: str) -> Message | None:
        """Move the receiver `name` by the oldest message on its way to it; None if there is none.

        Raises `Refused` where the receiver cannot take it (an unspecified reception).
        """
        if name not in self._live.machines:
            there = ", ".join(self._live.machines)
            raise UsageError(f"there is no agent {name!r} here; there are {there}")
        (sender,) = (other for other in self._live.machines if other != name)
        messages = self._live.messages.get((sender, name))
        if not messages:
            return None
        message = messages[0]
        what = partial(_called, message)
        self._live.take(Deliver(sender, name, message.tag), message, None, what)
        return message

    def close(self, event: str) -> None:
        """Let the event from outside bring both agents to their end, where TERM has not.

        Raises `NotEnabled`, and moves neither, where one of them has no row for it.
        """
        open_ends = [end for end in self._live.machines.values() if not end.ended]
        for end in open_ends:
            end.automaton.step(end.state, happening(event))
        if open_ends:
            self._live.take(External(event))

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes machines and messages back to where they are now."""
        sent, back = self._sent, self._live.withdrawing()

        def withdraw() -> None:
            self._sent = sent
            back()

        return withdraw

    def _check_guards(self, message: Message, valuation: Valuation) -> None:
        """Refuse a message of which the guards of a state that decides say something else."""
        machine = self._live.machines[message.sender]
        row = machine.automaton.sends(machine.state, message.tag, message.receiver)
        if row is None or row.guard is None:
            return
        try:
            decided = machine.automaton.step(machine.state, DECIDE, valuation)
        except PXPError as error:
            self._refuse(message, str(error))
        if decided != row:
            self._refuse(message, f"the guards of {message.sender} say {decided.label}")

    def _check_envelope(self, message: Message) -> None:
        """Everything about a message that no automaton is needed for."""
        names = self._live.machines
        if message.session != self.session:
            self._refuse(message, f"this channel belongs to session {self.session!r}")
        if type(message.number) is not int or message.number != self._sent + 1:
            self._refuse(message, f"the next message is number {self._sent + 1}")
        if not isinstance(message.sender, str) or message.sender not in names:
            self._refuse(message, f"the agents here are {', '.join(names)}")
        if message.receiver not in [name for name in names if name != message.sender]:
            self._refuse(message, "the receiver must be the other agent of this channel")
        problem = answer_problem(message.payload)
        if problem is not None:
            self._refuse(message, problem)
        if not isinstance(message.tag, str):
            self._refuse(message, "a tag is text")

    def _refuse(self, message: Message, reason: str) -> NoReturn:
        raise Refused(f"{_called(message)} was refused: {reason}")


@lru_cache(maxsize=128)
def _pair(ends: tuple[tuple[str, Automaton], ...], capacity: int) -> System:
    members = tuple(Member(*end) for end in ends)
    return System(members, Behaviour(capacity), free_names=True)


def _called(message: Message) -> str:
    return f"message {quoted(message.number)} ({quoted(message.tag)} from {quoted(message.sender)})"


class Participant:
    """The agent `name` in one session about one instance.

    `earlier` is what it is carried on from. Raises `UsageError` for a name that cannot be shown.
    `session` is the session's name, which is told to whoever is asked.
    """

    def __init__(
        self,
        name: str,
        agent: Agent,
        rules: Rules,
        instance: Instance,
        earlier: tuple[Episode, ...] = (),
        *,
        session: str = "",
    ) -> None:
        self.name = checked_name("an agent's", name)
        self.agent = agent
        self.machine = Machine(rules.automaton)
        self.relations = Relations(
            agent.match,
            agent.agree,
            memo=agent.memo,
            timeout=agent.timeout,
            around=self._clock_stopped,
            session=session,
        )
        self._clock: asyncio.Timeout | None = None
        self._rules = rules
        self._instance = instance
        self._session = session
        self._earlier = earlier
        self._learns = isinstance(agent.respondent, Learner)
        self._reviews = agent.respondent if isinstance(agent.respondent, Reviewer) else None
        self._lessons = None if agent.gate is None else Lessons(agent.gate, instance, earlier)

    def hear(self, message: Message, *, last: bool) -> None:
        """Take in a message that has just been received; INTERACT learns from each.

        `last` says that the session is over and nothing will be said in answer.
        """
        if not self._rules.asks_each_time:
            return
        if self._lessons is None or (last and self._lessons.keeps_unweighed):
            self.learn(message)
        else:
            self._lessons.hear(message)

    def learn(self, message: Message) -> None:
        """LEARN, where the respondent can; whatever goes wrong in it is `NoAnswer`."""
        if self._learns:
            self._teach(self.agent.respondent, message)

    def learn_again(self, received: Message, judgements: Sequence[Judgement]) -> None:
        """LEARN from `received` as the stored `judgements` on its answer say that it was."""
        for judgement in judgements:
            if judgement.relation != LEARN:
                continue
            if self._lessons is None or self._lessons.again(received, judgement):
                self.learn(received)

    def episode(
        self, history: Sequence[Message], context: Sequence[str], categories: Sequence[str]
    ) -> Episode:
        """What a later session's context holds of this one for the agent."""
        kept = tuple(history) if self._lessons is None else self._lessons.visible(history)
        added, found = (dict(zip(history, each, strict=True)) for each in (context, categories))
        return Episode(
            self._instance,
            kept,
            tuple(added[each] for each in kept),
            tuple(found[each] for each in kept),
        )

    def _teach(self, respondent: Respondent, message: Message) -> None:
        if not isinstance(respondent, Learner):
            return
        try:
            respondent.learn(self._instance, message)
        except NOT_THEIRS:
            raise
        except PXPError as error:
            raise NoAnswer(f"{respondent.name} could not learn: {error}") from error
        except Exception as error:
            cause = f"{respondent.name} could not learn: {type(error).__name__}: {error}"
            raise NoAnswer(cause, error) from error

    def hang_up(self, latest: Message) -> Outgoing:
        """TERM right after one's own `latest` message, with the same pair."""
        return Outgoing(Tag.TERM.value, latest.answer)

    async def move(
        self,
        history: Sequence[Message],
        context: tuple[str, ...],
        categories: tuple[str, ...] = (),
    ) -> Outgoing:
        """The agent's next move after `history` (Procedure AGENT; for PXP with g').

        A `Reviewer` sees it before it counts, and may want to make it again. Raises `NoAnswer`,
        `OracleFailed` or `GuardError`; the machine has not moved.
        """
        question = Question(
            self.agent.query,
            self._instance,
            context,
            tuple(history),
            self._earlier,
            self._session,
            categories=categories,
        )
        while True:
            withdraw = self.relations.withdrawing()
            move = await self._next(question)
            if self._reviews is None:
                return move
            review = partial(self._reviews.review, question, move.tag, move.answer)
            with self._clock_stopped():
                sends = await self._said(self.agent.respondent, review)
            if sends:
                return move
            for judgement in withdraw():
                if self._lessons is not None and judgement.relation == LEARN:
                    self.relations.note(judgement)  # a lesson is weighed once

    async def _next(self, question: Question) -> Outgoing:
        history, number = question.history, len(question.history) + 1
        before = history[-2].answer if number > 2 else None
        if before is None or self._rules.asks_each_time:
            fresh = await self._fresh(question, before)
        else:
            fresh = before
        if number == 1:
            return Outgoing(Tag.INIT.value, fresh)
        if self._says_term(history):
            return Outgoing(Tag.TERM.value, fresh)
        return await self._answer(question, before or fresh, fresh)

    async def _fresh(self, question: Question, before: Answer | None) -> Answer:
        """The answer that `question` is given now: anew, or as `before` where the gate refuses."""
        if self._lessons is None or not self._lessons.pending:
            return await self._ask(self._as_kept(question))
        with self._clock_stopped():
            answer, judgement = await self._lessons.settle(
                question, before, self.agent.respondent, self.agent.match, self._asked, self._teach
            )
        self.relations.note(judgement)
        return answer

    def _as_kept(self, question: Question) -> Question:
        return question if self._lessons is None else self._lessons.shown(question)

    async def _answer(self, question: Question, own: Answer, fresh: Answer) -> Outgoing:
        received = question.history[-1]

        async def reconsider() -> Answer:
            if self._rules.asks_each_time:
                return fresh
            if self._lessons is not None:
                self._lessons.hear(received)
                return await self._fresh(question, own)
            self.learn(received)
            said = received.answer
            self.relations.note_learning(said.prediction, said.explanation)
            return await self._ask(question)

        situation = Situation(
            rules=self._rules,
            agent=self.name,
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
        answer = await situation.pair(self._rules.carries(row.guard))
        if self._says_term(question.history, row.label):
            return Outgoing(Tag.TERM.value, answer)
        return Outgoing(row.label, answer)

    def _says_term(self, history: Sequence[Message], answer: str | None = None) -> bool:
        try:
            return self._rules.says_term(history, answer)
        except Exception as error:
            cause = f"the policy for TERM: {type(error).__name__}: {error}"
            raise OracleFailed(Outcome.BROKEN, cause, error) from error

    async def _decide(self, situation: Situation) -> Valuation:
        try:
            async with asyncio.timeout(self.agent.timeout) as self._clock:
                return await awaited(self.agent.guards.decide(situation))
        except TimeoutError as error:
            why = str(error) or f"no answer within {self.agent.timeout} s"
            cause = f"guards ({self.agent.guards.name}): {why}"
            raise OracleFailed(Outcome.LATE, cause) from error
        except (NoAnswer, OracleFailed, GuardError, *NOT_THEIRS):
            raise
        except Exception as error:
            cause = f"guards ({self.agent.guards.name}): {type(error).__name__}: {error}"
            fault = None if isinstance(error, PXPError) else error
            raise OracleFailed(Outcome.BROKEN, cause, fault) from error
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
        """ASK_AGENT, with the guards' clock stopped."""
        with self._clock_stopped():
            return await self._asked(self.agent.respondent, question)

    async def _asked(self, respondent: Respondent, question: Question) -> Answer:
        """ASK_AGENT: an answer that a message can carry, or `NoAnswer` or late."""
        answer = await self._said(respondent, partial(respondent.answer, question))
        problem = answer_problem(answer)
        if problem is None:
            return answer
        fault = None
        if not is_answer(answer):
            fault = WrongType(f"{respondent.name} returned {quoted(answer)}: {problem}")
        raise NoAnswer(f"{respondent.name}: {problem}", fault)

    async def _said(self, respondent: Respondent, ask: Callable[[], Awaitable[_T]]) -> _T:
        """What a respondent says; a fault in it is `NoAnswer` or late, with its cause."""
        return await answered(respondent.name, ask, self.agent.timeout, NoAnswer)


def _number(members: object) -> str:
    return str(len(members)) if isinstance(members, Mapping) else quoted(members)


class Session:
    """A session that follows `rules` between `members`, two agents by their names.

    The first of them begins (the machine m in the papers). `instance` is what it is about; a text
    is an instance that is its own key. `name` is the session's, as messages carry it.

    `limit` bounds the number of messages of a protocol that has no bound of its own; a session
    that reaches it has the ending `LIMIT`. `blackboard`, if given, receives each message in a
    transaction of its own, under the session's name; `on_event` is called after that. `earlier`
    is what each agent, by its name, carries in its context from sessions before. `update_context`
    says what each message adds to the context C; without it C is derived from the messages alone.

    What an agent's own code raises ends the session, and is raised again once that ending is
    stored. With `record_faults` it is only recorded, in `cause` and `fault`, as where one run has
    many sessions. `NoAnswer` and a late oracle are endings like others.
    """

    taking_turns = ""

    def __init__(
        self,
        rules: Rules,
        members: Members,
        *,
        instance: Instance | str,
        name: str = defaults.SESSION,
        blackboard: Store | None = None,
        channel: str = "sync",
        limit: int = defaults.LIMIT,
        on_event: Callable[[Event], None] | None = None,
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
        self._on_event = on_event
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
        self._channel = Channel(
            name, {p.name: p.machine for p in self._participants}, parse_channel(channel).capacity
        )

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

    async def step(self) -> Event | None:
        """The next message; None where the session ended without one (no answer, a late oracle).

        Raises what an agent's own code has raised.
        """
        if self.ending is not None:
            raise UsageError(f"session {self.name} has ended ({self.ending.value})")
        if not self.history and self._blackboard is not None:
            self._blackboard.open(self)  # type: ignore[arg-type] # it is recorded alike
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
        event = Event.of_message(message, self._added(message), speaker.relations.take_log())

        def store(_carried: Message) -> None:
            if self._blackboard is not None:
                self._blackboard.append(self.name, event)

        self._channel.carry(message, None, store)
        self._sent(event, listener)
        if self._on_event is not None:
            self._on_event(event)
        self._raise_fault()
        return event

    def replay(self, events: Sequence[Event], closing: Sequence[Judgement] = ()) -> None:
        """Rebuild the machines, memories and what was learned from stored messages.

        `closing` is what was judged and learned for a message that was never sent, because a fault
        ended the session. Raises `Refused` where a stored message is not one that the automata and
        the rules allow.
        """
        for event in events:
            speaker, listener = self._turn(event.carried)
            self._deliver()
            self._check_stored(event, speaker)
            if self.history:
                speaker.learn_again(self.history[-1], event.judgements)
            speaker.relations.remember(event.judgements)
            self._channel.carry(event.carried)
            self._sent(event, listener)
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

    def _check_stored(self, event: Event, speaker: Participant) -> None:
        """What a channel cannot know: j and k, who starts, that the session goes on."""
        message = event.carried
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
            speaks_first = len(self.history) % 2 == 0
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

    def _sent(self, event: Event, listener: Participant) -> None:
        """Note a message that was carried; the listener hears it; the schedule may close."""
        message = event.carried
        self.history = (*self.history, message)
        self.context = (*self.context, event.addition)
        self.categories = (*self.categories, _category(self.rules, event.judgements))
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
            self._blackboard.end(self.name, ending.value, self.cause, left)


def _category(rules: Rules, judgements: Sequence[Judgement]) -> str:
    """What a received pair was found to be; empty where MATCH and AGREE were not judged."""
    first: dict[str, bool] = {}
    for judgement in judgements:
        first.setdefault(judgement.relation, judgement.outcome is Outcome.YES)
    if MATCH not in first or AGREE not in first:
        return ""
    return str(category(first[MATCH], first[AGREE]))
