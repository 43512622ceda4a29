"""Execution of runs: repetitions of a session for every instance, stored, resumable.

Each repetition starts with a machine that has learned nothing. Unless the plan says otherwise, the
machine carries what it learns from session to session, so that order matters; where it does not,
sessions go on together. What must stay together is a unit, which any process may carry.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from backends.databases import Origin, SessionRecord, SqlBlackboard
from backends.databases.own_sessions import session_record
from backends.models.middleware.budget import Budget
from backends.models.registry import Serving
from backends.models.settings import Settings
from backends.people.browser import Desk
from guards.relations.judge import Scope
from pxp_fsm import defaults
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import costs, participants
from pxp_fsm.experiments.drawings import check_agents, check_table, rules_of
from pxp_fsm.experiments.faults import Reporter, log
from pxp_fsm.experiments.forks import carry_over, copies, forkable
from pxp_fsm.experiments.orders import Order, ordered
from pxp_fsm.experiments.plan_data import gate_of
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.telemetry import TracedBoard
from pxp_fsm.experiments.units import (
    ONE_BATCH,
    ONE_MEMORY,
    ONE_SERVER,
    ONE_TERMINAL,
    Unit,
    together,
    units,
)
from pxp_fsm.prompting.model import Model
from pxp_fsm.protocol.messages import Episode, Message
from pxp_fsm.sessions.agent import Members
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.sessions.learning import Keep
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import MACHINE, DataSet, Row, Task


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress display is told: a message sent, or (None) a session that is over."""

    session: str
    repetition: int
    position: int
    instance: str
    message: Message | None
    ending: str | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a session in its run, and its row."""

    repetition: int
    position: int
    row: Row


class Run:
    """A run on a blackboard, new or resumed; `start` and `resume` make one.

    `total` is the number of sessions planned; `meter` counts what its models cost, as it goes on;
    `on_wait` is called with the reason when a server keeps it waiting. A run with an `origin` is
    one session, which carries on a stored one of another run. Raises what `participants.models`
    raises.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        task: Task,
        data: DataSet,
        blackboard: SqlBlackboard,
        settings: Settings | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.selection = participants.models(plan, task, data, settings)
        self.meter = costs.Meter()
        self.on_wait: Callable[[str], None] = lambda _why: None
        self.on_fault: Callable[[str], None] = log
        self._faults = Reporter()
        self.name = name
        self.plan = plan
        self.task = task
        self.data = data
        self.origin = origin
        self._forked = None if origin is None else blackboard.session(origin.session).record
        self._blackboard = blackboard
        self._rules = plan.rules()
        self.settings = settings or Settings()
        self._where: Path | Desk = Path(defaults.OUTPUT)

    @property
    def total(self) -> int:
        return 1 if self._forked else self.plan.repetitions * len(self.data.sessions)

    @cached_property
    def finished(self) -> int:
        """How many sessions were over when this was first asked."""
        found = (each.over for each in self._blackboard.summaries() if each.run == self.name)
        return next(found, 0)

    @property
    def left(self) -> Counter[int]:
        """How many sessions of each repetition are not over."""
        size = len(self.data.sessions)
        found = Counter(dict.fromkeys(range(1, self.plan.repetitions + 1), size))
        if self._forked is not None:
            found = Counter({self._forked.repetition: 1})
        stored = self._blackboard.sessions(self.name)
        found.subtract(each.repetition for each in stored if _over(each))
        return found

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know of who sat in its sessions."""
        return participants.notes(self.plan, self.selection, self.task)

    @property
    def carries(self) -> bool:
        """Whether a session depends on those before it in its repetition."""
        return self.plan.goes_on and (self.task.at_once == 1 or self.selection.machine is not None)

    @property
    def unshared(self) -> str:
        """Why one process has to carry the run, if it has to."""
        if self.plan.person is not None:
            return ONE_TERMINAL
        if self.plan.assistants:
            return ONE_SERVER
        if self.selection.any and self.settings.batches:
            return ONE_BATCH
        remembers = participants.scope_of(self.plan) in (Scope.RUN, Scope.PAIR)
        return ONE_MEMORY if self.selection.judge is not None and remembers else ""

    def sent(self) -> str:
        """Nothing has to be sent of it to a worker: plan and data are stored by their names."""
        return ""

    def units(self) -> Iterator[Unit]:
        """The parts of the run that depend on no other, in order."""
        if self._forked is not None:
            place = self._forked.position
            return iter([Unit(self._forked.repetition, 1 if self.carries else place, place)])
        return units(self.plan.repetitions, len(self.data.sessions), self.carries)

    def execute(
        self,
        on_step: Callable[[Progress], None] = lambda _step: None,
        folder: Path = Path(defaults.OUTPUT),
    ) -> None:
        """Carry the run to its end; can be interrupted at any instant and resumed.

        What a person looks at, and what they leave unsent, is kept in `folder`. Raises
        `BlackboardError` where another process is working on the run.
        """
        self._where = folder
        self._blackboard.lock(self.name)
        try:
            waited_for(self._execute(on_step))
        finally:
            self._blackboard.unlock(self.name)

    async def carry(
        self, desk: Desk, on_step: Callable[[Progress], None] = lambda _step: None
    ) -> None:
        """Carry the run to its end in the loop of a server; whoever it serves is asked at `desk`.

        A session that waits for them holds up none that does not depend on it. Raises what
        `execute` raises.
        """
        self._where = desk
        self._blackboard.lock(self.name)
        try:
            await self._execute(on_step)
        finally:
            self._blackboard.unlock(self.name)

    def shares(self, workers: int) -> tuple[Settings, ...]:
        """What each of at most so many `workers` may ask models; none where it asks none."""
        if not self.selection.any:
            return ()
        spent, settings = self._blackboard.spending(self.name), self.settings
        Budget(settings.dollars, settings.calls, spent=spent)  # raises where they cannot be kept
        return settings.shares(workers, spent)

    def execute_units(
        self, units: Sequence[Unit], on_step: Callable[[Progress], None] = lambda _step: None
    ) -> None:
        """Carry some units to their end; whoever calls sees to it that nobody else does."""
        waited_for(self._execute(on_step, units))

    async def _execute(
        self, on_step: Callable[[Progress], None], chosen: Sequence[Unit] | None = None
    ) -> None:
        """Carry `chosen` units to their end; None is every repetition."""
        size, every = len(self.data.sessions), range(1, self.plan.repetitions + 1)
        whole = list(self.units()) if self.origin else [Unit(one, 1, size) for one in every]
        async with self._serving() as serving:
            roles = self._participants(serving)
            lanes = (self._lanes(unit, roles, serving, on_step) for unit in chosen or whole)
            if self.plan.is_served:
                await together(chain.from_iterable(lanes), defaults.AT_ONCE)
            elif serving is None or self.plan.person is not None:
                for each in lanes:
                    await together(each, 1 if self.carries else self._at_once(serving))
            else:  # who waits for a server holds up nobody
                await together(chain.from_iterable(lanes), self._at_once(serving))

    def _participants(self, serving: Serving | None) -> participants.Participants:

        def none(name: str) -> Model:
            raise UsageError(f"this run has no model, so it cannot use {name}")

        opened = none if serving is None else serving.model
        about = (self.plan, self.task, self.data)
        roles = participants.Participants(*about, self._where, self.selection, opened)
        if self.selection.judge is not None:
            for record in self._blackboard.sessions(self.name):
                entries = self._blackboard.entries(record.session)
                roles.remember(record.session, record.agents[0][0], entries)
            self._remember_origin(roles)
        return roles

    def _remember_origin(self, roles: participants.Participants) -> None:
        """Tell the judges what they were asked in the messages that are to be copied."""
        forked, origin = self._forked, self.origin
        if forked is None or origin is None or self._blackboard.sessions(self.name):
            return
        name = f"{self.name}/{forked.repetition}/{forked.position}"
        entries = copies(forkable(self._blackboard, origin), origin, name)
        roles.remember(name, forked.agents[0][0], entries)

    def _lanes(
        self,
        unit: Unit,
        roles: participants.Participants,
        serving: Serving | None,
        on_step: Callable[[Progress], None],
    ) -> Iterator[Coroutine[None, None, object]]:
        """The parts of a unit that depend on no other: each session, or all of them in a row."""
        place = (unit.repetition, unit.first, unit.last)
        stored = {each.session: each for each in self._blackboard.sessions_at(self.name, *place)}
        stored |= self._earlier(unit)
        for record in stored.values():
            check_table(record)
        order = ordered(self.data.sessions, Order(self.plan.order), self.plan.seed, unit.repetition)
        slots = [
            Slot(unit.repetition, position, order[position - 1])
            for position in range(unit.first, unit.last + 1)
        ]

        def agents() -> Members:
            return self._gated(roles.agents(unit.repetition))

        def noted() -> AbstractContextManager[object]:  # batches wait for each open session
            if serving is None or self.plan.is_served:
                return nullcontext()
            return serving.session()

        async def carry_on(both: Members) -> None:
            earlier = dict[str, tuple[Episode, ...]]()
            for slot in slots:
                with noted():
                    session = await self._session(slot, both, earlier, stored, on_step)
                for name, episode in session.episodes().items():
                    earlier[name] = (*earlier.get(name, ()), episode)

        if self.carries:
            yield carry_on(agents())
            return
        # what is over is not replayed: nobody needs what was learned in it
        left = [slot for slot in slots if not _over(stored.get(self._session_name(slot)))]
        shared = agents() if self.plan.goes_on and self.plan.learn == Keep.ALWAYS else None

        async def carry(slot: Slot) -> None:
            with noted():
                await self._session(slot, shared or agents(), {}, stored, on_step)

        yield from map(carry, left)

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[Serving | None]:
        """The models of the run while it is carried on; none where it names none."""
        if not self.selection.any:
            yield None
            return
        self.meter = costs.meter_of(self._blackboard, self.name)
        stored = (self._blackboard, self.name, self.settings, self.meter)
        async with costs.serving_of(*stored, self.on_wait) as serving:
            yield serving

    def _at_once(self, serving: Serving | None) -> int:
        """How many sessions go on at a time: all of them in batches, and one with a person."""
        if self.plan.person is not None:
            return 1
        if serving is None:
            return self.task.at_once if self.plan.goes_on else defaults.AT_ONCE
        settings = serving.settings
        return self.total if settings.batches else settings.in_flight

    def _gated(self, members: Members) -> Members:
        limit = self.plan.timeout
        timed = dict(members)
        if limit is not None:
            timed = {name: replace(agent, timeout=limit) for name, agent in members.items()}
        gate = gate_of(self.plan, self.data)
        return timed if gate is None else timed | {MACHINE: replace(timed[MACHINE], gate=gate)}

    def _earlier(self, unit: Unit) -> dict[str, SessionRecord]:
        """The sessions before the one that is carried on, from which its machine has learned."""
        if self._forked is None or unit.first == unit.last:
            return {}
        place = self._forked.run, unit.repetition, unit.first, unit.last - 1
        found = {each.session: each for each in self._blackboard.sessions_at(*place)}
        if len(found) < unit.last - unit.first or not all(map(_over, found.values())):
            raise UsageError(
                f"a session before {self._forked.session} is not over, so that it is not known "
                f"what the machine had learned; resume run {self._forked.run} first"
            )
        return found

    def _session_name(self, slot: Slot) -> str:
        forked = self._forked
        own = forked is None or slot.position == forked.position
        run = self.name if own or forked is None else forked.run
        return f"{run}/{slot.repetition}/{slot.position}"

    async def _session(
        self,
        slot: Slot,
        members: Members,
        earlier: Mapping[str, tuple[Episode, ...]],
        known: Mapping[str, SessionRecord],
        on_step: Callable[[Progress], None],
    ) -> Session:
        name = self._session_name(slot)
        place = (name, slot.repetition, slot.position, slot.row.instance.key)
        stored = known.get(name)
        board = TracedBoard(self._blackboard)
        session = Session(
            rules_of(stored) if stored is not None and stored.run != self.name else self._rules,
            members,
            instance=slot.row.instance,
            name=name,
            blackboard=board if not _over(stored) else None,
            on_message=lambda message: on_step(Progress(*place, message)),
            earlier=earlier,
            record_faults=True,
            update_context=self.task.update_context,
        )
        record = stored or replace(
            session_record(session, self.name, slot.repetition, slot.position),
            subject=self.plan.subject or "",
        )
        if stored is None:
            self._blackboard.start_session(record)
        elif stored.run == self.name:  # others may sit in a session that is carried on
            check_agents(stored, members)
        if self.origin is not None and not _over(stored):
            carry_over(self._blackboard, self.origin, session)
        elif stored is not None:
            session.replay(self._blackboard.entries(name), self._blackboard.closing(name))
            if _over(stored):
                return session
        with board.session(record, lambda: self._blackboard.entries(name)):
            while session.ending is None:
                await session.step()
                await asyncio.sleep(0)
        for line in self._faults.lines(session):
            self.on_fault(line)
        on_step(Progress(*place, None, session.ending.value))
        return session


def _over(record: SessionRecord | None) -> bool:
    return record is not None and record.ending is not None
