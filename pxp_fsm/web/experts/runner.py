"""Runs with people in browsers and assistants, carried on in one loop; their questions wait here.

Nothing that waits is stored: what a run is about to ask follows from the messages on its
blackboard, so that a server that was killed asks the same again.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import count

from backends.databases import SqlBlackboard
from backends.people.browser import LONGEST, Asked, Given, accepted
from backends.people.waiting import Questions, Waiting
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments.execution import Progress, Run
from pxp_fsm.experiments.faults import log
from pxp_fsm.prompting.model import OnText

_LONGEST = 60.0
"""Seconds for which the loop that carries runs is waited for."""
_TOGETHER = 0.1
"""Seconds in which the pieces of an answer that is being written are told together."""


class RunState(StrEnum):
    """Whether a run is carried on."""

    RUNNING = "running"
    PAUSED = "paused"
    OVER = "over"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Place:
    """A session's place in its run, planned or begun; `id` is what its addresses call it.

    `number` counts all sessions of its expert.
    """

    id: str
    number: int
    run: str
    repetition: int
    position: int

    @property
    def session(self) -> str:
        """The session's name on the blackboard."""
        return f"{self.run}/{self.repetition}/{self.position}"


@dataclass
class Hosted:
    """A run on this server, with its `places`; `trouble` says why it has stopped."""

    run: Run
    places: tuple[Place, ...]
    state: RunState = RunState.PAUSED
    trouble: str = ""
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def subject(self) -> str:
        """The pseudonym of its person."""
        return self.run.plan.subject or ""


@dataclass(frozen=True, slots=True)
class Written:
    """What the other agent has written so far of message `number`; it is not sent yet."""

    number: int
    text: str


class Runner:
    """Carries `runs` on in a thread of its own, from `start` to `stop`.

    `on_change` is called with a session's name whenever something of it may look otherwise, from
    that thread. If `shows_writing`, models are asked to reply piece by piece, and `on_write` is
    called with the id of a session's place while one writes.
    """

    def __init__(
        self, board: SqlBlackboard, runs: Sequence[Run], *, shows_writing: bool = False
    ) -> None:
        self.board = board
        self.hosted: dict[str, Hosted] = {}
        self.places: dict[str, Place] = {}
        numbers: dict[str, Iterator[int]] = {}
        for run in runs:
            self._host(run, numbers.setdefault(run.plan.subject or "", count(1)))
        self.on_change: Callable[[str], None] = lambda _session: None
        self.on_write: Callable[[str], None] = lambda _place: None
        self.questions = Questions[Asked, Given](self._told)
        self._shows_writing = shows_writing
        self._written: dict[str, Written] = {}
        self._begun = set[str]()
        self._to_tell = set[str]()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready: Future[None] = Future()
        self._leaving: set[asyncio.Task[None]] = set()

    def _told(self, session: str) -> None:
        self._begun.add(session)
        self.on_change(session)  # whoever listens by now

    def start(self) -> None:
        """Begin to carry on every run that is not over; raises what its database raises."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.result()

    def stop(self) -> None:
        """Leave every run where it is; what was asked will be asked again."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._thread = None

    def pause(self, run: str) -> None:
        """Leave a run where it is, until `go_on`."""
        self._in_loop(lambda: self._pause(self.hosted[run]))

    def go_on(self, run: str) -> None:
        """Carry a run on that was paused, or that had stopped."""
        self._in_loop(lambda: self._go_on(self.hosted[run]))

    def attach(self, run: Run) -> Hosted:
        """Carry another run on, as soon as the others leave time for it."""
        if self._loop is None:
            raise UsageError("no run is carried on: the server has not started")
        hosted = self._host(run, count(1))
        self._loop.call_soon_threadsafe(self._go_on, hosted)
        return hosted

    def detach(self, run: str) -> None:
        """Leave a run where it is, and let go of it; nothing changes where it is not here."""
        hosted = self.hosted.pop(run, None)
        if hosted is None:
            return
        for place in hosted.places:
            self.places.pop(place.id, None)
        left: Future[None] = Future()

        async def leave(task: asyncio.Task[None] | None) -> None:
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            left.set_result(None)

        def begin() -> None:
            self._leaving.add(ends := asyncio.create_task(leave(hosted.task)))
            ends.add_done_callback(self._leaving.discard)

        self._in_loop(begin)
        left.result(_LONGEST)

    def _host(self, run: Run, numbers: Iterator[int]) -> Hosted:
        hosted = self.hosted[run.name] = Hosted(run, tuple(_places(run, numbers)))
        self.places |= {place.id: place for place in hosted.places}
        return hosted

    def waiting(self, session: str) -> Waiting[Asked, Given] | None:
        """What waits for the person of a session."""
        return self.questions.waiting(session)

    def will_ask(self, session: str) -> bool:
        """Whether a session goes on that has asked nothing yet since its run was begun or resumed.

        What was asked before is asked again then.
        """
        hosted = self.hosted.get(session.rsplit("/", 2)[0])
        goes_on = hosted is not None and hosted.state is RunState.RUNNING
        return goes_on and session not in self._begun

    def check(self, session: str, key: str, given: Given) -> Given:
        """What `given` is as an answer to the question `key`.

        Raises `Moved` where that is not what is asked, `UsageError` or `DataError` where it cannot
        be an answer.
        """
        waiting = self.questions.expected(session, key)
        run = self.hosted[session.rsplit("/", 2)[0]].run
        problem = run.task.problem
        if problem is None:
            raise UsageError(f"task {run.task.name} has no questions for a person")
        return accepted(waiting.asked, problem, given)

    def give(self, session: str, key: str, given: Given) -> None:
        """Answer the question `key` with what `check` returned; raises `Moved`, once answered."""
        self.questions.give(session, key, given)

    async def ask(self, asked: Asked) -> Given:
        """Let a question wait until who is asked answers; fills `Desk`."""
        number = len(self.board.entries(asked.session)) + 1
        return await self.questions.ask(asked.session, asked, number, asked.key(number), asked.who)

    def listener(self, session: str) -> OnText | None:
        """Who hears what is written in a session; nobody, unless that is shown. Fills `Desk`."""
        return partial(self._hear, session) if self._shows_writing else None

    def written(self, session: str) -> Written | None:
        """What the other agent writes in a session at this moment."""
        return self._written.get(session)

    def _hear(self, session: str, piece: str, begins: bool) -> None:
        before = self._written.get(session)
        if before is None or begins:
            before = Written(len(self.board.entries(session)) + 1, "")
        self._written[session] = Written(before.number, f"{before.text}{piece}"[:LONGEST])
        if session not in self._to_tell:
            self._to_tell.add(session)
            asyncio.get_running_loop().call_later(_TOGETHER, self._tell_written, session)

    def _tell_written(self, session: str) -> None:
        self._to_tell.discard(session)
        self.on_write(_opaque(session))

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            over = {one.run: one.over for one in self.board.summaries()} if self.hosted else {}
            for hosted in list(self.hosted.values()):
                if over.get(hosted.run.name) == hosted.run.total:
                    hosted.state = RunState.OVER
                else:
                    self._go_on(hosted)
        except PXPError as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        await self._stop.wait()
        tasks = [hosted.task for hosted in self.hosted.values() if hosted.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _go_on(self, hosted: Hosted) -> None:
        if hosted.state in (RunState.PAUSED, RunState.STOPPED):
            hosted.state, hosted.trouble = RunState.RUNNING, ""
            self._begun.difference_update(place.session for place in hosted.places)
            before, hosted.task = hosted.task, None
            hosted.task = asyncio.create_task(self._carry(hosted, before))

    def _pause(self, hosted: Hosted) -> None:
        if hosted.state is RunState.RUNNING and hosted.task is not None:
            hosted.state = RunState.PAUSED
            hosted.task.cancel()
            self.on_change(hosted.run.name)

    async def _carry(self, hosted: Hosted, before: asyncio.Task[None] | None) -> None:
        def on_step(step: Progress) -> None:
            self._written.pop(step.session, None)
            self.on_change(step.session)

        if before is not None:  # it lets go of the run first
            await asyncio.gather(before, return_exceptions=True)
        try:
            await hosted.run.carry(self, on_step)
            hosted.state = RunState.OVER
        except PXPError as error:
            hosted.state, hosted.trouble = RunState.STOPPED, str(error)
        except Exception as error:  # noqa: BLE001 - other runs go on; it is told where they are shown
            hosted.state, hosted.trouble = RunState.STOPPED, f"{type(error).__name__}: {error}"
        finally:
            for place in hosted.places:
                self._written.pop(place.session, None)
        if hosted.trouble:
            log(f"run {hosted.run.name} has stopped: {hosted.trouble}")
        self.on_change(hosted.run.name)

    def _in_loop(self, work: Callable[[], None]) -> None:
        """Do `work` in the loop that carries the runs, and wait until it is done."""
        if self._loop is None:
            raise UsageError("no run is carried on: the server has not started")
        done: Future[None] = Future()

        def once() -> None:
            try:
                work()
                done.set_result(None)
            except Exception as error:  # noqa: BLE001 - it is raised again where it is waited for
                done.set_exception(error)

        self._loop.call_soon_threadsafe(once)
        done.result(_LONGEST)


def _places(run: Run, numbers: Iterator[int]) -> Iterator[Place]:
    for repetition in range(1, run.plan.repetitions + 1):
        for position in range(1, len(run.data.sessions) + 1):
            name = f"{run.name}/{repetition}/{position}"
            yield Place(_opaque(name), next(numbers), run.name, repetition, position)


def _opaque(session: str) -> str:
    return hashlib.sha256(f"session\x00{session}".encode()).hexdigest()[:20]
