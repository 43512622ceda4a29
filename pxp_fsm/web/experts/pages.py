"""The pages of experts: a JSON API, and the news by which a page hears of what has changed.

Each expert sees and answers their own sessions alone; what is not theirs is not there for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, WebSocket
from fastapi.responses import Response
from pydantic import Field
from starlette.requests import Request

from backends.databases import SqlBlackboard
from backends.people.waiting import SessionMoved
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import DataError
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.runs import Run
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Message, text_problem
from pxp_fsm.web.experts import views
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
from pxp_fsm.web.guard import RESEARCHERS, RequestBudget, Who
from pxp_fsm.web.hosting import Host, SeatPlace, carried
from pxp_fsm.web.links import EXPERTS, Links, door_of_people
from pxp_fsm.web.news import News, NewsItem, push
from pxp_fsm.web.pages import PageSet
from pxp_fsm.web.serving import OpenSite, Site

ENDED = "It is not valid, or not any more. Ask whoever sent it to you for a new one."
"""What somebody reads whose link lets nobody in."""


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
    """Who sends a request, as the guard found them."""
    who = request.state.who
    assert isinstance(who, Who)  # noqa: S101 - the guard lets nobody else through
    return who


Asker = Annotated[Who, Depends(asking)]


def expert_pages(
    host: Host, links: Links, news: News, budget: RequestBudget | None = None
) -> PageSet:
    """The pages of the experts in the runs of `host`, and of who conducts these.

    `news` are told of every change while they are served; `budget` is that of requests.
    """
    for hosted in host.hosted.values():  # or all who come first would wait for it, each apart
        laid_out(hosted.run.opening.plan.rules().automaton)
    routes = APIRouter()
    add_common(routes, links)
    _add_sessions(routes, host, news)
    _add_pictures(routes, host)
    _add_own(routes, host)
    _add_events(routes, host, news)
    add_research(routes, host, links)
    return PageSet(
        title="Sessions",
        bundle="experts",
        routes=routes,
        door=door_of_people(EXPERTS, ENDED, budget),
        during=partial(carried, host, news),
        moved_on=(SessionMoved,),
    )


def add_common(routes: APIRouter, links: Links) -> None:
    """What all pages of people have: drawings, second devices."""

    @routes.get("/api/drawing", response_class=Response)
    def drawing(who: Asker, smiles: Annotated[str, Field(max_length=2_000)]) -> Response:
        """The molecules of a SMILES text, drawn."""
        image = None if text_problem(smiles) else views.structure(smiles)
        if image is None:
            raise DataError("these are no molecules")
        return picture_response(image)

    @routes.post("/api/pairing")
    def pairing(who: Asker) -> Pairing:
        """A link that opens the page on a second device, once, within ten minutes."""
        return Pairing(links.pairing(who))


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


def _add_own(routes: APIRouter, host: Host) -> None:
    @routes.get("/api/me")
    def me(who: Asker) -> Me:
        """Who opened the page."""
        role: Literal["expert", "researcher"] = "researcher" if who.is_researcher else "expert"
        return Me(role, who.subject, PAGE, RESEARCH_ONLY)

    @routes.get("/api/sessions")
    def sessions(who: Asker) -> tuple[QueueLine, ...]:
        """One's sessions: those that wait for one first."""
        return () if who.is_researcher else queue(host, who.subject)


def _add_sessions(routes: APIRouter, host: Host, news: News) -> None:
    def shown(place: SeatPlace) -> CaseView:
        view = session_view(host, place)
        if view is None:
            raise HTTPException(404, "this session has not begun")
        return view

    @routes.get("/api/sessions/{session}")
    def case(who: Asker, session: str) -> CaseView:
        """A session: what it is about, what was said, and what is asked."""
        return shown(own_place(host, who, session))

    @routes.put("/api/sessions/{session}/draft", status_code=204, response_class=Response)
    def draft(who: Asker, session: str, typed: TypedDraft) -> None:
        """Keep what is typed for the message that is asked for."""
        place = _answering(host, who, session)
        save(host, place, typed)

    @routes.post("/api/sessions/{session}/reply")
    async def reply(who: Asker, session: str, posted: PostedReply) -> CaseView:
        """Answer what is asked; the session as it is then."""
        place = _answering(host, who, session)
        await asked_again(partial(will_ask, host, place))
        seen = news.version(place.session)
        sent = await asyncio.to_thread(give, host, place, posted)
        if sent is not None:
            await stored(host, news, place, sent)
        await news.after(place.session, seen, PATIENCE)
        return await asyncio.to_thread(shown, place)


def _add_pictures(routes: APIRouter, host: Host) -> None:
    @routes.get("/api/sessions/{session}/pictures/{number}", response_class=Response)
    def picture(who: Asker, session: str, number: int) -> Response:
        """The picture of the instance (0), or of the prediction of a message."""
        place = own_place(host, who, session)
        messages = [entry.carried for entry in host.board.events(place.session)]
        return picture_response(picture_of(host, place, number, messages))


def picture_of(
    host: Host, place: SeatPlace, number: int, messages: Sequence[Message]
) -> Image | None:
    """The picture of a session's instance (0), or of the prediction of a message of `messages`."""
    run = host.hosted[place.run].run
    stored = host.board.sessions_at(run.name, place.repetition, place.position, place.position)
    problem = run.opening.task.problem
    if not stored or problem is None:
        return None
    if number == 0:
        return views.of_instance(problem, stored[0].instance)
    if not problem.smiles or not 1 <= number <= len(messages):
        return None
    return views.structure(messages[number - 1].answer.prediction)


def _add_events(routes: APIRouter, host: Host, news: News) -> None:
    @routes.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        who: Who = socket.state.who

        def told(item: NewsItem) -> Mapping[str, Any] | None:
            place = host.places.get(item.about)  # or the name of a session or a run
            run = item.about if place is None else place.run
            hosted = host.hosted.get(run if run in host.hosted else run.rsplit("/", 2)[0])
            if hosted is None or not (who.is_researcher or hosted.subject == who.subject):
                return None
            if place is None:
                return CHANGED
            writing = writing_of(host, place)
            return (
                None if writing is None else {"type": "writing", "id": place.id, **asdict(writing)}
            )

        await push(socket, news, lambda: (BEGIN,), told)


CHANGED: Mapping[str, Any] = MappingProxyType({"type": "changed"})
"""What a page hears when something of it may look otherwise."""
BEGIN: Mapping[str, Any] = MappingProxyType({"type": "begin"})
"""What a page hears first, and again where it missed something: it asks for everything."""


def expert_site(
    board: SqlBlackboard,
    runs: Sequence[Run[TaskOpening]],
    *,
    url: str | None = None,
    days: float = 14.0,
) -> Site:
    """What `serve` serves of `runs` with people on pages, with a new link for each of them.

    Raises `UsageError` where `url` is none.
    """

    def opened(port: int) -> OpenSite:
        links = Links(board, port, url, days)
        host = Host(board, runs, shows_writing=True)
        pages = expert_pages(host, links, News())
        return OpenSite(access=links, sets=(pages,), links=links_of(host, links))

    return opened


def links_of(host: Host, links: Links) -> dict[str, str]:
    """A new link for each who may open the pages, by pseudonym; that of "" is the researcher's.

    There is none where no run has a person on a page.
    """
    people = (hosted for hosted in host.hosted.values() if hosted.in_browser)
    subjects = sorted({hosted.subject for hosted in people})
    of_experts = {subject: links.link(EXPERTS, subject) for subject in subjects}
    return {"": links.link(RESEARCHERS, "")} | of_experts if of_experts else {}
