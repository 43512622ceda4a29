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
from backends.people.waiting import Moved
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.assets import static
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.experts.runner import Place, Runner, RunState

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


class Body(BaseModel):
    """A request's body: nothing but what is named is taken."""

    model_config = ConfigDict(extra="forbid")


class Spent(Body):
    """How the message was arrived at: seconds, edits and pastes."""

    active: Seconds = 0.0
    idle: Seconds = 0.0
    edits: Count = 0
    pastes: Count = 0

    def timing(self, consent: str = "") -> Timing:
        """The same as it is stored, with the versions of page and consent."""
        return Timing(self.active, self.idle, self.edits, self.pastes, PAGE, consent)


class Draft(Body):
    """What is typed for message `number`, and not sent."""

    number: Annotated[int, Field(ge=1, le=10**6)]
    prediction: Text = ""
    explanation: Text = ""
    spent: Spent = Spent()


class Reply(Body):
    """An answer to the question `key`: a choice, or with `own` an answer that was typed."""

    key: Annotated[str, Field(max_length=64)]
    choice: Annotated[str, Field(max_length=64)]
    prediction: Text = ""
    explanation: Text = ""
    spent: Spent = Spent()


async def asked_again(will_ask: Callable[[], bool]) -> None:
    """Wait while a session that was resumed `will_ask` what its person was asked before."""
    until = time.monotonic() + RESUMED
    while time.monotonic() < until and await asyncio.to_thread(will_ask):
        await asyncio.sleep(_OFTEN)


def will_ask(runner: Runner, place: Place) -> bool:
    """Whether a session is about to ask its person, for the first time since it was resumed."""
    return runner.will_ask(place.session) and _is_their_turn(runner, place)


def _is_their_turn(runner: Runner, place: Place) -> bool:
    """Whether the person has the next message, after what is stored."""
    where = place.repetition, place.position, place.position
    record = next(iter(runner.board.sessions_at(place.run, *where)), None)
    if record is None or record.ending is not None:
        return False
    said = runner.board.entries(place.session)
    return said[-1].message.sender != HUMAN if said else record.agents[0][0] == HUMAN


async def stored(runner: Runner, news: News, place: Place, number: int) -> None:
    """Wait until message `number` is stored, and forget its draft; raise `Moved` where it is not.

    What a page is told to have been sent must outlast a server that is killed.
    """
    until = time.monotonic() + STORED
    while time.monotonic() < until:
        seen = news.version(place.session)
        carried = _is_carried(runner, place)  # asked first: a run that ends stores its last message
        if await asyncio.to_thread(_is_stored, runner, place, number):
            await asyncio.to_thread(drop_draft, runner.board, place.session)
            return
        if not carried:
            break
        await news.after(place.session, seen, PATIENCE)
    raise Moved("what was sent is not stored yet; the page shows it once it is")


def save(runner: Runner, place: Place, typed: Draft) -> None:
    """Keep what is typed for the message that is asked for; raises `Moved` where it is not."""
    waiting = runner.waiting(place.session)
    if waiting is None or waiting.number != typed.number:
        raise Moved("this message is not asked for any more; what was typed is not kept")
    content = typed.model_dump(exclude={"number"})
    keep_draft(runner.board, place.session, typed.number, content)


def _is_carried(runner: Runner, place: Place) -> bool:
    hosted = runner.hosted.get(place.run)
    return hosted is not None and hosted.state is RunState.RUNNING


def _is_stored(runner: Runner, place: Place, number: int) -> bool:
    where = place.repetition, place.position, place.position
    found = runner.board.sessions_at(place.run, *where)
    return any(one.messages >= number or one.ending is not None for one in found)


def give(runner: Runner, place: Place, said: Reply, consent: str = "") -> int | None:
    """Check an answer, keep what must outlast it, and let the session go on with it.

    The number of the message where the answer was to send it.
    """
    session = place.session
    given = runner.check(session, said.key, Given(said.choice, said.prediction, said.explanation))
    waiting = runner.waiting(session)
    if waiting is None:
        raise Moved("this question has been answered")
    asked, number = waiting.asked, waiting.number
    if asked.step is QuestionKind.ANSWER:
        content = said.model_dump(include={"prediction", "explanation", "spent"})
        if said.choice != OWN:
            content |= {"prediction": given.prediction, "explanation": given.explanation}
        keep_draft(runner.board, session, number, content)
    sends = asked.step is QuestionKind.LOOK and given.choice == SEND
    if sends:
        keep_timing(runner.board, session, number, said.spent.timing(consent))
    runner.give(session, said.key, given)
    return number if sends else None
