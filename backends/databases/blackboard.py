"""The blackboard Δ on a relational database, through SQLAlchemy: one transaction per event.

What is stored stands in chains (`chain.py`). Whoever adds to one moves its head, by a statement
that moves it only from where the writer has seen it: so a message takes one transaction and no
query, and of several processes that add to one chain none overwrites what another has added.

What a call to a model took is held until the message that comes of it is stored, in the same
transaction: so such a message takes two, that before the call included.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, bindparam, select, text

from backends.databases import chain, queries, rows, schema
from backends.databases.engine import Place, file_of, open_engine
from backends.databases.faults import retried, translated_errors
from backends.databases.locks import Locks
from backends.databases.records import (
    Cost,
    Erasure,
    RunRecord,
    RunSummary,
    SessionLine,
    SessionRecord,
    StoredSession,
    check_same,
    own_run,
    session_record,
)
from backends.databases.rows import Head, Row, Steps
from pxp_fsm import __version__
from pxp_fsm.defaults import OWN
from pxp_fsm.errors import BlackboardError, NoAnswer, NotThere, UsageError, did_you_mean, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Reply, Spending
from pxp_fsm.protocol.messages import Answer, Question, text_problem
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session


class Proxy:
    """Answers from a table of (instance key -> answer); it never changes its mind.

    Together with guards that never revise it is an *oracle agent*: its predictions and explanations
    are always taken to be correct.
    """

    name = "database"

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = dict(answers)

    async def answer(self, question: Question) -> Answer:
        try:
            return self._answers[question.instance.key]
        except KeyError:
            raise NoAnswer(f"the database has no answer for {question.instance.key!r}") from None


T = TypeVar("T")
Made = Callable[[Head], tuple[Head, Steps]]
"""What is added to a chain after its head: its head then, and the statements."""
Stored = Callable[[Connection], bool]
"""Whether what is to be added is stored already; raises where it must not be added."""


@dataclass(frozen=True)
class Addition:
    """What is added to the chain of `kind` and `name`, by `made` unless it is `stored`.

    `table` is that of its row where several writers number theirs in the chain; `tried` are the
    heads with which it may have been stored.
    """

    kind: str
    name: str
    made: Made
    stored: Stored
    table: str = ""
    tried: list[Head] = field(default_factory=list)

    @property
    def chain(self) -> tuple[str, str]:
        """Which chain it is added to."""
        return self.kind, self.name


_NUMBER = re.compile(r"-([0-9]{1,18})$")
_MOST_NEAR = 10_000


# Of the chains whose rows are numbered for several writers: the link under a number.
_LINKS: Mapping[str, Select[str]] = {
    "sessions": select(schema.sessions.c.chain).where(
        schema.sessions.c.run == bindparam("named"), schema.sessions.c.ordinal == bindparam("at")
    ),
    **{
        table.name: select(table.c.chain).where(
            table.c.run == bindparam("named"), table.c.number == bindparam("at")
        )
        for tables in schema.RECORDS.values()
        for table in tables
    },
}


class SqlBlackboard:
    """A blackboard on the database `name`: the path of an SQLite file, or a URL.

    Fills the interface `pxp_fsm.sessions.session.Store`. Raises `BlackboardError` for
    whatever the database refuses; nothing half-written is left. A database that is away (its
    connection cut, the server restarting) is waited for, `patience` seconds at most. Use it as a
    context manager, or `close` it.
    """

    def __init__(self, name: str, *, create: bool = True, patience: float = 30.0) -> None:
        self.engine = open_engine(name, create=create)
        self.shown = self.engine.url.render_as_string(hide_password=True)
        self._place = Place(file_of(self.engine.url), self.shown)
        self._writing = self.engine.execution_options(writes=True)
        self.patience = patience
        self._heads: dict[tuple[str, str], Head] = {}
        self._salts: dict[str, str] = {}
        self._locks = Locks(self.engine, self.shown, patience)
        self._started: set[str] = set()
        self._held: list[Addition] = []
        self._block: list[Addition] | None = None
        self._work: dict[str, Head] = {}
        self._overtaken: dict[str, int] = {}

    @cached_property
    def sql(self) -> rows.Prepared:
        """The statements that write; who only reads does not wait for them."""
        return rows.prepared(self.engine.dialect.name)

    def __enter__(self) -> SqlBlackboard:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Store what is held, unlock every run and close every connection."""
        try:
            self.flush()
        finally:
            self._locks.free_all()
            self.engine.dispose()

    def lock(self, run: str, *, shared: bool = False) -> None:
        """Lock `run` for this blackboard, until `unlock`, `close` or the end of the process.

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
        row = rows.run_row(record)
        self.write(lambda connection: _open_run(connection, row))

    def start_numbered_run(self, record: RunRecord) -> RunRecord:
        """Record a run under the first free name `NAME-NUMBER`, `record.run` being the name.

        The number follows the greatest of all runs, whatever their names; several processes that
        start runs at once get one each.
        """
        tried: list[RunRecord] = []
        return self.write(lambda connection: _open_numbered(connection, record, tried))

    def start_session(self, record: SessionRecord) -> None:
        """Record a session with its agents and its data instance, all of it or nothing.

        Position 0 is the next one in its run. Raises `BlackboardError` where there is no such run.
        """
        self._start_session(record, lambda _connection: False)

    def _start_session(self, record: SessionRecord, stored: Stored) -> None:
        self.check_lock(record.run)
        salt = chain.new_salt()
        row = rows.session_row(record, salt)
        members = rows.member_rows(record.session, record.members)
        tables = [member.table for member in record.members]
        texts = rows.text_rows([record.instance.x], salt) + rows.text_rows(tables, "")
        begins: Head = 0, ""

        def made(head: Head) -> tuple[Head, Steps]:
            nonlocal begins
            number = head[0] + 1
            new = {**row, "ordinal": number, "position": record.position or number}
            new["chain"] = link = chain.of_session(head[1], new, members)
            begins = 0, link
            first = {"kind": "events", "name": record.session, "number": 0, "chain": link}
            add = self.sql.add
            return (number, link), [
                (self.sql.keep_text, texts),
                (add["sessions"], [new]),
                (add["members"], members),
                (add["heads"], [first]),
            ]

        def begun(connection: Connection) -> bool:
            nonlocal begins
            is_stored = stored(connection)
            begins = (0, "") if is_stored else begins
            return is_stored

        self._extend(Addition("sessions", record.run, made, begun, "sessions"))
        self._started.add(record.session)
        if begins[1]:
            self._heads["events", record.session] = begins
            self._salts[record.session] = salt

    def open(self, session: Session) -> None:
        """Record a session that a program of one's own holds, in the run that its name begins with.

        `lab/1` is in the run `lab`. Raises `UsageError` where a session of that name was held.
        """
        name, run = session.name, own_run(session.name)
        if name in self._started:
            return
        record = session_record(session, run)
        if ("sessions", run) not in self._heads:
            own = rows.run_row(RunRecord(run, OWN, "{}", 0, __version__, ""))
            self.write(lambda connection: _open_run(connection, own, shared=True))
        self._start_session(record, lambda connection: self._is_begun(connection, name))

    def _is_begun(self, connection: Connection, name: str) -> bool:
        """Whether a session of one's own is stored, without a message; raises where it has some."""
        known = queries.session(connection, name)
        if known is None:
            return False
        if known.ending is not None:
            raise UsageError(
                f"{self.shown} holds a session {quoted(name)} already; give this one another name "
                f"(name=...)"
            )
        if known.messages:
            noun = f"{'action' if known.channel else 'message'}{'s' * (known.messages > 1)}"
            raise UsageError(
                f"{self.shown} holds {known.messages} {noun} of session {quoted(name)}, which is "
                f"not over; go on with it (blackboard.resume(session)), or give this one another "
                f"name (name=...)"
            )
        return True

    def resume(self, session: Session) -> None:
        """Bring `session` to where the stored one of its name is; it is then run on from there.

        Raises `NotThere` where there is none, and `UsageError` where it is over, or would be
        another one: other tables, members or bounds.
        """
        stored_session = self.session(session.name)
        stored = stored_session.record
        if stored.ending is not None:
            raise UsageError(f"session {session.name} has ended ({stored.ending})")
        if stored.session in {erased.session for erased in self.erasures(stored.run)}:
            raise UsageError(f"session {session.name} was erased: it cannot be resumed")
        check_same(stored, session_record(session, stored.run))
        session.replay(stored_session.events, self.closing(session.name))

    def next_event(self, session: str) -> int:
        """The number that the next event of a session has; 1 where nothing is known of it."""
        known = self._heads.get(("events", session))
        if known is None:
            at = {"of": "events", "named": session}
            known = self.read(lambda connection: connection.execute(rows.LATEST, at).one_or_none())
        return 1 if known is None else known[0] + 1

    def append(self, session: str, event: Event) -> None:
        """Store an event: what it carries or adds to the context, and what was judged."""
        salt = self._salt(session)
        row, content = rows.event_row(session, event, salt)
        judged, details = rows.judgement_rows(session, event.number, event.judgements, salt)
        texts, number = rows.text_rows((*content, *details), salt), event.number
        self.check_lock(session)
        self._started.discard(session)

        def made(head: Head) -> tuple[Head, Steps]:
            if head[0] + 1 != number:
                raise BlackboardError(
                    f"{self.shown}: event {number} of {session} was refused: the next one there is "
                    f"{head[0] + 1}; is a second process working on the same run?"
                )
            link = chain.of_event(head[1], row, judged)
            add = self.sql.add
            return (number, link), [
                (self.sql.keep_text, texts),
                (add["events"], [{**row, "chain": link}]),
                (add["judgements"], judged),
            ]

        def stored(connection: Connection) -> bool:
            _check_erased(connection, session)
            return False

        if self._heads.get(("events", session), (number - 1,))[0] != number - 1:
            del self._heads["events", session]  # it is not as this process knows it: look
        addition = Addition("events", session, made, stored)
        if self._block is None:
            self._extend(addition)
        else:
            self._block.append(addition)

    @contextmanager
    def together(self) -> Iterator[None]:
        """A block whose events are stored in one transaction at its end, or none of them.

        Each is of another session. A session has moved when its event is not stored yet, so whoever
        is left with the error goes on with none of them.
        """
        self._block = []
        try:
            yield
            block = self._block
        finally:
            self._block = None
        if block:
            self._extend(*block)

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how a session ended; refused where it has ended otherwise before."""
        rows.check_values(
            f"the ending of session {quoted(session)}", {"ending": ending, "cause": cause}, set()
        )
        self.check_lock(session)
        salt = self._salt(session)

        def made(head: Head) -> tuple[Head, Steps]:
            number, link = head
            closing, texts = rows.closing_row(ending, cause, number, salt)
            judged, details = rows.judgement_rows(session, number + 1, judgements, salt)
            return (number, chain.of_closing(link, closing, judged)), [
                (self.sql.keep_text, rows.text_rows((*texts, *details), salt)),
                (self.sql.add["judgements"], judged),
                (self.sql.close, [{"named": session, **closing}]),
            ]

        def stored(connection: Connection) -> bool:
            _check_erased(connection, session)
            stored_ending = connection.scalar(rows.ENDING, {"named": session})
            if stored_ending not in (None, ending):
                raise BlackboardError(f"session {session} has ended already ({stored_ending})")
            return stored_ending is not None

        self._extend(Addition("events", session, made, stored))
        self._heads.pop(("events", session), None)
        self._salts.pop(session, None)

    def record(
        self,
        table: str,
        run: str,
        row: Row,
        steps: Steps = (),
        stored: Stored = lambda _connection: False,
    ) -> int:
        """Store `row` in a `table` of `schema.RECORDS`, as the next of its chain of `run`.

        Its number there. `steps` are done before it, in the same transaction.
        """
        return self._extend(self._row(table, run, row, steps, stored))

    def hold(
        self,
        table: str,
        run: str,
        row: Row,
        steps: Steps = (),
        stored: Stored = lambda _connection: False,
    ) -> None:
        """Store what `record` would, together with whatever is stored next.

        That is at the latest when the running task waits for something, and at once where no event
        loop runs. Whoever stores or reads next has the error of what could not be stored.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.record(table, run, row, steps, stored)
            return
        if not self._held:
            loop.call_soon(self._flush_soon)
        self._held.append(self._row(table, run, row, steps, stored))

    def flush(self) -> None:
        """Store what is held; raises `BlackboardError` where it cannot be."""
        if self._held:
            self._extend()

    def _flush_soon(self) -> None:
        """Store what is held; what cannot be is held on, until somebody can have the error."""
        held = list(self._held)
        try:
            self.flush()
        except BlackboardError:
            self._held[:0] = held

    def _row(self, table: str, run: str, row: Row, steps: Steps, stored: Stored) -> Addition:
        """A row in a `table` of `schema.RECORDS` as what is added to its chain of `run`."""
        named = schema.metadata.tables[table]
        kind = next(kind for kind, tables in schema.RECORDS.items() if named in tables)

        def made(head: Head) -> tuple[Head, Steps]:
            new = {**row, "run": run, "number": head[0] + 1}
            new["chain"] = link = chain.link(head[1], table, new)
            return (head[0] + 1, link), [*steps, (self.sql.add[table], [new])]

        return Addition(kind, run, made, stored, table)

    def overtaken(self, run: str) -> int:
        """How often it was found that another process had added to the record of `run`'s work."""
        return self._overtaken.get(run, 0)

    def _extend(self, *own: Addition) -> int:
        """Add to chains, after what is held, in one transaction; the number of the last addition.

        It comes after the heads that this process has seen last, without a query; where another
        process has added to one of the chains since, no head moves, nothing is stored, and it comes
        after the heads that are stored. The answer to a commit may be lost, and not the commit:
        what was tried is looked for before it is stored again.

        What is held comes first: of several processes that add to the work of a run and to chains
        of their own, all lock the former before the latter.
        """
        held, self._held = self._held, []
        additions = [*held, *own]
        with suppress(BlackboardError):  # looking has the same, or finds that it is not so
            number = self._add_unseen(additions)
            if number is not None:
                return number
        try:
            return self._look(additions)
        except BlackboardError:
            if not (held and own):
                raise
        try:  # neither is lost because the other is refused
            self._look(held)
        finally:
            number = self._look(own)
        return number

    def _add_unseen(self, additions: Sequence[Addition]) -> int | None:
        """Add to chains where this process has left them; None where that is not known to be done.

        The heads are not known any more then. That of a chain which workers share is read in the
        same transaction.
        """
        known = {
            addition.chain: head
            for addition in additions
            if (head := self._heads.pop(addition.chain, None))
        }
        shared = {
            addition.chain: None
            for addition in additions
            if addition.table and self.holds(addition.name, shared=True)
        }
        if not all(addition.chain in shared or addition.chain in known for addition in additions):
            return None

        def work(cursor: rows.Cursor) -> bool:
            for of in shared:
                head = rows.head(cursor, self.sql, *of)
                if head is None:
                    return False
                known[of] = head
            moves, steps = list[Row](), list[tuple[str, Sequence[Row]]]()
            for addition in additions:
                before = known[addition.chain]
                known[addition.chain], added = addition.made(before)
                addition.tried.append(known[addition.chain])
                moves.append(rows.moved(*addition.chain, before, known[addition.chain]))
                steps += added
            return rows.add(cursor, self.sql, moves, steps)

        self._place.check()
        if not rows.commit(self.engine, work):
            return None
        self._note(known)
        return additions[-1].tried[-1][0]

    def _look(self, additions: Sequence[Addition]) -> int:
        """Add to chains after the heads that are stored; the number of the last addition."""

        def store(connection: Connection) -> tuple[dict[tuple[str, str], Head], int]:
            heads, number = dict[tuple[str, str], Head](), 0
            for addition in additions:
                latest = heads.get(addition.chain) or self._work.get(addition.name)
                heads[addition.chain], number = self._add(connection, addition, latest)
            return heads, number

        heads, number = self.write(store)
        self._note(heads)
        return number

    def _note(self, heads: Mapping[tuple[str, str], Head]) -> None:
        """Note where chains are."""
        self._heads.update(heads)
        self._work.update({name: head for (kind, name), head in heads.items() if kind == "work"})

    def _add(
        self, connection: Connection, addition: Addition, latest: Head | None
    ) -> tuple[Head, int]:
        """The head of a chain with an addition, and its number, unless it is stored already.

        `latest` is where this process has left the chain.
        """
        kind, name, table = addition.kind, addition.name, addition.table
        stored_head = connection.execute(rows.HEAD, {"of": kind, "named": name}).one_or_none()
        if stored_head is None:
            owner = "session" if kind == "events" else "run"
            raise BlackboardError(f"{self.shown}: refused, there is no {owner} {quoted(name)}")
        head = stored_head.number, stored_head.chain
        if kind == "work" and latest is not None and head not in (latest, *addition.tried):
            self._overtaken[name] = self._overtaken.get(name, 0) + 1
        for number, link in addition.tried:
            at = {"named": name, "at": number}
            if (number, link) == head or (table and connection.scalar(_LINKS[table], at) == link):
                return head, number
        if addition.stored(connection):
            return head, head[0]
        new, steps = addition.made(head)
        addition.tried.append(new)
        move = rows.moved(kind, name, head, new)
        for statement, values in [(self.sql.move_head, [move]), *steps]:
            for row in values:
                connection.exec_driver_sql(statement, row)
        return new, new[0]

    def spending(self, run: str) -> Spending:
        """What a run has spent on models."""
        return self.read(lambda connection: queries.spending(connection, run))

    def costs(self, run: str) -> tuple[Cost, ...]:
        """What the calls of a run took, by purpose and model."""
        return self.read(lambda connection: queries.costs(connection, run))

    def replies(self, run: str) -> tuple[tuple[tuple[str, str, int], Reply], ...]:
        """What models replied in a run, by (model, fingerprint of the prompt, epoch)."""
        return self.read(lambda connection: tuple(queries.replies(connection, run)))

    def directions(self, run: str) -> tuple[tuple[str, str, int, int, int, int], ...]:
        """For each agent and each other that it sent tags to, in how many sessions of a run, and
        how many of them were one-way intelligible, strong and ultra-strong in that direction."""
        return self.read(lambda connection: queries.directions(connection, run))

    def runs(self) -> tuple[RunRecord, ...]:
        """Every run, oldest first."""
        return self.read(queries.runs)

    def run(self, name: str) -> RunRecord:
        """The run of that name; `NotThere` where there is none."""
        known = {record.run: record for record in self.runs()}
        if name not in known:
            there = ", ".join(known) or "none"
            near = did_you_mean(name, known)
            raise NotThere(
                f"{self.shown} has no run {quoted(name)}{near or '; there are: ' + there}"
            )
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

    def events(self, session: str) -> tuple[Event, ...]:
        """The events of a session, each with what it carried and what was judged, in order."""
        return self.read(lambda connection: rows.events(connection, session))[0]

    def erasures(self, run: str) -> tuple[Erasure, ...]:
        """The sessions of a run whose texts were erased, in order."""
        return self.read(lambda connection: queries.erasures(connection, run))

    def closing(self, session: str) -> tuple[Judgement, ...]:
        """What was judged and learned for a message that a fault kept from being sent."""
        return self.read(lambda connection: rows.events(connection, session))[1]

    def session(self, name: str) -> StoredSession:
        """One session whole; `NotThere` where there is none of that name."""
        record = self.read(lambda connection: queries.session(connection, name))
        if record is None:
            known = [line.session for line in self.listing(limit=_MOST_NEAR)]
            near = did_you_mean(name, known) or "; pxp show RUN lists the sessions of a run"
            raise NotThere(f"{self.shown} has no session {quoted(name)}{near}")
        return StoredSession(record, self.events(name))

    def stored(self, names: Iterable[str]) -> Iterator[StoredSession]:
        """The sessions of `names` whole, in their order; some are read at a time.

        Those that there are not are left out.
        """
        left = iter(names)
        while some := list(islice(left, _AT_ONCE)):
            yield from self.read(partial(_stored, names=some))

    def _salt(self, session: object) -> str:
        """The salt of a session's texts; "" where there is none, which a store then says."""
        if not isinstance(session, str) or text_problem(session) is not None:
            return ""
        if session not in self._salts:
            salt = self.read(lambda connection: connection.scalar(rows.SALT, {"named": session}))
            if salt is None:
                return ""
            self._salts[session] = salt
        return self._salts[session]

    def write(self, work: Callable[[Connection], T]) -> T:
        """`work` in one transaction."""
        self._place.check()

        def once() -> T:
            with translated_errors(self.shown), self._writing.begin() as connection:
                return work(connection)

        return retried(once, self.patience)

    def query(self, statement: str, **values: object) -> tuple[Mapping[str, Any], ...]:
        """The rows that an SQL statement selects, by column, with `values` for its `:names`."""
        return self.read(
            lambda connection: tuple(
                dict(row) for row in connection.execute(text(statement), values).mappings()
            )
        )

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` reads with a connection; it is repeated where the database was away.

        What is held is stored before.
        """
        self.flush()

        def once() -> T:
            with translated_errors(self.shown), self.engine.connect() as connection:
                return work(connection)

        return retried(once, self.patience)


_AT_ONCE = 100
"""Sessions that are read together: a query for each takes longer than its answer."""


def _stored(connection: Connection, names: Sequence[str]) -> list[StoredSession]:
    records = queries.sessions_named(connection, names)
    there = [name for name in names if name in records]
    events = rows.events_of(connection, there)
    return [StoredSession(records[name], of_session) for name, of_session in events]


def _check_erased(connection: Connection, session: str) -> None:
    if connection.scalar(rows.ERASURE, {"named": session}) is not None:
        raise BlackboardError(f"session {session} was erased: nothing is added to it")


def _open_run(connection: Connection, row: Row, *, shared: bool = False) -> None:
    """Store the `row` of a run, unless it is there; a `shared` one may be another's of its name."""
    about = {"named": row["run"]}
    stored_chain = connection.scalar(rows.RUN, about)
    if stored_chain is None and shared:
        rows.lock_runs(connection)
        stored_chain = connection.scalar(rows.RUN, about)
    if stored_chain is None or (stored_chain != row["chain"] and not shared):
        version = connection.scalar(select(schema.version.c.version_num))
        if version != schema.SCHEMA_VERSION:
            raise BlackboardError(
                f"the database was upgraded to schema version {version} while this program, which "
                f"reads {schema.SCHEMA_VERSION}, had it open; use the program that upgraded it"
            )
        connection.execute(rows.ADD["runs"], row)
        heads = [
            {"kind": kind, "name": row["run"], "number": 0, "chain": row["chain"]}
            for kind in ("sessions", *schema.RECORDS)
        ]
        connection.execute(rows.ADD["heads"], heads)


def _open_numbered(connection: Connection, record: RunRecord, tried: list[RunRecord]) -> RunRecord:
    """Store a run under the first free number; `tried` are those of attempts before this one."""
    for earlier in tried:
        if connection.scalar(rows.RUN, {"named": earlier.run}) == rows.run_row(earlier)["chain"]:
            return earlier
    rows.lock_runs(connection)
    taken = map(_NUMBER.search, connection.scalars(rows.RUN_NAMES))
    number = max((int(match[1]) for match in taken if match), default=0) + 1
    created = record.created or rows.now()
    made = replace(record, run=f"{record.run}-{number}", created=created)
    tried.append(made)
    _open_run(connection, rows.run_row(made))
    return made


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
