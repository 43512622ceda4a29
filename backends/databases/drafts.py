"""What a person has typed and not sent, and how they arrived at what they sent.

A draft is replaced as its person types, and is gone once they send; times stay with the message.
"""

from __future__ import annotations

import json
import math
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from backends.databases.blackboard import SqlBlackboard
from backends.databases.rows import ERASURE, GREATEST, check_values, now
from backends.databases.schema import drafts, sessions, timings
from pxp_fsm.errors import BlackboardError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import text_problem

LONGEST = 100_000
"""Characters of a draft that are kept, as JSON."""
_d, _w = drafts.c, timings.c


@dataclass(frozen=True, slots=True)
class Timing:
    """How a person arrived at a message: seconds, edits and pastes, and the versions they saw.

    `active` are the seconds in which they did something, `idle` the others; `page` and `consent`
    are the versions of the page and of the consent. Raises `UsageError` for what is no time.
    """

    active: float
    idle: float
    edits: int = 0
    pastes: int = 0
    page: str = ""
    consent: str = ""

    def __post_init__(self) -> None:
        for seconds in (self.active, self.idle):
            if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
                raise UsageError("active and idle are seconds, numbers from 0")
        for count in (self.edits, self.pastes):
            if type(count) is not int or not 0 <= count <= GREATEST:
                raise UsageError("edits and pastes are counts, whole numbers from 0")


def keep_draft(board: SqlBlackboard, session: str, number: int, content: Any) -> None:
    """Keep what is typed for message `number` of `session`, in place of what was kept before.

    Raises `UsageError` where it is no JSON or too long, `BlackboardError` where there is no such
    session, or its texts were erased.
    """
    text = _written(content)
    row = {"session": session, "number": number, "content": text, "saved": now()}
    check_values("the draft", row, {"number"})

    def store(connection: Connection) -> None:
        if connection.scalar(ERASURE, {"named": session}) is not None:
            raise BlackboardError(f"session {quoted(session)} was erased: nothing is kept of it")
        connection.execute(delete(drafts).where(_d.session == session))
        connection.execute(insert(drafts), row)

    board.write(store)


def read_draft(board: SqlBlackboard, session: str, number: int) -> Any:
    """What was typed for message `number` of `session`; None where nothing was kept."""
    query = select(_d.content).where(_d.session == session, _d.number == number)
    content = board.read(lambda connection: connection.scalar(query))
    return None if content is None else json.loads(content)


def drop_draft(board: SqlBlackboard, session: str) -> None:
    """Forget the draft of `session`: it was sent."""
    board.write(lambda connection: connection.execute(delete(drafts).where(_d.session == session)))


def keep_timing(board: SqlBlackboard, session: str, number: int, timing: Timing) -> None:
    """Store how event `number` of `session` was arrived at; the first that is stored stays.

    Raises `BlackboardError` where there is no such session.
    """
    row = {
        "session": session,
        "event": number,
        "edits": timing.edits,
        "pastes": timing.pastes,
        "page": timing.page,
        "consent": timing.consent,
        "created": now(),
    }
    check_values("the timing", row, {"event", "edits", "pastes"})
    row |= {"active": float(timing.active), "idle": float(timing.idle)}
    of_session = select(sessions.c.run).where(sessions.c.session == session)
    run = board.read(lambda connection: connection.scalar(of_session))
    if run is None:
        raise BlackboardError(f"a time was refused: there is no session {quoted(session)}")

    def stored(connection: Connection) -> bool:
        there = select(_w.number).where(_w.session == session, _w.event == number)
        return connection.scalar(there) is not None

    board.record("timings", run, row, (), stored)


def timings_of(board: SqlBlackboard, session: str) -> dict[int, Timing]:
    """The times of a session's messages, by their numbers."""
    query = (
        select(_w.event, _w.active, _w.idle, _w.edits, _w.pastes, _w.page, _w.consent)
        .where(_w.session == session)
        .order_by(_w.event)
    )
    rows = board.read(lambda connection: connection.execute(query).all())
    return {row[0]: Timing(*row[1:]) for row in rows}


def _written(content: Any) -> str:
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a draft is JSON, and this is not: {quoted(str(error))}") from error
    problem = text_problem(text)
    if problem is not None:
        raise UsageError(f"the draft cannot be kept: {problem}")
    if len(text) > LONGEST:
        raise UsageError(f"the draft has {len(text):,} characters; at most {LONGEST:,} are kept")
    return text
