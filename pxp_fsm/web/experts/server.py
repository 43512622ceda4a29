"""The server of experts: a JSON API, a WebSocket of news, and the pages that use them.

Each expert sees and answers their own sessions alone; what is not theirs is not there for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, HTTPException, WebSocket
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from starlette.requests import Request
from starlette.types import ASGIApp

from backends.databases import SqlBlackboard
from backends.people.waiting import SessionMoved
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import DataError
from pxp_fsm.experiments.runs import Run, TaskOpening
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Message, text_problem
from pxp_fsm.web.experts import views
from pxp_fsm.web.experts.admission import (
    EXPERTS,
    PAGE_HEADERS,
    RESEARCHERS,
    BoundedRequests,
    Links,
    Who,
)
from pxp_fsm.web.experts.answers import (
    PAGE,
    PATIENCE,
    PostedReply,
    TypedDraft,
    asked_again,
    give,
    save,
    stored,
    will_ask,
)
from pxp_fsm.web.experts.research import add_research
from pxp_fsm.web.experts.views import (
    CaseView,
    QueueLine,
    laid_out,
    queue,
    session_view,
    writing_of,
)
from pxp_fsm.web.hosting import LOST, Host, News, SeatPlace, carried
from pxp_fsm.web.serving import (
    GuardedApp,
    add_page,
    add_refusals,
    listen,
    server_of,
    static,
    until_left,
)


@dataclass(frozen=True, slots=True)
class Me:
    """Who opened the page: an expert, a researcher; of a study, a participant, its conductor."""

    role: Literal["expert", "researcher", "participant", "conductor"]
    subject: str
    page: str
    notice: str


@dataclass(frozen=True, slots=True)
class Pairing:
    """A link for a second device."""

    link: str


def asking(request: Request) -> Who:
    """Who sends a request, as `GuardedApp` found them."""
    who = request.state.who
    assert isinstance(who, Who)  # noqa: S101 - `GuardedApp` lets nobody else through
    return who


Asker = Annotated[Who, Depends(asking)]


def application(host: Host, links: Links, news: News | None = None) -> FastAPI:
    """The server, as an application that is not guarded yet; `news` is told of every change."""
    news = news or News()
    for hosted in host.hosted.values():  # or all who come first would wait for it, each apart
        laid_out(hosted.run.opening.plan.rules().automaton)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with carried(host, news):
            yield

    app = FastAPI(title="pxp serve", docs_url=None, redoc_url=None, lifespan=lifespan, debug=False)
    add_common(app, links)
    _add_sessions(app, host, news)
    _add_pictures(app, host)
    _add_own(app, host)
    _add_events(app, host, news)
    add_research(app, host, links)
    return app


def add_common(app: FastAPI, links: Links) -> None:
    """What every server of people has: the page, refusals, drawings, second devices."""
    add_page(app, "experts", "Sessions")
    add_refusals(app)
    editor = static("molecules.js")
    app.get("/molecules.js", include_in_schema=False)(
        lambda: Response(editor, media_type="text/javascript; charset=utf-8")
    )

    @app.get("/api/drawing", response_class=Response)
    def drawing(who: Asker, smiles: Annotated[str, Field(max_length=2_000)]) -> Response:
        """The molecules of a SMILES text, drawn."""
        image = None if text_problem(smiles) else views.structure(smiles)
        if image is None:
            raise DataError("these are no molecules")
        return picture_response(image)

    @app.post("/api/pairing")
    def pairing(who: Asker) -> Pairing:
        """A link that opens the page on a second device, once, within ten minutes."""
        return Pairing(links.pairing(who))

    @app.exception_handler(SessionMoved)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)


def picture_response(image: Image | None) -> Response:
    """A picture as a response; 404 where there is none."""
    if image is None:
        raise HTTPException(404, "there is no picture")
    return Response(image.data, media_type=image.media_type)


def own_place(host: Host, who: Who, session: str) -> SeatPlace:
    """The place of a session, where it is theirs; 404 where it is another's, or none."""
    place = host.places.get(session)
    if place is None or not (who.is_researcher or host.hosted[place.run].subject == who.subject):
        raise HTTPException(404, "there is no such session")
    return place


def _answering(host: Host, who: Who, session: str) -> SeatPlace:
    """The same for what only its expert may do."""
    place = own_place(host, who, session)
    if who.is_researcher:
        raise HTTPException(404, "there is no such session")
    return place


def _add_own(app: FastAPI, host: Host) -> None:
    @app.get("/api/me")
    def me(who: Asker) -> Me:
        """Who opened the page."""
        role: Literal["expert", "researcher"] = "researcher" if who.is_researcher else "expert"
        return Me(role, who.subject, PAGE, RESEARCH_ONLY)

    @app.get("/api/sessions")
    def sessions(who: Asker) -> tuple[QueueLine, ...]:
        """One's sessions: those that wait for one first."""
        return () if who.is_researcher else queue(host, who.subject)


def _add_sessions(app: FastAPI, host: Host, news: News) -> None:
    def shown(place: SeatPlace) -> CaseView:
        view = session_view(host, place)
        if view is None:
            raise HTTPException(404, "this session has not begun")
        return view

    @app.get("/api/sessions/{session}")
    def one(who: Asker, session: str) -> CaseView:
        """A session: what it is about, what was said, and what is asked."""
        return shown(own_place(host, who, session))

    @app.put("/api/sessions/{session}/draft", status_code=204, response_class=Response)
    def draft(who: Asker, session: str, typed: TypedDraft) -> None:
        """Keep what is typed for the message that is asked for."""
        place = _answering(host, who, session)
        save(host, place, typed)

    @app.post("/api/sessions/{session}/reply")
    async def reply(who: Asker, session: str, said: PostedReply) -> CaseView:
        """Answer what is asked; the session as it is then."""
        place = _answering(host, who, session)
        await asked_again(partial(will_ask, host, place))
        seen = news.version(place.session)
        sent = await asyncio.to_thread(give, host, place, said)
        if sent is not None:
            await stored(host, news, place, sent)
        await news.after(place.session, seen, PATIENCE)
        return await asyncio.to_thread(shown, place)


def _add_pictures(app: FastAPI, host: Host) -> None:
    @app.get("/api/sessions/{session}/pictures/{number}", response_class=Response)
    def picture(who: Asker, session: str, number: int) -> Response:
        """The picture of the instance (0), or of the prediction of a message."""
        place = own_place(host, who, session)
        said = [entry.carried for entry in host.board.events(place.session)]
        return picture_response(picture_of(host, place, number, said))


def picture_of(host: Host, place: SeatPlace, number: int, said: Sequence[Message]) -> Image | None:
    """The picture of a session's instance (0), or of the prediction of a message of `said`."""
    run = host.hosted[place.run].run
    stored = host.board.sessions_at(run.name, place.repetition, place.position, place.position)
    problem = run.opening.task.problem
    if not stored or problem is None:
        return None
    if number == 0:
        return views.of_instance(problem, stored[0].instance)
    if not problem.smiles or not 1 <= number <= len(said):
        return None
    return views.structure(said[number - 1].answer.prediction)


def _add_events(app: FastAPI, host: Host, news: News) -> None:
    def told(who: Who, name: str) -> Mapping[str, Any] | None:
        if name == LOST:
            return {"type": "lost"}
        place = host.places.get(name)  # or the name of a session or a run
        run = name if place is None else place.run
        hosted = host.hosted.get(run if run in host.hosted else run.rsplit("/", 2)[0])
        if hosted is None or not (who.is_researcher or hosted.subject == who.subject):
            return None
        if place is None:
            return CHANGED
        writing = writing_of(host, place)
        return None if writing is None else {"type": "writing", "id": name, **asdict(writing)}

    add_events(app, news, told)


CHANGED: Mapping[str, Any] = MappingProxyType({"type": "changed"})
"""What a page hears when something of it may look otherwise."""


def add_events(
    app: FastAPI, news: News, told: Callable[[Who, str], Mapping[str, Any] | None]
) -> None:
    """The WebSocket by which a page hears what its holder is `told` of a name that has changed.

    They are `told` of `LOST` where the page was so slow that it must ask for everything again.
    """

    @app.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        who = socket.state.who
        with news.listening() as heard:  # first: what changes from now on is told
            await socket.accept()

            async def tell() -> None:
                while True:
                    found = told(who, await heard.get())
                    if found is not None:
                        await socket.send_json(dict(found))

            await until_left(socket, tell())


def serve_experts(
    board: SqlBlackboard,
    runs: Sequence[Run[TaskOpening]],
    port: int,
    ready: Callable[[dict[str, str]], None],
    *,
    url: str | None = None,
    days: float = 14.0,
) -> None:
    """Serve the pages of `runs` until Ctrl-C; `ready` is told a new link for each who may open one.

    The links are by pseudonym; that of "" is the researcher's. Raises `UsageError` where the port
    is taken, or `url` is none.
    """
    with listen(port) as listening:
        links = Links(board, listening.getsockname()[1], url, days)
        host = Host(board, runs, shows_writing=True)
        server = server_of(guarded(application(host, links), links))
        ready(links_of(host, links))
        server.run(sockets=[listening])


def guarded(app: FastAPI, links: Links) -> ASGIApp:
    """`app` for the holders of `links` alone."""
    return GuardedApp(BoundedRequests(app), links, PAGE_HEADERS)


def links_of(host: Host, links: Links) -> dict[str, str]:
    """A new link for each who may open the pages, by pseudonym; that of "" is the researcher's.

    There is none where no run has a person on a page.
    """
    people = (hosted for hosted in host.hosted.values() if hosted.in_browser)
    subjects = sorted({hosted.subject for hosted in people})
    found = {subject: links.link(EXPERTS, subject) for subject in subjects}
    return {"": links.link(RESEARCHERS, "")} | found if found else {}
