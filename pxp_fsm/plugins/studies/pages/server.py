"""The server of a study: participants come by a panel's address or by a link, and leave by another.

What a participant's page receives is one response, `GET /api/participant`, padded to whole blocks;
whoever it is for, it tells nothing that the tables and the end of a slot have not released.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import Response
from pydantic import Field
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backends.databases import SqlBlackboard
from backends.databases.drafts import keep_draft
from backends.people.waiting import SessionMoved
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.files import Study
from pxp_fsm.plugins.studies.lifecycles import OVER
from pxp_fsm.plugins.studies.pages.host import ASKING, StudyHost
from pxp_fsm.plugins.studies.pages.research import STUDY, add_research
from pxp_fsm.plugins.studies.views import page_bytes
from pxp_fsm.web.experts.admission import (
    PAGE_HEADERS,
    RESEARCHERS,
    BoundedRequests,
    Links,
    Who,
)
from pxp_fsm.web.experts.answers import (
    PAGE,
    PATIENCE,
    PostedBody,
    PostedReply,
    TimeSpent,
    TypedDraft,
    asked_again,
    stored,
)
from pxp_fsm.web.experts.server import CHANGED, Asker, Me, add_common, add_events, picture_response
from pxp_fsm.web.experts.views import laid_out
from pxp_fsm.web.hosting import LOST
from pxp_fsm.web.serving import GuardedApp, listen, server_of

Label = Annotated[str, Field(max_length=20)]


class ParticipantAct(PostedBody):
    """What a participant does on their page, by its label in the table."""

    label: Label
    payload: Any = None
    spent: TimeSpent = TimeSpent()


class Typed(PostedBody):
    """What is typed in answer to questions, and not sent."""

    answers: dict[Annotated[str, Field(max_length=40)], str | float | None]


def _participant(who: Asker, request: Request) -> str:
    if who.is_researcher:
        raise HTTPException(404, "there is no such page")
    return who.subject


Participant = Annotated[str, Depends(_participant)]


def application(host: StudyHost, links: Links) -> FastAPI:
    """The server, as an application that is not guarded yet."""
    study = host.conduct.study
    for task, arm in product(study.tasks, study.arms):
        if not task.network:  # or who comes first would wait for it
            laid_out(study.plan(arm, task, "").rules().automaton)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        host.begin()
        yield
        await host.end()

    app = FastAPI(title="pxp study", docs_url=None, redoc_url=None, lifespan=lifespan, debug=False)
    add_common(app, links)
    _add_page(app, host)
    _add_task(app, host)
    add_research(app, host, links)

    def told(who: Who, name: str) -> Mapping[str, Any] | None:
        """With the last page of who has left: their link has ended, and they cannot ask for it."""
        if name == LOST:
            name = who.subject
        if not who.is_researcher and name == who.subject and host.conduct.status(name) in OVER:
            return {**CHANGED, "page": host.page(name)}
        return CHANGED if who.is_researcher or name == who.subject else None

    add_events(app, host.pages, told)

    @app.get("/api/me")
    def me(who: Asker) -> Me:
        """Who opened the page."""
        return Me(
            "conductor" if who.is_researcher else "participant", who.subject, PAGE, RESEARCH_ONLY
        )

    return app


def _shown(host: StudyHost, subject: str) -> Response:
    """The page of a participant, in whole blocks."""
    return Response(page_bytes(host.page(subject)), media_type="application/json")


def _add_page(app: FastAPI, host: StudyHost) -> None:
    @app.get("/api/participant", response_class=Response)
    def page(subject: Participant) -> Response:
        """What one's page shows now."""
        return _shown(host, subject)

    @app.post("/api/participant/act", response_class=Response)
    def act(subject: Participant, done: ParticipantAct) -> Response:
        """Do what the page offers; the page as it is then."""
        timing = done.spent.timing(host.conduct.study.consent.version)
        host.act(subject, done.label, done.payload, timing)
        host.look(subject)
        host.pages.tell(STUDY)
        return _shown(host, subject)

    @app.put("/api/participant/answers", status_code=204, response_class=Response)
    def answers(subject: Participant, typed: Typed) -> None:
        """Keep what is typed in answer to questions."""
        one = host.conduct.participation(subject)
        if one.status not in ASKING:
            raise SessionMoved("these questions are not asked any more; what was typed is not kept")
        keep_draft(host.conduct.board, one.name, len(one.history) + 1, typed.answers)


def _add_task(app: FastAPI, host: StudyHost) -> None:
    @app.put("/api/participant/draft", status_code=204, response_class=Response)
    def draft(subject: Participant, typed: TypedDraft) -> None:
        """Keep what is typed for the message that is asked for."""
        host.save(subject, typed)

    @app.post("/api/participant/reply", response_class=Response)
    async def reply(subject: Participant, said: PostedReply) -> Response:
        """Answer what is asked; the page as it is then.

        Once a message is stored the answer comes at once: it does not wait for the partner's.
        """
        await asked_again(partial(host.will_ask, subject))
        where = await asyncio.to_thread(host.conduct.follow, subject)
        seen = host.sessions.version(where.session)
        place, number = await asyncio.to_thread(host.reply, subject, said)
        if number is None:
            await host.sessions.after(place.session, seen, PATIENCE)
        else:
            await stored(host.runner, host.sessions, place, number)
        await asyncio.to_thread(host.look, subject)
        return await asyncio.to_thread(_shown, host, subject)

    @app.post("/api/participant/finish", response_class=Response)
    def finish(subject: Participant) -> Response:
        """Say that a task about a network is done."""
        host.conduct.finish(subject)
        host.look(subject)
        return _shown(host, subject)

    @app.get("/api/participant/pictures/{number}", response_class=Response)
    def picture(subject: Participant, number: int) -> Response:
        """The picture of the instance (0), or of the prediction of a message."""
        return picture_response(host.picture(subject, number))


PACE = 0.25
"""Seconds after which a participant is replied to, or a multiple of it."""


def pace(study: Study) -> float:
    """The seconds in whose multiples participants are replied to; 0 where nobody is blinded."""
    return min(PACE, study.slots[0]) if any(arm.blinded for arm in study.arms) else 0.0


class Paced:
    """Participants are replied to `step` seconds after their request, or a multiple of it.

    A partner that computes on this machine slows it down: that would be seen in how long replies
    take. 0 is no pacing; `clock` and `sleep` are for tests.
    """

    def __init__(
        self,
        app: ASGIApp,
        step: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._app, self._step = app, step
        self._clock, self._sleep = clock, sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who, began = scope.get("state", {}).get("who"), self._clock()
        if not self._step or scope["type"] != "http" or who is None or who.is_researcher:
            await self._app(scope, receive, send)
            return

        async def paced(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._sleep((began - self._clock()) % self._step)
            await send(message)

        await self._app(scope, receive, paced)


def arrival(conduct: Conduct) -> Callable[[Mapping[str, str]], str | None]:
    """Who comes by the address of a panel, with all of its parameters, takes part."""
    names = conduct.study.payment.parameters

    def arrive(given: Mapping[str, str]) -> str | None:
        known = {name: given[name] for name in names if given.get(name)}
        if not names or len(known) < len(names):
            return None
        try:
            return conduct.invite(conduct.join(known))
        except UsageError:
            return None

    return arrive


def serve_study(
    study: Study,
    board: SqlBlackboard,
    port: int,
    ready: Callable[[dict[str, str]], None],
    *,
    url: str | None = None,
    days: float = 90.0,
    invite: int = 0,
) -> None:
    """Serve the pages of a study until Ctrl-C; `ready` is told the addresses to open.

    They are by pseudonym: `invite` new participants, "" the researcher, "panel" the address that a
    panel is given, if the study has one. Raises `UsageError` where the port is taken, `url` is
    none, the study stored is another one, or too few places are left, and `RunLocked` where another
    process conducts it.
    """
    with listen(port) as listening, StudyHost(study, board) as host:
        conduct = host.conduct
        free = listening.getsockname()[1]
        links = Links(board, free, url, days, scope=study.run, arrive=arrival(conduct))
        paced = Paced(BoundedRequests(application(host, links)), pace(study))
        server = server_of(GuardedApp(paced, links, PAGE_HEADERS))
        addresses = {"": links.link(RESEARCHERS, "")}
        if study.payment.parameters:
            query = "&".join(f"{name}={{{{%{name}%}}}}" for name in study.payment.parameters)
            addresses["panel"] = f"{links.address}/?{query}"
        if invite > conduct.places_left:
            left = conduct.places_left
            raise UsageError(f"{invite} are too many: the study has {left} places left", "invite")
        for _ in range(invite):
            subject = conduct.join()
            addresses[subject] = links.link(study.run, subject)
        ready(addresses)
        server.run(sockets=[listening])
