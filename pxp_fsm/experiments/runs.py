"""Runs: sessions of a task or of a system, stored, resumable, spread over processes.

One `Run` plans, carries on and counts all of them; what its sessions are, and who sits in them, an
`Opening` says. Sessions that hand on what was learned in them go one after the other; the others
go on together. What must stay together is a unit, which any process may carry.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import (
    asynccontextmanager,
    contextmanager,
)
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, overload

from backends.databases import Origin, RunRecord, SessionRecord, SqlBlackboard, origin_of
from backends.models.middleware.budget import Budget
from backends.models.registry import Serving
from backends.models.settings import Settings
from backends.people.browser import Desk
from pxp_fsm import __version__, defaults
from pxp_fsm.automata.system_files import (
    is_system_file,
    read_system,
)
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments import costs, members
from pxp_fsm.experiments.forks import carry_over, forkable, restore
from pxp_fsm.experiments.members import Part
from pxp_fsm.experiments.openings import (
    Opening,
    Past,
    Resumable,
    Slot,
    Surroundings,
    SystemOpening,
    TaskOpening,
    Unit,
    plan_as_recorded,
    units,
)
from pxp_fsm.experiments.plan_data import (
    placed,
    read_plan,
)
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.run_kinds import ForkChange
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.protocol.messages import printable
from pxp_fsm.protocol.rules import FAULTS, Ending
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.functions import waited_for
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import Task, find_task

_MOST = 20
"""Causes of faults that are reported while a run goes on; a cause is reported once."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress display is told: what has happened, or (None) that a session is over.

    `event` is a message, or an action of a system; `cause` says why it ended.
    """

    session: str
    repetition: int
    position: int
    instance: str
    event: Event | None
    ending: str | None = None
    cause: str = ""


OnStep = Callable[[Progress], None]


OpeningT = TypeVar("OpeningT", bound=Opening)
ResumableT = TypeVar("ResumableT", bound=Resumable)


class Run(Generic[OpeningT]):
    """A run on a blackboard, new or resumed; `start` and `resume` make one.

    `meter` counts what its models cost, as it goes on; `on_wait` is called with the reason when a
    server keeps it waiting, `on_fault` with each line on what ended a session by a fault,
    `on_begin` with each session that is to go on.
    """

    def __init__(self, name: str, opening: OpeningT, board: SqlBlackboard) -> None:
        self.name = name
        self.opening = opening
        self.board = board
        self.meter = costs.Meter()
        self.on_wait: Callable[[str], None] = lambda _why: None
        self.on_fault: Callable[[str], None] = log
        self.on_begin: Callable[[Session], None] = lambda _session: None
        self._faults = Reporter()
        self._served: Serving | None = None
        self._is_claimed = False

    @property
    def total(self) -> int:
        """The number of sessions planned."""
        return 1 if self.opening.single else self.opening.repetitions * self.opening.sessions

    @cached_property
    def finished(self) -> int:
        """How many sessions were over when this was first asked."""
        if self.opening.single is not None:
            return self.total - self.left.total()
        counts = (summary.over for summary in self.board.summaries() if summary.run == self.name)
        return next(counts, 0)

    @property
    def left(self) -> Counter[int]:
        """How many sessions of each repetition are not over."""
        single, size = self.opening.single, self.opening.sessions
        if single is not None:
            left = Counter({single.repetition: 1})
            stored = self.board.sessions_at(self.name, single.repetition, single.last, single.last)
        else:
            left = Counter(dict.fromkeys(range(1, self.opening.repetitions + 1), size))
            stored = self.board.sessions(self.name)
        left.subtract(record.repetition for record in stored if record.ending is not None)
        return left

    def endings(self) -> Counter[str]:
        """How many sessions that are over have ended how."""
        return Counter(
            session.ending for session in self.board.sessions(self.name) if session.ending
        )

    def units(self) -> Iterator[Unit]:
        """The parts of the run that depend on no other, in order."""
        opening = self.opening
        if opening.single is not None:
            return iter([opening.single])
        return units(opening.repetitions, opening.sessions, opening.carries)

    def shares(self, workers: int) -> tuple[Settings, ...]:
        """What each of at most so many `workers` may ask models; none where it asks none."""
        if not self.opening.asks_models:
            return ()
        spent, settings = self.board.spending(self.name), self.opening.settings
        Budget(settings.dollars, settings.calls, spent=spent)  # raises where they cannot be kept
        return settings.shares(workers, spent)

    def execute(
        self, on_step: OnStep = lambda _step: None, folder: Path = Path(defaults.OUTPUT)
    ) -> None:
        """Carry the run to its end; can be interrupted at any instant and resumed.

        What a person looks at, and what they leave unsent, is kept in `folder`. Raises
        `BlackboardError` where another process is working on the run.
        """
        with self._claimed():
            waited_for(self._execute(self._whole, folder, on_step))

    async def carry(self, where: Desk | Path, on_step: OnStep = lambda _step: None) -> None:
        """The same in the loop of a caller; whoever a server serves is asked at the desk `where`.

        A session that waits for them holds up none that does not depend on it. Raises what
        `execute` raises.
        """
        with self._claimed():
            await self._execute(self._whole, where, on_step)

    def execute_units(self, chosen: Sequence[Unit], on_step: OnStep = lambda _step: None) -> None:
        """Carry some units to their end; whoever calls sees to it that nobody else does."""
        waited_for(self._execute(chosen, Path(defaults.OUTPUT), on_step))

    @asynccontextmanager
    async def open_models(self) -> AsyncIterator[Callable[[str], LanguageModel]]:
        """A block in which the models of the run are asked outside its sessions too.

        What it costs counts as the run's, and what was replied before is not asked again. It may
        be carried in the block. Raises what `execute` raises.
        """
        with self._claimed():
            async with self._serving() as serving:
                around = Surroundings(self.name, self.board, serving, Path(defaults.OUTPUT))
                yield around.model

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """While no other process may work on the run."""
        if self._is_claimed:
            yield
            return
        self.board.lock(self.name)
        self._is_claimed = True
        try:
            yield
        finally:
            self._is_claimed = False
            self.board.unlock(self.name)

    @property
    def _whole(self) -> Sequence[Unit]:
        """All sessions, one unit a repetition."""
        opening = self.opening
        if opening.single is not None:
            return (opening.single,)
        return [
            Unit(repetition, 1, opening.sessions)
            for repetition in range(1, opening.repetitions + 1)
        ]

    async def _execute(self, chosen: Sequence[Unit], where: Path | Desk, on_step: OnStep) -> None:
        async with self._serving() as serving:
            self.opening.begin(Surroundings(self.name, self.board, serving, where))
            lanes = chain.from_iterable(self._lanes(unit, on_step) for unit in chosen)
            await together(lanes, self.opening.at_once)

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[Serving | None]:
        """The models of the run while it is carried on; none where it names none."""
        if self._served is not None or not self.opening.asks_models:
            yield self._served
            return
        self.meter = costs.meter_of(self.board, self.name)
        stored = (self.board, self.name, self.opening.settings, self.meter)
        async with costs.serving_of(*stored, self.on_wait) as serving:
            self._served = serving
            try:
                yield serving
            finally:
                self._served = None

    def _lanes(self, unit: Unit, on_step: OnStep) -> Iterator[Coroutine[None, None, object]]:
        """The parts of a unit that depend on no other: each session, or all of them in a row."""
        place = self.name, unit.repetition, unit.first, unit.last
        stored = [*self.opening.before(unit), *self.board.sessions_at(*place)]
        known = {record.position: record for record in stored}
        past = Past()
        places = [
            (unit.repetition, position, known.get(position))
            for position in range(unit.first, unit.last + 1)
        ]

        async def carry_on() -> None:
            for slot in places:
                await self._session(*slot, past, on_step)

        if self.opening.carries:
            yield carry_on()
            return
        # what is over is not replayed: nobody needs what was learned in it
        for repetition, position, record in places:
            if record is None or record.ending is None:
                yield self._session(repetition, position, record, past, on_step)

    async def _session(
        self,
        repetition: int,
        position: int,
        stored: SessionRecord | None,
        past: Past,
        on_step: OnStep,
    ) -> None:
        """Carry a session to its end, from where it is stored to be."""
        name = f"{self.name}/{repetition}/{position}" if stored is None else stored.session

        def told(event: Event) -> None:
            on_step(Progress(name, repetition, position, session.instance.key, event))

        slot = Slot(name, repetition, position, stored, told)
        async with self.opening.open(slot, past) as session:
            self._restore(session, slot)
            if slot.is_over:
                return
            self.on_begin(session)
            await session.run()
        for line in self._faults.lines(session):
            self.on_fault(line)
        assert session.ending is not None  # noqa: S101 - it has run to its end
        over = session.ending.value, session.cause
        on_step(Progress(name, repetition, position, session.instance.key, None, *over))

    def _restore(self, session: Session, slot: Slot) -> None:
        """Record a new session; bring one that was begun, or carries another on, to where it is."""
        if slot.stored is None:
            self.board.start_session(self.opening.record(session, slot))
        elif slot.stored.run == self.name:
            self.opening.check(session, slot)
        if self.opening.origin is not None and not slot.is_over:
            carry_over(self.board, self.opening.origin, session)
        elif slot.stored is not None:
            restore(self.board, session)


async def together(sessions: Iterator[Coroutine[None, None, object]], at_once: int) -> None:
    """Carry all to their end, `at_once` of them at a time: one that waits holds up no other."""

    if at_once == 1:  # in this task: what stops it is told by nobody else
        for session in sessions:
            await session
        return

    stops: list[KeyboardInterrupt | SystemExit] = []

    async def carry() -> None:
        try:
            for session in sessions:
                await session
        except (KeyboardInterrupt, SystemExit) as stop:
            # It would end the loop before this function hears of it, and be logged as unheard.
            stops.append(stop)
            raise asyncio.InvalidStateError from stop

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(carry())
    except BaseExceptionGroup as failed:
        raise (stops or failed.exceptions)[0] from failed


class EndedSession(Protocol):
    """A session that is over."""

    name: str
    ending: Ending | None
    cause: str
    fault: Exception | None


class Reporter:
    """Reports what ended sessions by a fault, each cause once, line by line."""

    def __init__(self) -> None:
        self._known = set[str]()

    def lines(self, session: EndedSession) -> Iterator[str]:
        """The cause, if it is a new one, and the traceback of what a user's own code raised."""
        new = session.cause not in self._known and len(self._known) < _MOST
        if session.ending is None or session.ending not in FAULTS or not new:
            return
        self._known.add(session.cause)
        yield f"Session {session.name} ended by a fault, {session.ending.value}: {session.cause}"
        if session.fault is not None:
            for text in traceback.format_exception(session.fault):
                yield from text.splitlines()


def log(line: str) -> None:
    """Report a line to whoever calls from Python: on standard error, unless logging says else."""
    logging.getLogger("pxp_fsm").warning("%s", printable(line))


@overload
def start(
    subject: Plan,
    board: SqlBlackboard,
    settings: Settings | None = None,
    name: str | None = None,
) -> Run[TaskOpening]: ...


@overload
def start(
    subject: OpeningT, board: SqlBlackboard, settings: None = None, name: str | None = None
) -> Run[OpeningT]: ...


def start(
    subject: Plan | Opening,
    board: SqlBlackboard,
    settings: Settings | None = None,
    name: str | None = None,
) -> Run[Any]:
    """A new run, recorded as `name` or the next free `TASK-NUMBER`; nothing is run yet.

    Its sessions are those of a plan, whose models are asked by `settings`, or of an opening. Raises
    `UsageError`, `DataError` or `BlackboardError` before anything is.
    """
    opening: Opening = (
        TaskOpening.read(subject, settings=settings) if isinstance(subject, Plan) else subject
    )
    record = opening.run_record(board)
    if name is None:
        name = board.start_numbered_run(record).run
    else:
        board.start_run(replace(record, run=name))
    return Run(name, opening, board)


@overload
def run(
    subject: Plan,
    board: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run[TaskOpening]: ...


@overload
def run(
    subject: str | Path,
    board: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    respondents: Mapping[str, str] = MappingProxyType({}),
    sessions: int = 1,
    seed: int = 0,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run[Any]: ...


def run(
    subject: Plan | str | Path,
    board: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    respondents: Mapping[str, str] = MappingProxyType({}),
    sessions: int = 1,
    seed: int = 0,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run[Any]:
    """Run a task, `drug`, `rad` or an installed one, or a system's file, to its end.

    The sessions go to `board`. Of a task: `task` is one that is not installed; `machine` and
    `human` take the place of the task's own: an agent, or a respondent (a function of the question,
    too) with the relations of the task's own; a learner is copied for each repetition. Of a system:
    so many `sessions`, whose channels draw from `seed`; `respondents` say who answers for its
    members in place of whom the file names. `name` is the run's, else the next free one; a run that
    is there under it, of the same plan, is carried on. `settings` are how models are asked.

    >>> import pxp_fsm as pxp
    >>> def chemist(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("CO", "I would begin with methanol.")
    >>> with pxp.open_blackboard(":memory:") as board:
    ...     done = pxp.run(pxp.Plan("drug", instances="1"), board)
    ...     mine = pxp.run(pxp.Plan("drug", instances="1"), board, machine=chemist)
    ...     [record.ending for record in board.sessions()]
    ['ratified', 'rejected']

    Raises `UsageError` or `DataError` for what cannot be carried out.
    """
    if not isinstance(board, SqlBlackboard):
        raise UsageError(f"a run needs a pxp.open_blackboard(FILE), not {quoted(board)}")
    known = name is not None and name in {record.run for record in board.runs()}
    begun: Run[Any]
    if not isinstance(subject, Plan) and is_system_file(str(subject)):
        for option, value in (("task", task), ("machine", machine), ("human", human)):
            if value is not None:
                raise UsageError("this applies to a task, not to a system", option)
        file = read_system(subject)
        chosen = members.respondents(file, respondents, settings=settings)
        system = SystemOpening(file, chosen, sessions=sessions, seed=seed, settings=settings)
        if name is not None and known:
            begun = resume(name, board, settings, system)
            if begun.opening.meaning() != system.meaning():
                raise UsageError(f"run {name} has another plan; give this one another name", "name")
        else:
            begun = start(system, board, name=name)
    else:
        if respondents:
            raise UsageError("this applies to a system, not to a task", "respondents")
        plan = subject if isinstance(subject, Plan) else Plan(str(subject))
        seated = members.seated(task or find_task(plan.task), plan, machine, human)
        if name is not None and known:
            begun = resume(name, board, settings, seated)
            if begun.opening.plan != placed(plan):
                raise UsageError(f"run {name} has another plan; give this one another name", "name")
        else:
            begun = start(TaskOpening.read(plan, seated, settings), board, name=name)
    begun.execute()
    return begun


@overload
def resume(
    name: str,
    board: SqlBlackboard,
    settings: Settings | None = None,
    subject: Task | None = None,
    *,
    may_be_over: bool = False,
) -> Run[TaskOpening]: ...


@overload
def resume(
    name: str, board: SqlBlackboard, settings: Settings | None, subject: ResumableT
) -> Run[ResumableT]: ...


def resume(
    name: str,
    board: SqlBlackboard,
    settings: Settings | None = None,
    subject: Task | Resumable | None = None,
    *,
    may_be_over: bool = False,
) -> Run[Any]:
    """The run `name`, to be carried on at the next message or action.

    `subject` is its task where that is not installed; of a run of a system it says who its members
    are, of another run of no task what its sessions are. It keeps the caps that it was begun with
    where `settings` set none. Where it `may_be_over`, one with a person may be too, and nobody is
    asked anything.

    Raises `NotThere` where there is no such run, and `UsageError` or `DataError` where the package,
    its plan, data, tables or members are not what they were (what was learned could not be
    rebuilt), or a run with a person is over.
    """
    record = _resumable(name, board)
    if subject is not None and not isinstance(subject, Task):
        return Run(name, subject.resumed(record, settings), board)
    opening = TaskOpening.stored(record, board, settings, subject)
    resumed, plan = Run(name, opening, board), opening.plan
    if plan.person is not None and not may_be_over and resumed.finished == resumed.total:
        raise UsageError(
            f"run {name} is over, with {plan.subject or 'a person who has no pseudonym'}: nobody "
            f"would be asked anything; for somebody else give another subject, and to see what "
            f"came of it pxp report",
            "subject",
        )
    return resumed


def _resumable(name: str, board: SqlBlackboard) -> RunRecord:
    """What is recorded of a run that can be carried on."""
    record = board.run(name)
    if record.version != __version__:
        raise UsageError(
            f"run {name} was begun by version {record.version}, this is {__version__}; "
            f"resume it with that version, or start a new run"
        )
    erased = board.erasures(name)
    if erased:
        raise UsageError(
            f"session {erased[0].session} was erased: what was said in it cannot be carried on "
            f"from; start a new run"
        )
    return record


def fork(
    origin: Origin,
    board: SqlBlackboard,
    values: Mapping[str, Any] = MappingProxyType({}),
    settings: Settings | None = None,
    task: Task | None = None,
    *,
    changes: Sequence[ForkChange] = (),
) -> Run[TaskOpening]:
    """A new run of one session, which carries on a stored one of a task from `origin`.

    Where something of that message is changed, by an answer that is `values` or by `changes` that
    plug-ins know, the messages before it are kept, and it is made anew.

    The run is recorded, and nothing is run yet. Its plan is that of the stored run, but for what is
    `values` by the names of a plan's fields, and for the changes. Raises what `resume` and
    `forks.forkable` raise.
    """
    changes = [change for change in changes if change.chosen]
    asked = [name for change in changes for name in change.chosen]
    asked += ["answer"] if "answer" in values else []
    if len(asked) > 1:
        raise UsageError(f"of {' and '.join(asked)} only one can change a turn; leave the rest out")
    if asked:
        origin = _before(board, origin, asked[0])
    stored = forkable(board, origin)
    forked = stored.record
    record = _resumable(forked.run, board)
    plan, task, _ = plan_as_recorded(record, board, task)
    before = origin_of(record.plan)
    if before is not None:
        raise UsageError(
            f"session {origin.session} carries on {before}, and what its machine had learned is "
            f"not known here; carry on {before.session} instead"
        )
    if values.get("task", plan.task) != plan.task:
        raise UsageError(f"session {origin.session} is of task {plan.task}, not {values['task']}")
    for field_name in _KEPT:
        if field_name in values and values[field_name] != getattr(plan, field_name):
            raise UsageError(
                "a fork keeps this of the run that it carries on; leave it out", field_name
            )
    plan = replace(plan, **values)
    for change in changes:
        plan = change.applied(plan, [name for name, _ in forked.agents], origin.number)
    of_two = plan.agents is None and origin.number
    ending = plan.rules().ending(stored.history[: origin.number]) if of_two else None
    if ending is not None:
        raise UsageError(
            f"with these bounds session {forked.session} ends by message {origin.number} "
            f"({ending.value}); carry it on from an earlier one"
        )
    held = read_plan(plan, task)
    return start(TaskOpening(plan, *held, settings, origin, forked), board)


def _before(board: SqlBlackboard, changed: Origin, option: str) -> Origin:
    """Where a fork begins that makes a message anew: after the one before it."""
    many = len(board.session(changed.session).events)
    if not 1 <= changed.number <= many + 1:
        raise UsageError(
            f"session {changed.session} has {many} messages, and no message {changed.number} to be "
            f"made anew",
            option,
        )
    return replace(changed, number=changed.number - 1)


_KEPT = (
    *("protocol", "data", "instances", "test", "validation", "label"),
    *("order", "seed", "repetitions"),
)
"""The fields of a plan on which it depends which session has which place."""
