"""A session: a system that runs, one event at a time, resumable after each.

Its members decide, its policy says who acts next, what is stored is the events in their order, and
the machines move as the tables say. INTERACT and PXP between two agents are a system of two under a
schedule (`policy`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any, Protocol

from pxp_fsm import defaults, registry
from pxp_fsm.automata.actions import Choose, Deliver, Exchange, External, Send, SystemAction
from pxp_fsm.automata.automaton import Kind, happening
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.system import System
from pxp_fsm.errors import GuardError, NoAnswer, Refused, SessionFailed, UsageError, quoted
from pxp_fsm.protocol.messages import NOTHING, Answer, Episode, Instance, Json, Message, storable
from pxp_fsm.protocol.relations import (
    Assumption,
    Judgement,
    OracleFailed,
    Outcome,
    digest,
    session_assumptions,
)
from pxp_fsm.protocol.rules import FAULTS, Ending, Interact, Pxp, Rules
from pxp_fsm.sessions.actors import Actor, Deciding, Decision, MemberFunction, Turn, as_actor
from pxp_fsm.sessions.agent import Agent, Members, Seat
from pxp_fsm.sessions.events import Event, Faults
from pxp_fsm.sessions.functions import checked_name, ending_of, traceback_of, waited_for
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.pending import EventSource
from pxp_fsm.sessions.policy import (
    Close,
    ContextFunction,
    Conversing,
    Followed,
    Free,
    Moved,
    Policy,
    Schedule,
    actor_of,
)

ConversingOf = Callable[[tuple[str, ...], ContextFunction | None, str], Conversing]
"""Makes the policy of agents by their names, UPDATE_CONTEXT and the channel of each two."""

FAILED = "FAILED"
"""The name under which the traceback of a member's own code is kept, among the judgements."""


class Store(Protocol):
    """Where the events of sessions go, one transaction each."""

    def open(self, session: Session) -> None:
        """Record `session`, its members and its instance, unless that was done already."""

    def append(self, session: str, event: Event) -> None:
        """Store an event of the session of that name, all of it or nothing.

        Raises `BlackboardError`.
        """

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how the session ended, and why; `judgements` led to no event.

        Ending a session again with the same ending changes nothing.
        """


class Conversations(Protocol):
    """A subject of a plug-in whose agents talk by a protocol of two, each two in a channel."""

    @property
    def rules(self) -> Rules: ...


class Session:
    """A run of `subject` between `members`: of a `System`, or of two agents by `Interact` or `Pxp`;
    or of what a plug-in has for it, such as a `Panel` of several agents.

    `members` are given by their names: an `Agent` each for INTERACT and PXP, of which the first
    begins (the machine m in the papers); a function of a `Turn`, or an `Actor`, each for a system.
    `instance` is what the session is about; a text is an instance that is its own key. `name` is
    the session's, as messages carry it.

    `blackboard`, if given, receives each event in a transaction of its own before the machines
    move; `on_event` is called after that. `channel` is what messages cross (`sync`, `fifo:2`; by
    default the system's own, or `sync`). After `limit` events the session is over (INTERACT has a
    bound of its own).

    For a system: `parameters` are those with which its tables count; what their registers hold is
    in the states. `policy` says who acts next, in place of `Free`. `seed` and `faults` determine
    what the channel does, and the order of what is ready at once. `events` says who raises the
    events from outside (`EventSource`). `follow` is a trace whose actions happen first; a member
    without a function of its own does as it says.

    For two agents: `earlier` is what each, by its name, carries in its context from sessions
    before. `update_context` says what each message adds to the context C; without it C is derived
    from the messages alone. `instead` are answers that messages of those numbers carry in place of
    what their agents would say.

    What a member's own code raises ends the session, and is raised again once that ending is
    stored. With `record_faults` it is only recorded, in `cause` and `fault`, as where one run has
    many sessions. `NoAnswer` and a late oracle are endings like others.

    `history` is the messages that were sent, in order; of two agents, `context` is what each has
    added to the context C, and `categories` what its sender found the pair before it to be (A, B, C
    or D, and "" where that was not judged).

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
    >>> asking = pxp.build_automaton(
    ...     "asking",
    ...     [
    ...         {"from": "IDLE", "to": "ASKED", "send": "ASK"},
    ...         {"from": "ASKED", "to": "DONE", "receive": "GRANT"},
    ...     ],
    ...     final=["DONE"],
    ...     peer="granting",
    ... )
    >>> granting = pxp.build_automaton(
    ...     "granting",
    ...     [
    ...         {"from": "IDLE", "to": "TOLD", "receive": "ASK"},
    ...         {"from": "TOLD", "to": "DONE", "send": "GRANT"},
    ...     ],
    ...     final=["DONE"],
    ...     peer="asking",
    ... )
    >>> system = pxp.System.load(asking, granting, channel="fifo:1")
    >>> session = pxp.Session(
    ...     system,
    ...     {
    ...         "asking": lambda turn: pxp.Intent("ASK", {"seats": 2}),
    ...         "granting": lambda turn: pxp.Intent("GRANT", turn.value["seats"] < 4),
    ...     },
    ... ).run_sync()
    >>> session.ending.value, [str(event.action) for event in session.events[:2]]
    ('finished', ['asking>granting +ASK', 'asking>granting -ASK'])

    Raises `UsageError` for members that do not fit, that are missing, and for an option that the
    subject has no use for.
    """

    def __init__(
        self,
        subject: System | Rules | Conversations,
        members: Mapping[str, Agent | Actor | MemberFunction],
        *,
        instance: Instance | str | None = None,
        name: str = defaults.SESSION,
        blackboard: Store | None = None,
        policy: Policy | None = None,
        channel: str | None = None,
        seed: int = 0,
        faults: Faults | None = None,
        events: Mapping[str, EventSource] = MappingProxyType({}),
        follow: Followed = (),
        parameters: Mapping[str, object] = MappingProxyType({}),
        earlier: Mapping[str, tuple[Episode, ...]] = MappingProxyType({}),
        update_context: ContextFunction | None = None,
        instead: Mapping[int, Answer] = MappingProxyType({}),
        limit: int = defaults.LIMIT,
        on_event: Callable[[Event], None] | None = None,
        record_faults: bool = False,
    ) -> None:
        self.name = checked_name("a session's", name)
        followed, made = _plugged_in(subject)
        self.rules = followed if isinstance(followed, Interact | Pxp) else None
        about = "" if instance is None else instance
        self.instance = Instance(about, about) if isinstance(about, str) else about
        self.members: Mapping[str, Deciding]
        self._agents: dict[str, Agent] = {}
        self._seats: dict[tuple[str, str], Seat] = {}
        self._conversing: Conversing | None = None
        self.policy: Policy
        self.seed = seed
        self.faults = faults or Faults()
        if isinstance(followed, System):
            _check_unused(
                "a system", earlier=earlier, update_context=update_context, instead=instead
            )
            # A policy of one's own says itself what follows from the rules, as Schedule does.
            own = policy or made
            ruled = (
                followed if own is not None and not parameters else followed.by_rules(parameters)
            )
            self.system = ruled if channel is None else ruled.over(channel)
            free = Free(self.system, seed=seed, faults=faults, events=events, follow=follow)
            self.policy = own or free
            if isinstance(self.policy, Schedule):
                self._conversing = self.policy
            self.members = _actors(self.system, members, some=bool(free.follow))
        else:
            _check_unused(
                f"{followed.name} between {'agents' if made else 'two agents'}",
                seed=seed,
                faults=faults,
                events=events,
                follow=follow,
                policy=policy,
                parameters=parameters,
            )
            if instance is None:
                raise UsageError("a session of agents is about an instance: instance=...")
            self._agents = _agents(members, None if made else 2)
            conversing: ConversingOf = made or partial(Schedule, followed)
            talk = conversing(tuple(self._agents), update_context, channel or "sync")
            self.members = self._take_seats(talk, followed, earlier, instead)
            self.system = talk.system()
            self.policy = self._conversing = talk
        if limit < 1:
            unit = self.policy.counts
            raise UsageError(f"a session's limit must be at least 1 {unit}, not {limit}")
        self.limit = limit
        self.live = LiveSystem(self.system)
        self.ending: Ending | None = None
        self.cause = ""
        self.fault: Exception | None = None
        self._blackboard = blackboard
        self._on_event = on_event
        self._record_faults = record_faults
        self._events: list[Event] = []
        self.history: tuple[Message, ...] = ()
        self.context: tuple[str, ...] = ()
        self.categories: tuple[str, ...] = ()
        self._known: dict[str, list[Message]] = {name: [] for name in self.live.machines}
        self._memory = dict.fromkeys(self.live.machines, "{}")

    def _take_seats(
        self,
        talk: Conversing,
        rules: Rules,
        earlier: Mapping[str, tuple[Episode, ...]],
        instead: Mapping[int, Answer],
    ) -> dict[str, Seat]:
        """Give each agent a seat for each other that it talks to; its first one is returned."""
        own: dict[str, Seat] = {}
        for first, second in talk.channels:
            for name, partner in ((first, second), (second, first)):
                seat = Seat(
                    name,
                    self._agents[name],
                    rules,
                    self.instance,
                    earlier.get(name, ()),
                    partner=partner,
                    session=self.name,
                    beside=own.get(name),
                    instead=instead,
                )
                self._seats[name, partner] = seat
                own.setdefault(name, seat)
        return own

    def __repr__(self) -> str:
        state = "not over" if self.ending is None else self.ending.value
        if self.ending in FAULTS:
            state += f": {self.cause}"
        names = ", ".join(self.live.machines)
        if self.rules is not None:
            names = f"{self.rules.name} between {' and '.join(self._agents)}"
        return f"<Session {self.name}: {names}, {self.length} {self.policy.counts}s, {state}>"

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened, in order."""
        return tuple(self._events)

    @property
    def length(self) -> int:
        """How many events have happened."""
        return len(self._events)

    @property
    def states(self) -> dict[str, str]:
        """The present state of each member's machine."""
        return self.live.states

    @property
    def agents(self) -> Members:
        """The agents by their names, the first begins; none where members are functions."""
        return dict(self._agents)

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """The assumptions on MATCH and AGREE under which this session runs."""
        agents = self._agents.values()
        if not agents or not all(agent.guards.follows_relations for agent in agents):
            return frozenset()
        own = {name: seat.relations for (name, _), seat in self._seats.items()}
        assumed = [session_assumptions(*pair) for pair in combinations(own.values(), 2)]
        return frozenset.intersection(*assumed)

    def episodes(self) -> dict[str, Episode]:
        """What each agent, by its name, may carry in its context to later sessions."""
        exchanged = self.history, self.context, self.categories
        return {name: seat.episode(*exchanged) for (name, _), seat in self._seats.items()}

    def description(self, member: str) -> str:
        """What a member is made of, as the session is recorded."""
        decides = self.members.get(member)
        return "as the trace says" if decides is None else decides.describe()

    def turn(self, name: str) -> Turn:
        """What the member `name` knows now."""
        if self.rules is not None and self._conversing is not None:
            return self._conversing.turn(self, name)
        machine = self.live.machines[name]
        rows = machine.automaton.own_rows(machine.state)
        return Turn(
            self.name,
            self.instance,
            name,
            machine.state,
            machine.automaton.guards_of(machine.state),
            tuple(dict.fromkeys(row.label for row in rows if row.guard is None)),
            tuple(self._known[name]),
            json.loads(self._memory[name]),
        )

    @property
    def taking_turns(self) -> str:
        """How agents take turns, where not as two do; as it is recorded."""
        if self.rules is None or self._conversing is None:
            return ""
        return self._conversing.described

    def seat(self, name: str, partner: str) -> Seat:
        """Where an agent sits towards another that it talks to."""
        return self._seats[name, partner]

    def unfit(self, name: str, decision: Decision) -> str | None:
        """Why what the member `name` wants to send can reach nobody who takes it, or None."""
        place, row = self.system.places[name], decision.row
        if row.kind is not Kind.SEND:
            return None
        partners = self.system.partners(place, row)
        names = [self.system.members[partner].name for partner in partners]
        if decision.to and decision.to not in names:
            return f"{row.label} goes to {', '.join(names)}, not to {quoted(decision.to)}"
        for partner in (place, *partners):
            table = self.system.members[partner].automaton
            problem = payload_problem(table, row.label, str(decision.payload))
            if problem is not None:
                return f"the payload of {row.label} does not fit {table.name}: {problem}"
        return None

    async def run(self) -> Session:
        """Carry the session to its end, and return it; its `ending` says why it is over."""
        try:
            while self.ending is None:
                await self.step()
        finally:
            self.policy.stop()
        return self

    def run_sync(self) -> Session:
        """The same for a caller that is not async; in a notebook, beside its running loop."""
        return waited_for(self.run())

    async def step(self) -> Event | None:
        """The next event; None where the session ended without one (no answer, a late oracle).

        Raises what a member's own code has raised.
        """
        self._begin()
        event = None
        try:
            chosen = await self.policy.next(self)
        except (NoAnswer, OracleFailed, GuardError) as error:
            self._fail(error)
        else:
            if isinstance(chosen, Close):
                self._close(chosen)
            else:
                event = self._try(*chosen)
        self._raise_fault()
        return event

    def raise_event(self, label: str, judgements: Sequence[Judgement] = ()) -> Event:
        """Let the event `label` from outside happen at once; `judgements` led to it.

        Raises `Refused`, with what is possible, where no member takes it now; nothing is stored.
        """
        self._begin()
        if self.rules is not None:
            raise UsageError(f"{self.rules.name} closes by its own rules; nobody raises {label}")
        action = External(label)
        self.live.check(action)
        event = self._happen(action, None, judgements)
        self.policy.wake()
        return event

    def replay(self, events: Sequence[Event], closing: Sequence[Judgement] = ()) -> None:
        """Rebuild machines, messages on their way, memories and what was learned from `events`.

        `closing` is what was judged and learned for an event that never happened, because a fault
        ended the session. Raises `Refused` where a stored event is not one that can happen there.
        """
        for stored in events:
            if self.ending is not None:
                raise Refused(
                    f"stored event {stored.number} of {self.name} was refused: the session had "
                    f"ended before it ({self.ending.value})"
                )
            self.policy.before(self)
            event = self.policy.check(self, stored)
            action = self._seated(event.action)
            self.live.check(action, partial(_stored, self.name, event))
            if self._seats and self._conversing is not None:
                ends = event.carried.sender, event.carried.receiver
                self._seats[ends].replayed(event, self._conversing.conversation(self, *ends))
            self._take(event, self.live.move(action, event.message))
            self._raise_fault()
        if not closing or not self._seats or self._conversing is None:
            return
        speaks = self._conversing.speaker(self)
        heard = () if speaks is None else self._conversing.conversation(self, *speaks)
        if speaks is not None and heard:
            self._seats[speaks].learn_again(heard[-1], closing)

    def withdrawing(self) -> Callable[[], None]:
        """A function that takes the session back to where it is now: for trying each continuation.

        What is stored stays stored, and what respondents have learned or weighed stays learned.
        """
        over = self.ending, self.cause, self.fault
        exchanged = self.history, self.context, self.categories
        length, memory = len(self._events), dict(self._memory)
        known = {name: len(messages) for name, messages in self._known.items()}
        back = [seat.withdrawing() for seat in self._seats.values()]
        machines = self.live.withdrawing()

        def withdraw() -> None:
            self.ending, self.cause, self.fault = over
            self.history, self.context, self.categories = exchanged
            del self._events[length:]
            for name, many in known.items():
                del self._known[name][many:]
            self._memory.update(memory)
            for take_back in back:
                take_back()
            machines()

        return withdraw

    def _seated(self, action: SystemAction) -> SystemAction:
        return action if self._conversing is None else self._conversing.seated(action)

    def _begin(self) -> None:
        if self.ending is not None:
            raise UsageError(f"session {self.name} has ended ({self.ending.value})")
        if not self._events and self._blackboard is not None:
            self._blackboard.open(self)

    def _try(self, action: SystemAction, decision: Decision | None) -> Event | None:
        """Let an action happen; the session is over where the tables do not allow it."""
        try:
            self.live.check(self._seated(action))
        except Refused as error:
            judgements = () if decision is None else decision.judgements
            self._end(Ending.DEADLOCK, str(error), judgements)
            return None
        return self._happen(action, decision)

    def _happen(
        self,
        action: SystemAction,
        decision: Decision | None,
        judged: Sequence[Judgement] = (),
    ) -> Event:
        """Store an action that was checked, and only then let it happen."""
        number, message = len(self._events) + 1, None
        to, memory, judgements = "", "", tuple(judged)
        payload: Answer | Json = NOTHING
        guard = None
        if decision is not None:
            row, to, payload, memory, judgements = decision
            guard = row.guard
        addition = ""
        match action:
            case Exchange(sender, receiver, tag) | Send(sender, receiver, tag):
                message = Message(self.name, number, sender, tag, payload, receiver)
                addition = self.policy.addition(self, message)
            case Choose(member, _, tag):
                message = Message(self.name, number, member, tag, payload, to)
            case Deliver():
                message = self.policy.delivered(self, action)
        event = Event(number, action, guard or "", message, addition, memory, judgements)
        if self._blackboard is not None:
            self._blackboard.append(self.name, event)
        self._take(event, self.live.move(self._seated(action), message))
        if self._on_event is not None:
            self._on_event(event)
        return event

    def _take(self, event: Event, moved: Moved) -> None:
        """Note an event that has happened, and who knows what; the session may be over with it."""
        action, message = event.action, event.message
        self._events.append(event)
        if event.memory:
            self._memory[actor_of(action)] = event.memory
        self.policy.happened(event, moved)
        if message is None:
            return
        if isinstance(action, Exchange | Send):
            self.history = (*self.history, message)
        if self._conversing is not None:
            self.context = (*self.context, event.addition)
            category = self._conversing.category(event.judgements)
            self.categories = (*self.categories, category)
        else:
            if isinstance(action, Exchange | Send):
                self._known[action.sender].append(message)
            if isinstance(action, Exchange | Deliver):
                self._known[action.receiver].append(message)
        close = self.policy.after(self)
        if close is not None and close.event:
            self._close(close)
        self._hear(message)
        if close is not None and self.ending is None:
            self._close(close)

    def _hear(self, message: Message) -> None:
        """Tell the receiver of a message, who may learn from it; that may end the session."""
        seat = self._seats.get((message.receiver, message.sender))
        talk = self._conversing
        if seat is None or talk is None or not talk.learns(self, message):
            return
        try:
            seat.hear(message, last=self.ending is not None or talk.is_last(self, message))
        except NoAnswer as error:
            self.fault = error.fault
            if self.ending is None:
                self._fail(error)

    def _close(self, close: Close) -> None:
        """End the session; machines that are not at their end are brought there by its event."""
        if close.event:
            try:
                self.policy.before(self)
            except Refused as error:
                self._end(Ending.DEADLOCK, str(error))
                return
            open_ends = [end for end in self.live.machines.values() if not end.ended]
            for end in open_ends:
                end.automaton.step(end.state, happening(close.event))
            if open_ends:
                self.live.take(External(close.event))
        self._end(close.ending, close.cause)

    def _fail(self, error: NoAnswer | OracleFailed | GuardError) -> None:
        self.fault = error.fault if isinstance(error, SessionFailed) else None
        failure = () if self.fault is None else (_failure(self.fault),)
        self._end(ending_of(error), str(error), failure)

    def _raise_fault(self) -> None:
        """Raise what a member's own code raised, with its traceback; the ending is stored."""
        if self.fault is not None and not self._record_faults:
            raise self.fault

    def _end(self, ending: Ending, cause: str, judgements: tuple[Judgement, ...] = ()) -> None:
        """Record how the session is over, with what was judged that has led to no event."""
        self.ending, self.cause = ending, storable(cause)
        self.policy.stop()
        if self._blackboard is not None:
            left = tuple(judgement for seat in self._seats.values() for judgement in seat.left())
            self._blackboard.end(self.name, ending.value, self.cause, (*left, *judgements))


def _plugged_in(subject: object) -> tuple[Any, Any]:
    """What a plug-in makes of a subject of its own: a system and its policy, or rules of agents and
    who makes their policy (`ConversingOf`). Of one of ours, that itself.
    """
    if isinstance(subject, System | Interact | Pxp):
        return subject, None
    for make in registry.listed("subjects"):
        made: tuple[System, Policy] | tuple[Rules, ConversingOf] | None = make(subject)
        if made is not None:
            return made
    raise UsageError(
        f"a session follows Interact or Pxp, or is of a System of other tables "
        f"(System.load), not {quoted(subject)}"
    )


def _agents(members: object, many: int | None) -> dict[str, Agent]:
    """The agents, as `many` as there have to be, or at least two."""
    number = len(members) if isinstance(members, Mapping) else 0
    if not isinstance(members, Mapping) or number < 2 or many not in (None, number):
        raise UsageError(
            f"a session has {'two' if many else 'two or more'} agents by their names, "
            f'{{"m": ..., "h": ...}}; it was given '
            f"{number if isinstance(members, Mapping) else quoted(members)}"
        )
    for name, agent in members.items():
        if not isinstance(agent, Agent):
            raise UsageError(
                f"{quoted(name)} must be a pxp.Agent(respondent, match=..., agree=...), "
                f"not {quoted(agent)}"
            )
    return dict(members)


def _actors(system: System, members: object, *, some: bool) -> dict[str, Actor]:
    """The actor of each member, all of them or `some`; `UsageError` where they do not fit."""
    names = ", ".join(system.places)
    if not isinstance(members, Mapping):
        raise UsageError(f"a session has members by their names: {names}")
    unknown = [name for name in members if name not in system.places]
    if unknown:
        raise UsageError(f"the system has no member {unknown[0]!r}; its members are {names}")
    missing = [name for name in system.places if name not in members]
    if missing and not some:
        raise UsageError(
            f"nobody answers for {', '.join(missing)}; give a function of a Turn, or a pxp.Actor, "
            f"for each of {names}"
        )
    return {name: as_actor(name, members[name]) for name in system.places if name in members}


def _check_unused(subject: str, **options: object) -> None:
    options_set = [name for name, value in options.items() if value]
    if options_set:
        raise UsageError(f"{options_set[0]} has no effect in a session of {subject}; leave it out")


def _stored(session: str, event: Event) -> str:
    return f"stored event {event.number} of {session} ({quoted(str(event.action))})"


def _failure(fault: Exception) -> Judgement:
    nothing = digest("")
    detail = storable(traceback_of(fault))
    return Judgement(FAILED, nothing, nothing, Outcome.BROKEN, True, 0.0, detail)
