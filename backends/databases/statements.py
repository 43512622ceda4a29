"""The prepared statements of the blackboard; building one costs more than executing it.

`named` is the name of the run or session that a statement is about.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    Text,
    bindparam,
    case,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from backends.databases.records import Row
from backends.databases.schema import ERASED as ERASED_TEXT
from backends.databases.schema import (
    actions,
    calls,
    entries,
    erasures,
    judgements,
    members,
    prompts,
    reservations,
    runs,
    sessions,
    texts,
)

CLOSING = ("ending", "cause", "length", "seal", "cause_digest")
"""The columns of a session that its end gives."""
_NAMED: BindParameter[str] = bindparam("named", type_=Text())
_r, _s, _e = runs.c, sessions.c, entries.c

RUN_OPENING = select(_r.opening).where(_r.run == _NAMED)
RUN_HEAD = select(_r.opening, _r.opened, _r.head).where(_r.run == _NAMED).with_for_update()
RUN_NAMES = select(_r.run)
ADD_RUN = insert(runs)
COUNT_SESSION = (
    update(runs).where(_r.run == _NAMED).values(opened=bindparam("opened"), head=bindparam("head"))
)

SESSION = select(sessions).where(_s.session == _NAMED)
SESSION_OPENING = select(_s.opening).where(_s.session == _NAMED)
ENDING = select(_s.ending).where(_s.session == _NAMED).with_for_update()
ADD_SESSION = insert(sessions)
CLOSE = (
    update(sessions).where(_s.session == _NAMED).values({name: bindparam(name) for name in CLOSING})
)

KEEP_TEXT = text(
    "INSERT INTO texts (digest, text, salt) VALUES (:digest, :text, :salt) ON CONFLICT DO NOTHING"
)
SALT = (
    select(texts.c.salt).join(sessions, _s.x_digest == texts.c.digest).where(_s.session == _NAMED)
)
ADD_ERASURE = insert(erasures)
ERASURE = select(erasures).where(erasures.c.session == _NAMED)
END_ERASURE = (
    update(erasures)
    .where(erasures.c.session == _NAMED)
    .values(texts=bindparam("counted"), prompts=bindparam("asked"))
)
ERASURES = (
    select(erasures)
    .join(sessions, _s.session == erasures.c.session)
    .where(_s.run == _NAMED)
    .order_by(_s.ordinal)
)
ADD_MEMBER = insert(members)
MEMBERS = select(members).where(members.c.session == _NAMED).order_by(members.c.place)
ADD_ACTION = insert(actions)
ADD_ENTRY = insert(entries)
ADD_JUDGEMENT = insert(judgements)
LATEST_CALL = select(func.coalesce(func.max(calls.c.number), 0)).where(calls.c.run == _NAMED)
ADD_CALL = insert(calls)
ADD_PROMPT = insert(prompts)
PROMPTS = (
    select(calls.c.session, prompts.c.digest, prompts.c.salt, prompts.c.text)
    .join(calls, calls.c.prompt == prompts.c.digest)
    .where(calls.c.run == _NAMED, prompts.c.text.is_not(None))
    .distinct()
)


def _of_sessions(number: ColumnElement[int]) -> ColumnElement[int]:
    """The sum over a session's calls; nothing where it has none."""
    return func.coalesce(func.sum(number), 0)


USAGE_OF_SESSIONS = (
    select(
        sessions.c.repetition,
        sessions.c.position,
        func.count(calls.c.number).label("calls"),
        _of_sessions(calls.c.cached).label("cached"),
        _of_sessions(
            (calls.c.sent + calls.c.cache_read + calls.c.cache_written) * (1 - calls.c.cached)
        ).label("sent"),
        _of_sessions(calls.c.received * (1 - calls.c.cached)).label("received"),
        case(
            (func.count(calls.c.dollars) == func.count(calls.c.number), func.sum(calls.c.dollars))
        ).label("dollars"),
    )
    .join_from(
        sessions,
        calls,
        (calls.c.session == sessions.c.session) & (calls.c.purpose != bindparam("test")),
        isouter=True,
    )
    .where(sessions.c.run == _NAMED, sessions.c.ending.is_not(None))
    .group_by(sessions.c.repetition, sessions.c.position)
    .order_by(sessions.c.repetition, sessions.c.position)
)

CALLS_OF_SESSION = (
    select(
        calls.c.purpose,
        calls.c.model,
        calls.c.failure,
        calls.c.cached,
        calls.c.created,
        prompts.c.text.label("prompt"),
        texts.c.text.label("reply"),
    )
    .join(prompts, prompts.c.digest == calls.c.prompt, isouter=True)
    .join(texts, texts.c.digest == calls.c.reply_digest, isouter=True)
    .where(
        calls.c.run == select(_s.run).where(_s.session == _NAMED).scalar_subquery(),
        calls.c.session == _NAMED,
    )
    .order_by(calls.c.number)
)
_j = judgements.c
JUDGED = (
    select(
        judgements,
        case(
            (_j.detail_digest.is_(None), _j.detail), else_=func.coalesce(texts.c.text, ERASED_TEXT)
        ).label("text"),
    )
    .join(texts, texts.c.digest == _j.detail_digest, isouter=True)
    .where(_j.session == _NAMED)
    .order_by(_j.number, _j.place)
)
TIMES = select(_e.number, _e.created).where(_e.session == _NAMED).order_by(_e.number)

_AT: BindParameter[int] = bindparam("at", type_=Integer())
LATEST_RESERVATION = select(func.coalesce(func.max(reservations.c.number), 0)).where(
    reservations.c.run == _NAMED
)
ADD_RESERVATION = insert(reservations)
RESERVATION = select(reservations).where(reservations.c.run == _NAMED, reservations.c.number == _AT)
SETTLE = (
    update(reservations)
    .where(reservations.c.run == _NAMED, reservations.c.number == _AT)
    .values(dollars=bindparam("dollars"), settled=1)
)


def lock_runs(connection: Connection) -> None:
    """Let no other transaction record a run until this one ends; on SQLite none can anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE"))


def commit(engine: Engine, begin: str, steps: Sequence[tuple[str, Sequence[Row]]]) -> bool:
    """Whether all of `steps` were committed as one transaction.

    False where the database or its driver objects. Whether a commit was done whose answer was lost
    is then not known: who asks must look, and learns on the way what the matter was.
    """
    try:
        connection = engine.raw_connection()
    except (SQLAlchemyError, sqlite3.Error):
        return False
    cursor = connection.cursor()
    try:
        if begin:
            cursor.execute(begin)
        for statement, rows in steps:
            for row in rows:  # psycopg's executemany has a pipeline, dearer than so few rows
                cursor.execute(statement, row)
        connection.commit()
    except engine.dialect.loaded_dbapi.Error as error:
        if engine.dialect.is_disconnect(error, connection, cursor):
            connection.invalidate(error)
        return False
    except UnicodeError:
        return False
    finally:
        connection.close()  # to the pool, which undoes what was not committed
    return True
