"""Verification of a blackboard: whether anything was changed after the fact, and where.

Every text is compared with its digest, every session's entries with their chain, every run with its
sessions, and every conversation with the automaton that it is said to follow. Who owns a database
can rewrite all of it, chain and all: against that, keep a run's `mark` elsewhere and compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, starmap
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, inspect, select, text

from backends.databases import chain, schema
from backends.databases.action_rows import members_of, occurrences
from backends.databases.definitions import Finding, changed_definitions
from backends.databases.engine import open_engine
from backends.databases.faults import translated_errors
from backends.databases.records import Erasure, stored_system
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.errors import BlackboardError, NotThere, Refused, quoted
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.replay import trace

_STREAMED = {"yield_per": 500}
_SHOWN = 20
"""How many uses of a changed text are named."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was stored: where (a session, a message) and what."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A number that stands for all that a run holds now (SHA-256, hex).

    `messages` counts the actions of the sessions of systems, too; `actions` is how many these are.
    """

    run: str
    sessions: int
    messages: int
    mark: str
    actions: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found: nothing wrong if there are no problems.

    `unknown` is what could not be compared, and why; `erased` are the sessions without texts.
    """

    marks: tuple[Mark, ...]
    problems: tuple[Problem, ...]
    unknown: tuple[Problem, ...] = ()
    erased: tuple[Erasure, ...] = ()


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
    with translated_errors(shown), engine.connect() as connection, _undecodable_text(connection):
        unknown: list[Finding] = []
        problems = [Problem(*found) for found in changed_definitions(connection, unknown)]
        for check in (_texts, _prompts, erased_texts, _dangling_references):
            problems += _guarded("the database", check(connection))
        marks: list[Mark] = []
        problems += _guarded("the database", _runs(connection, marks))
        erased = _erasures(connection)
    return Report(tuple(marks), tuple(problems), tuple(starmap(Problem, unknown)), erased)


def _erasures(connection: Connection) -> tuple[Erasure, ...]:
    if not inspect(connection).has_table(schema.erasures.name):
        return ()
    query = select(schema.erasures).order_by(schema.erasures.c.session)
    return tuple(Erasure(*row) for row in connection.execute(query))


def _runs(connection: Connection, marks: list[Mark]) -> Iterator[Problem]:
    query = select(schema.runs).order_by(schema.runs.c.ordinal)
    for run in connection.execute(query).mappings().all():
        mark, found = verify_run(connection, run)
        marks.append(mark)
        yield from found


def mark_of(connection: Connection, run: str) -> Mark:
    """The mark of `run`; raises `BlackboardError` where it was changed, or is not there."""
    query = select(schema.runs).where(schema.runs.c.run == run)
    found = connection.execute(query).mappings().one_or_none()
    if found is None:
        raise NotThere(f"there is no run {quoted(run)}")
    mark, problems = verify_run(connection, found)
    if problems:
        raise BlackboardError(f"{problems[0].where}: {problems[0].what}; see pxp verify")
    return mark


def _guarded(where: str, found: Iterator[Problem]) -> Iterator[Problem]:
    """What was `found`, and that it could not be looked at further, whatever was put in."""
    try:
        yield from found
    except Exception as error:  # noqa: BLE001 - anything can stand in a table that was changed
        said = " ".join(str(getattr(error, "orig", None) or error).split())
        yield Problem(where, f"it cannot be verified ({type(error).__name__}: {said:.200})")


@contextmanager
def _undecodable_text(connection: Connection) -> Iterator[None]:
    """Let SQLite give out what was made no UTF-8, so that it is found and not just refused."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name != "sqlite":
        yield
        return
    driver.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = str


def verify_run(connection: Connection, run: chain.Row) -> tuple[Mark, list[Problem]]:
    """A run's mark, and what is wrong with it."""
    where = f"run {run['run']}"
    problems: list[Problem] = []
    opening = chain.of_run(run)
    if opening != run["opening"]:
        problems.append(Problem(where, "its record was changed"))
    s = schema.sessions.c
    query = select(schema.sessions).where(s.run == run["run"]).order_by(s.ordinal)
    head = mark = run["opening"]
    number = messages = actions_made = opened = 0
    with connection.execute(query, execution_options=_STREAMED) as sessions:
        for batch in sessions.mappings().partitions():
            names = [session["session"] for session in batch]
            entries_of = _grouped(connection, schema.entries, names)
            actions_of = _grouped(connection, schema.actions, names)
            tables_of = _grouped(connection, schema.members, names)
            judged = _grouped(connection, schema.judgements, names)
            for session in batch:
                name = session["session"]
                number, opened = number + 1, opened + 1
                where_it_is = f"session {name}"
                if session["ordinal"] != number:
                    problems.append(Problem(where_it_is, "sessions before it are missing"))
                    if type(session["ordinal"]) is int:
                        number = session["ordinal"]
                entries, actions = entries_of.get(name, []), actions_of.get(name, [])
                stored = _Stored(session, tables_of.get(name, []), entries, actions)
                found = _session(connection, run["opening"], stored, judged.get(name, []))
                problems += _guarded(where_it_is, found)
                head = chain.joined(head, session["opening"])
                rows = stored.rows
                latest = rows[-1]["chain"] if rows else session["opening"]
                mark = chain.joined(mark, session["seal"] or latest)
                messages += len(rows)
                actions_made += len(rows) if rows is actions else 0
    if number != run["opened"] or head != run["head"]:
        problems.append(
            Problem(where, f"it opened {run['opened']} sessions, and not those that are there")
        )
    return Mark(str(run["run"]), opened, messages, str(mark), actions_made), problems


class _Stored(NamedTuple):
    """A session's rows: entries of two agents, or the actions of a system's members."""

    session: chain.Row
    members: list[chain.Row]
    entries: list[chain.Row]
    actions: list[chain.Row]

    @property
    def rows(self) -> list[chain.Row]:
        return self.actions if self.session["channel"] else self.entries


def _session(
    connection: Connection, run_opening: str, stored: _Stored, judged: list[chain.Row]
) -> Iterator[Problem]:
    """What is wrong with a session; after the first changed row the chain is followed anew."""
    session, is_system = stored.session, bool(stored.session["channel"])
    name, what = session["session"], "action" if is_system else "message"
    where, chained = f"session {name}", chain.of_action if is_system else chain.of_entry
    if chain.of_session(run_opening, session, stored.members) != session["opening"]:
        yield Problem(where, "what it is about, or under which conditions, was changed")
    if stored.entries if is_system else stored.actions or stored.members:
        yield Problem(where, "it has messages of agents beside a system's actions")
    by_number = {number: list(rows) for number, rows in groupby(judged, lambda j: j["number"])}
    link, expected = session["opening"], 1
    for entry in stored.rows:
        number = entry["number"]
        if number != expected:
            yield Problem(f"{where}, {what} {expected}", f"it is missing: {number} comes next")
        elif chained(link, entry, by_number.pop(number, [])) != entry["chain"]:
            yield Problem(
                f"{where}, {what} {number}",
                "it, its judgements or its place in the chain was changed",
            )
        link, expected = entry["chain"], (number if type(number) is int else expected) + 1
    closing = by_number.pop(expected, []) if session["ending"] is not None else []
    if by_number:
        yield Problem(
            where, f"it has judgements of {what}s that it has not: {sorted(by_number, key=str)}"
        )
    if session["ending"] is not None:
        if session["length"] != expected - 1:
            yield Problem(
                where, f"it ended after {session['length']} {what}s and has {expected - 1}"
            )
        elif chain.of_closing(link, session, closing) != session["seal"]:
            yield Problem(where, "its ending, or what led to it, was changed")
    if is_system:
        yield from _legal_actions(connection, session)
    else:
        yield from _legal(session, stored.entries)


def _legal(session: chain.Row, entries: list[chain.Row]) -> Iterator[Problem]:
    """Whether the automaton allows the conversation, where the table is one of the package's."""
    if session["automaton"] not in BUILTIN:
        return
    automaton = builtin(session["automaton"])
    if automaton.fingerprint != session["fingerprint"]:
        return
    empty = Answer("", "")
    messages = [
        Message(e["session"], e["number"], e["sender"], e["tag"], empty, e["receiver"])
        for e in entries
    ]
    for agent in (session["initiator"], session["responder"]):
        try:
            trace(automaton, messages, agent, over=False)
        except Refused as error:
            yield Problem(f"session {session['session']}", str(error))
            return


def _legal_actions(connection: Connection, session: chain.Row) -> Iterator[Problem]:
    """Whether the tables, which are stored, allow the actions over the channel, in this order."""
    where = f"session {session['session']}"
    system = stored_system(members_of(connection, session["session"]), session["channel"])
    if system.fingerprint != session["fingerprint"]:
        yield Problem(where, "its tables are not those that it is said to follow")
        return
    live = LiveSystem(system)
    for occurrence in occurrences(connection, session["session"]):
        try:
            live.take(occurrence.action, occurrence.letter)
        except Refused as error:
            yield Problem(f"{where}, action {occurrence.number}", str(error))
            return


def _grouped(connection: Connection, table: Any, names: list[str]) -> dict[str, list[chain.Row]]:
    keys = list(table.primary_key.columns)
    query = select(table).where(table.c.session.in_(names)).order_by(*keys)
    rows = connection.execute(query).mappings().all()
    grouped: dict[str, list[chain.Row]] = {}
    for row in rows:
        grouped.setdefault(row["session"], []).append(row)
    return grouped


def _texts(connection: Connection) -> Iterator[Problem]:
    query = select(schema.texts)
    for digest, said, salt in connection.execute(query, execution_options=_STREAMED):
        if said is None and salt == "":
            continue  # see `erased_texts`
        if not chain.is_text_digest(digest, salt, said):
            used = connection.scalars(_USES, {"digest": digest}).fetchmany(_SHOWN)
            for where in used or (f"text {digest}",):
                yield Problem(where, f"its text {str(digest)[:12]} was changed")


def _prompts(connection: Connection) -> Iterator[Problem]:
    query = select(schema.prompts)
    for digest, salt, said in connection.execute(query, execution_options=_STREAMED):
        if said is None and salt == "":
            continue
        if not chain.is_salted_digest(digest, salt, said):
            yield Problem(f"prompt {str(digest)[:12]}", "it was changed")


def erased_texts(connection: Connection) -> Iterator[Problem]:
    """Every text and prompt that is empty without a record of it, or there in spite of one."""
    for said, query in _ERASURES.items():
        for session in connection.scalars(text(query)):
            yield Problem(f"session {session}", said)


_PLACES = {
    "entries": "'session ' || session || ', message ' || number",
    "actions": "'session ' || session || ', action ' || number",
    "judgements": "'session ' || session || ', a judgement of message ' || number",
    "members": "'session ' || session || ', a table'",
    "sessions": "'session ' || session",
    "calls": "'run ' || run || ', call ' || number",
}
_USES = text(
    " UNION ALL ".join(
        f"SELECT {_PLACES[column.table.name]} FROM {column.table.name} "  # noqa: S608 - our own names
        f"WHERE {column.name} = :digest"
        for column in (*schema.TEXTS_OF_SESSIONS, schema.members.c.table_digest)
    )
)
_USED = " UNION ALL ".join(
    f"SELECT session, {column.name} AS digest FROM {column.table.name} "  # noqa: S608 - our own names
    f"WHERE {column.name} IS NOT NULL"
    for column in schema.TEXTS_OF_SESSIONS
    if column.table is not schema.calls
)
_REPLIES = "SELECT session, reply_digest FROM calls WHERE reply_digest IS NOT NULL"
_ERASED = "(SELECT session FROM erasures WHERE texts IS NOT NULL)"
_ERASURES = {
    "a text of it is empty, and it was not erased": f"""
    SELECT DISTINCT used.session FROM ({_USED}) AS used JOIN texts ON texts.digest = used.digest
    WHERE texts.text IS NULL AND used.session NOT IN {_ERASED}
    """,  # noqa: S608 - our own words
    "a reply of a model to it is empty, and it was not erased": f"""
    SELECT DISTINCT COALESCE(calls.session, '(none)') FROM calls
    JOIN texts ON texts.digest = calls.reply_digest
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
    SELECT DISTINCT used.session FROM ({_USED} UNION ALL {_REPLIES}) AS used
    JOIN texts ON texts.digest = used.digest
    WHERE texts.text IS NOT NULL AND used.session IN (SELECT session FROM erasures)
    """,  # noqa: S608 - our own words
    "its erasure is not done": "SELECT session FROM erasures WHERE texts IS NULL",
}
_ROWS = {
    "entries": "messages",
    "actions": "actions",
    "members": "members",
    "judgements": "judgements",
    "sessions": "sessions",
    "erasures": "erasures",
}
_DANGLING_REFERENCES = {
    "sessions of no run": "SELECT session FROM sessions WHERE run NOT IN (SELECT run FROM runs)",
    **{
        f"{what} of no session": f"SELECT DISTINCT session FROM {table}"  # noqa: S608 - our own names
        " WHERE session NOT IN (SELECT session FROM sessions)"
        for table, what in _ROWS.items()
        if table != "sessions"
    },
    **{
        f"{_ROWS[table]} whose text is missing ({name})": f"SELECT DISTINCT session FROM {table}"  # noqa: S608 - our own names
        f" WHERE {name} NOT IN (SELECT digest FROM texts)"
        for table, name in (
            ("members", "table_digest"),
            *((column.table.name, column.name) for column in schema.TEXTS_OF_SESSIONS),
        )
        if table in _ROWS
    },
}


def _dangling_references(connection: Connection) -> Iterator[Problem]:
    for what, query in _DANGLING_REFERENCES.items():
        for name in connection.scalars(text(query)):
            yield Problem(f"session {name}", f"there are {what}")
