"""The blackboard Δ on a relational database, through SQLAlchemy: one transaction per message."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from sqlalchemy import Connection

from backends.databases import chain, queries, records
from backends.databases import statements as sql
from backends.databases.engine import file_of, open_engine
from backends.databases.faults import retried, translated_errors
from backends.databases.locks import RunLock, lock_run
from backends.databases.own_sessions import own_record
from backends.databases.records import (
    Cost,
    Row,
    RunRecord,
    RunSummary,
    SessionLine,
    SessionRecord,
    StoredSession,
)
from pxp_fsm import __version__
from pxp_fsm.defaults import OWN
from pxp_fsm.errors import BlackboardError, NotThere, UsageError, quoted
from pxp_fsm.prompting.model import Reply, Spending
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.session import Entry, Session

T = TypeVar("T")

_NUMBER = re.compile(r"-([0-9]{1,18})$")


class SqlBlackboard:
    """A blackboard on the database `name`: the path of an SQLite file, or a URL.

    Fills the interface `pxp_fsm.protocol.interfaces.Blackboard`. Raises `BlackboardError` for
    whatever the database refuses; nothing half-written is left. A database that is away (its
    connection cut, the server restarting) is waited for, `patience` seconds at most. Use it as a
    context manager, or `dispose` it.
    """

    def __init__(self, name: str, *, create: bool = True, patience: float = 30.0) -> None:
        self.engine = open_engine(name, create=create)
        self.shown = self.engine.url.render_as_string(hide_password=True)
        self._file = file_of(self.engine.url)
        self._identity = _identity(self._file)
        self._writing = self.engine.execution_options(writes=True)
        self._message = sql.message_statements(self.engine.dialect)
        self.patience = patience
        self._tips: dict[str, tuple[int, str]] = {}
        self._locks: dict[str, RunLock] = {}
        self._started: set[str] = set()

    def __enter__(self) -> SqlBlackboard:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Unlock every run and close every connection."""
        for run in tuple(self._locks):
            self.unlock(run)
        self.engine.dispose()

    def lock(self, run: str, *, shared: bool = False) -> None:
        """Lock `run` for this blackboard, until `unlock`, `dispose` or the end of the process.

        Several may have a `shared` lock (see `locks.lock_run`); `run` may name a part of one.
        Raises `locks.RunLocked`, a `BlackboardError`, where another process works on it.
        """

        def once() -> RunLock:
            with translated_errors(self.shown):
                return lock_run(self.engine, run, shared=shared)

        if run not in self._locks:
            self._locks[run] = retried(once, self.patience)

    def unlock(self, run: str) -> None:
        """Let other processes work on `run`."""
        lock = self._locks.pop(run, None)
        if lock is not None:
            lock.release()

    def start_run(self, record: RunRecord) -> None:
        """Record a run; its name must be new."""
        row = records.run_row(record)

        def store(connection: Connection) -> None:
            if connection.scalar(sql.RUN_OPENING, {"named": record.run}) != row["opening"]:
                connection.execute(sql.ADD_RUN, row)

        self.write(store)

    def start_numbered_run(self, record: RunRecord) -> RunRecord:
        """Record a run under the first free name `NAME-NUMBER`, `record.run` being the name.

        The number follows the greatest of all runs, whatever their names; several processes that
        start runs at once get one each.
        """
        tried: list[RunRecord] = []

        def store(connection: Connection) -> RunRecord:
            for earlier in tried:  # the answer to its commit may have been lost, not the commit
                opening = connection.scalar(sql.RUN_OPENING, {"named": earlier.run})
                if opening == records.run_row(earlier)["opening"]:
                    return earlier
            sql.lock_runs(connection)
            taken = map(_NUMBER.search, connection.scalars(sql.RUN_NAMES))
            number = max((int(match[1]) for match in taken if match), default=0) + 1
            created = record.created or records.now()
            made = replace(record, run=f"{record.run}-{number}", created=created)
            tried.append(made)
            connection.execute(sql.ADD_RUN, records.run_row(made))
            return made

        return self.write(store)

    def start_session(self, record: SessionRecord) -> None:
        """Record a session with its agents and its data instance, all of it or nothing."""
        row = records.session_row(record)
        tried = False

        def store(connection: Connection) -> None:
            nonlocal tried
            found = connection.execute(sql.RUN_HEAD, {"named": record.run}).one_or_none()
            if found is None:
                raise BlackboardError(
                    f"{self.shown}: session {quoted(record.session)} was refused: there is no "
                    f"run {quoted(record.run)}"
                )
            if tried:  # the answer to an earlier commit may have been lost, not the commit
                known = connection.execute(sql.SESSION, {"named": record.session})
                stored = known.mappings().one_or_none()
                if stored is not None and all(stored[name] == row[name] for name in row):
                    return
            tried = True
            new = {**row, "ordinal": found.opened + 1}
            new["opening"] = chain.of_session(found.opening, new)
            connection.execute(sql.KEEP_TEXT, records.text_rows([record.instance.x]))
            connection.execute(sql.ADD_SESSION, new)
            head = chain.joined(found.head, new["opening"])
            counted = {"named": record.run, "opened": found.opened + 1, "head": head}
            connection.execute(sql.COUNT_SESSION, counted)

        self.write(store)
        self._started.add(record.session)

    def register(self, session: Session) -> None:
        """Record a session that a program of one's own holds, in the run that its name begins with.

        `lab/1` is in the run `lab`. Raises `UsageError` where a session of that name was held.
        """
        name, run = session.name, session.name.partition("/")[0]
        if name in self._started:
            return
        known = self.read(lambda connection: queries.session(connection, name))
        if known is not None:
            if known.messages or known.ending is not None:
                raise UsageError(
                    f"{self.shown} holds a session {quoted(name)} already; give this one another "
                    f"name (name=...)"
                )
            return
        if run not in {record.run for record in self.runs()}:
            self.start_run(RunRecord(run, OWN, "{}", 0, __version__, ""))
        self.start_session(own_record(session, run, 1 + sum(1 for _ in self.sessions(run))))

    def append(self, message: Message, context: str, judgements: Sequence[Judgement]) -> None:
        """Store a message, what it adds to the context, and what was judged to arrive at it."""
        entry = records.entry_row(message, context)
        judged = records.judgement_rows(message.session, message.number, judgements)
        said = records.text_rows((message.answer.prediction, message.answer.explanation))
        self._started.discard(message.session)

        def steps(link: str) -> tuple[str, list[tuple[str, Sequence[Row]]]]:
            new = {**entry, "chain": chain.of_entry(link, entry, judged)}
            return new["chain"], self._message.steps(said, new, judged)

        def store(connection: Connection) -> tuple[int, str]:
            number, before = self._tip(connection, message.session)
            if number == message.number and _stored_link(connection, entry, judged) == before:
                return number, before  # the answer to an earlier commit was lost, not the commit
            if number + 1 != message.number:
                raise BlackboardError(
                    f"{self.shown}: message {message.number} of {message.session} was refused: the "
                    f"next one there is {number + 1}; is a second process working on the same run?"
                )
            link, written = steps(before)
            for statement, values in written:
                connection.exec_driver_sql(statement, values)
            return message.number, link

        self._check_place()
        number, before = self._tips.pop(message.session, (-1, ""))
        if number + 1 == message.number:  # as nearly always: nothing has to be read
            link, written = steps(before)
            if sql.commit(self.engine, self._message.begin, written):
                self._tips[message.session] = message.number, link
                return
        self._tips[message.session] = self.write(store, message.session)

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how a session ended; refused where it has ended otherwise before."""
        records.check_values(
            f"the ending of session {quoted(session)}", {"ending": ending, "cause": cause}, set()
        )

        def store(connection: Connection) -> None:
            found = connection.scalar(sql.ENDING, {"named": session})
            if found == ending:
                return
            if found is not None:
                raise BlackboardError(f"session {session} has ended already ({found})")
            number, link = self._tip(connection, session, fresh=True)
            judged = records.judgement_rows(session, number + 1, judgements)
            closing = {"ending": ending, "cause": cause, "length": number}
            closing["seal"] = chain.of_closing(link, closing, judged)
            if judged:
                connection.execute(sql.ADD_JUDGEMENT, judged)
            connection.execute(sql.CLOSE, {"named": session, **closing})

        self.write(store, session)
        self._tips.pop(session, None)

    def spending(self, run: str) -> Spending:
        """What a run has spent on models."""
        return self.read(lambda connection: queries.spending(connection, run))

    def costs(self, run: str) -> tuple[Cost, ...]:
        """What the calls of a run took, by purpose and model."""
        return self.read(lambda connection: queries.costs(connection, run))

    def replies(self, run: str) -> tuple[tuple[tuple[str, str, int], Reply], ...]:
        """What models replied in a run, by (model, fingerprint of the prompt, epoch)."""
        return self.read(lambda connection: tuple(queries.replies(connection, run)))

    def runs(self) -> tuple[RunRecord, ...]:
        """Every run, oldest first."""
        return self.read(queries.runs)

    def run(self, name: str) -> RunRecord:
        """The run of that name; `NotThere` where there is none."""
        known = {record.run: record for record in self.runs()}
        if name not in known:
            there = ", ".join(known) or "none"
            raise NotThere(f"{self.shown} has no run {quoted(name)}; there are: {there}")
        return known[name]

    def summaries(self) -> tuple[RunSummary, ...]:
        """Every run, oldest first, with how many sessions it has and how many are over."""
        return self.read(queries.summaries)

    def sessions(
        self, run: str | None = None, *, limit: int | None = None
    ) -> tuple[SessionRecord, ...]:
        """The sessions of a run (or of all runs), in the order in which they were planned.

        At most `limit` of them, if given.
        """
        return self.read(lambda connection: queries.sessions(connection, run, limit))

    def listing(
        self, run: str | None = None, *, limit: int | None = None, skipped: int = 0
    ) -> tuple[SessionLine, ...]:
        """What a list shows of the sessions of a run (or of all runs), in the order of their start.

        At most `limit` of them, if given, after the first `skipped`. 100,000 take less than half a
        second; `sessions` gives the whole records.
        """
        return self.read(lambda connection: queries.listing(connection, run, limit, skipped))

    def sessions_at(
        self, run: str, repetition: int, first: int, last: int
    ) -> tuple[SessionRecord, ...]:
        """The sessions of one repetition at the positions `first` to `last`, in order."""
        place = (run, repetition, first, last)
        return self.read(lambda connection: queries.sessions_at(connection, *place))

    def entries(self, session: str) -> tuple[Entry, ...]:
        """A session's messages, each with its context and judgements, in order."""
        return self.read(lambda connection: queries.entries(connection, session))

    def closing(self, session: str) -> tuple[Judgement, ...]:
        """What was judged and learned for a message that a fault kept from being sent."""
        return self.read(lambda connection: queries.closing(connection, session))

    def session(self, name: str) -> StoredSession:
        """One session whole; `NotThere` where there is none of that name."""
        found = self.read(lambda connection: queries.session(connection, name))
        if found is None:
            raise NotThere(
                f"{self.shown} has no session {quoted(name)}; list the sessions to see their names"
            )
        return StoredSession(found, self.entries(name))

    def _tip(self, connection: Connection, session: str, *, fresh: bool = False) -> tuple[int, str]:
        """The number and link of a session's latest entry: as this process knows it, or read."""
        if session in self._tips and not fresh:
            return self._tips[session]
        found = connection.execute(sql.LATEST, {"named": session}).one_or_none()
        if found is not None:
            return found.number, found.chain
        opening = connection.scalar(sql.SESSION_OPENING, {"named": session})
        if opening is None:
            raise BlackboardError(f"{self.shown}: refused, there is no session {quoted(session)}")
        return 0, opening

    def write(self, work: Callable[[Connection], T], session: str = "") -> T:
        """`work` in one transaction; what is known of `session` is forgotten if it fails."""
        self._check_place()

        def once() -> T:
            try:
                with translated_errors(self.shown), self._writing.begin() as connection:
                    return work(connection)
            except BaseException:
                self._tips.pop(session, None)
                raise

        return retried(once, self.patience)

    def _check_place(self) -> None:
        """SQLite would write on into a file that is gone, and nobody would find it."""
        if self._identity is not None and _identity(self._file) != self._identity:
            raise BlackboardError(
                f"{self.shown} was removed or replaced while it was in use, so nothing more is "
                f"written to it; put the file back, then resume the run"
            )

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` reads with a connection; it is repeated where the database was away."""

        def once() -> T:
            with translated_errors(self.shown), self.engine.connect() as connection:
                return work(connection)

        return retried(once, self.patience)


def _identity(file: Path | None) -> tuple[int, int] | None:
    """What tells a file from another of its name; None where there is none."""
    try:
        found = None if file is None else file.stat()
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def _stored_link(connection: Connection, entry: Row, judged: list[Row]) -> str:
    """The link that `entry` would have, had it been stored after the one before it."""
    if entry["number"] == 1:
        before = connection.scalar(sql.SESSION_OPENING, {"named": entry["session"]})
    else:
        place = {"named": entry["session"], "at": entry["number"] - 1}
        before = connection.scalar(sql.LINK, place)
    return chain.of_entry(before or "", entry, judged)


def open_blackboard(name: str | Path, *, create: bool = True) -> SqlBlackboard:
    """The blackboard in a SQLite file, or at a database's URL; used as a context manager.

    >>> import pxp_fsm as pxp
    >>> def whale(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.exact)
    >>> members = {"m": agent, "h": agent}
    >>> with pxp.open_blackboard(":memory:") as board:
    ...     session = pxp.Session(
    ...         pxp.Interact(), members, instance="a whale", name="lab/1", blackboard=board
    ...     )
    ...     _ = session.run_sync()
    ...     stored = board.session("lab/1")
    >>> stored.record.ending, [message.tag for message in stored.history]
    ('ratified', ['INIT', 'RATIFY', 'RATIFY'])

    Raises `BlackboardError` where there is none and `create` is false, or it cannot be opened.
    """
    return SqlBlackboard(str(name), create=create)
