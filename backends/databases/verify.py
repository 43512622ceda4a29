"""Verification of a blackboard: whether anything was changed after the fact, and where.

Every text is compared with its digest, every session's events with their chain, every run with its
sessions, and every conversation with the automaton that it is said to follow. Who owns a database
can rewrite all of it, chain and all: against that, keep a run's `mark` elsewhere and compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import lru_cache
from itertools import count, groupby, starmap
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Table, inspect, literal_column, select, text
from sqlalchemy.exc import DBAPIError

from backends.databases import chain, schema
from backends.databases.engine import open_engine
from backends.databases.erasure import may_remain
from backends.databases.faults import translated_errors
from backends.databases.records import Erasure, stored_system
from backends.databases.rows import events, members_of
from backends.databases.triggers import triggers
from backends.databases.views import VIEWS
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.errors import BlackboardError, NotThere, Refused, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.replay import conversations, trace

_STREAMED = {"yield_per": 500}
_SHOWN = 20
"""How many uses of a changed text are named."""
NOT_COVERED = {
    "blackboard_version": "the version of the schema",
    "drafts": "drafts",
    "tokens": "links of participants",
    "identifiers": "who subjects are",
    "runs.ordinal": "the order in which runs are listed",
}
"""What may change or go without a problem, by table or column: none of it is evidence.

A database of another version is not opened at all. A draft is replaced, and removed once it was
sent; links expire and are revoked; who somebody is goes when they ask for it. The order of runs is
that of one database, and is not exchanged.
"""


@dataclass(frozen=True, slots=True)
class IntegrityProblem:
    """Something that is not as it was stored: where (a session, a message) and what."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A number that stands for all that a run holds now (SHA-256, hex).

    It covers the sessions and what the run's work took. What was given out or erased since has a
    chain of its own, whose links are `custody`: an erasure leaves the mark as it is. `messages`
    counts the events of all sessions; `actions` are those of the sessions of systems.
    """

    run: str
    sessions: int
    messages: int
    mark: str
    actions: int = 0
    custody: tuple[str, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found: nothing wrong if there are no problems.

    `unknown` is what could not be compared, and why; `erased` are the sessions without texts.
    `remains` says that the files of the database may still hold what was erased.
    """

    marks: tuple[Mark, ...]
    problems: tuple[IntegrityProblem, ...]
    unknown: tuple[IntegrityProblem, ...] = ()
    erased: tuple[Erasure, ...] = ()
    remains: bool = field(default=False, compare=False)


def verify(database: str) -> Report:
    """Verify the database of that name or URL; raises `BlackboardError` where it cannot be read."""
    engine = open_engine(database, create=False)
    try:
        return verify_engine(engine)
    finally:
        engine.dispose()


def verify_engine(engine: Engine) -> Report:
    """Verify all that is in an open database, as it was at one instant."""
    shown = engine.url.render_as_string(hide_password=True)
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with translated_errors(shown), engine.connect() as connection:
        report = _verified(connection)
        if report.problems and engine.dialect.name == "sqlite":
            # Among them may be a text that was made no UTF-8, which ended what looked at it. Read
            # so that it is given out, which takes a function of Python for each text.
            driver: Any = connection.connection.driver_connection
            driver.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            try:
                report = _verified(connection)
            finally:
                driver.text_factory = str
    return report


def _verified(connection: Connection) -> Report:
    unknown: list[Finding] = []
    problems = [IntegrityProblem(*finding) for finding in changed_definitions(connection, unknown)]
    report = verify_rows(connection)
    problems += report.problems
    return replace(
        report, problems=tuple(problems), unknown=tuple(starmap(IntegrityProblem, unknown))
    )


def verify_rows(connection: Connection) -> Report:
    """Verify what is stored, and not the definitions of tables, views and triggers."""
    problems: list[IntegrityProblem] = []
    for check in (_texts, _prompts, erased_texts, strays):
        problems += _guarded("the database", check(connection))
    marks: list[Mark] = []
    problems += _guarded("the database", _runs(connection, marks))
    remains = may_remain(connection)
    return Report(tuple(marks), tuple(problems), (), _erasures(connection), remains)


def _erasures(connection: Connection) -> tuple[Erasure, ...]:
    if not inspect(connection).has_table(schema.erasures.name):
        return ()
    x = schema.erasures.c
    query = select(x.session, x.created, x.texts, x.prompts).order_by(x.session)
    return tuple(Erasure(*row) for row in connection.execute(query))


def _runs(connection: Connection, marks: list[Mark]) -> Iterator[IntegrityProblem]:
    query = select(schema.runs).order_by(schema.runs.c.ordinal)
    for run in connection.execute(query).mappings().all():
        mark, faults = verify_run(connection, run)
        marks.append(mark)
        yield from faults


def mark_of(connection: Connection, run: str) -> Mark:
    """The mark of `run`; raises `BlackboardError` where it was changed, or is not there."""
    query = select(schema.runs).where(schema.runs.c.run == run)
    stored_run = connection.execute(query).mappings().one_or_none()
    if stored_run is None:
        raise NotThere(f"there is no run {quoted(run)}")
    mark, problems = verify_run(connection, stored_run)
    if problems:
        raise BlackboardError(f"{problems[0].where}: {problems[0].what}; see pxp verify")
    return mark


def _guarded(where: str, problems: Iterator[IntegrityProblem]) -> Iterator[IntegrityProblem]:
    """What was `problems`, and that it could not be looked at further, whatever was put in."""
    try:
        yield from problems
    except Exception as error:  # noqa: BLE001 - anything can stand in a table that was changed
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        yield IntegrityProblem(
            where, f"it cannot be verified ({type(error).__name__}: {reason:.200})"
        )


def verify_run(connection: Connection, run: chain.Row) -> tuple[Mark, list[IntegrityProblem]]:
    """A run's mark, and what is wrong with it."""
    where = f"run {run['run']}"
    problems: list[IntegrityProblem] = []
    link = mark = run["chain"]
    if chain.of_run(run) != link:
        problems.append(IntegrityProblem(where, "its record was changed"))
    s = schema.sessions.c
    query = select(schema.sessions).where(s.run == run["run"]).order_by(s.ordinal)
    number = events_made = actions_made = opened = 0
    with connection.execute(query, execution_options=_STREAMED) as sessions:
        for batch in sessions.mappings().partitions():
            names = [session["session"] for session in batch]
            events_of = _grouped(connection, "events", names)
            tables_of = _grouped(connection, "members", names)
            judged = _grouped(connection, "judgements", names)
            heads = _heads(connection, "events", names)
            for session in batch:
                name = session["session"]
                number, opened = number + 1, opened + 1
                where_it_is = f"session {name}"
                if session["ordinal"] != number:
                    problems.append(IntegrityProblem(where_it_is, "sessions before it are missing"))
                    if type(session["ordinal"]) is int:
                        number = session["ordinal"]
                elif session["chain"] != chain.link_of(
                    link, "sessions", chain.fields("sessions", session), tables_of.get(name, [])
                ):
                    difference = (
                        "what it is about, under which conditions, or its place was changed"
                    )
                    problems.append(IntegrityProblem(where_it_is, difference))
                link, events = session["chain"], events_of.get(name, [])
                stored = _Stored(session, tables_of.get(name, []), events, heads.get(name))
                problems += _guarded(
                    where_it_is, _session(connection, stored, judged.get(name, []))
                )
                mark = chain.joined(mark, stored.head[1] if stored.head else "")
                events_made += len(events)
                actions_made += len(events) if session["channel"] else 0
    head = _heads(connection, "sessions", [run["run"]]).get(run["run"])
    if head != (number, link):
        opened_then = "an unknown number of" if head is None else head[0]
        problems.append(
            IntegrityProblem(
                where, f"it opened {opened_then} sessions, and not those that are there"
            )
        )
    work, faults = _record(connection, run, "work")
    problems += faults
    custody, faults = _record(connection, run, "custody")
    problems += faults
    mark = chain.joined(mark, work[-1] if work else "")
    return Mark(str(run["run"]), opened, events_made, mark, actions_made, custody), problems


def _record(
    connection: Connection, run: chain.Row, kind: str
) -> tuple[tuple[str, ...], list[IntegrityProblem]]:
    """The links of a chain of a run beside its sessions, and what is wrong with it."""
    problems: list[IntegrityProblem] = []
    rows = [
        (row["number"], table.name, row)
        for table in schema.RECORDS[kind]
        for row in connection.execute(select(table).where(table.c.run == run["run"])).mappings()
    ]
    link, expected, links = run["chain"], 1, list[str]()
    for number, table, row in sorted(rows, key=_by_number):
        where = f"run {run['run']}, {table} {number}"
        if number != expected:
            problems.append(
                IntegrityProblem(where, f"it is not the next one: {expected} is missing")
            )
        elif chain.link(link, table, row) != row["chain"]:
            problems.append(IntegrityProblem(where, "it, or its place in the chain, was changed"))
        link, expected = row["chain"], (number if type(number) is int else expected) + 1
        links.append(str(link))
    head = _heads(connection, kind, [run["run"]]).get(run["run"])
    if head != (expected - 1, link):
        tables = ", ".join(table.name for table in schema.RECORDS[kind])
        had = "an unknown number" if head is None else head[0]
        difference = f"it had {had} in {tables}, and not those that are there"
        problems.append(IntegrityProblem(f"run {run['run']}", difference))
    return tuple(links), problems


def _by_number(row: tuple[Any, str, chain.Row]) -> tuple[bool, int, str]:
    """In the order of numbers; what was made no number comes last."""
    number = row[0]
    is_number = type(number) is int
    return not is_number, number if is_number else 0, str(number)


def _heads(connection: Connection, kind: str, names: list[str]) -> dict[str, tuple[int, str]]:
    h = schema.heads.c
    query = select(h.name, h.number, h.chain).where(h.kind == kind, h.name.in_(names))
    return {name: (number, link) for name, number, link in connection.execute(query)}


Covered = tuple[Any, ...]
"""A row as a link covers it: its table, the columns in the order of `schema.COVERED`, its link."""
_PLACES_OF_EVENTS = {name: place for place, name in enumerate(schema.COVERED["events"], start=1)}
_NUMBER = _PLACES_OF_EVENTS["number"]
_SAID = itemgetter(*(_PLACES_OF_EVENTS[name] for name in ("member", "partner", "label")))


class _Stored(NamedTuple):
    """A session's rows, and the head of its chain; None where there is none."""

    session: chain.Row
    members: list[Covered]
    events: list[Covered]
    head: tuple[int, str] | None


def _session(
    connection: Connection, stored: _Stored, judged: list[Covered]
) -> Iterator[IntegrityProblem]:
    """What is wrong with a session; after the first changed row the chain is followed anew."""
    session, is_system = stored.session, bool(stored.session["channel"])
    name = session["session"]
    where = f"session {name}"
    if stored.members and not is_system and not session["faults"]:
        yield IntegrityProblem(where, "it has members beside its two agents")
    by_number = {number: list(rows) for number, rows in groupby(judged, _number_of)}
    link, expected = session["chain"], 1
    for event in stored.events:
        number = event[_NUMBER]
        if number != expected:
            yield IntegrityProblem(
                f"{where}, event {expected}", f"it is missing: {number} comes next"
            )
        elif event[-1] != chain.link_of(link, "events", event[1:-1], by_number.pop(number, ())):
            yield IntegrityProblem(
                f"{where}, event {number}",
                "it, its judgements or its place in the chain was changed",
            )
        link, expected = event[-1], (number if type(number) is int else expected) + 1
    closing = by_number.pop(expected, ()) if session["ending"] is not None else ()
    if by_number:
        yield IntegrityProblem(
            where, f"it has judgements of events that it has not: {sorted(by_number, key=str)}"
        )
    if session["ending"] is None:
        if any(session[name] is not None for name in schema.CLOSING):
            yield IntegrityProblem(where, "it has not ended, and has parts of an ending")
    else:
        if session["length"] != expected - 1:
            yield IntegrityProblem(
                where, f"it ended after {session['length']} events and has {expected - 1}"
            )
        link = chain.link_of(link, "closing", chain.fields("closing", session), closing)
    if stored.head != (expected - 1, link):
        yield IntegrityProblem(
            where, "its end is not the one that was stored: its last rows were changed"
        )
    if is_system:
        yield from _legal_actions(connection, session)
    else:
        yield from _legal(session, stored.events)


def _number_of(row: Covered) -> Any:
    """The number of an event, or of that which a judgement led to."""
    return row[_NUMBER]


_session_of = itemgetter(1)
"""The session of a row, with which its key begins."""


def _legal(session: chain.Row, events: list[Covered]) -> Iterator[IntegrityProblem]:
    """Whether the automaton allows the conversation, where the table is one of the package's."""
    if session["automaton"] not in BUILTIN:
        return
    automaton = builtin(session["automaton"])
    if automaton.fingerprint != session["fingerprint"]:
        return
    agents = () if session["faults"] else (session["initiator"], session["responder"])
    conversation = tuple(map(_SAID, events))
    try:
        is_known = _is_legal(session["automaton"], agents, conversation)
    except TypeError:  # what is no text was put in by somebody else
        is_known = False
    if is_known:
        return
    refused = _refused(automaton, agents, conversation, session["session"], map(_number_of, events))
    if refused:
        yield IntegrityProblem(f"session {session['session']}", refused)


@lru_cache(maxsize=1024)
def _is_legal(table: str, agents: tuple[str, ...], conversation: tuple[Covered, ...]) -> bool:
    """Whether the built-in `table` allows it to both; many sessions have the same conversation."""
    return not _refused(builtin(table), agents, conversation, "", count(1))


def _refused(
    automaton: Automaton,
    agents: tuple[str, ...],
    conversation: tuple[Covered, ...],
    session: str,
    numbers: Iterable[Any],
) -> str:
    """Why `automaton` does not allow a conversation to one of `agents`; empty where it does."""
    empty = Answer("", "")
    messages = [
        Message(session, number, sender, tag, empty, receiver)
        for number, (sender, receiver, tag) in zip(numbers, conversation, strict=False)
    ]
    # several agents talk by two, and each two of them as the table says
    for part in (messages,) if agents else conversations(messages):
        for agent in agents or (part[0].sender, part[0].receiver):
            try:
                trace(automaton, part, agent, over=False)
            except Refused as error:
                return str(error)
    return ""


def _legal_actions(connection: Connection, session: chain.Row) -> Iterator[IntegrityProblem]:
    """Whether the tables, which are stored, allow the actions over the channel, in this order."""
    where = f"session {session['session']}"
    system = stored_system(members_of(connection, session["session"]), session["channel"])
    if system.fingerprint != session["fingerprint"]:
        yield IntegrityProblem(where, "its tables are not those that it is said to follow")
        return
    live = LiveSystem(system)
    for event in events(connection, session["session"])[0]:
        try:
            live.take(event.action, event.message)
        except Refused as error:
            yield IntegrityProblem(f"{where}, event {event.number}", str(error))
            return


def _grouped(connection: Connection, name: str, names: list[str]) -> dict[str, list[Covered]]:
    """The rows of a table that are of sessions, by session, in the order of their keys.

    As tuples, which a link is made of as they are: a mapping for each row takes longer than to read
    it.
    """
    table = schema.metadata.tables[name]
    columns = [table.c[column] for column in schema.COVERED[name]]
    if "chain" in table.c:
        columns.append(table.c.chain)
    query = select(literal_column(f"'{name}'"), *columns).where(table.c.session.in_(names))
    cursor = connection.execute(query.order_by(*table.primary_key.columns)).cursor
    # tuples, as the driver has them
    rows: Iterable[Covered] = () if cursor is None else cursor.fetchall()
    return {name: list(of_it) for name, of_it in groupby(rows, _session_of)}


def _texts(connection: Connection) -> Iterator[IntegrityProblem]:
    query = select(schema.texts)
    for digest, content, salt in connection.execute(query, execution_options=_STREAMED):
        if content is None and salt == "":
            continue  # see `erased_texts`
        if not chain.is_text_digest(digest, salt, content):
            used = connection.scalars(_USES, {"digest": digest}).fetchmany(_SHOWN)
            for where in used or (f"text {digest}",):
                yield IntegrityProblem(where, f"its text {str(digest)[:12]} was changed")


def _prompts(connection: Connection) -> Iterator[IntegrityProblem]:
    query = select(schema.prompts)
    for digest, salt, content in connection.execute(query, execution_options=_STREAMED):
        if content is None and salt == "":
            continue
        if not chain.is_salted_digest(digest, salt, content):
            yield IntegrityProblem(f"prompt {str(digest)[:12]}", "it was changed")


def erased_texts(connection: Connection) -> Iterator[IntegrityProblem]:
    """Every text and prompt that is empty without a record of it, or there in spite of one."""
    for contradiction, query in _ERASURES.items():
        for session in connection.scalars(text(query)):
            yield IntegrityProblem(f"session {session}", contradiction)


_PLACES = {
    "events": "'session ' || session || ', event ' || number",
    "judgements": "'session ' || session || ', a judgement of event ' || number",
    "members": "'session ' || session || ', a table'",
    "sessions": "'session ' || session",
    "calls": "'run ' || run || ', calls ' || number",
}
_REFERENCES = (*schema.TEXTS_OF_SESSIONS, schema.members.c.table_digest)
_USES = text(
    " UNION ALL ".join(
        f"SELECT {_PLACES[column.table.name]} FROM {column.table.name} "  # noqa: S608 - our own names
        f"WHERE {column.name} = :digest"
        for column in _REFERENCES
    )
)
_USED = " UNION ALL ".join(
    f"SELECT session, {column.name} AS digest FROM {column.table.name} "  # noqa: S608 - our own names
    f"WHERE {column.name} IS NOT NULL"
    for column in schema.TEXTS_OF_SESSIONS
    if column.table is not schema.calls
)
_REPLIES = " UNION ALL ".join(
    f"SELECT run, session, {name} AS digest FROM calls WHERE {name} IS NOT NULL"  # noqa: S608 - our own names
    for name in ("reply_digest", "failure_digest")
)
_ERASED = "(SELECT session FROM erasures WHERE texts IS NOT NULL)"
_ERASURES = {
    "a text of it is empty, and it was not erased": f"""
    SELECT DISTINCT used.session FROM ({_USED}) AS used JOIN texts ON texts.digest = used.digest
    WHERE texts.text IS NULL AND used.session NOT IN {_ERASED}
    """,  # noqa: S608 - our own words
    "a reply of a model to it is empty, and it was not erased": f"""
    SELECT DISTINCT COALESCE(calls.session, '(none)') FROM ({_REPLIES}) AS calls
    JOIN texts ON texts.digest = calls.digest
    WHERE texts.text IS NULL AND COALESCE(calls.session, '') NOT IN {_ERASED} AND NOT (
      calls.session IS NULL AND NOT EXISTS (
        SELECT 1 FROM sessions WHERE run = calls.run AND session NOT IN {_ERASED}))
    """,  # noqa: S608 - our own words
    "a prompt of it is empty, and no session of its run was erased": f"""
    SELECT DISTINCT COALESCE(calls.session, '(none)') FROM calls
    JOIN prompts ON prompts.digest = calls.prompt
    WHERE prompts.text IS NULL AND calls.run NOT IN (
      SELECT run FROM sessions WHERE session IN {_ERASED})
    """,  # noqa: S608 - our own words
    "it was erased, and has texts": f"""
    SELECT DISTINCT used.session FROM (
      {_USED} UNION ALL SELECT session, digest FROM ({_REPLIES}) AS replies) AS used
    JOIN texts ON texts.digest = used.digest
    WHERE texts.text IS NOT NULL AND used.session IN (SELECT session FROM erasures)
    """,  # noqa: S608 - our own words
    "its erasure is not done": "SELECT session FROM erasures WHERE texts IS NULL",
}


def _strays() -> Iterator[tuple[str, str]]:
    """What is there and belongs to nothing, or lacks what it belongs to: in words, and a query."""
    for table in schema.EXCHANGED:
        for key in sorted(
            table.foreign_key_constraints, key=lambda constraint: list(constraint.column_keys)
        ):
            columns = [element.parent.name for element in key.elements]
            other = key.referred_table.name
            same = " AND ".join(
                f"theirs.{element.column.name} = ours.{element.parent.name}"
                for element in key.elements
            )
            is_set = " AND ".join(f"ours.{name} IS NOT NULL" for name in columns)
            yield (
                f"{table.name} with {' and '.join(columns)} that is not in {other}",
                f"SELECT {_place(table)} FROM {table.name} AS ours WHERE {is_set} AND NOT EXISTS "  # noqa: S608 - our own names
                f"(SELECT 1 FROM {other} AS theirs WHERE {same})",
            )
    used = " EXCEPT ".join(
        f"SELECT {column.name} FROM {column.table.name} WHERE {column.name} IS NOT NULL"  # noqa: S608 - our own names
        for column in _REFERENCES
    )
    yield (
        "a text that nothing refers to",
        f"SELECT 'text ' || digest FROM (SELECT digest FROM texts EXCEPT {used}) AS strays",  # noqa: S608 - our own names
    )
    yield (
        "a prompt that nothing refers to",
        "SELECT 'prompt ' || digest FROM "
        "(SELECT digest FROM prompts EXCEPT SELECT prompt FROM calls) AS strays",
    )
    kinds = ", ".join(map(repr, ("events", "sessions", *schema.RECORDS)))
    yield (
        "a head of a chain of what is not there",
        "SELECT 'session ' || name FROM (SELECT name FROM heads WHERE kind = 'events' "
        "EXCEPT SELECT session FROM sessions) AS strays UNION ALL "
        "SELECT 'run ' || name FROM (SELECT name FROM heads WHERE kind <> 'events' "
        "EXCEPT SELECT run FROM runs) AS strays",
    )
    yield (
        "a head of no chain",
        f"SELECT 'head of ' || name FROM heads WHERE kind NOT IN ({kinds})",  # noqa: S608 - our own names
    )


def _place(table: Table) -> str:
    """Where a row is, in SQL."""
    if "session" in table.c and table not in schema.RECORDS["work"]:
        return "'session ' || ours.session"
    return "'run ' || ours.run" if "run" in table.c else f"'table {table.name}'"


def strays(connection: Connection) -> Iterator[IntegrityProblem]:
    """Every row that belongs to nothing, or refers to what is not there."""
    for stray, query in _STRAYS:
        for where in dict.fromkeys(connection.scalars(text(query))):
            yield IntegrityProblem(str(where), f"there is {stray}")


_STRAYS = tuple(_strays())


# Whether tables, views and triggers say what this program made them say. A view or a trigger of the
# right name may say something else. On SQLite the statements themselves are compared; PostgreSQL
# rewrites them, so that its views are compared with temporary ones.

_GONE = "it is gone"
_REPLACED = "it does not say what it said: it was replaced"

Finding = tuple[str, str]
"""Where something is not as it was made, and what."""


def changed_definitions(connection: Connection, unknown: list[Finding]) -> Iterator[Finding]:
    """Every table, view and trigger that is missing, replaced or too many.

    Views that could not be compared are appended to `unknown`.
    """
    there = set(inspect(connection).get_table_names())
    missing = [name for name in schema.metadata.tables if name not in there]
    for name in missing:
        yield f"table {name}", _GONE
    yield from _views(connection, unknown)
    yield from _triggers(connection)


def _views(connection: Connection, unknown: list[Finding]) -> Iterator[Finding]:
    made: dict[str, str] = {}
    failure = ""
    if connection.dialect.name == "sqlite":
        query = text("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
        views = dict(map(tuple, connection.execute(query)))
        made = {name: f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items()}
    else:
        views = _definitions(connection, "current_schema()::regnamespace")
        try:
            made = _as_rewritten(connection)
        except DBAPIError as error:
            failure = str(error.orig).partition("\n")[0]
    for name in sorted(VIEWS):
        if name not in views:
            yield f"view {name}", _GONE
        elif failure:
            unknown.append((f"view {name}", f"no temporary view can be created ({failure})"))
        elif str(views[name]).split() != made[name].split():
            yield f"view {name}", _REPLACED


def _definitions(connection: Connection, namespace: str) -> dict[str, str]:
    query = (
        "SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND relnamespace = "
    )
    return dict(map(tuple, connection.execute(text(query + namespace))))


def _as_rewritten(connection: Connection) -> dict[str, str]:
    """Our views as PostgreSQL writes them; raises `DBAPIError` where it allows no temporary one."""
    inner = connection.begin_nested()
    try:
        for name, query in VIEWS.items():
            connection.exec_driver_sql(f"CREATE TEMPORARY VIEW {name} AS {query}")
        return _definitions(connection, "pg_my_temp_schema()")
    finally:
        inner.rollback()


def _triggers(connection: Connection) -> Iterator[Finding]:
    sqlite = connection.dialect.name == "sqlite"
    columns = {table.name: table.columns.keys() for table in schema.metadata.sorted_tables}
    installed = _sqlite_triggers(connection) if sqlite else _postgresql_triggers(connection)
    for name, table, statement in triggers(connection.dialect.name, columns):
        where = f"table {table}"
        made = (statement,) if sqlite else _parts(name, table, statement)
        definition = installed.pop(name, None)
        if definition is None:
            yield where, f"the trigger {name}, which guards it, is gone"
        elif definition != (table, *made):
            yield where, f"the trigger {name}, which guards it, was replaced or disabled"
    for name, other in sorted(installed.items()):
        yield f"table {other[0]}", f"the trigger {name} is not one of ours"


def _sqlite_triggers(connection: Connection) -> dict[str, tuple[object, ...]]:
    query = text("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
    return {name: (table, definition) for name, table, definition in connection.execute(query)}


_EVENTS = {"INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}
_ROW, _BEFORE = 1, 2

_POSTGRESQL = text(
    """
    SELECT tgname, relname, prosrc, tgtype, proname,
           tgenabled = 'O' AND tgqual IS NULL AND tgattr = '' AND tgnargs = 0
             AND pronamespace = relnamespace AND NOT prosecdef
    FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid
    JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
    """
)


def _postgresql_triggers(connection: Connection) -> dict[str, tuple[object, ...]]:
    return {row[0]: tuple(row[1:]) for row in connection.execute(_POSTGRESQL)}


def _parts(name: str, table: str, statement: str) -> tuple[object, ...]:
    """What PostgreSQL keeps of the statement of a trigger."""
    body, made = statement.split("$$")[1:3]
    match = re.search(rf"BEFORE (\w+) ON {table} FOR EACH (\w+)", made)
    event, level = match.groups() if match else ("", "")
    kind = _BEFORE + _EVENTS[event] + (_ROW if level == "ROW" else 0)
    return body, kind, name, True
