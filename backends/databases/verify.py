"""Verification of a blackboard: whether anything was changed after the fact, and where.

Every text is compared with its digest, every session's entries with their chain, every run with its
sessions, and every conversation with the automaton that it is said to follow. Who owns a database
can rewrite all of it, chain and all: against that, keep a run's `mark` elsewhere and compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, select, text

from backends.databases import chain, schema
from backends.databases.action_rows import members_of, occurrences
from backends.databases.definitions import changed_definitions
from backends.databases.engine import open_engine
from backends.databases.faults import translated_errors
from backends.databases.records import stored_system
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
    """A number that stands for all that a run holds now (SHA-256, hex)."""

    run: str
    sessions: int
    messages: int
    mark: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found: nothing wrong if there are no problems."""

    marks: tuple[Mark, ...]
    problems: tuple[Problem, ...]


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
        problems = [Problem(*found) for found in changed_definitions(connection)]
        for check in (_texts, _prompts, _dangling_references):
            problems += _guarded("the database", check(connection))
        marks: list[Mark] = []
        problems += _guarded("the database", _runs(connection, marks))
    return Report(tuple(marks), tuple(problems))


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
    number = messages = opened = 0
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
    if number != run["opened"] or head != run["head"]:
        problems.append(
            Problem(where, f"it opened {run['opened']} sessions, and not those that are there")
        )
    return Mark(str(run["run"]), opened, messages, str(mark)), problems


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
    for digest, said in connection.execute(query, execution_options=_STREAMED):
        if not isinstance(said, str) or chain.text_digest(said) != digest:
            used = connection.scalars(_USES, {"digest": digest}).fetchmany(_SHOWN)
            for where in used or (f"text {digest}",):
                yield Problem(where, f"its text {str(digest)[:12]} was changed")


def _prompts(connection: Connection) -> Iterator[Problem]:
    query = select(schema.prompts)
    for digest, salt, said in connection.execute(query, execution_options=_STREAMED):
        if not chain.is_salted_digest(digest, salt, said):
            yield Problem(f"prompt {str(digest)[:12]}", "it was changed")


_USES = text(
    """
    SELECT 'session ' || session || ', message ' || number FROM entries
    WHERE prediction_digest = :digest OR explanation_digest = :digest
    UNION ALL SELECT 'session ' || session || ', action ' || number FROM actions
    WHERE payload_digest = :digest OR memory_digest = :digest
    UNION ALL SELECT 'session ' || session || ', a table' FROM members
    WHERE table_digest = :digest
    UNION ALL SELECT 'session ' || session || ', its instance' FROM sessions
    WHERE x_digest = :digest
    UNION ALL SELECT 'run ' || run || ', call ' || number FROM calls WHERE reply_digest = :digest
    """
)
_DANGLING_REFERENCES = {
    "sessions of no run": "SELECT session FROM sessions WHERE run NOT IN (SELECT run FROM runs)",
    "messages of no session": "SELECT DISTINCT session FROM entries"
    " WHERE session NOT IN (SELECT session FROM sessions)",
    "actions of no session": "SELECT DISTINCT session FROM actions"
    " WHERE session NOT IN (SELECT session FROM sessions)",
    "members of no session": "SELECT DISTINCT session FROM members"
    " WHERE session NOT IN (SELECT session FROM sessions)",
    "actions whose text is missing": "SELECT DISTINCT session FROM actions"
    " WHERE payload_digest NOT IN (SELECT digest FROM texts)"
    " OR memory_digest NOT IN (SELECT digest FROM texts)",
    "a table that is missing": "SELECT DISTINCT session FROM members"
    " WHERE table_digest NOT IN (SELECT digest FROM texts)",
    "judgements of no session": "SELECT DISTINCT session FROM judgements"
    " WHERE session NOT IN (SELECT session FROM sessions)",
    "messages whose text is missing": "SELECT DISTINCT session FROM entries"
    " WHERE prediction_digest NOT IN (SELECT digest FROM texts)"
    " OR explanation_digest NOT IN (SELECT digest FROM texts)",
    "an instance that is missing": "SELECT session FROM sessions"
    " WHERE x_digest NOT IN (SELECT digest FROM texts)",
}


def _dangling_references(connection: Connection) -> Iterator[Problem]:
    for what, query in _DANGLING_REFERENCES.items():
        for name in connection.scalars(text(query)):
            yield Problem(f"session {name}", f"there are {what}")
