"""Policies: who acts next in a session, what its messages add to the context, when it is over.

`Free` lets whoever is ready act, and draws from a seed which comes first. `Schedule` is that of
INTERACT and PXP: two agents alternate, and the session closes as the papers' procedures say.
`Alone` is that of one table to which things happen. What an action does to the machines is the same
under all (`LiveSystem`).
"""

from __future__ import annotations

import json
import random
from collections.abc import (
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

from pxp_fsm.automata.actions import (
    Choose,
    Decide,
    Deliver,
    Exchange,
    External,
    Send,
    SystemAction,
)
from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.automata.channels import Channel, parse_channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.unfolding import as_written
from pxp_fsm.errors import GuardError, NotEnabled, Refused, UsageError, WrongType, quoted
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import category, initiator_speaks
from pxp_fsm.protocol.messages import (
    NOTHING,
    Instance,
    Message,
    Tag,
    answer_problem,
    text_problem,
)
from pxp_fsm.protocol.relations import Judgement, OracleFailed, Outcome
from pxp_fsm.protocol.rules import AGREE, MATCH, Ending, Rules
from pxp_fsm.sessions.actors import Deciding, Decision, Turn
from pxp_fsm.sessions.events import Event, Faults, events_of
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.pending import EventSource, Pending, check_source

CLOSE = "CLOSE"
"""The event by which INTERACT's schedule closes a session."""

Ready = tuple[SystemAction, Decision | None]
"""An action, and the decision of a member that it follows from, if it follows from one."""

Moved = tuple[tuple[str, Transition], ...]
"""The members that moved, each with the row that it took."""

ContextFunction = Callable[[Instance, Message, tuple[str, ...]], str]
"""UPDATE_CONTEXT: from the instance, message j and C_(j-1), what message j adds to the context."""


def update_context(message: Message) -> str:
    """UPDATE_CONTEXT where none is given: C is derived from M, as JSON.

    It refers to the message; the texts are in the message table (`Question.history`) and are not
    repeated.
    """
    return json.dumps({"number": message.number, "sender": message.sender, "tag": message.tag})


class Close(NamedTuple):
    """A session is over: how, and why; `event` is what brings machines to their end first."""

    ending: Ending
    cause: str
    event: str = ""


class Course(Protocol):
    """What a policy knows of the session that it is of."""

    name: str
    instance: Instance
    live: LiveSystem
    limit: int
    members: Mapping[str, Deciding]
    history: tuple[Message, ...]
    context: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def events(self) -> tuple[Event, ...]: ...
    @property
    def length(self) -> int: ...
    def turn(self, name: str) -> Turn: ...
    def seat(self, name: str, partner: str) -> Deciding: ...
    def unfit(self, name: str, decision: Decision) -> str | None: ...


class Policy(Protocol):
    """Who acts next in a session; a policy is of one session."""

    @property
    def counts(self) -> str:
        """What the limit of a session counts: `action` or `message`."""

    async def next(self, course: Course) -> Ready | Close:
        """What happens next, or how the session is over. Raises what went wrong in a member."""

    def before(self, course: Course) -> None:
        """Let happen what is no event of its own, before the next event that is.

        Raises `Refused` where a table does not allow it.
        """

    def check(self, course: Course, event: Event) -> Event:
        """A stored event as it happens here; `Refused` where it can be none of this session."""

    def delivered(self, course: Course, action: Deliver) -> Message:
        """Which of the messages that a channel offers is delivered."""

    def addition(self, course: Course, message: Message) -> str:
        """What `message` adds to the context."""

    def happened(self, event: Event, moved: Moved) -> None:
        """Take note of an event, and of who moved."""

    def after(self, course: Course) -> Close | None:
        """How the session is over with its latest event; None where it goes on."""

    def wake(self) -> None:
        """Something has happened meanwhile: a `next` that waits looks again."""

    def stop(self) -> None:
        """The session is over, or put away: ask nobody any more."""


class Conversing(Policy, Protocol):
    """The policy of agents that talk by INTERACT or PXP, in a channel for each two of them."""

    @property
    def channels(self) -> tuple[tuple[str, str], ...]:
        """Who talks to whom; the first of each two begins."""

    @property
    def described(self) -> str:
        """How they take turns, as a session is recorded; "" where two simply do."""

    def system(self) -> System:
        """The ends of all channels, each with its table."""

    def seated(self, action: SystemAction) -> SystemAction:
        """What agents do, as the ends of their channel do it."""

    def conversation(self, course: Course, name: str, partner: str) -> tuple[Message, ...]:
        """What the two have said to each other, as far as it still counts between them."""

    def speaker(self, course: Course) -> tuple[str, str] | None:
        """Who sends the next message, and to whom; None where nobody does."""

    def turn(self, course: Course, name: str) -> Turn:
        """What an agent knows now."""

    def category(self, judgements: Sequence[Judgement]) -> str:
        """What a received pair was found to be; empty where MATCH and AGREE were not judged."""

    def learns(self, course: Course, message: Message) -> bool:
        """Whether the receiver of the latest message may LEARN from it."""

    def is_last(self, course: Course, message: Message) -> bool:
        """Whether nothing will be said in answer to the latest message."""


@runtime_checkable
class Steps(Protocol):
    """A trace, as a check gives it."""

    @property
    def steps(self) -> Sequence[Hashable]:
        """Actions, or steps that have one each."""


Followed = Iterable[Hashable] | Steps
"""A trace that is to be followed: a result's, or its actions."""


class Free:
    """Members think at the same time; which of the actions that are ready comes next is drawn.

    That, and what a faulty channel does, follows from `seed` and the number of the event alone, so
    that a resumed session goes on alike. `events` says who raises events from outside. `follow` is
    a trace whose actions happen first. Raises `UsageError` for what the system has not.
    """

    counts = "action"

    def __init__(
        self,
        system: System,
        *,
        seed: int = 0,
        faults: Faults | None = None,
        events: Mapping[str, EventSource] = MappingProxyType({}),
        follow: Followed = (),
    ) -> None:
        self.seed = seed
        self.faults = faults or Faults()
        self.follow = checked_trace(system, follow)
        for label, source in events.items():
            problem = system.event_problem(label)
            if problem is not None:
                raise UsageError(problem)
            check_source(label, source)
        self._pending = Pending(events)

    async def next(self, course: Course) -> Ready | Close:
        live = course.live
        while not live.stopped:
            self._ask(course)
            await asyncio.sleep(0)  # whoever need not wait has answered then; other sessions go on
            for name, decision in self._pending.hear().items():
                _check_payload(course, name, decision)
                self._pending.wants[name] = decision
            following = course.length < len(self.follow)
            chosen = self._followed(course) if following else self._drawn(course)
            if isinstance(chosen, Close):
                return chosen
            if chosen is not None and course.length >= course.limit:
                return Close(Ending.LIMIT, f"stopped after {course.limit} actions")
            if chosen is not None:
                return chosen
            if not self._pending.waits_for(_raisable(live)):
                break
            await self._pending.wait()
        return _conclusion(course)

    def before(self, course: Course) -> None:
        """Everything that happens is an event."""

    def check(self, course: Course, event: Event) -> Event:
        if event.number != course.length + 1:
            raise Refused(f"stored event {event.number} of {course.name} is out of place")
        return event

    def delivered(self, course: Course, action: Deliver) -> Message:
        return self._chance(course, "message").choice(course.live.offered(action))

    def addition(self, course: Course, message: Message) -> str:
        """Nothing: what members know of each other is what they send."""
        return ""

    def happened(self, event: Event, moved: Moved) -> None:
        action, message = event.action, event.message
        raised = action.label if isinstance(action, External) else ""
        self._pending.happened([name for name, _ in moved], raised)
        if isinstance(action, Choose) and message is not None:
            ((name, row),) = moved
            self._pending.wants[name] = Decision(row, message.receiver, message.payload)

    def after(self, course: Course) -> Close | None:
        """It goes on while anybody is ready, which `next` finds."""
        return None

    def wake(self) -> None:
        self._pending.wake()

    def stop(self) -> None:
        self._pending.stop()

    def _ask(self, course: Course) -> None:
        """Ask each member that may act, and each source of an event."""
        self._pending.expect(_raisable(course.live))
        for name, member in course.members.items():
            machine = course.live.machines[name]
            if not self._pending.is_asked(name) and machine.automaton.own_rows(machine.state):
                self._pending.ask(name, member.decide(course.turn(name), machine.automaton))

    def _drawn(self, course: Course) -> Ready | None:
        raised = self._pending.raised | {
            label
            for label, probability in self._pending.chances.items()
            if self._chance(course, f"event {label}").random() < probability
        }
        ready = _ready(course.live, self._pending.wants, raised)
        channel = course.live.system.channel
        return _one_of(ready, channel, self.faults, lambda: self._chance(course, "next"))

    def _chance(self, course: Course, purpose: str) -> random.Random:
        """Random numbers for the next event: the same where the session is resumed.

        They are the same in each run: of its name, the part after the run's counts.
        """
        place = course.name.partition("/")[2] or course.name
        return random.Random(f"{self.seed}/{place}/{course.length + 1}/{purpose}")

    def _followed(self, course: Course) -> Ready | Close | None:
        """The next action of the trace, when the member that it is of has decided the same."""
        action, wants = self.follow[course.length], self._pending.wants
        if isinstance(action, Deliver | External):
            return action, None
        try:
            name, row = actor_of(action), course.live.row_of(action)
        except (Refused, NotEnabled, GuardError) as error:
            problem = f"action {course.length + 1} of the trace is {action}, which cannot happen"
            return Close(Ending.DIVERGED, f"{problem}: {error}")
        if name not in course.members:
            wants[name] = Decision(row, "", NOTHING)
            _check_payload(course, name, wants[name])
        if name not in wants:
            return None
        decision = wants[name]
        to = "" if decision is None else decision.to
        elsewhere = isinstance(action, Exchange | Send) and to not in ("", action.receiver)
        if decision is None or decision.row != row or elsewhere:
            chosen = "wait" if decision is None else decision.row.guard or decision.row.action
            problem = f"action {course.length + 1} of the trace is {action}, but {name} chose"
            return Close(Ending.DIVERGED, f"{problem} {chosen}{f' to {to}' if to else ''}")
        return action, decision


class Schedule:
    """The policy of INTERACT and PXP: the first of two agents begins, and they alternate.

    `rules` say who hangs up, which guards can hold at a message, and when the session is over;
    `names` are those of the two agents. `context` is UPDATE_CONTEXT; without it C is derived from
    the messages alone. `channel` is what messages cross.
    """

    counts = "message"

    def __init__(
        self,
        rules: Rules,
        names: tuple[str, ...],
        context: ContextFunction | None = None,
        channel: str = "sync",
    ) -> None:
        first, second = names
        self.rules = rules
        self.names = first, second
        self._context = context
        self._channel = channel

    def due(self, history: Sequence[Message]) -> str:
        """Who sends the next message; an agent that hangs up speaks twice."""
        begins = initiator_speaks(len(history) + 1)
        if self.rules.hangs_up(history):
            begins = not begins
        return self.names[0 if begins else 1]

    @property
    def channels(self) -> tuple[tuple[str, str], ...]:
        return (self.names,)

    @property
    def described(self) -> str:
        return ""

    def system(self) -> System:
        return pair(self.names, self.rules.automaton, self._channel)

    def seated(self, action: SystemAction) -> SystemAction:
        return action

    def partner(self, name: str) -> str:
        """The other agent."""
        first, second = self.names
        return second if name == first else first

    def conversation(self, course: Course, name: str, partner: str) -> tuple[Message, ...]:
        return course.history

    def speaker(self, course: Course) -> tuple[str, str] | None:
        name = self.due(course.history)
        return name, self.partner(name)

    def turn(self, course: Course, name: str) -> Turn:
        """Both know every message, and keep nothing of their own."""
        machine = course.live.machines[name]
        guards = machine.automaton.guards_of(machine.state)
        history = course.history
        return Turn(
            course.name,
            course.instance,
            name,
            machine.state,
            guards,
            (),
            history,
            context=course.context,
            categories=course.categories,
        )

    def learns(self, course: Course, message: Message) -> bool:
        return True

    def is_last(self, course: Course, message: Message) -> bool:
        return self.rules.ending(course.history) is not None

    async def next(self, course: Course) -> Ready | Close:
        await asyncio.sleep(0)  # other sessions go on, and it can be stopped here
        try:
            self.before(course)
        except Refused as error:
            return Close(Ending.DEADLOCK, str(error))
        name = self.due(course.history)
        table = course.live.machines[name].automaton
        decision = await course.members[name].decide(course.turn(name), table)
        if decision is None:
            return Close(Ending.IDLE, f"it is the turn of {name}, who waits")
        return _sending(course, name, decision.to, decision.row.label), decision

    def before(self, course: Course) -> None:
        """Deliver what is on its way; one who hangs up leaves two messages, one each turn."""
        for receiver in self.names:
            sender = self.partner(receiver)
            messages = course.live.messages.get((sender, receiver))
            if messages:
                message = messages[0]
                course.live.take(Deliver(sender, receiver, message.tag), message)

    def check(self, course: Course, event: Event) -> Event:
        """What no table knows: the envelope, who starts, j and k."""
        message = event.carried
        where = f"stored event {quoted(message.number)} of {course.name} ({quoted(message.tag)})"
        problem = next(self._problems(course, message), None)
        if problem is not None:
            raise Refused(f"{where} was refused: {problem}")
        action = _sending(course, message.sender, message.receiver, message.tag)
        return replace(event, number=message.number, action=action)

    def _problems(self, course: Course, message: Message) -> Iterator[str]:
        sender, history = message.sender, course.history
        yield from of_envelope(course, message)
        if sender not in self.names:
            yield f"the agents here are {', '.join(self.names)}"
        elif message.receiver != self.partner(sender):
            yield f"{sender} talks to {self.partner(sender)}"
        yield from of_content(message)
        if not history and sender != self.names[0]:
            yield f"{self.names[0]} starts, not {sender}"
        machine = course.live.machines[sender]
        yield from impossible(self.rules, machine, message, message.number)

    def delivered(self, course: Course, action: Deliver) -> Message:
        return course.live.offered(action)[0]

    def addition(self, course: Course, message: Message) -> str:
        if self._context is None:
            return update_context(message)
        added = self._context(course.instance, message, course.context)
        if not isinstance(added, str) or text_problem(added) is not None:
            raise WrongType(f"UPDATE_CONTEXT returned {quoted(added)}, not a text to be stored")
        return added

    def category(self, judgements: Sequence[Judgement]) -> str:
        """What a received pair was found to be; empty where MATCH and AGREE were not judged."""
        first: dict[str, bool] = {}
        for judgement in judgements:
            first.setdefault(judgement.relation, judgement.outcome is Outcome.YES)
        if MATCH not in first or AGREE not in first:
            return ""
        return str(category(first[MATCH], first[AGREE]))

    def happened(self, event: Event, moved: Moved) -> None:
        """Whose turn it is follows from the messages."""

    def after(self, course: Course) -> Close | None:
        close = self.concluded(course.history)
        if close is None and self.rules.n is None and len(course.history) >= course.limit:
            return Close(Ending.LIMIT, f"stopped after {course.limit} messages")
        return close

    def concluded(self, history: Sequence[Message]) -> Close | None:
        """How the protocol closes the channel of the two after `history`; None if it goes on."""
        ending = self.rules.ending(history)
        if ending is None:
            return None
        if ending is Ending.BOUND:
            cause = f"the bound of {self.rules.n} messages"
        elif ending is Ending.TERM:
            cause = f"{Tag.TERM} by {history[-1].sender}"
        else:
            cause = " ".join(message.tag for message in history[-2:])
        return Close(ending, cause, CLOSE)

    def wake(self) -> None:
        """Nobody waits but for the agent whose turn it is."""

    def stop(self) -> None:
        """Nobody is asked ahead."""


@lru_cache(maxsize=128)
def pair(names: tuple[str, ...], automaton: Automaton, channel: str) -> System:
    """Two agents that follow the same table."""
    behaviour = parse_channel(channel)
    faulty = behaviour.lossy or behaviour.duplicating or behaviour.reordering
    if faulty or behaviour.links:
        raise UsageError(
            f"two agents of {automaton.name} talk over sync or fifo:C, not {behaviour.name}; a "
            f"System of their tables runs over any channel"
        )
    members = tuple(Member(name, automaton) for name in names)
    return System(members, behaviour, free_names=True)


def of_envelope(course: Course, message: Message) -> Iterator[str]:
    """Why a message is not the next one of this session."""
    number = len(course.history) + 1
    if message.session != course.name:
        yield f"this session is {course.name!r}, not {quoted(message.session)}"
    if type(message.number) is not int or message.number != number:
        yield f"the next message is number {number}"


def of_content(message: Message) -> Iterator[str]:
    """Why what a message says can be no tag, or no answer."""
    if not isinstance(message.tag, str):
        yield "a tag is text"
    problem = answer_problem(message.payload)
    if problem is not None:
        yield problem


def impossible(rules: Rules, machine: Machine, message: Message, number: int) -> Iterator[str]:
    """Why the guard of a message, of that number between the two, cannot be true for its sender."""
    row = rules.automaton.sends(machine.state, message.tag, message.receiver)
    allowed = rules.allowed(number)
    if row is not None and row.guard is not None and row.guard not in allowed:
        there = ", ".join(allowed)
        yield f"{row.guard} can hold in no case at this message; possible there: {there}"


@dataclass(frozen=True)
class Alone:
    """The policy of one table alone: it decides, and where it waits something happens to it.

    `happens` does what is done in a state, and says by which event that ends. The guards are the
    member's to decide, as in every session.
    """

    happens: Callable[[str], Awaitable[str]]
    counts: str = "action"

    async def next(self, course: Course) -> Ready | Close:
        ((name, machine),) = course.live.machines.items()
        if machine.ended:
            return Close(Ending.FINISHED, "every member is in an end state")
        if not machine.automaton.guards_of(machine.state):
            return External(await self.happens(machine.state)), None
        decision = await course.members[name].decide(course.turn(name), machine.automaton)
        if decision is None or decision.row.guard is None:
            raise AssertionError("guards decide in every state that has some")
        return Decide(decision.row.guard, decision.row.label, name), decision

    def before(self, course: Course) -> None:
        """Everything that happens is an event."""

    def check(self, course: Course, event: Event) -> Event:
        return event

    def delivered(self, course: Course, action: Deliver) -> Message:
        raise AssertionError("one member alone is sent nothing")

    def addition(self, course: Course, message: Message) -> str:
        return ""

    def happened(self, event: Event, moved: Moved) -> None:
        """What comes next follows from the state."""

    def after(self, course: Course) -> Close | None:
        """It goes on until the table's end, which `next` finds."""
        return None

    def wake(self) -> None:
        """Nobody waits but for what happens in the state."""

    def stop(self) -> None:
        """Nobody is asked ahead."""


def actor_of(action: SystemAction) -> str:
    """The member that decides an action; "" where it is the channel, or comes from outside."""
    if isinstance(action, Deliver | External):
        return ""
    return action.sender if isinstance(action, Exchange | Send) else action.member


def checked_trace(system: System, follow: Followed) -> tuple[SystemAction, ...]:
    """The actions of a trace that the system can take from its start, or `UsageError`."""
    if follow == ():
        return ()
    steps = follow.steps if isinstance(follow, Steps) else follow
    actions = list[SystemAction]()
    for number, step in enumerate(steps, 1):
        action = getattr(step, "action", step)
        if not isinstance(action, SystemAction):
            raise UsageError(f"step {number} of the trace is {quoted(action)}, no system's action")
        actions.append(action)
    if any(member.automaton.registers_beside for member in system.members):
        # What can happen depends on payloads: those that members send, not those of the trace.
        return tuple(map(as_written, actions))
    try:
        events_of(system, actions)
    except Refused as error:
        raise UsageError(f"the trace is none of this system: {error}") from error
    return tuple(actions)


def _sending(course: Course, sender: str, receiver: str, tag: str) -> Exchange | Send:
    synchronous = course.live.system.channel.synchronous
    return (Exchange if synchronous else Send)(sender, receiver, tag)


def _raisable(live: LiveSystem) -> set[str]:
    return {event.label for event in live.externals()}


def _check_payload(course: Course, name: str, decision: Decision | None) -> None:
    """A fault of the member where what it wants to send fits no table that knows the tag."""
    problem = None if decision is None else course.unfit(name, decision)
    if problem is not None:
        reason = f"{name}: {problem}"
        raise OracleFailed(Outcome.BROKEN, reason, WrongType(reason))


def _ready(live: LiveSystem, wants: Mapping[str, Decision | None], raised: Set[str]) -> list[Ready]:
    """What can happen now: what members want, deliveries, and events that were raised.

    A channel's faults are left out, but for a loss where nothing else can become of a message.
    """
    ready: list[Ready] = []
    for name in live.machines:  # in their order, whoever has answered first
        decision = wants.get(name)
        if decision is not None:
            ready += [(action, decision) for action in _by_decision(live, name, decision)]
    ready += [(action, None) for action in live.deliveries() if not action.kept]
    ready += [(action, None) for action in live.externals() if action.label in raised]
    return ready


def _by_decision(live: LiveSystem, name: str, decision: Decision) -> list[SystemAction]:
    actions = [
        action
        for action in live.by_row(name, decision.row)
        if not decision.to
        or not isinstance(action, Exchange | Send)
        or action.receiver == decision.to
    ]
    return [send for send in actions if not isinstance(send, Send) or not send.lost] or actions


def _one_of(
    ready: Sequence[Ready], channel: Channel, faults: Faults, chances: Callable[[], random.Random]
) -> Ready | None:
    """One of `ready`, each as likely, and what a faulty channel does to it; None of nothing."""
    if not ready:
        return None
    if len(ready) == 1 and not any(
        link_channel.lossy or link_channel.duplicating for link_channel in channel.each
    ):
        return next(iter(ready))
    chance = chances()
    action, decision = ready[chance.randrange(len(ready))]
    if not isinstance(action, Send | Deliver):
        return action, decision
    own = channel.of(action.sender, action.receiver)
    if isinstance(action, Send) and own.lossy and chance.random() < faults.loss:
        action = replace(action, lost=True)
    elif isinstance(action, Deliver) and own.duplicating:
        action = replace(action, kept=chance.random() < faults.duplication)
    return action, decision


def _conclusion(course: Course) -> Close:
    """How a session is over in which nobody wants anything that can happen."""
    live = course.live
    if live.ended:
        return Close(Ending.FINISHED, "every member is in an end state")
    possible = live.possible()
    if possible:
        there = ", ".join(map(str, possible))
        return Close(Ending.IDLE, f"nobody does what is possible: {there}")
    return Close(Ending.DEADLOCK, "; ".join([*live.obstacles(), *live.waits(), *_lost(course)]))


def _lost(course: Course) -> Iterator[str]:
    """The latest message that each link has lost: somebody may wait for it."""
    lost = dict[tuple[str, str], str]()
    for event in course.events:
        action = event.action
        if isinstance(action, Send) and action.lost:
            link = action.sender, action.receiver
            lost[link] = f"{action.tag} of {link[0]} to {link[1]} was lost"
    yield from lost.values()
