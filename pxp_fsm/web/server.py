"""The server of the explorer: a JSON API, a WebSocket of checks, and the page that uses them.

It listens on the loopback interface alone, and writes nothing but tables that were opened to be
edited, when it is asked to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI, HTTPException, WebSocket
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from starlette.requests import Request

from proofs.core.explore import TooLarge
from proofs.core.limits import Effort
from proofs.logic import parse
from proofs.sessions.answers import Answers
from proofs.systems.coloring import Part, color
from proofs.systems.paths import nearest, nearest_end, states_along
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.web.checks import Process, answers, question
from pxp_fsm.web.editing import Editor
from pxp_fsm.web.interface import (
    EVENT,
    QUESTION,
    AnswersQuery,
    CheckQuestion,
    DoneEvent,
    Edited,
    EditQuery,
    Event,
    ExportQuery,
    FormulaQuery,
    Opened,
    PathQuery,
    Question,
    RefusedEvent,
    SaveQuery,
    SessionEvent,
    SystemEvent,
    TraceQuery,
    TroubleEvent,
    event_of,
)
from pxp_fsm.web.recordings import Recording
from pxp_fsm.web.serving import add_page, add_refusals, serve_guarded, until_left
from pxp_fsm.web.subjects import Subject
from pxp_fsm.web.traces import FORMS, written
from pxp_fsm.web.views import StateView, Views

PAUSE = 0.5
"""The seconds between two readings of a stored session that is not over."""

MOST_SEARCHED = 200_000
"""The states in which the nearest one is searched."""

MOST_COLORED = 40_000
"""The nodes with which A and E are decided, to color a formula."""


class Explorer:
    """What the server knows: the views of one system, and verdicts as they come.

    The system is `subject`, or that of an `editor`, which may change it.
    """

    def __init__(
        self, subject: Subject, recording: Recording | None = None, editor: Editor | None = None
    ) -> None:
        self._recording = recording
        self.editor = editor
        self.session: Event | None = None
        if recording is not None:
            self.session = SessionEvent(session=recording.latest)
        self.news = asyncio.Condition()
        self.editing = asyncio.Lock()
        self._spare: Process | None = None
        self._checking: asyncio.Task[None] | None = None
        self._open(subject, Views(subject.system()))

    def _open(self, subject: Subject, views: Views) -> None:
        self.subject, self.views = subject, views
        self.shown = Opened(
            system=views.system(),
            begin=subject.choices,
            protocol=subject.protocol,
            tables=self.editor.tables if self.editor else (),
        )
        self.events: list[Event] = [SystemEvent(fingerprint=self.shown.system.fingerprint)]
        self._latest: tuple[tuple[int, ...], tuple[int, ...]] = ((), (views.start,))

    def states(self, choices: tuple[int, ...]) -> tuple[int, ...]:
        """The states along a trace; the latest trace is remembered, and gone on from."""
        known, states = self._latest
        if choices[: len(known)] == known:
            more = states_along(self.views.composition, choices[len(known) :], states[-1])
            states = (*states, *more[1:])
        elif known[: len(choices)] == choices:
            return states[: len(choices) + 1]
        else:
            states = states_along(self.views.composition, choices)
        self._latest = (choices, states)
        return states

    def apart(self) -> Views:
        """Views for another thread: a composition numbers buffers as it meets them, unguarded."""
        return Views(self.views.composition.system)

    async def edit(self, query: EditQuery) -> Edited:
        """Take a new text of a table; where nothing is wrong with it, its system is explored."""
        editor = self.editor
        if editor is None:
            raise UsageError("no table was opened to be edited: start pxp explore --edit TABLE")
        async with self.editing:
            actions = self.views.actions(query.choices)
            faults = await asyncio.to_thread(editor.edit, query.table, query.text)
            if faults:
                return Edited(faults=faults)
            subject = editor.subject
            if subject == self.subject:  # its comments alone are others
                self.shown.tables = editor.tables
                return Edited(choices=query.choices)
            views = await asyncio.to_thread(lambda: Views(subject.system()))
            self._open(subject, views)
            self.check()
        return Edited(choices=views.choices_along(actions))

    def check(self) -> None:
        """Begin the standard checks, and end those of the system before."""
        if self._checking is not None:
            self._checking.cancel()
        self._checking = asyncio.create_task(self._check_standard())

    async def _check_standard(self) -> None:
        """Decide the standard checks, and tell everybody who listens."""
        process, events = self.borrow(), self.events
        try:
            await self._tell(events)
            async for answer in process.ask(question(), None):
                await self._tell(events, event_of(None, answer))
            await self._tell(events, DoneEvent())
        finally:
            self.give_back(process)

    async def follow(self) -> None:
        """Read the stored session until it is over, and tell everybody who listens."""
        while self._recording is not None and not self._recording.latest.ending:
            await asyncio.sleep(PAUSE)
            event: Event | None = None
            try:
                view = await asyncio.to_thread(self._recording.read)
                recovered = isinstance(self.session, TroubleEvent)
                if view is not None or recovered:
                    event = SessionEvent(session=view or self._recording.latest)
            except PXPError as error:
                event = TroubleEvent(error=str(error))
            if event is not None and event != self.session:
                self.session = event
                await self._tell(self.events)

    def borrow(self) -> Process:
        """A process that checks: the one that has been given back, or another one."""
        found, self._spare = self._spare, None
        if found is None:
            return Process(self.subject)
        found.subject = self.subject
        return found

    def give_back(self, process: Process) -> None:
        """Keep a process for the next who borrows one, or end it."""
        if self._spare is None and not process.busy:
            self._spare = process
        else:
            process.close()

    async def close(self) -> None:
        """End what is being checked and the process that is kept, and close the database."""
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError):
                await self._checking
        if self._recording is not None:
            self._recording.close()
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    async def _tell(self, events: list[Event], *new: Event) -> None:
        async with self.news:
            events.extend(new)
            self.news.notify_all()


def application(
    subject: Subject, recording: Recording | None = None, editor: Editor | None = None
) -> FastAPI:
    """The server, as an application that is not guarded yet."""
    explorer = Explorer(subject, recording, editor)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        explorer.check()
        following = asyncio.create_task(explorer.follow())
        yield
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await explorer.close()

    app = FastAPI(
        title="pxp explore", docs_url=None, redoc_url=None, lifespan=lifespan, debug=False
    )
    add_page(app, "explorer", "pxp explore")
    add_refusals(app)
    _add_queries(app, explorer)
    _add_editing(app, explorer)
    _add_events(app, explorer)

    @app.exception_handler(TooLarge)
    async def give_up(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": f"not found: {error}"}, 422)

    return app


def _add_queries(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/system")
    async def system() -> Opened:
        """The system that is explored, and the trace with which a page begins."""
        return explorer.shown

    @app.post("/api/trace")
    async def trace(query: TraceQuery) -> tuple[StateView, ...]:
        """The states along a trace."""
        states = explorer.states(query.choices)
        return tuple(map(explorer.views.state, states[query.start :]))

    @app.post("/api/path")
    def path(query: PathQuery) -> tuple[int, ...]:
        """How to come to the nearest state in which the goal holds: the choices from there on."""
        composition, effort = explorer.apart().composition, Effort(MOST_SEARCHED)
        here = states_along(composition, query.choices)[-1]
        if query.goal:
            found = nearest(composition, here, parse(query.goal), effort)
        else:
            found = nearest_end(composition, here, effort)
        if found is None:
            raise UsageError(f"no state after this one has {query.goal or 'no move'}")
        return found

    @app.post("/api/color")
    def colored(query: FormulaQuery) -> tuple[Part, ...]:
        """Where along a trace each part of a formula holds, the whole formula first."""
        formula, effort = parse(query.formula), Effort(MOST_COLORED)
        composition = explorer.apart().composition
        return color(composition, formula, query.choices, query.cycle, effort)

    @app.post("/api/answers")
    def answered(query: AnswersQuery) -> tuple[Answers, ...]:
        """What MATCH and AGREE may answer after a trace of a session, and the replies to it."""
        return answers(explorer.subject, query.choices, query.assumptions)

    @app.post("/api/export/{form}", response_class=Response)
    def export(form: str, query: ExportQuery) -> Response:
        """A trace as a file, in one of `FORMS`."""
        if form not in FORMS:
            raise HTTPException(404, f"there is no form {form}; there are {', '.join(FORMS)}")
        text = written(explorer.apart(), query.choices, query.cycle, form, query.members)
        return Response(text, media_type=FORMS[form])


def _add_editing(app: FastAPI, explorer: Explorer) -> None:
    @app.post("/api/edit")
    async def edit(query: EditQuery) -> Edited:
        """Take a new text of a table: what is wrong with it, or the trace in the new system."""
        return await explorer.edit(query)

    @app.post("/api/save")
    async def save(query: SaveQuery) -> Opened:
        """Write the latest text of a table without a fault to the file that it was read from."""
        if explorer.editor is None:
            raise UsageError("no table was opened to be edited: start pxp explore --edit TABLE")
        async with explorer.editing:
            await asyncio.to_thread(explorer.editor.save, query.table)
            explorer.shown.tables = explorer.editor.tables
        return explorer.shown


def _add_events(app: FastAPI, explorer: Explorer) -> None:
    @app.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        await socket.accept()
        listener = _Listener(socket, explorer)
        try:
            await until_left(socket, listener.tell(), listener.hear)
        finally:
            listener.close()


class _Listener:
    """A page that is connected: what it has been told, and what it asks, one of each kind."""

    def __init__(self, socket: WebSocket, explorer: Explorer) -> None:
        self._socket, self._explorer = socket, explorer
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, Process] = {}

    async def _send(self, event: Event) -> None:
        await self._socket.send_json(EVENT.dump_python(event, mode="json"))

    async def tell(self) -> None:
        """Send the verdicts on the system that is explored, and the session, as they come."""
        explorer, told = self._explorer, 0
        events: list[Event] = []
        session: Event | None = None
        while True:
            async with explorer.news:
                if (
                    events is explorer.events
                    and told == len(events)
                    and (session is explorer.session)
                ):
                    await explorer.news.wait()
            if events is not explorer.events:
                events, told = explorer.events, 0
            if session is not explorer.session and explorer.session is not None:
                session = explorer.session
                await self._send(session)
            while told < len(events):
                told += 1
                await self._send(events[told - 1])

    async def hear(self, text: str) -> None:
        """Begin to answer a question; one of the same kind before it is ended."""
        number = None
        try:
            asked = QUESTION.validate_json(text)
            number = asked.id
            if isinstance(asked, CheckQuestion):
                parse(asked.formula)
            elif not self._explorer.subject.protocol:
                raise UsageError("these tables are none of a protocol with claims of its own")
        except ValidationError:
            await self._send(RefusedEvent(error="no such question; /openapi.json describes it"))
        except PXPError as error:
            await self._send(RefusedEvent(id=number, error=str(error)))
        else:
            if asked.type in self._tasks:
                self._tasks[asked.type].cancel()
            self._tasks[asked.type] = asyncio.create_task(self._answer(asked))

    async def _answer(self, asked: Question) -> None:
        if asked.type not in self._processes:
            self._processes[asked.type] = self._explorer.borrow()
        process = self._processes[asked.type]
        process.subject = self._explorer.subject
        if isinstance(asked, CheckQuestion):
            text = question(asked.formula)
        else:
            text = question(assumptions=asked.assumptions)
        async for found in process.ask(text):
            await self._send(event_of(asked.id, found))
        await self._send(DoneEvent(id=asked.id))

    def close(self) -> None:
        """End what is being answered."""
        for task in self._tasks.values():
            task.cancel()
        for process in self._processes.values():
            self._explorer.give_back(process)


def serve(
    subject: Subject,
    port: int,
    ready: Callable[[str], None],
    recording: Recording | None = None,
    editor: Editor | None = None,
) -> None:
    """Serve the explorer of a system until Ctrl-C; `ready` is told the address to open.

    With a `recording`, whose subject it is, the page follows a stored session; with an `editor`,
    whose subject it is, its tables may be edited. Raises `UsageError` where the port is taken.
    """
    serve_guarded(application(subject, recording, editor), port, ready)
