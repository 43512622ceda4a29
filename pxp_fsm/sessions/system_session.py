"""A session of a system: its members are asked, and what they decide happens, one action at a time.

Members think at the same time. Which of the actions that are ready comes next, and what a faulty
channel does, is drawn from the seed and the number of the action. What is stored is the actions in
their order; a session that was stopped goes on at the next.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Protocol

from pxp_fsm import defaults
from pxp_fsm.automata.actions import Choose, Deliver, Exchange, External, Send, SystemAction
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.system import System
from pxp_fsm.errors import (
    GuardError,
    NoAnswer,
    Refused,
    SessionFailed,
    UsageError,
    WrongType,
    quoted,
)
from pxp_fsm.protocol.messages import Instance, storable
from pxp_fsm.protocol.relations import Judgement, OracleFailed, Outcome, digest
from pxp_fsm.protocol.rules import FAULTS, Ending
from pxp_fsm.sessions.actors import Actor, Decision, MemberFunction, Turn
from pxp_fsm.sessions.functions import checked_name, ending_of, traceback_of, waited_for
from pxp_fsm.sessions.live import Letter, LiveSystem
from pxp_fsm.sessions.occurrences import Faults, Occurrence
from pxp_fsm.sessions.parameters import Followed, actors, checked_events, checked_trace
from pxp_fsm.sessions.pending import EventSource, Pending
from pxp_fsm.sessions.scheduling import drawn, ready

FAILED = "FAILED"
"""The name under which the traceback of a member's own code is kept, among the judgements."""


class ActionBoard(Protocol):
    """Where a session's actions go, one transaction each."""

    def register_system(self, session: SystemSession) -> None:
        """Record `session` and its members, unless that was done already."""

    def append_action(self, session: str, occurrence: Occurrence) -> None:
        """Store an action, all of it or nothing. Raises `BlackboardError`."""

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how the session ended, and why; `judgements` led to no action."""


class SystemSession:
    """A session of `system` between `members`: a function, or an `Actor`, for each by its name.

    `pxp.Session(system, members)` makes one. `name` is the session's; `instance` what it is about.
    `seed` and `faults` determine what the channel does, and the order of what is ready at once.
    `events` says who raises the events from outside (`EventSource`). `follow` is a trace whose
    actions happen first, in its order; a member without a function of its own does as it says.
    After `limit` actions the session is over. `blackboard` stores each action in a transaction of
    its own, before the machines move; `on_action` is called after that.

    What a member's own code raises ends the session, and is raised again once that is stored;
    with `record_faults` it is only recorded, in `cause` and `fault`.

    Raises `UsageError` for members that the system has not, or that are missing.
    """

    def __init__(
        self,
        system: System,
        members: Mapping[str, Actor | MemberFunction],
        *,
        name: str = defaults.SESSION,
        instance: Instance | str = "",
        blackboard: ActionBoard | None = None,
        seed: int = 0,
        faults: Faults | None = None,
        events: Mapping[str, EventSource] = MappingProxyType({}),
        follow: Followed = (),
        limit: int = defaults.LIMIT,
        on_action: Callable[[Occurrence], None] | None = None,
        record_faults: bool = False,
    ) -> None:
        if limit < 1:
            raise UsageError(f"a session's limit must be at least 1 action, not {limit}")
        self.name = checked_name("a session's", name)
        self.system = system
        self.instance = Instance(instance, instance) if isinstance(instance, str) else instance
        self.live = LiveSystem(system)
        self._follow = checked_trace(system, follow)
        self.members = actors(system, members, some=bool(self._follow))
        self.seed = seed
        self.faults = faults or Faults()
        self.ending: Ending | None = None
        self.cause = ""
        self.fault: Exception | None = None
        self._pending = Pending(checked_events(system, events))
        self._blackboard = blackboard
        self._limit = limit
        self._on_action = on_action
        self._record_faults = record_faults
        self._history: list[Occurrence] = []
        self._letters: dict[str, list[Letter]] = {one: [] for one in self.live.machines}
        self._memory = dict.fromkeys(self.live.machines, "{}")

    def __repr__(self) -> str:
        state = "not over" if self.ending is None else self.ending.value
        if self.ending in FAULTS:
            state += f": {self.cause}"
        names = ", ".join(self.live.machines)
        return f"<Session {self.name}: {names}, {len(self._history)} actions, {state}>"

    @property
    def actions(self) -> tuple[Occurrence, ...]:
        """What has happened, in order."""
        return tuple(self._history)

    @property
    def states(self) -> dict[str, str]:
        """The present state of each member's machine."""
        return self.live.states

    def description(self, member: str) -> str:
        """What a member is made of, as the session is recorded."""
        actor = self.members.get(member)
        return "as the trace says" if actor is None else actor.describe()

    async def run(self) -> SystemSession:
        """Carry the session to its end, and return it; its `ending` says why it is over."""
        try:
            while self.ending is None:
                await self.step()
        finally:
            self._pending.stop()
        return self

    def run_sync(self) -> SystemSession:
        """The same for a caller that is not async; in a notebook, beside its running loop."""
        return waited_for(self.run())

    async def step(self) -> Occurrence | None:
        """The next action; None where the session ended without one.

        Raises what a member's own code has raised.
        """
        self._begin()
        chosen = None
        try:
            chosen = await self._next()
        except (NoAnswer, OracleFailed, GuardError) as error:
            self._fail(error)
        if chosen is not None:
            return self._happen(*chosen)
        if self.fault is not None and not self._record_faults:
            raise self.fault
        return None

    def raise_event(self, label: str) -> Occurrence:
        """Let the event `label` from outside happen at once.

        Raises `Refused`, with what is possible, where no member takes it now; nothing is stored.
        """
        self._begin()
        occurrence = self._happen(External(label), None)
        self._pending.wake()
        return occurrence

    def replay(self, occurrences: Sequence[Occurrence]) -> None:
        """Rebuild machines, letters on their way and memories from stored actions.

        Raises `Refused` where a stored action is not one that can happen there.
        """
        for occurrence in occurrences:
            if self.ending is not None or occurrence.number != len(self._history) + 1:
                raise Refused(f"stored action {occurrence.number} of {self.name} is out of place")
            self._take(occurrence)

    def _begin(self) -> None:
        if self.ending is not None:
            raise UsageError(f"session {self.name} has ended ({self.ending.value})")
        if not self._history and self._blackboard is not None:
            self._blackboard.register_system(self)

    async def _next(self) -> tuple[SystemAction, Decision | None] | None:
        """The action that comes next; None where the session has ended."""
        while not self.live.stopped:
            if self._ask():
                await asyncio.sleep(0)  # whoever need not wait has answered then
            for name, decision in self._pending.hear().items():
                self._check_payload(name, decision)
                self._pending.wants[name] = decision
            following = len(self._history) < len(self._follow)
            chosen = self._followed() if following else self._drawn()
            if chosen is not None and len(self._history) >= self._limit:
                self._end(Ending.LIMIT, f"stopped after {self._limit} actions")
            if self.ending is not None or chosen is not None:
                return None if self.ending is not None else chosen
            if not self._pending.waits_for(self._events()):
                break
            await self._pending.wait()
        self._conclude()
        return None

    def _ask(self) -> bool:
        """Ask each member that may act, and each source of an event; whether any was asked."""
        asked = self._pending.expect(self._events())
        for name, actor in self.members.items():
            machine = self.live.machines[name]
            if not self._pending.is_asked(name) and machine.automaton.own_rows(machine.state):
                self._pending.ask(name, actor.decide(self.turn(name), machine.automaton))
                asked = True
        return asked

    def _events(self) -> set[str]:
        return {event.label for event in self.live.externals()}

    def turn(self, name: str) -> Turn:
        """What the member `name` knows now."""
        machine = self.live.machines[name]
        rows = machine.automaton.own_rows(machine.state)
        return Turn(
            self.name,
            self.instance,
            name,
            machine.state,
            machine.automaton.guards_of(machine.state),
            tuple(dict.fromkeys(row.label for row in rows if row.guard is None)),
            tuple(self._letters[name]),
            json.loads(self._memory[name]),
        )

    def _check_payload(self, name: str, decision: Decision | None) -> None:
        """A fault of the member where what it wants to send fits no table that knows the tag."""
        problem = None if decision is None else self.unfit(name, decision)
        if problem is not None:
            said = f"{name}: {problem}"
            raise OracleFailed(Outcome.BROKEN, said, WrongType(said))

    def unfit(self, name: str, decision: Decision) -> str | None:
        """Why what the member `name` wants to send can reach nobody who takes it, or None."""
        place, row = self.system.places[name], decision.row
        if row.kind is not Kind.SEND:
            return None
        partners = self.system.partners(place, row)
        names = [self.system.members[each].name for each in partners]
        if decision.to and decision.to not in names:
            return f"{row.label} goes to {', '.join(names)}, not to {quoted(decision.to)}"
        for each in (place, *partners):
            table = self.system.members[each].automaton
            problem = payload_problem(table, row.label, decision.text)
            if problem is not None:
                return f"the payload of {row.label} does not fit {table.name}: {problem}"
        return None

    def _drawn(self) -> tuple[SystemAction, Decision | None] | None:
        raised = self._pending.raised | {
            label
            for label, probability in self._pending.chances.items()
            if self._chance(f"event {label}").random() < probability
        }
        found = ready(self.live, self._pending.wants, raised)
        return drawn(found, self.system.channel, self.faults, lambda: self._chance("next"))

    def _chance(self, what: str) -> random.Random:
        """Random numbers for the next action: the same where the session is resumed.

        They are the same in each run: of its name, the part after the run's counts.
        """
        place = self.name.partition("/")[2] or self.name
        return random.Random(f"{self.seed}/{place}/{len(self._history) + 1}/{what}")

    def _followed(self) -> tuple[SystemAction, Decision | None] | None:
        """The next action of the trace, when the member that it is of has decided the same."""
        action, wants = self._follow[len(self._history)], self._pending.wants
        if isinstance(action, Deliver | External):
            return action, None
        name, row = actor_of(action), self.live.row_of(action)
        if name not in self.members:
            wants[name] = Decision(row, "", "null", "")
            self._check_payload(name, wants[name])
        if name not in wants:
            return None
        decision = wants[name]
        to = "" if decision is None else decision.to
        elsewhere = isinstance(action, Exchange | Send) and to not in ("", action.receiver)
        if decision is None or decision.row != row or elsewhere:
            found = "wait" if decision is None else decision.row.guard or decision.row.action
            said = f"action {len(self._history) + 1} of the trace is {action}, but {name} chose"
            self._end(Ending.DIVERGED, f"{said} {found}{f' to {to}' if to else ''}")
            return None
        return action, decision

    def _happen(self, action: SystemAction, decision: Decision | None) -> Occurrence:
        """Store what happens, and let it happen; refused before anything is stored."""
        number, letter = len(self._history) + 1, None
        to, text, memory, judgements = "", "null", "", tuple[Judgement, ...]()
        if decision is not None:
            _, to, text, memory, judgements = decision
        match action:
            case Exchange(sender, receiver, tag) | Send(sender, receiver, tag):
                letter = Letter(number, sender, receiver, tag, text)
            case Choose(member, _, tag):
                letter = Letter(number, member, to, tag, text)
            case Deliver():
                letter = self._chance("letter").choice(self.live.offered(action))
        guard = "" if decision is None else decision.row.guard
        occurrence = Occurrence(number, action, guard or "", letter, memory, judgements)
        board = self._blackboard
        store = None if board is None else partial(board.append_action, self.name, occurrence)
        self._take(occurrence, store)
        if self._on_action is not None:
            self._on_action(occurrence)
        return occurrence

    def _take(self, occurrence: Occurrence, store: Callable[[], None] | None = None) -> None:
        """Move the machines, and note who knows what; who has moved is asked anew."""
        action, letter = occurrence.action, occurrence.letter
        moved = self.live.take(action, letter, store)
        self._history.append(occurrence)
        if occurrence.memory:
            self._memory[actor_of(action)] = occurrence.memory
        event = action.label if isinstance(action, External) else ""
        self._pending.happened([name for name, _ in moved], event)
        if letter is None:
            return
        if isinstance(action, Exchange | Send):
            self._letters[action.sender].append(letter)
        if isinstance(action, Exchange | Deliver):
            self._letters[action.receiver].append(letter)
        if isinstance(action, Choose):
            ((name, row),) = moved
            self._pending.wants[name] = Decision(row, letter.receiver, letter.text, "")

    def _conclude(self) -> None:
        """Nobody wants anything that can happen, and nobody is waited for."""
        if self.live.ended:
            self._end(Ending.FINISHED, "every member is in an end state")
            return
        possible = self.live.possible()
        if possible:
            there = ", ".join(map(str, possible))
            self._end(Ending.IDLE, f"nobody does what is possible: {there}")
            return
        found = [*self.live.obstacles(), *self.live.waits(), *self._lost()]
        self._end(Ending.DEADLOCK, "; ".join(found))

    def _lost(self) -> Iterator[str]:
        """The latest message that each link has lost: somebody may wait for it."""
        lost = dict[tuple[str, str], str]()
        for one in self._history:
            if isinstance(one.action, Send) and one.action.lost:
                link = one.action.sender, one.action.receiver
                lost[link] = f"{one.action.tag} of {link[0]} to {link[1]} was lost"
        yield from lost.values()

    def _fail(self, error: NoAnswer | OracleFailed | GuardError) -> None:
        self.fault = error.fault if isinstance(error, SessionFailed) else None
        found = () if self.fault is None else (_failure(self.fault),)
        self._end(ending_of(error), str(error), found)

    def _end(self, ending: Ending, cause: str, judgements: tuple[Judgement, ...] = ()) -> None:
        self.ending, self.cause = ending, storable(cause)
        self._pending.stop()
        if self._blackboard is not None:
            self._blackboard.close(self.name, ending.value, self.cause, judgements)


def actor_of(action: SystemAction) -> str:
    """The member that decides an action; "" where it is the channel, or comes from outside."""
    if isinstance(action, Deliver | External):
        return ""
    return action.sender if isinstance(action, Exchange | Send) else action.member


def _failure(fault: Exception) -> Judgement:
    nothing = digest("")
    detail = storable(traceback_of(fault))
    return Judgement(FAILED, nothing, nothing, Outcome.BROKEN, True, 0.0, detail)
