"""The server of the explorer: a JSON API, a WebSocket of checks, and the page that uses them.

It listens on the loopback interface alone, keeps no state but what can be computed again, and
writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.requests import Request

from proofs.core.explore import TooLarge
from proofs.core.limits import Effort
from proofs.logic import parse
from proofs.systems.coloring import Part, color
from proofs.systems.paths import nearest, nearest_end, states_along
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.web.checks import Checker
from pxp_fsm.web.serving import add_page, add_refusals, serve_guarded
from pxp_fsm.web.subjects import Subject
from pxp_fsm.web.traces import FORMS, written
from pxp_fsm.web.views import ResultView, StateView, SystemView, Views

MOST_STEPS = 10_000
"""The steps of a trace that are taken."""

MOST_SEARCHED = 200_000
"""The states in which the nearest one is searched."""

MOST_COLORED = 40_000
"""The nodes with which A and E are decided, to color a formula."""

Choices = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(max_length=MOST_STEPS)]
Text = Annotated[str, Field(max_length=10_000)]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")

    choices: Choices = ()


class TraceQuery(_Query):
    """A trace, and from which of its states on (from 0) they are wanted."""

    start: Annotated[int, Field(ge=0)] = 0


class PathQuery(_Query):
    """A trace, and a proposition to go to from its last state; "" is the nearest end."""

    goal: Text = ""


class FormulaQuery(_Query):
    """A trace, whose last `cycle` steps repeat for ever, and a formula."""

    formula: Text
    cycle: Annotated[int, Field(ge=0)] = 0


class ExportQuery(_Query):
    """A trace to write; `members` are those that are shown, all where there are none."""

    cycle: Annotated[int, Field(ge=0)] = 0
    members: tuple[str, ...] = ()


class CheckQuestion(BaseModel):
    """A formula to check, by WebSocket; it ends the check before it. "" only ends it."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["check"]
    id: int
    formula: Text


class ResultEvent(BaseModel):
    """By WebSocket: a verdict, of a question, or without `id` of the standard checks."""

    type: Literal["result"] = "result"
    id: int | None = None
    result: ResultView


class RefusedEvent(BaseModel):
    """By WebSocket: why there is no verdict."""

    type: Literal["refused"] = "refused"
    id: int | None = None
    error: str


class DoneEvent(BaseModel):
    """By WebSocket: all verdicts of a question, or of the standard checks, have been sent."""

    type: Literal["done"] = "done"
    id: int | None = None


Event = ResultEvent | RefusedEvent | DoneEvent
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_RESULT: TypeAdapter[ResultView] = TypeAdapter(ResultView)


class Opened(BaseModel):
    """The system that is explored, and the trace with which a page begins."""

    system: SystemView
    begin: tuple[int, ...]


class Explorer:
    """What the server knows: the views of one system, and verdicts as they come."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._system = subject.system()
        self.views = Views(self._system)
        self.shown = Opened(system=self.views.system(), begin=subject.choices)
        self.events: list[Event] = []
        self.news = asyncio.Condition()
        self._spare: Checker | None = None
        self._latest: tuple[tuple[int, ...], tuple[int, ...]] = ((), (self.views.start,))

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
        return Views(self._system)

    async def check_standard(self) -> None:
        """Decide the standard checks, and tell everybody who listens."""
        checker = self.borrow()
        try:
            async for answer in checker.ask(""):
                await self._tell(_event(None, answer))
            await self._tell(DoneEvent())
        finally:
            self.give_back(checker)

    def borrow(self) -> Checker:
        """A process that checks: the one that has been given back, or another one."""
        found, self._spare = self._spare, None
        return found or Checker(self.subject)

    def give_back(self, checker: Checker) -> None:
        """Keep a process for the next who borrows one, or end it."""
        if self._spare is None and not checker.busy:
            self._spare = checker
        else:
            checker.close()

    def close(self) -> None:
        """End the process that is kept."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    async def _tell(self, event: Event) -> None:
        async with self.news:
            self.events.append(event)
            self.news.notify_all()


def _event(number: int | None, answer: dict[str, Any]) -> Event:
    if "error" in answer:
        return RefusedEvent(id=number, error=answer["error"])
    return ResultEvent(id=number, result=_RESULT.validate_python(answer))


def application(subject: Subject) -> FastAPI:
    """The server, as an application that is not guarded yet."""
    explorer = Explorer(subject)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        checking = asyncio.create_task(explorer.check_standard())
        yield
        checking.cancel()
        with suppress(asyncio.CancelledError):
            await checking
        explorer.close()

    app = FastAPI(
        title="pxp explore", docs_url=None, redoc_url=None, lifespan=lifespan, debug=False
    )
    add_page(app, "explorer", "pxp explore")
    add_refusals(app)
    _add_queries(app, explorer)
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

    @app.post("/api/export/{form}", response_class=Response)
    def export(form: str, query: ExportQuery) -> Response:
        """A trace as a file: svg, png, mermaid or itf."""
        if form not in FORMS:
            raise HTTPException(404, f"there is no form {form}; there are {', '.join(FORMS)}")
        text = written(explorer.apart(), query.choices, query.cycle, form, query.members)
        return Response(text, media_type=FORMS[form])


def _add_events(app: FastAPI, explorer: Explorer) -> None:
    @app.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        await socket.accept()
        checker, asked = explorer.borrow(), set[asyncio.Task[None]]()

        async def send(event: Event) -> None:
            await socket.send_json(_EVENT.dump_python(event, mode="json"))

        async def tell() -> None:
            told = 0
            while True:
                async with explorer.news:
                    if told == len(explorer.events):
                        await explorer.news.wait()
                while told < len(explorer.events):
                    await send(explorer.events[told])
                    told += 1

        async def answer(question: CheckQuestion) -> None:
            async for found in checker.ask(question.formula):
                await send(_event(question.id, found))
            await send(DoneEvent(id=question.id))

        telling = asyncio.create_task(tell())
        try:
            while True:
                try:
                    question = CheckQuestion.model_validate_json(await socket.receive_text())
                    parse(question.formula)
                except ValidationError:
                    await send(RefusedEvent(error="no such question; /openapi.json describes it"))
                except PXPError as error:
                    await send(RefusedEvent(id=question.id, error=str(error)))
                else:
                    for task in asked:
                        task.cancel()
                    asked = {asyncio.create_task(answer(question))}
        except WebSocketDisconnect:
            pass
        finally:
            for task in (telling, *asked):
                task.cancel()
            explorer.give_back(checker)


def serve(subject: Subject, port: int, ready: Callable[[str], None]) -> None:
    """Serve the explorer of a system until Ctrl-C; `ready` is told the address to open.

    Raises `UsageError` where the port is taken.
    """
    serve_guarded(application(subject), port, ready)
