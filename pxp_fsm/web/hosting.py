"""The host of runs with people in browsers and assistants: their questions wait here.

It carries runs on, of tasks and of systems, in one loop. Nothing that waits is stored: what a run
is about to ask follows from what is on its blackboard, so that a server that was killed asks the
same again.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from _thread import interrupt_main
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from enum import StrEnum
from functools import partial
from itertools import count
from typing import Any, TypeVar

from backends.databases import SqlBlackboard
from backends.people.browser import LONGEST, Given, SeatQuestion, accepted
from backends.people.waiting import Questions, WaitingQuestion
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.runs import Progress, Run, log
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import OnText
from pxp_fsm.sessions.actors import Intent, Turn
from pxp_fsm.web.news import News

T = TypeVar("T")

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
class SeatPlace:
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
class HostedRun:
    """A run on this server, with its `places`; `trouble` says why it has stopped."""

    run: Run[Any]
    places: tuple[SeatPlace, ...]
    state: RunState = RunState.PAUSED
    trouble: str = ""
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def subject(self) -> str:
        """The pseudonym of its person."""
        return _subject(self.run)

    @property
    def halted(self) -> bool:
        """Whether it is not over, and does not go on by itself."""
        return self.state in (RunState.PAUSED, RunState.STOPPED)

    @property
    def note(self) -> dict[str, str]:
        """What an assistant is told of a run that does not go on."""
        if not self.halted:
            return {}
        return {"note": f"the run is {self.state}; whoever carries it on knows why"}

    @property
    def in_browser(self) -> bool:
        """Whether a person takes part on a page."""
        opening = self.run.opening
        return isinstance(opening, TaskOpening) and opening.plan.in_browser


@dataclass(frozen=True, slots=True)
class PartialText:
    """What the other agent has written so far of message `number`; it is not sent yet."""

    number: int
    text: str


class Host:
    """Carries `runs` on in a thread of its own, from `start` to `stop`.

    `on_change` is called with a session's name whenever something of it may look otherwise, from
    that thread. If `shows_writing`, models are asked to reply piece by piece, and `on_write` is
    called with the id of a session's place while one writes.
    """

    def __init__(
        self, board: SqlBlackboard, runs: Sequence[Run[Any]], *, shows_writing: bool = False
    ) -> None:
        self.board = board
        self.hosted: dict[str, HostedRun] = {}
        self.places: dict[str, SeatPlace] = {}
        numbers: dict[str, Iterator[int]] = {}
        for run in runs:
            self._host(run, numbers.setdefault(_subject(run), count(1)))
        self.on_change: Callable[[str], None] = lambda _session: None
        self.on_write: Callable[[str], None] = lambda _place: None
        self.questions = Questions[SeatQuestion, Given](self._told)
        self.turns = Questions[Turn, Intent | None](self._told)
        self._shows_writing = shows_writing
        self._written: dict[str, PartialText] = {}
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
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.result()

    def _run(self) -> None:
        """The thread: a person who leaves a terminal (Ctrl-C, Ctrl-D) ends the whole server."""
        try:
            asyncio.run(self._serve())
        except KeyboardInterrupt:
            interrupt_main()

    def stop(self) -> None:
        """Leave every run where it is; what was asked will be asked again."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # the loop has ended by itself: a person left
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._thread = None

    def pause(self, run: str) -> None:
        """Leave a run where it is, until `go_on`."""
        self._in_loop(lambda: self._pause(self.hosted[run]))

    def go_on(self, run: str) -> None:
        """Carry a run on that was paused, or that had stopped."""
        self._in_loop(lambda: self._go_on(self.hosted[run]))

    def attach(self, run: Run[Any]) -> HostedRun:
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

    def _host(self, run: Run[Any], numbers: Iterator[int]) -> HostedRun:
        hosted = self.hosted[run.name] = HostedRun(run, tuple(_places(run, numbers)))
        self.places |= {place.id: place for place in hosted.places}
        return hosted

    def waiting(self, session: str) -> WaitingQuestion[SeatQuestion, Given] | None:
        """What waits for the person of a session."""
        return self.questions.waiting(session)

    def will_ask(self, session: str) -> bool:
        """Whether a session goes on that has asked nothing yet since its run was begun or resumed.

        What was asked before is asked again then.
        """
        hosted = self.hosted.get(session.rsplit("/", 2)[0])
        goes_on = hosted is not None and hosted.state is RunState.RUNNING
        return goes_on and session not in self._begun

    def check(self, session: str, key: str, reply: Given) -> Given:
        """What `reply` is as an answer to the question `key`.

        Raises `SessionMoved` where that is not what is asked, `UsageError` or `DataError` where it
        cannot be an answer.
        """
        waiting = self.questions.expected(session, key)
        task = self.hosted[session.rsplit("/", 2)[0]].run.opening.task
        problem = task.problem
        if problem is None:
            raise UsageError(f"task {task.name} has no questions for a person")
        return accepted(waiting.asked, problem, reply)

    def give(self, session: str, key: str, reply: Given) -> None:
        """Answer the question `key` with what `check` returned; once answered, `SessionMoved`."""
        self.questions.give(session, key, reply)

    async def ask(self, asked: SeatQuestion) -> Given:
        """Let a question wait until who is asked answers; fills `Desk`."""
        number = self.board.next_event(asked.session)
        return await self.questions.ask(asked.session, asked, number, asked.key(number), asked.who)

    async def decide(self, turn: Turn) -> Intent | None:
        """Let a turn wait until its member's assistant answers; fills `Desk`."""
        number = self.board.next_event(turn.session)
        about = f"{turn.session}\x00{turn.member}\x00{turn.state}\x00{number}"
        key = hashlib.sha256(about.encode()).hexdigest()[:16]
        return await self.turns.ask(turn.session, turn, number, key, turn.member)

    def within(self, look: Callable[[], T]) -> Awaitable[T]:
        """What `look` returns in the loop that carries the runs, where their sessions may be read.

        Raises `UsageError` where that has not started.
        """
        return asyncio.wrap_future(self._submit(look))

    def listener(self, session: str) -> OnText | None:
        """Who hears what is written in a session; nobody, unless that is shown. Fills `Desk`."""
        return partial(self._hear, session) if self._shows_writing else None

    def written(self, session: str) -> PartialText | None:
        """What the other agent writes in a session at this moment."""
        return self._written.get(session)

    def _hear(self, session: str, piece: str, begins: bool) -> None:
        before = self._written.get(session)
        if before is None or begins:
            before = PartialText(self.board.next_event(session), "")
        self._written[session] = PartialText(before.number, f"{before.text}{piece}"[:LONGEST])
        if session not in self._to_tell:
            self._to_tell.add(session)
            asyncio.get_running_loop().call_later(_TOGETHER, self._tell_written, session)

    def _tell_written(self, session: str) -> None:
        self._to_tell.discard(session)
        self.on_write(_opaque(session))

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            over = (
                {summary.run: summary.over for summary in self.board.summaries()}
                if self.hosted
                else {}
            )
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

    def _go_on(self, hosted: HostedRun) -> None:
        if hosted.halted:
            hosted.state, hosted.trouble = RunState.RUNNING, ""
            self._begun.difference_update(place.session for place in hosted.places)
            before, hosted.task = hosted.task, None
            hosted.task = asyncio.create_task(self._carry(hosted, before))

    def _pause(self, hosted: HostedRun) -> None:
        if hosted.state is RunState.RUNNING and hosted.task is not None:
            hosted.state = RunState.PAUSED
            hosted.task.cancel()
            self.on_change(hosted.run.name)

    async def _carry(self, hosted: HostedRun, before: asyncio.Task[None] | None) -> None:
        def on_step(step: Progress) -> None:
            self._written.pop(step.session, None)
            self.on_change(step.session)

        if before is not None:  # it lets go of the run first
            await asyncio.gather(before, return_exceptions=True)
        try:
            await hosted.run.carry(self, on_step)
            hosted.state = RunState.OVER
            log(f"run {hosted.run.name} is over; what was said can still be read")
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

    def _in_loop(self, work: Callable[[], T]) -> T:
        """Do `work` in the loop that carries the runs, and wait until it is done."""
        return self._submit(work).result(_LONGEST)

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        if self._loop is None:
            raise UsageError("no run is carried on: the server has not started")
        done: Future[T] = Future()

        def once() -> None:
            if not done.set_running_or_notify_cancel():
                return  # nobody waits for it any more
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - it is raised again where it is waited for
                done.set_exception(error)

        self._loop.call_soon_threadsafe(once)
        return done


@asynccontextmanager
async def carried(host: Host, news: News) -> AsyncIterator[None]:
    """While this loop serves the runs of `host`; `news` are told in it of every change."""
    news.begin()
    host.on_change = host.on_write = news.tell
    await asyncio.to_thread(host.start)
    try:
        yield
    finally:
        await asyncio.to_thread(host.stop)


def _subject(run: Run[Any]) -> str:
    """The pseudonym of a run's person; "" where there is none, as in a system's."""
    return run.opening.plan.subject or "" if isinstance(run.opening, TaskOpening) else ""


def _places(run: Run[Any], numbers: Iterator[int]) -> Iterator[SeatPlace]:
    for repetition in range(1, run.opening.repetitions + 1):
        for position in range(1, run.opening.sessions + 1):
            name = f"{run.name}/{repetition}/{position}"
            yield SeatPlace(_opaque(name), next(numbers), run.name, repetition, position)


def _opaque(session: str) -> str:
    return hashlib.sha256(f"session\x00{session}".encode()).hexdigest()[:20]
