"""The blackboard Δ on a relational database, through SQLAlchemy: one transaction per message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from backends.databases import chain, openings, queries, records
from backends.databases import statements as sql
from backends.databases.action_rows import action_row, occurrences
from backends.databases.engine import Place, file_of, open_engine
from backends.databases.faults import retried, translated_errors
from backends.databases.locks import Locks
from backends.databases.numbered_rows import NumberedRows, numbered_rows
from backends.databases.own_sessions import check_same, own_run, session_record, system_record
from backends.databases.records import (
    Erasure,
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
from pxp_fsm.protocol.messages import Message, text_problem
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.occurrences import Occurrence
from pxp_fsm.sessions.session import Entry, Session
from pxp_fsm.sessions.system_session import SystemSession

T = TypeVar("T")


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
        self._place = Place(file_of(self.engine.url), self.shown)
        self._writing = self.engine.execution_options(writes=True)
        self._messages, self._actions = numbered_rows(self.engine.dialect)
        self.patience = patience
        self._tips: dict[str, tuple[int, str]] = {}
        self._salts: dict[str, str] = {}
        self._locks = Locks(self.engine, self.shown, patience)
        self._started: set[str] = set()

    def __enter__(self) -> SqlBlackboard:
        return self

    def __exit__(self, *_error: object) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Unlock every run and close every connection."""
        self._locks.free_all()
        self.engine.dispose()

    def lock(self, run: str, *, shared: bool = False) -> None:
        """Lock `run` for this blackboard, until `unlock`, `dispose` or the end of the process.

        Several may have a `shared` lock (see `locks.Locks`); `run` may name a part of one.
        Raises `locks.RunLocked`, a `BlackboardError`, where another process works on it.
        """
        self._locks.take(run, shared=shared)

    def unlock(self, run: str) -> None:
        """Let other processes work on `run`."""
        self._locks.free(run)

    def holds(self, run: str, *, shared: bool = False) -> bool:
        """Whether this blackboard has locked `run`; with `shared`, whether others may have too."""
        return self._locks.holds(run, shared)

    def check_lock(self, name: str) -> None:
        """Raise `locks.RunLocked` where another process has the run, or session, `name` now."""
        self._locks.check(name)

    def start_run(self, record: RunRecord) -> None:
        """Record a run; its name must be new."""
        row = records.run_row(record)
        self.write(lambda connection: openings.open_run(connection, row))

    def start_numbered_run(self, record: RunRecord) -> RunRecord:
        """Record a run under the first free name `NAME-NUMBER`, `record.run` being the name.

        The number follows the greatest of all runs, whatever their names; several processes that
        start runs at once get one each.
        """
        tried: list[RunRecord] = []
        return self.write(lambda connection: openings.open_numbered(connection, record, tried))

    def start_session(self, record: SessionRecord) -> None:
        """Record a session with its agents and its data instance, all of it or nothing.

        Position 0 is the next one in its run. Raises `BlackboardError` where there is no such run.
        """
        self.check_lock(record.run)
        opening = openings.Opening(self.shown, record)
        self._tips[record.session] = 0, self.write(opening.store)
        self._salts[record.session] = opening.salt
        self._started.add(record.session)

    def register(self, session: Session) -> None:
        """Record a session that a program of one's own holds, in the run that its name begins with.

        `lab/1` is in the run `lab`. Raises `UsageError` where a session of that name was held.
        """
        self._register(session_record(session, own_run(session.name)))

    def register_system(self, session: SystemSession) -> None:
        """The same for a session of a system, with its members."""
        self._register(system_record(session, own_run(session.name)))

    def _register(self, record: SessionRecord) -> None:
        name = record.session
        if name in self._started:
            return
        known = self.read(lambda connection: queries.session(connection, name))
        if known is None:
            own = records.run_row(RunRecord(record.run, OWN, "{}", 0, __version__, ""))
            self.write(lambda connection: openings.open_run(connection, own, shared=True))
            self.start_session(record)
        elif known.ending is not None:
            raise UsageError(
                f"{self.shown} holds a session {quoted(name)} already; give this one another name "
                f"(name=...)"
            )
        elif known.messages:
            what = f"{'action' if known.channel else 'message'}{'s' * (known.messages > 1)}"
            raise UsageError(
                f"{self.shown} holds {known.messages} {what} of session {quoted(name)}, which is "
                f"not over; go on with it (blackboard.resume(session)), or give this one another "
                f"name (name=...)"
            )

    def resume(self, session: Session | SystemSession) -> None:
        """Bring `session` to where the stored one of its name is; it is then run on from there.

        Raises `NotThere` where there is none, and `UsageError` where it is over, or would be
        another one: other tables, members or bounds.
        """
        stored = self.session(session.name).record
        if stored.ending is not None:
            raise UsageError(f"session {session.name} has ended ({stored.ending})")
        if stored.session in {erased.session for erased in self.erasures(stored.run)}:
            raise UsageError(f"session {session.name} was erased: it cannot be resumed")
        if isinstance(session, SystemSession):
            check_same(stored, system_record(session, stored.run))
            session.replay(self.actions(session.name))
        else:
            check_same(stored, session_record(session, stored.run))
            session.replay(self.entries(session.name), self.closing(session.name))

    def append(self, message: Message, context: str, judgements: Sequence[Judgement]) -> None:
        """Store a message, what it adds to the context, and what was judged to arrive at it."""
        salt = self._salt(message.session)
        entry, said = records.entry_row(message, context, salt)
        about = message.session, message.number
        judged, details = records.judgement_rows(*about, judgements, salt)
        self._append(self._messages, entry, judged, records.text_rows((*said, *details), salt))

    def append_action(self, session: str, occurrence: Occurrence) -> None:
        """Store an action of a system's session, with what it carries and what was judged."""
        salt = self._salt(session)
        row, texts = action_row(session, occurrence, salt)
        about = session, occurrence.number
        judged, details = records.judgement_rows(*about, occurrence.judgements, salt)
        self._append(self._actions, row, judged, records.text_rows((*texts, *details), salt))

    def _append(
        self, rows: NumberedRows, row: Row, judged: list[Row], said: list[dict[str, str]]
    ) -> None:
        session, latest = row["session"], row["number"]
        self.check_lock(session)
        self._started.discard(session)

        def steps(link: str) -> tuple[str, sql.Steps]:
            new = {**row, "chain": rows.chained(link, row, judged)}
            return new["chain"], rows.steps(said, new, judged)

        def store(connection: Connection) -> tuple[int, str]:
            number, before = self._tip(connection, session)
            if number == latest and rows.stored_link(connection, row, judged) == before:
                return number, before  # the answer to an earlier commit was lost, not the commit
            if number + 1 != latest:
                raise BlackboardError(
                    f"{self.shown}: {rows.what} {latest} of {session} was refused: the next one "
                    f"there is {number + 1}; is a second process working on the same run?"
                )
            link, written = steps(before)
            for statement, values in written:
                for each in values:
                    connection.exec_driver_sql(statement, each)
            return latest, link

        number, before = self._tips.pop(session, (-1, ""))
        if number + 1 == latest:  # as nearly always: nothing has to be read
            link, written = steps(before)
            if self.commit(written):
                self._tips[session] = latest, link
                return
        self._tips[session] = self.write(store, session)

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how a session ended; refused where it has ended otherwise before."""
        records.check_values(
            f"the ending of session {quoted(session)}", {"ending": ending, "cause": cause}, set()
        )
        self.check_lock(session)
        salt = self._salt(session)

        def store(connection: Connection) -> None:
            found = connection.scalar(sql.ENDING, {"named": session})
            if found == ending:
                return
            if found is not None:
                raise BlackboardError(f"session {session} has ended already ({found})")
            number, link = self._tip(connection, session, fresh=True)
            closing, said = records.closing_row(ending, cause, number, salt)
            judged, details = records.judgement_rows(session, number + 1, judgements, salt)
            closing["seal"] = chain.of_closing(link, closing, judged)
            if texts := records.text_rows((*said, *details), salt):
                connection.execute(sql.KEEP_TEXT, texts)
            if judged:
                connection.execute(sql.ADD_JUDGEMENT, judged)
            connection.execute(sql.CLOSE, {"named": session, **closing})

        self.write(store, session)
        self._tips.pop(session, None)
        self._salts.pop(session, None)

    def spending(self, run: str) -> Spending:
        """What a run has spent on models."""
        return self.read(lambda connection: queries.spending(connection, run))

    def costs(self, run: str) -> tuple[records.Cost, ...]:
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

    def erasures(self, run: str) -> tuple[Erasure, ...]:
        """The sessions of a run whose texts were erased, in order."""
        return self.read(lambda connection: queries.erasures(connection, run))

    def actions(self, session: str) -> tuple[Occurrence, ...]:
        """The actions of a system's session, each with what it carried, in order."""
        return self.read(lambda connection: occurrences(connection, session))

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
        if found.channel:
            return StoredSession(found, (), self.actions(name))
        return StoredSession(found, self.entries(name))

    def _tip(self, connection: Connection, session: str, *, fresh: bool = False) -> tuple[int, str]:
        """The number and link of a session's latest entry: as this process knows it, or read."""
        if session in self._tips and not fresh:
            return self._tips[session]
        if connection.scalar(sql.ERASURE, {"named": session}) is not None:
            raise BlackboardError(f"session {session} was erased: nothing is added to it")
        for rows in (self._messages, self._actions):
            found = rows.tip(connection, session)
            if found is not None:
                return found
        opening = connection.scalar(sql.SESSION_OPENING, {"named": session})
        if opening is None:
            raise BlackboardError(f"{self.shown}: refused, there is no session {quoted(session)}")
        return 0, opening

    def _salt(self, session: object) -> str:
        """The salt of a session's texts; "" where there is none, which a store then says."""
        if not isinstance(session, str) or text_problem(session) is not None:
            return ""
        if session not in self._salts:
            found = self.read(lambda connection: connection.scalar(sql.SALT, {"named": session}))
            if found is None:
                return ""
            self._salts[session] = found
        return self._salts[session]

    def write(self, work: Callable[[Connection], T], session: str = "") -> T:
        """`work` in one transaction; what is known of `session` is forgotten if it fails."""
        self._place.check()

        def once() -> T:
            try:
                with translated_errors(self.shown), self._writing.begin() as connection:
                    return work(connection)
            except BaseException:
                self._tips.pop(session, None)
                raise

        return retried(once, self.patience)

    def commit(self, steps: sql.Steps, returned: list[Any] | None = None) -> bool:
        """Whether `steps` were committed (see `statements`); where not, `write` finds out why."""
        self._place.check()
        return sql.commit(self.engine, steps, returned)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` reads with a connection; it is repeated where the database was away."""

        def once() -> T:
            with translated_errors(self.shown), self.engine.connect() as connection:
                return work(connection)

        return retried(once, self.patience)


def open_blackboard(name: str | Path, *, create: bool = True) -> SqlBlackboard:
    """The blackboard in a SQLite file, or at a database's URL; used as a context manager.

    >>> import pxp_fsm as pxp
    >>> def whale(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.exact)
    >>> with pxp.open_blackboard(":memory:") as board:
    ...     about = {"instance": "a whale", "name": "lab/1", "blackboard": board}
    ...     _ = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, **about).run_sync()
    ...     print([message.tag for message in board.session("lab/1").history])
    ['INIT', 'RATIFY', 'RATIFY']

    Raises `BlackboardError` where there is none and `create` is false, or it cannot be opened.
    """
    return SqlBlackboard(str(name), create=create)
