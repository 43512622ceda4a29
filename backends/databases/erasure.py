"""Erasure of what was said in sessions: the texts go, with their salts; digests and chain stay.

What is left says nothing of a text: its digest cannot be computed from it without the salt.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Select,
    Table,
    and_,
    delete,
    func,
    or_,
    select,
    union,
    update,
)

from backends.databases import chain, rows, schema
from backends.databases.blackboard import SqlBlackboard
from backends.databases.disclosure import forget_subject
from backends.databases.engine import file_of
from backends.databases.faults import translated_errors
from backends.databases.records import Erasure, origin_of
from backends.databases.rows import Row
from pxp_fsm.errors import BlackboardError, NotThere, UsageError, quoted

_s, _c, _x = schema.sessions.c, schema.calls.c, schema.erasures.c
NOT_ERASED = (
    "names of runs, sessions, instances and members, plans with their subjects, tags, outcomes, "
    "numbers and times; nor call caches that were not named, drawings, spans, backups, and what "
    "was given out"
)
"""What an erasure leaves, in words."""
_REWRITTEN = (
    schema.texts,
    schema.prompts,
    schema.drafts,
    schema.identifiers,
    schema.tokens,
)
_PATIENCE = 2000
"""Milliseconds for which other readers of an SQLite file are waited for."""


class Chosen(NamedTuple):
    """A session that is to be erased, with its run."""

    session: str
    run: str
    subject: str = ""


def sessions_of(
    board: SqlBlackboard, names: Sequence[str], subject: str | None = None
) -> tuple[Chosen, ...]:
    """The sessions of the runs or sessions `names` (none: of all), in which `subject` took part.

    Those that carry one of them on are among them, since they hold copies of what was said. In the
    order of their start. Raises `NotThere` for a name of neither, and where there is none.
    """
    query = (
        select(_s.session, _s.run, _s.subject, schema.runs.c.plan)
        .join(schema.runs, schema.runs.c.run == _s.run)
        .order_by(schema.runs.c.ordinal, _s.ordinal)
    )
    taken = or_(_s.subject == subject, schema.runs.c.subject == subject)
    begun = query if subject is None else query.where(taken)
    begun_sessions = board.read(
        lambda connection: [Chosen(*row[:3]) for row in connection.execute(begun)]
    )
    of = "" if subject is None else f" in which {quoted(subject)} took part"
    for name in names:
        if not any(name in begun_session[:2] for begun_session in begun_sessions):
            raise NotThere(f"{board.shown} has no run or session {quoted(name)}{of}")
    if not begun_sessions:
        raise NotThere(f"{board.shown} has no session{of}")
    chosen = {
        begun_session.session
        for begun_session in begun_sessions
        if not names or set(begun_session[:2]) & set(names)
    }
    every = board.read(lambda connection: connection.execute(query).all())
    origins = {row.session: origin_of(row.plan) for row in every}
    for row in every:  # a session comes after that which it carries on
        origin = origins[row.session]
        if origin is not None and origin.session in chosen:
            chosen.add(row.session)
    return tuple(
        Chosen(row.session, row.run, row.subject) for row in every if row.session in chosen
    )


def erase(board: SqlBlackboard, chosen: Sequence[Chosen]) -> tuple[Erasure, ...]:
    """Erase the texts of the sessions, all of them or none; what is erased already stays as it is.

    Prompts that may hold what was said in them go too: those of later sessions of the same
    repetition, into which a machine may carry what it learned, and of calls outside any session. So
    do drafts; and who a subject is, and their links, with the last of their sessions in a run.
    Raises `RunLocked` where a run of them goes on, and `UsageError` for texts without a salt.
    """

    def store(connection: Connection) -> tuple[Erasure, ...]:
        new = [session for session in chosen if _recorded(connection, session) is None]
        for session in new:
            if not connection.scalar(rows.SALT, {"named": session.session}):
                raise UsageError(
                    f"the texts of session {quoted(session.session)} came in without a salt, so "
                    f"that their digests would go on to tell them: it cannot be erased, and "
                    f"nothing was; export what is to be kept, and remove the database"
                )
        begun = {session: _begin(connection, session) for session in new}
        counts = {session: _erase_one(connection, session) for session in new}
        for run in sorted({session.run for session in new}):
            _erase_rest(connection, run)
        for session, (texts, prompts) in counts.items():
            _end(connection, {**begun[session], "texts": texts, "prompts": prompts})
        if new:
            note_remains(connection)
        return tuple(erasure for session in chosen if (erasure := _recorded(connection, session)))

    with ExitStack() as locked:
        for run in sorted({session.run for session in chosen}):
            if not board.holds(run):
                board.lock(run)
                locked.callback(board.unlock, run)
        return board.write(store)


def forget(board: SqlBlackboard, run: str, subject: str | None = None) -> int:
    """Remove who a subject of `run` is outside, and their links; how many identifiers there were.

    None is every subject.
    """

    def store(connection: Connection) -> int:
        note_remains(connection)
        return forget_subject(connection, run, subject)

    return board.write(store)


def requests_of(board: SqlBlackboard, chosen: Sequence[Chosen]) -> frozenset[str]:
    """The fingerprints of the requests whose prompts `erase` would empty: the keys of call caches.

    What is erased already has none.
    """

    def fingerprints(connection: Connection) -> frozenset[str]:
        p = schema.prompts.c
        texts = (
            connection.scalars(
                select(p.text).where(p.digest.in_(_asked(connection, session)), p.text.is_not(None))
            )
            for session in chosen
        )
        return frozenset(chain.text_digest(text) for some in texts for text in some)

    return board.read(fingerprints)


def clean(board: SqlBlackboard) -> None:
    """Rewrite the tables, so that no page of a file holds what was erased.

    Raises `BlackboardError` where somebody else has the database open, or it may not be done; it
    can be repeated. The log, the replicas and the backups of a server are its owner's affair.

    Only when all is rewritten does the note go that texts may remain. Whoever is killed before
    leaves it, and `pxp verify` says so until somebody cleans.
    """
    with translated_errors(board.shown):
        if board.engine.dialect.name == "postgresql":
            alone = board.engine.execution_options(isolation_level="AUTOCOMMIT")
            with alone.connect() as connection:
                for table in _REWRITTEN:
                    connection.exec_driver_sql(f"VACUUM FULL {table.name}")
                connection.exec_driver_sql(_NOTES["postgresql"][False])
            return
        driver = board.engine.raw_connection()
        try:
            cursor = driver.cursor()
            cursor.execute(f"PRAGMA busy_timeout={_PATIENCE}")
            cursor.execute("VACUUM")
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not busy:
                cursor.execute(_NOTES["sqlite"][False])
        finally:
            driver.invalidate()
            driver.close()
    if busy and file_of(board.engine.url) is not None:
        raise BlackboardError(
            f"{board.shown}: its log still holds what was erased, since another process has the "
            f"database open; close it, then erase again"
        )


_NOTES = {
    "sqlite": ("PRAGMA user_version = 0", "PRAGMA user_version = 1"),
    "postgresql": ("COMMENT ON TABLE erasures IS NULL", "COMMENT ON TABLE erasures IS 'remains'"),
}
"""By dialect, what notes that texts do not remain, and that they may."""


def note_remains(connection: Connection) -> None:
    """Note that the files may still hold what this transaction removes, until `clean`.

    Both databases undo the note with the transaction, so that it is there exactly if the texts are
    gone from the tables.
    """
    connection.exec_driver_sql(_NOTES[connection.dialect.name][True])


def may_remain(connection: Connection) -> bool:
    """Whether the files of the database may still hold what was erased."""
    noted = (
        "PRAGMA user_version"
        if connection.dialect.name == "sqlite"
        else "SELECT obj_description('erasures'::regclass, 'pg_class') IS NOT NULL"
    )
    return bool(connection.exec_driver_sql(noted).scalar())


def _begin(connection: Connection, session: Chosen) -> Row:
    """Record that a session is being erased: from then on its texts may become empty.

    The number is that of the next in the chain, whose head moves when the erasure is done.
    """
    latest = select(func.count()).where(_x.run == session.run, _x.texts.is_(None))
    pending = connection.scalar(latest) or 0
    head = connection.execute(rows.HEAD, {"of": "custody", "named": session.run}).one()
    row: Row = {
        "run": session.run,
        "number": head.number + pending + 1,
        "session": session.session,
        "texts": None,
        "prompts": None,
        "created": rows.now(),
        "chain": "",
    }
    connection.execute(rows.ADD["erasures"], row)
    return row


def _end(connection: Connection, row: Row) -> None:
    """Record that it is done, with how much was erased, as the next in the chain of its run."""
    head = connection.execute(rows.HEAD, {"of": "custody", "named": row["run"]}).one()
    link = chain.link(head.chain, "erasures", row)
    done = update(schema.erasures).where(_x.session == row["session"])
    connection.execute(done.values(texts=row["texts"], prompts=row["prompts"], chain=link))
    before, after = (head.number, head.chain), (head.number + 1, link)
    connection.execute(rows.MOVE_HEAD, rows.moved("custody", row["run"], before, after))


def _recorded(connection: Connection, session: Chosen) -> Erasure | None:
    erasure = connection.execute(rows.ERASURE, {"named": session.session}).one_or_none()
    return None if erasure is None else Erasure(*erasure)


def _erase_one(connection: Connection, session: Chosen) -> tuple[int, int]:
    """How many texts and prompts of a session, and of what may repeat it, are empty now."""
    digests = (
        select(column).where(column.table.c.session == session.session)
        for column in schema.TEXTS_OF_SESSIONS
    )
    texts = _empty(connection, schema.texts, union(*digests))
    drafts = schema.drafts
    connection.execute(delete(drafts).where(drafts.c.session == session.session))
    if session.subject and not _left(connection, session):
        forget_subject(connection, session.run, session.subject)
    return texts, _empty(connection, schema.prompts, _asked(connection, session))


def _asked(connection: Connection, session: Chosen) -> Select[Any]:
    """What models were asked with what was said in a session: there and later, or outside."""
    place = select(_s.repetition, _s.ordinal).where(_s.session == session.session)
    repetition, ordinal = connection.execute(place).one()
    later = select(_s.session).where(
        _s.run == session.run, _s.repetition == repetition, _s.ordinal >= ordinal
    )
    outside = and_(_c.run == session.run, _c.session.is_(None))
    return select(_c.prompt).where(or_(_c.session.in_(later), outside))


def _left(connection: Connection, session: Chosen) -> bool:
    """Whether the subject of a session has others in its run that are not being erased."""
    erased = select(schema.erasures.c.session)
    others = select(_s.session).where(
        _s.run == session.run, _s.subject == session.subject, _s.session.not_in(erased)
    )
    return connection.scalar(others.limit(1)) is not None


def _erase_rest(connection: Connection, run: str) -> None:
    """Where all of a run is erased, the replies to calls outside its sessions too."""
    erased = select(schema.erasures.c.session)
    left = select(_s.session).where(_s.run == run, _s.session.not_in(erased)).limit(1)
    if connection.scalar(left) is None:
        outside = and_(_c.run == run, _c.session.is_(None))
        for digest in (_c.reply_digest, _c.failure_digest):
            _empty(connection, schema.texts, select(digest).where(outside))


def _empty(connection: Connection, table: Table, digests: Select[Any] | CompoundSelect[Any]) -> int:
    """Empty the rows of `table` under `digests` that have a salt; how many there were."""
    c = table.c
    there = update(table).where(c.digest.in_(digests), c.salt != "")
    return connection.execute(there.values(text=None, salt="")).rowcount
