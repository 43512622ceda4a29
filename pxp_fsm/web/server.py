"""The server of the explorer: a JSON API, a WebSocket of checks, and the page that uses them.

It listens on the loopback interface alone, and writes nothing but tables that were opened to be
edited, when it is asked to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from fastapi import FastAPI, HTTPException, WebSocket
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from starlette.requests import Request

from proofs.core.explore import Step, TooLarge, Trace
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.export.traces import Walk, export_trace, to_itf
from proofs.logic import parse
from proofs.sessions.answers import Answers
from proofs.systems.coloring import FormulaPart, color
from proofs.systems.options import Options
from proofs.systems.paths import check_cycle, nearest, nearest_end, states_along
from pxp_fsm.diagrams import SequenceChart, actions_chart, render
from pxp_fsm.errors import PXPError, UsageError, quoted
from pxp_fsm.registry import contributions, load
from pxp_fsm.sessions.events import events_of
from pxp_fsm.web.checks import Process, answers, question
from pxp_fsm.web.editing import Editor
from pxp_fsm.web.explorer import (
    EVENT,
    QUESTION,
    AnswersQuery,
    CheckQuestion,
    DoneEvent,
    Edited,
    EditedSince,
    EditQuery,
    Event,
    Explorer,
    ExportQuery,
    FormulaQuery,
    GraphQuery,
    Opened,
    PathQuery,
    Question,
    RefusedEvent,
    SaveQuery,
    TraceQuery,
    event_of,
)
from pxp_fsm.web.recordings import Recording
from pxp_fsm.web.serving import add_page, add_refusals, serve_guarded, until_left
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.views import GraphView, StateView, Views

FORMS = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "tikz": "application/x-tex",
    "latex": "application/x-tex",
    "mermaid": "text/vnd.mermaid; charset=utf-8",
    "itf": "application/json",
}
"""The media type of each form."""


def written(
    views: Views, choices: Sequence[int], cycle: int, form: str, members: Sequence[str] = ()
) -> bytes:
    """A trace in one of `FORMS`; pictures show these `members` alone, or all of them.

    Raises `Refused` where the system does not have the trace, `UsageError` for an unknown member.
    """
    check_cycle(states_along(views.composition, choices), cycle)
    if form == "itf":
        return _itf(views, choices, cycle).encode()
    if form == "latex":
        system = views.composition.system
        return export_trace(Walk(system, views.actions(choices), cycle=cycle), form)
    return render(chart(views, choices, cycle, members), form)


def chart(
    views: Views, choices: Sequence[int], cycle: int = 0, members: Sequence[str] = ()
) -> SequenceChart:
    """The sequence chart of a trace, with what is not received at its end."""
    composition, system = views.composition, views.composition.system
    state = states_along(composition, choices)[-1]
    unknown = [name for name in members if name not in system.places]
    if unknown:
        raise UsageError(
            f"there is no member {quoted(unknown[0])}; there are {', '.join(system.places)}"
        )
    shown = set(members or system.places)
    where = composition.encoding.configuration(state).at
    deadlock = Options(composition).deadlock(state)
    refused = () if deadlock is None or not system.channel.synchronous else deadlock.unreceived
    note = f"over {system.channel.name}" + (f"; deadlock: {deadlock}" if deadlock else "")
    note += f"; the last {cycle} steps go on for ever" if cycle else ""
    found = actions_chart(
        events_of(system, views.actions(choices)),
        dict(zip(system.places, where, strict=True)),
        title=system.name,
        note=note,
        refused=((one.sender, one.receiver, one.tag) for one in refused),
    )
    return replace(
        found,
        lifelines=tuple(line for line in found.lifelines if line.name in shown),
        arrows=tuple(one for one in found.arrows if {one.sender, one.receiver} <= shown),
    )


def _itf(views: Views, choices: Sequence[int], cycle: int) -> str:
    composition = views.composition
    start, *states = map(composition.encoding.configuration, states_along(composition, choices))
    actions = views.actions(choices)
    steps = tuple(Step(action, state) for action, state in zip(actions, states, strict=True))
    verdict = Verdict(Status.UNKNOWN, trace=Trace(start, steps), cycle=cycle)
    return to_itf("explored", composition.name, verdict)


MOST_SEARCHED = 200_000
"""The states in which the nearest one is searched."""

MOST_COLORED = 40_000
"""The nodes with which A and E are decided, to color a formula."""


def application(
    subject: SystemSubject, recording: Recording | None = None, editor: Editor | None = None
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
    for path, where in contributions("pages").items():
        app.include_router(load(where)(subject), prefix=f"/{path}")

    @app.exception_handler(TooLarge)
    async def give_up(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": f"not found: {error}"}, 422)

    @app.exception_handler(EditedSince)
    async def moved_on(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    return app


def _add_queries(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/system")
    async def system() -> Opened:
        """The system that is explored, and the trace with which a page begins."""
        return explorer.shown

    @app.post("/api/trace")
    async def trace(query: TraceQuery) -> tuple[StateView, ...]:
        """The states along a trace."""
        explorer.check_meant(query.system)
        states = explorer.states(query.choices)
        return tuple(map(explorer.views.state, states[query.start :]))

    @app.post("/api/path")
    def path(query: PathQuery) -> tuple[int, ...]:
        """How to come to the nearest state in which the goal holds: the choices from there on."""
        explorer.check_meant(query.system)
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
    def colored(query: FormulaQuery) -> tuple[FormulaPart, ...]:
        """Where along a trace each part of a formula holds, the whole formula first."""
        formula, effort = parse(query.formula), Effort(MOST_COLORED)
        explorer.check_meant(query.system)
        composition = explorer.apart().composition
        return color(composition, formula, query.choices, query.cycle, effort)

    @app.post("/api/answers")
    def answered(query: AnswersQuery) -> tuple[Answers, ...]:
        """What MATCH and AGREE may answer after a trace of a session, and the replies to it."""
        explorer.check_meant(query.system)
        return answers(explorer.subject, query.choices, query.assumptions)

    @app.post("/api/graph")
    async def graph(query: GraphQuery) -> GraphView:
        """The picture of the reachable states, folded, and where a trace is in it."""
        explorer.check_meant(query.system)
        return (await explorer.picture(query.fold)).view(query.choices)

    @app.post("/api/export/{form}", response_class=Response)
    async def export(form: str, query: ExportQuery) -> Response:
        """A trace, or the picture of the reachable states, as a file in one of `FORMS`."""
        if form not in FORMS:
            raise HTTPException(404, f"there is no form {form}; there are {', '.join(FORMS)}")
        explorer.check_meant(query.system)
        if query.fold is not None:
            picture = await explorer.picture(query.fold)
            text = await asyncio.to_thread(render, picture.diagram, form)
        else:
            trace = query.choices, query.cycle, form, query.members
            text = await asyncio.to_thread(written, explorer.apart(), *trace)
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
            explorer.check_meant(query.system)
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
    subject: SystemSubject,
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
