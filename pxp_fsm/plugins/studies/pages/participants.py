"""The pages of a study: participants come by a panel's address or by a link, and leave by another.

What a participant's page receives is one response, `GET /api/participant`, padded to whole blocks;
whoever it is for, it tells nothing that the tables and the end of a slot have not released.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, WebSocket
from fastapi.responses import Response
from pydantic import Field
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backends.databases import SqlBlackboard
from backends.databases.drafts import keep_draft
from backends.people.waiting import SessionMoved
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import Refused, UsageError, counted
from pxp_fsm.plugins.studies.conduct import Conduct, check_identifiers
from pxp_fsm.plugins.studies.files import RESERVED, Study
from pxp_fsm.plugins.studies.lifecycles import OVER
from pxp_fsm.plugins.studies.pages.host import ASKING, StudyHost
from pxp_fsm.plugins.studies.pages.research import STUDY, add_research
from pxp_fsm.plugins.studies.signatures import signature_check
from pxp_fsm.plugins.studies.views import page_bytes
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
from pxp_fsm.web.experts.pages import BEGIN, CHANGED, Asker, Me, add_common, picture_response
from pxp_fsm.web.experts.views import laid_out
from pxp_fsm.web.guard import RESEARCHERS, RequestBudget, Who
from pxp_fsm.web.links import Links, door_of_people
from pxp_fsm.web.news import NewsItem, push
from pxp_fsm.web.pages import PageSet, note
from pxp_fsm.web.serving import OpenSite, Site

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


def study_pages(host: StudyHost, links: Links, budget: RequestBudget | None = None) -> PageSet:
    """The pages of a study: of its participants, and of whoever conducts it."""
    study = host.conduct.study
    for task, arm in product(study.tasks, study.arms):
        if not task.network:  # or who comes first would wait for it
            laid_out(study.plan(arm, task, "").rules().automaton)
    routes = APIRouter()
    add_common(routes, links)
    _add_page(routes, host)
    _add_task(routes, host)
    _add_events(routes, host)
    add_research(routes, host, links)

    @routes.get("/api/me")
    def me(who: Asker) -> Me:
        """Who opened the page."""
        return Me(
            "conductor" if who.is_researcher else "participant", who.subject, PAGE, RESEARCH_ONLY
        )

    return PageSet(
        title="pxp study",
        bundle="experts",
        routes=routes,
        door=door_of_people(study.run, ENDED, budget),
        during=host.served,
        moved_on=(SessionMoved,),
        around=partial(Paced, step=pace(study)),
    )


ENDED = (
    "If you have withdrawn from the study, what you said is erased, and there is nothing left for "
    "you to do. Otherwise ask whoever sent you the link for a new one."
)
"""What somebody reads whose link lets nobody in."""


def _add_events(routes: APIRouter, host: StudyHost) -> None:
    @routes.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        who: Who = socket.state.who

        def changed(message: Mapping[str, Any]) -> Mapping[str, Any]:
            """With the last page of who has left: their link has ended, and they cannot ask."""
            left = not who.is_researcher and host.conduct.status(who.subject) in OVER
            return {**message, "page": host.page(who.subject)} if left else message

        def told(item: NewsItem) -> Mapping[str, Any] | None:
            theirs = who.is_researcher or item.about == who.subject
            return changed(CHANGED) if theirs else None

        await push(socket, host.pages, lambda: (changed(BEGIN),), told)


def _shown(host: StudyHost, subject: str) -> Response:
    """The page of a participant, in whole blocks."""
    return Response(page_bytes(host.page(subject)), media_type="application/json")


def _add_page(routes: APIRouter, host: StudyHost) -> None:
    @routes.get("/api/participant", response_class=Response)
    def page(subject: Participant) -> Response:
        """What one's page shows now."""
        return _shown(host, subject)

    @routes.post("/api/participant/act", response_class=Response)
    def act(subject: Participant, done: ParticipantAct) -> Response:
        """Do what the page offers; the page as it is then."""
        timing = done.spent.timing(host.conduct.study.consent.version)
        host.act(subject, done.label, done.payload, timing)
        host.look(subject)
        host.pages.tell(STUDY)
        return _shown(host, subject)

    @routes.put("/api/participant/answers", status_code=204, response_class=Response)
    def answers(subject: Participant, typed: Typed) -> None:
        """Keep what is typed in answer to questions."""
        participation = host.conduct.participation(subject)
        if participation.status not in ASKING:
            raise SessionMoved("these questions are not asked any more; what was typed is not kept")
        keep_draft(
            host.conduct.board, participation.name, len(participation.history) + 1, typed.answers
        )


def _add_task(routes: APIRouter, host: StudyHost) -> None:
    @routes.put("/api/participant/draft", status_code=204, response_class=Response)
    def draft(subject: Participant, typed: TypedDraft) -> None:
        """Keep what is typed for the message that is asked for."""
        host.save(subject, typed)

    @routes.post("/api/participant/reply", response_class=Response)
    async def reply(subject: Participant, posted: PostedReply) -> Response:
        """Answer what is asked; the page as it is then.

        Once a message is stored the answer comes at once: it does not wait for the partner's.
        """
        await asked_again(partial(host.will_ask, subject))
        where = await asyncio.to_thread(host.conduct.follow, subject)
        seen = host.sessions.version(where.session)
        place, number = await asyncio.to_thread(host.reply, subject, posted)
        if number is None:
            await host.sessions.after(place.session, seen, PATIENCE)
        else:
            await stored(host.runner, host.sessions, place, number)
        await asyncio.to_thread(host.look, subject)
        return await asyncio.to_thread(_shown, host, subject)

    @routes.post("/api/participant/finish", response_class=Response)
    def finish(subject: Participant) -> Response:
        """Say that a task about a network is done."""
        host.conduct.finish(subject)
        host.look(subject)
        return _shown(host, subject)

    @routes.get("/api/participant/pictures/{number}", response_class=Response)
    def picture(subject: Participant, number: int) -> Response:
        """The picture of the instance (0), or of the prediction of a message."""
        return picture_response(host.picture(subject, number))


PACE = 0.25
"""Seconds after which a participant is replied to, or a multiple of it."""


def pace(study: Study) -> float:
    """The seconds in whose multiples participants are replied to; 0 where nobody is blinded."""
    return min(PACE, study.slots.least) if any(arm.blinded for arm in study.arms) else 0.0


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


SEEN = RESERVED[-1]
"""The parameter by which an address says that its page was seen."""

SECONDS_OF_SEAL = 3600.0
"""For how long the button of that page is taken."""


class Arrivals:
    """Participants who come by the address of a panel, with all of its parameters.

    An address takes no place: it shows a page, and the button of that page does. Its address has a
    seal, which nobody can write who has not been sent the page; another site cannot read it.
    Where the panel signs its addresses, the page is shown to those with a valid signature alone.
    Raises `UsageError` where what a signature is checked with is not there.
    """

    def __init__(self, conduct: Conduct, clock: Callable[[], float] = time.time) -> None:
        self._conduct, self._clock = conduct, clock
        self._key = secrets.token_bytes(32)
        self._check = signature_check(conduct.study)

    def page(self, query: Mapping[str, str], address: str) -> Response | None:
        """The page that says where one is; raises `Refused` where one cannot take part."""
        known = self._identifiers(query)
        if known is None:
            return None
        mark = self._check(address, query, known)
        self._conduct.check_joining(known, mark)
        until = int(self._clock() + SECONDS_OF_SEAL)
        return note(
            self._conduct.study.title,
            "You were sent here to take part in this study.",
            "Go on to read what it is about and what becomes of what you say. You decide then "
            "whether you take part. Nothing is stored before.",
            status=200,
            button="Go on",
            action=f"/?{urlencode({**known, SEEN: self._sealed(known, until, mark)})}",
        )

    def take(self, query: Mapping[str, str]) -> str | None:
        """The token of who goes on from that page; `Refused` where they have not seen it."""
        known = self._identifiers(query)
        if known is None:
            return None
        seal = query.get(SEEN, "")
        until, _, rest = seal.partition(".")
        mark = rest.partition(".")[0]
        fresh = until.isascii() and until.isdigit() and float(until) > self._clock()
        expected = self._sealed(known, int(until), mark) if fresh else ""
        if not fresh or not hmac.compare_digest(seal.encode(), expected.encode()):
            raise Refused("this page is too old; open the address again")
        return self._conduct.invite(self._conduct.join(known, mark))

    def _identifiers(self, identity: Mapping[str, str]) -> dict[str, str] | None:
        """Who comes with these parameters; None where some are missing."""
        names = self._conduct.study.payment.parameters
        known = {name: identity[name] for name in names if identity.get(name)}
        if not names or len(known) < len(names):
            return None
        try:
            check_identifiers(self._conduct.study, known)
        except UsageError as error:
            raise Refused("this address is none of this study") from error
        return known

    def _sealed(self, known: Mapping[str, str], until: int, mark: str) -> str:
        text = json.dumps([until, mark, sorted(known.items())])
        return f"{until}.{mark}.{hmac.new(self._key, text.encode(), 'sha256').hexdigest()}"


@contextmanager
def study_site(
    study: Study,
    board: SqlBlackboard,
    *,
    url: str | None = None,
    days: float = 90.0,
    invite: int = 0,
) -> Iterator[Site]:
    """What `serve` serves of a study, which is conducted meanwhile.

    Links are by pseudonym: of `invite` new participants, of "" the researcher; "panel" is the
    address that a panel is given, if the study has one. Raises `UsageError` where `url` is none,
    the study stored is another one, or too few places are left, and `RunLocked` where another
    process conducts it.
    """
    with StudyHost(study, board) as host:
        conduct = host.conduct

        def opened(port: int) -> OpenSite:
            arrival = Arrivals(conduct)
            links = Links(board, port, url, days, scopes=(study.run,), arrival=arrival)
            addresses = {"": links.link(RESEARCHERS, "")}
            if study.payment.parameters:
                query = "&".join(f"{name}={{{{%{name}%}}}}" for name in study.payment.parameters)
                addresses["panel"] = f"{links.address}/?{query}"
            left = conduct.places_left
            if invite > left:
                raise UsageError(
                    f"{invite} are too many: the study has {counted(left, 'place')} left", "invite"
                )
            for _ in range(invite):
                subject = conduct.join()
                addresses[subject] = links.link(study.run, subject)
            return OpenSite(access=links, sets=(study_pages(host, links),), links=addresses)

        yield opened
