"""The explorer: what it knows of a system, and the routes by which a page asks.

It listens on the loopback interface alone, and writes nothing but tables that were opened to be
edited, when it is asked to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, WebSocket
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from proofs.core.explore import Step, TooLarge, Trace
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.export.traces import Walk, export_trace, to_itf
from proofs.logic import parse
from proofs.sessions.answers import Answers
from proofs.systems.coloring import FormulaPart, color
from proofs.systems.folding import Fold, ReachedStates, reach
from proofs.systems.options import Options
from proofs.systems.paths import check_cycle, nearest, nearest_end, states_along
from pxp_fsm.diagrams import SequenceChart, actions_chart, render
from pxp_fsm.errors import PXPError, Refused, UsageError, quoted
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.registry import contributions, load
from pxp_fsm.sessions.events import events_of
from pxp_fsm.web.checks import Process, answers, question
from pxp_fsm.web.editing import Editor, FaultView, TableText
from pxp_fsm.web.guard import Access, Door
from pxp_fsm.web.news import News, push
from pxp_fsm.web.pages import PageSet
from pxp_fsm.web.recordings import RecordedSessionView, Recording
from pxp_fsm.web.serving import OpenSite, Site
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.views import (
    MOST_STATES,
    GraphView,
    ResultView,
    StatePicture,
    StateView,
    SystemView,
    Views,
)

MOST_STEPS = 10_000
"""The steps of a trace that are taken."""

MOST_LETTERS = 200_000
"""The characters of a table that is edited."""

Choices = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(max_length=MOST_STEPS)]
Text = Annotated[str, Field(max_length=10_000)]
Fingerprint = Annotated[
    str,
    Field(max_length=64, description='of the system that is meant, or 409; "": the present one'),
]
"""That of the system which a query is about; "" is the one that is explored now."""


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")

    choices: Choices = ()
    system: Fingerprint = ""


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


class GraphQuery(_Query):
    """A trace, and which states are one node in the picture of the reachable states."""

    fold: Fold = Fold.NONE


class ExportQuery(_Query):
    """A trace to write; `members` are those that are shown, all where there are none.

    With `fold` it is the picture of the reachable states that is written.
    """

    cycle: Annotated[int, Field(ge=0)] = 0
    members: tuple[str, ...] = ()
    fold: Fold | None = None


class AnswersQuery(_Query):
    """A trace of a protocol's session, and what is assumed of MATCH and AGREE."""

    assumptions: frozenset[Assumption] = frozenset(Assumption)


class EditQuery(_Query):
    """A new text of a table, by its number; `choices` are followed in the new system."""

    table: Annotated[int, Field(ge=0)]
    text: Annotated[str, Field(max_length=MOST_LETTERS)]


class SaveQuery(BaseModel):
    """The number of a table whose file is to be written."""

    model_config = ConfigDict(extra="forbid")

    table: Annotated[int, Field(ge=0)]
    system: Fingerprint = ""


class Edited(BaseModel):
    """What is wrong with a text; or nothing, and the trace as far as the new system has it.

    `system` is the fingerprint of what is explored then.
    """

    faults: tuple[FaultView, ...] = ()
    choices: tuple[int, ...] = ()
    system: str = ""


class CheckQuestion(BaseModel):
    """A formula to check, by WebSocket; it ends the check before it. "" only ends it."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["check"]
    id: int
    formula: Text


class ClaimsQuestion(BaseModel):
    """The claims about a protocol's sessions under `assumptions`, by WebSocket."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["claims"]
    id: int
    assumptions: frozenset[Assumption]


Question = CheckQuestion | ClaimsQuestion
QUESTION: TypeAdapter[Question] = TypeAdapter(Annotated[Question, Field(discriminator="type")])


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


class SessionEvent(BaseModel):
    """By WebSocket: a stored session as it is now, at first and whenever something has happened."""

    type: Literal["session"] = "session"
    id: None = None
    session: RecordedSessionView


class TroubleEvent(BaseModel):
    """By WebSocket: why the stored session cannot be read now; it is read again."""

    type: Literal["trouble"] = "trouble"
    id: None = None
    error: str


class SystemEvent(BaseModel):
    """By WebSocket: the tables were edited; all verdicts before it are of another system."""

    type: Literal["system"] = "system"
    id: None = None
    fingerprint: str


Event = ResultEvent | RefusedEvent | DoneEvent | SessionEvent | TroubleEvent | SystemEvent
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_RESULT: TypeAdapter[ResultView] = TypeAdapter(ResultView)


def event_of(number: int | None, answer: dict[str, Any]) -> Event:
    """What a process that checks has answered, as an event."""
    if "error" in answer:
        return RefusedEvent(id=number, error=answer["error"])
    return ResultEvent(id=number, result=_RESULT.validate_python(answer))


class Opened(BaseModel):
    """The system that is explored, and the trace with which a page begins.

    `protocol` is whose claims there are, "" of other systems; `tables` are those to edit.
    """

    system: SystemView
    begin: tuple[int, ...]
    protocol: str = ""
    tables: tuple[TableText, ...] = ()


PAUSE = 0.5
"""The seconds between two readings of a stored session that is not over."""


class EditedSince(Refused):
    """A query is about a system that is explored no longer."""


class Explorer:
    """What the server knows: the views of one system, and verdicts as they come.

    The system is `subject`, or that of an `editor`, which may change it.
    """

    def __init__(
        self,
        subject: SystemSubject,
        recording: Recording | None = None,
        editor: Editor | None = None,
    ) -> None:
        self._recording = recording
        self.editor = editor
        self.session: Event | None = None
        if recording is not None:
            self.session = SessionEvent(session=recording.latest)
        self.news = News()
        self.editing = asyncio.Lock()
        self._spare: Process | None = None
        self._checking: asyncio.Task[None] | None = None
        self._open(subject, Views(subject.system()))

    def _open(self, subject: SystemSubject, views: Views) -> None:
        self.subject, self.views = subject, views
        self.shown = Opened(
            system=views.system(),
            begin=subject.choices,
            protocol=subject.protocol,
            tables=self.editor.tables if self.editor else (),
        )
        self.events: list[Event] = [SystemEvent(fingerprint=self.shown.system.fingerprint)]
        self._latest: tuple[tuple[int, ...], tuple[int, ...]] = ((), (views.start,))
        self._reached: ReachedStates | None = None
        self._pictures: dict[Fold, StatePicture] = {}
        self.news.tell("", _sent(self.events[0]))

    def check_meant(self, system: str) -> None:
        """Raise `EditedSince` where a query is about another system than the one explored now.

        `system` is a fingerprint; "" means whatever is explored.
        """
        if system not in ("", self.shown.system.fingerprint):
            raise EditedSince("the tables were edited since, in another window: reload this page")

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

    async def picture(self, fold: Fold) -> StatePicture:
        """The picture of the reachable states; it is drawn once."""
        pictures = self._pictures
        if fold not in pictures:
            if fold not in self.shown.system.folds:
                raise UsageError(f"the states of this system are not folded by {fold}")
            reached = self._reached
            if reached is None:
                composition = self.apart().composition
                reached = await asyncio.to_thread(reach, composition, MOST_STATES)
                if pictures is self._pictures:  # else the tables were edited meanwhile
                    self._reached = reached
            pictures[fold] = await asyncio.to_thread(StatePicture, reached, fold)
        return pictures[fold]

    async def edit(self, query: EditQuery) -> Edited:
        """Take a new text of a table; where nothing is wrong with it, its system is explored."""
        editor = self.editor
        if editor is None:
            raise UsageError("no table was opened to be edited: start pxp serve TABLE --edit")
        async with self.editing:
            self.check_meant(query.system)
            actions = self.views.actions(query.choices)
            faults = await asyncio.to_thread(editor.edit, query.table, query.text)
            if faults:
                return Edited(faults=faults)
            subject = editor.subject
            if subject == self.subject:  # its comments alone are others
                self.shown.tables = editor.tables
                return Edited(choices=query.choices, system=self.shown.system.fingerprint)
            views = await asyncio.to_thread(lambda: Views(subject.system()))
            self._open(subject, views)
            self.check()
            return Edited(
                choices=views.choices_along(actions), system=self.shown.system.fingerprint
            )

    def check(self) -> None:
        """Begin the standard checks, and end those of the system before."""
        if self._checking is not None:
            self._checking.cancel()
        self._checking = asyncio.create_task(self._check_standard())

    async def _check_standard(self) -> None:
        """Decide the standard checks, and tell everybody who listens."""
        process, events = self.borrow(), self.events
        try:
            async for answer in process.ask(question(), None):
                self._tell(events, event_of(None, answer))
            self._tell(events, DoneEvent())
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
                self.news.tell("", _sent(event))

    def borrow(self) -> Process:
        """A process that checks: the one that has been given back, or another one."""
        spare, self._spare = self._spare, None
        if spare is None:
            return Process(self.subject)
        spare.subject = self.subject
        return spare

    def give_back(self, process: Process) -> None:
        """Keep a process for the next who borrows one, or end it."""
        if self._spare is None and not process.busy:
            self._spare = process
        else:
            process.close()

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Check, and follow the session, while pages are served in this loop."""
        self.news.begin()
        self.check()
        following = asyncio.create_task(self.follow())
        try:
            yield
        finally:
            for task in (following, self._checking):
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
            if self._recording is not None:
                self._recording.close()
            if self._spare is not None:
                self._spare.close()
                self._spare = None

    def _tell(self, events: list[Event], event: Event) -> None:
        events.append(event)
        if events is self.events:  # else it is of a system that was edited since
            self.news.tell("", _sent(event))


def _sent(event: Event) -> dict[str, Any]:
    sent: dict[str, Any] = EVENT.dump_python(event, mode="json")
    return sent


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
    note = f"over {system.channel.name}" + ("; deadlock" if deadlock else "")
    note += f"; the last {cycle} steps go on for ever" if cycle else ""
    whole = actions_chart(
        events_of(system, views.actions(choices)),
        dict(zip(system.places, where, strict=True)),
        title=system.name,
        note=note,
        refused=(
            (unreceived.sender, unreceived.receiver, unreceived.tag) for unreceived in refused
        ),
        cycle=cycle,
        waits=deadlock.waiting if deadlock else (),
    )
    return replace(
        whole,
        lifelines=tuple(line for line in whole.lifelines if line.name in shown),
        arrows=tuple(arrow for arrow in whole.arrows if {arrow.sender, arrow.receiver} <= shown),
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


LARGEST_BODY = 2_000_000
"""Bytes of a request: a table of `MOST_LETTERS`, as JSON may write it."""


def explorer_pages(
    subject: SystemSubject, recording: Recording | None = None, editor: Editor | None = None
) -> PageSet:
    """The pages of the explorer of a system.

    With a `recording`, whose subject it is, the page follows a stored session; with an `editor`,
    whose subject it is, its tables may be edited.
    """
    explorer = Explorer(subject, recording, editor)
    routes = APIRouter()
    _add_queries(routes, explorer)
    _add_editing(routes, explorer)

    @routes.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        page = _Page(socket, explorer)
        try:
            await push(socket, explorer.news, page.begin, hear=page.hear)
        finally:
            page.close()

    return PageSet(
        title="pxp serve",
        bundle="explorer",
        routes=routes,
        door=Door(largest=LARGEST_BODY),
        during=explorer.living,
        moved_on=(EditedSince,),
    )


def beside(subject: SystemSubject) -> Iterator[PageSet]:
    """The pages of plug-ins about a system that is explored, each below its own path."""
    for path, where in contributions("pages").items():
        pages: PageSet = load(where)(subject)
        yield replace(pages, at=f"/{path}", door=replace(pages.door, at=f"/{path}"))


def explorer_site(
    subject: SystemSubject, recording: Recording | None = None, editor: Editor | None = None
) -> Site:
    """What `serve` serves of a system: the explorer, and the pages of plug-ins beside it."""

    def opened(port: int) -> OpenSite:
        access = Access(port)
        sets = (explorer_pages(subject, recording, editor), *beside(subject))
        return OpenSite(access=access, sets=sets, links={"": access.link})

    return opened


@contextmanager
def _searching() -> Iterator[None]:
    try:
        yield
    except TooLarge as error:
        raise UsageError(f"not found: {error}") from error


def _add_queries(routes: APIRouter, explorer: Explorer) -> None:
    @routes.get("/api/system")
    async def system() -> Opened:
        """The system that is explored, and the trace with which a page begins."""
        return explorer.shown

    @routes.post("/api/trace")
    async def trace(query: TraceQuery) -> tuple[StateView, ...]:
        """The states along a trace."""
        explorer.check_meant(query.system)
        states = explorer.states(query.choices)
        return tuple(map(explorer.views.state, states[query.start :]))

    @routes.post("/api/path")
    def path(query: PathQuery) -> tuple[int, ...]:
        """How to come to the nearest state in which the goal holds: the choices from there on."""
        explorer.check_meant(query.system)
        composition, effort = explorer.apart().composition, Effort(MOST_SEARCHED)
        here = states_along(composition, query.choices)[-1]
        with _searching():
            if query.goal:
                nearest_path = nearest(composition, here, parse(query.goal), effort)
            else:
                nearest_path = nearest_end(composition, here, effort)
        if nearest_path is None:
            raise UsageError(f"no state after this one has {query.goal or 'no move'}")
        return nearest_path

    @routes.post("/api/color")
    def colored(query: FormulaQuery) -> tuple[FormulaPart, ...]:
        """Where along a trace each part of a formula holds, the whole formula first."""
        formula, effort = parse(query.formula), Effort(MOST_COLORED)
        explorer.check_meant(query.system)
        composition = explorer.apart().composition
        with _searching():
            return color(composition, formula, query.choices, query.cycle, effort)

    @routes.post("/api/answers")
    def answered(query: AnswersQuery) -> tuple[Answers, ...]:
        """What MATCH and AGREE may answer after a trace of a session, and the replies to it."""
        explorer.check_meant(query.system)
        return answers(explorer.subject, query.choices, query.assumptions)

    @routes.post("/api/graph")
    async def graph(query: GraphQuery) -> GraphView:
        """The picture of the reachable states, folded, and where a trace is in it."""
        explorer.check_meant(query.system)
        return (await explorer.picture(query.fold)).view(query.choices)

    @routes.post("/api/export/{form}", response_class=Response)
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


def _add_editing(routes: APIRouter, explorer: Explorer) -> None:
    @routes.post("/api/edit")
    async def edit(query: EditQuery) -> Edited:
        """Take a new text of a table: what is wrong with it, or the trace in the new system."""
        return await explorer.edit(query)

    @routes.post("/api/save")
    async def save(query: SaveQuery) -> Opened:
        """Write the latest text of a table without a fault to the file that it was read from."""
        if explorer.editor is None:
            raise UsageError("no table was opened to be edited: start pxp serve TABLE --edit")
        async with explorer.editing:
            explorer.check_meant(query.system)
            await asyncio.to_thread(explorer.editor.save, query.table)
            explorer.shown.tables = explorer.editor.tables
        return explorer.shown


class _Page:
    """A page that is connected: what it begins with, and what it asks, one of each kind."""

    def __init__(self, socket: WebSocket, explorer: Explorer) -> None:
        self._socket, self._explorer = socket, explorer
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, Process] = {}

    async def _send(self, event: Event) -> None:
        await self._socket.send_json(_sent(event))

    def begin(self) -> Iterator[dict[str, Any]]:
        """The session, if one is followed, and the verdicts so far on the system as it is now."""
        if self._explorer.session is not None:
            yield _sent(self._explorer.session)
        yield from map(_sent, tuple(self._explorer.events))

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
        async for reply in process.ask(text):
            await self._send(event_of(asked.id, reply))
        await self._send(DoneEvent(id=asked.id))

    def close(self) -> None:
        """End what is being answered."""
        for task in self._tasks.values():
            task.cancel()
        for process in self._processes.values():
            self._explorer.give_back(process)
