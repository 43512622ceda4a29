"""What people on pages send: answers to what a session asks, drafts, the time that they took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from backends.databases.drafts import Timing, drop_draft, keep_draft, keep_timing
from backends.people.browser import LONGEST, OWN, SEND, Given, QuestionKind
from backends.people.waiting import SessionMoved
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.bundles import static
from pxp_fsm.web.experts.views import overview_of
from pxp_fsm.web.hosting import Host, RunState, SeatPlace
from pxp_fsm.web.news import News

PATIENCE = 2.0
"""Seconds for which an answer waits for what follows it; after that the page hears of it."""
STORED = 60.0
"""Seconds for which a message that was sent waits to be stored, before it is acknowledged."""
RESUMED = 20.0
"""Seconds for which an answer waits until a server that was started again has asked for it."""
_OFTEN = 0.2
"""Seconds between two looks at whether it has."""
PAGE = sha256((static("experts.js") + static("experts.css")).encode()).hexdigest()[:12]
"""The version of the page, as it is stored with each message that was made on it."""

Text = Annotated[str, Field(max_length=LONGEST)]
Seconds = Annotated[float, Field(ge=0, le=1e7)]
Count = Annotated[int, Field(ge=0, le=10**6)]


class PostedBody(BaseModel):
    """A request's body: nothing but what is named is taken."""

    model_config = ConfigDict(extra="forbid")


class TimeSpent(PostedBody):
    """How the message was arrived at: seconds, edits and pastes."""

    active: Seconds = 0.0
    idle: Seconds = 0.0
    edits: Count = 0
    pastes: Count = 0

    def timing(self, consent: str = "") -> Timing:
        """The same as it is stored, with the versions of page and consent."""
        return Timing(self.active, self.idle, self.edits, self.pastes, PAGE, consent)


class TypedDraft(PostedBody):
    """What is typed for message `number`, and not sent."""

    number: Annotated[int, Field(ge=1, le=10**6)]
    prediction: Text = ""
    explanation: Text = ""
    spent: TimeSpent = TimeSpent()


class PostedReply(PostedBody):
    """An answer to the question `key`: a choice, or with `own` an answer that was typed."""

    key: Annotated[str, Field(max_length=64)]
    choice: Annotated[str, Field(max_length=64)]
    prediction: Text = ""
    explanation: Text = ""
    spent: TimeSpent = TimeSpent()


async def asked_again(will_ask: Callable[[], bool]) -> None:
    """Wait while a session that was resumed `will_ask` what its person was asked before."""
    until = time.monotonic() + RESUMED
    while time.monotonic() < until and await asyncio.to_thread(will_ask):
        await asyncio.sleep(_OFTEN)


def will_ask(host: Host, place: SeatPlace) -> bool:
    """Whether a session is about to ask its person, for the first time since it was resumed."""
    return host.will_ask(place.session) and _is_their_turn(host, place)


def _is_their_turn(host: Host, place: SeatPlace) -> bool:
    """Whether the person has the next message, after what is stored."""
    where = place.repetition, place.position, place.position
    record = next(iter(host.board.sessions_at(place.run, *where)), None)
    if record is None or record.ending is not None:
        return False
    events = host.board.events(place.session)
    overview = overview_of(host.hosted[place.run].run.opening.plan, place.session, events)
    if overview is not None:
        return overview.next is not None and overview.next[0] == HUMAN
    return events[-1].carried.sender != HUMAN if events else record.agents[0][0] == HUMAN


async def stored(host: Host, news: News, place: SeatPlace, number: int) -> None:
    """Wait until message `number` is stored, and forget its draft; else raise `SessionMoved`.

    What a page is told to have been sent must outlast a server that is killed.
    """
    until = time.monotonic() + STORED
    while time.monotonic() < until:
        seen = news.version(place.session)
        carried = _is_carried(host, place)  # asked first: a run that ends stores its last message
        if await asyncio.to_thread(_is_stored, host, place, number):
            await asyncio.to_thread(drop_draft, host.board, place.session)
            return
        if not carried:
            break
        await news.after(place.session, seen, PATIENCE)
    raise SessionMoved("what was sent is not stored yet; the page shows it once it is")


def save(host: Host, place: SeatPlace, typed: TypedDraft) -> None:
    """Keep what is typed for the message that is asked for; else raises `SessionMoved`."""
    waiting = host.waiting(place.session)
    if waiting is None or waiting.number != typed.number:
        raise SessionMoved("this message is not asked for any more; what was typed is not kept")
    content = typed.model_dump(exclude={"number"})
    keep_draft(host.board, place.session, typed.number, content)


def _is_carried(host: Host, place: SeatPlace) -> bool:
    hosted = host.hosted.get(place.run)
    return hosted is not None and hosted.state is RunState.RUNNING


def _is_stored(host: Host, place: SeatPlace, number: int) -> bool:
    where = place.repetition, place.position, place.position
    records = host.board.sessions_at(place.run, *where)
    return any(record.messages >= number or record.ending is not None for record in records)


def give(host: Host, place: SeatPlace, posted: PostedReply, consent: str = "") -> int | None:
    """Check an answer, keep what must outlast it, and let the session go on with it.

    The number of the message where the answer was to send it.
    """
    session = place.session
    reply = host.check(
        session, posted.key, Given(posted.choice, posted.prediction, posted.explanation)
    )
    waiting = host.waiting(session)
    if waiting is None:
        raise SessionMoved("this question has been answered")
    asked, number = waiting.asked, waiting.number
    if asked.step is QuestionKind.ANSWER:
        content = posted.model_dump(include={"prediction", "explanation", "spent"})
        if posted.choice != OWN:
            content |= {"prediction": reply.prediction, "explanation": reply.explanation}
        keep_draft(host.board, session, number, content)
    sends = asked.step is QuestionKind.LOOK and reply.choice == SEND
    if sends:
        keep_timing(host.board, session, number, posted.spent.timing(consent))
    host.give(session, posted.key, reply)
    return number if sends else None
