"""The prepared statements of the blackboard; building one costs more than executing it.

`named` is the name of the run or session that a statement is about.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ClauseElement,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Integer,
    ScalarSelect,
    Table,
    Text,
    bindparam,
    case,
    exists,
    func,
    insert,
    literal_column,
    null,
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
    timings,
)

Steps = Sequence[tuple[str, Sequence[Row]]]
"""Statements that are `prepared`, each with its rows."""

Columns = tuple[str, ...]

CLOSING = ("ending", "cause", "length", "seal", "cause_digest")
"""The columns of a session that its end gives."""
_NAMED: BindParameter[str] = bindparam("named", type_=Text())
_AT: BindParameter[int] = bindparam("at", type_=Integer())


def _after(table: Table) -> ScalarSelect[int]:
    """The number after the latest of a run."""
    latest = func.coalesce(func.max(table.c.number), literal_column("0"))
    return select(latest + literal_column("1")).where(table.c.run == _NAMED).scalar_subquery()


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
ADD_TIMING = insert(timings)
ADD_MEMBER = insert(members)
MEMBERS = select(members).where(members.c.session == _NAMED).order_by(members.c.place)
ADD_ACTION = insert(actions)
ADD_ENTRY = insert(entries)
ADD_JUDGEMENT = insert(judgements)
ADD_CALL = insert(calls)
_IS_ERASED = exists().where(erasures.c.session == bindparam("of", type_=Text()))
NEXT_CALL = ADD_CALL.values(
    # nothing is kept of a session that was erased: a number must not be null
    number=case((_IS_ERASED, null()), else_=_after(calls))
).returning(calls.c.number)
CALL = select(calls).where(calls.c.run == _NAMED, calls.c.number == _AT)
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

ADD_RESERVATION = insert(reservations)
NEXT_RESERVATION = ADD_RESERVATION.values(number=_after(reservations)).returning(
    reservations.c.number
)
RESERVATION = select(reservations).where(reservations.c.run == _NAMED, reservations.c.number == _AT)
SETTLE = (
    update(reservations)
    .where(reservations.c.run == _NAMED, reservations.c.number == _AT)
    .where(reservations.c.settled == literal_column("0"))
    .values(dollars=bindparam("dollars"), settled=literal_column("1"))
    .returning(reservations.c.number)
)


def lock_runs(connection: Connection) -> None:
    """Let no other transaction record a run until this one ends; on SQLite none can anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE"))


def prepared(dialect: Dialect, statement: ClauseElement, columns: Iterable[str] = ()) -> str:
    """`statement` as the driver of `dialect` takes it, with parameters by name.

    An insertion has the parameters `columns`, and those that it names itself; all of its table
    where none are given.
    """
    kind: Callable[..., Dialect] = type(dialect)
    return _prepared(kind, statement, tuple(columns))


@cache
def _prepared(kind: Callable[..., Dialect], statement: ClauseElement, columns: Columns) -> str:
    named = kind(paramstyle="pyformat")
    if named.name == "sqlite":
        named = kind(paramstyle="named")
    return str(statement.compile(dialect=named, column_keys=list(columns) or None))


def commit(engine: Engine, steps: Steps, returned: list[Any] | None = None) -> bool:
    """Whether all of `steps` were committed as one transaction.

    What a message or a call costs is most of what a run waits for: SQLAlchemy's own execution costs
    more than the database. PostgreSQL's driver begins transactions itself.

    The rows that its statements return are added to `returned`.

    False where the database or its driver objects. Whether a commit was done whose answer was lost
    is then not known: who asks must look, and learns on the way what the matter was.
    """
    try:
        connection = engine.raw_connection()
    except (SQLAlchemyError, sqlite3.Error):
        return False
    cursor = connection.cursor()
    try:
        if engine.dialect.name == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
        for statement, rows in steps:
            for row in rows:  # psycopg's executemany has a pipeline, dearer than so few rows
                cursor.execute(statement, row)
                if cursor.description is not None and returned is not None:
                    returned += cursor.fetchall()
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
