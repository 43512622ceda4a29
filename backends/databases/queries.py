"""Queries of a blackboard: runs, sessions and calls as they were recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import datetime

from sqlalchemy import Connection, TextClause, bindparam, case, func, select, text

from backends.databases import chain, schema
from backends.databases.records import (
    Cost,
    Erasure,
    RunRecord,
    RunSummary,
    SessionLine,
    SessionRecord,
)
from backends.databases.rows import members_of
from backends.databases.schema import ERASED
from backends.databases.views import CAUSE, inlined
from pxp_fsm.prompting.model import Reply, Served, Spending, Stop, Usage
from pxp_fsm.protocol.messages import Instance


def runs(connection: Connection) -> tuple[RunRecord, ...]:
    """Every run, oldest first."""
    r = schema.runs.c
    query = select(*(r[field.name] for field in fields(RunRecord))).order_by(r.ordinal)
    return tuple(RunRecord(*row) for row in connection.execute(query))


def summaries(connection: Connection) -> tuple[RunSummary, ...]:
    """Every run, oldest first, with how many sessions it has and how many are over."""
    r, s = schema.runs.c, schema.sessions.c
    query = (
        select(r.run, r.task, r.created, func.count(s.session), func.count(s.ending))
        .join_from(schema.runs, schema.sessions, s.run == r.run, isouter=True)
        .group_by(r.ordinal, r.run, r.task, r.created)
        .order_by(r.ordinal)
    )
    return tuple(RunSummary(*row) for row in connection.execute(query))


def times(connection: Connection, session: str) -> tuple[float, ...]:
    """When `session` was opened, and each of its events stored, in seconds since 1970."""
    s, e = schema.sessions.c, schema.events.c
    opened = connection.scalars(select(s.created).where(s.session == session)).all()
    stored = select(e.created).where(e.session == session).order_by(e.number)
    return tuple(map(_seconds, [*opened, *connection.scalars(stored)]))


def latest_events(connection: Connection, run: str) -> dict[str, float]:
    """When the latest event of each session of `run` was stored, since 1970."""
    e, s = schema.events.c, schema.sessions.c
    query = (
        select(e.session, func.max(e.created))
        .join(schema.sessions, s.session == e.session)
        .where(s.run == run)
        .group_by(e.session)
    )
    return {session: _seconds(created) for session, created in connection.execute(query)}


def event_time(connection: Connection, session: str, number: int) -> float | None:
    """When event `number` of a session was stored, since 1970; None where none was."""
    e = schema.events.c
    query = select(e.created).where(e.session == session, e.number == number)
    created = connection.scalar(query)
    return None if created is None else _seconds(created)


def _seconds(created: str) -> float:
    return datetime.fromisoformat(created).timestamp()


_SESSIONS = f"""
    SELECT s.session, s.run, s.repetition, s.position, s.instance,
           COALESCE(texts.text, '{ERASED}') AS x, s.protocol,
           s.n, s.k, s.automaton, s.fingerprint, s.memo, s.assumptions, s.initiator,
           s.initiator_description, s.responder, s.responder_description, s.ending,
           {CAUSE} AS cause,
           COALESCE(s.length, (SELECT COUNT(*) FROM events WHERE events.session = s.session))
             AS messages, s.subject, s.channel, s.faults
    FROM runs
    JOIN sessions AS s ON s.run = runs.run
    JOIN texts ON texts.digest = s.x_digest
    LEFT JOIN texts AS causes ON causes.digest = s.cause_digest
"""  # noqa: S608 - our own words
_ORDER = " ORDER BY runs.ordinal, s.repetition, s.position"
_NAMED = text(f"{_SESSIONS} WHERE s.session IN :names").bindparams(
    bindparam("names", expanding=True)
)


def sessions(
    connection: Connection, run: str | None, limit: int | None
) -> tuple[SessionRecord, ...]:
    """The sessions of `run`, or of all runs, in the order in which they were planned."""
    query, values = _SESSIONS, dict[str, object]()
    if run is not None:
        query, values = f"{query} WHERE s.run = :run", {"run": run}
    query += _ORDER
    if limit is not None:
        query, values = f"{query} LIMIT :limit", {**values, "limit": limit}
    return _records(connection, query, values)


def listing(
    connection: Connection, run: str | None, limit: int | None, skipped: int
) -> tuple[SessionLine, ...]:
    """A line for each session of `run`, or of all runs, in the order in which they were started.

    Run by run, each through its index: nothing is sorted, and no text is read.
    """
    r, h, lines = schema.runs.c, schema.heads.c, list[SessionLine]()
    chosen = (
        select(r.run, h.number)
        .join(schema.heads, (h.kind == "sessions") & (h.name == r.run))
        .order_by(r.ordinal)
    )
    if run is not None:
        chosen = chosen.where(r.run == run)
    for name, opened in connection.execute(chosen).all():
        if skipped >= opened:
            skipped -= opened
            continue
        wanted = opened - skipped if limit is None else min(opened - skipped, limit - len(lines))
        values = {"run": name, "after": skipped, "to": skipped + wanted}
        lines += map(SessionLine._make, connection.execute(_LINES, values))
        skipped = 0
        if limit is not None and len(lines) >= limit:
            break
    return tuple(lines)


_LINES = text(
    f"""
    SELECT session, run, instance, protocol, n, k,
           COALESCE(length, (SELECT COUNT(*) FROM events WHERE events.session = s.session)),
           ending, {CAUSE}
    FROM sessions AS s LEFT JOIN texts AS causes ON causes.digest = s.cause_digest
    WHERE run = :run AND ordinal > :after AND ordinal <= :to ORDER BY ordinal
    """  # noqa: S608 - our own words
)


def sessions_at(
    connection: Connection, run: str, repetition: int, first: int, last: int
) -> tuple[SessionRecord, ...]:
    """The sessions of one repetition of `run` at the positions `first` to `last`, in order."""
    where = " WHERE s.run = :run AND s.repetition = :repetition"
    query = f"{_SESSIONS}{where} AND s.position BETWEEN :first AND :last{_ORDER}"
    place = {"run": run, "repetition": repetition, "first": first, "last": last}
    return _records(connection, query, place)


_DIRECTIONS = text(
    inlined(
        """
    SELECT directions.agent, directions.partner, COUNT(*), SUM(one_way), SUM(strong),
           SUM(ultra_strong)
    FROM directions JOIN sessions ON sessions.session = directions.session
    WHERE sessions.run = :run
    GROUP BY directions.agent, directions.partner ORDER BY directions.agent, directions.partner
    """,
        "directions",
    )
)


def directions(connection: Connection, run: str) -> tuple[tuple[str, str, int, int, int, int], ...]:
    """In how many sessions of `run` an agent sent tags to another, and those of each class."""
    return tuple(
        (agent, partner, *map(int, counts))
        for agent, partner, *counts in connection.execute(_DIRECTIONS, {"run": run})
    )


def session(connection: Connection, name: str) -> SessionRecord | None:
    """The record of one session, or None."""
    records = _records(connection, f"{_SESSIONS} WHERE s.session = :session", {"session": name})
    return records[0] if records else None


def sessions_named(connection: Connection, names: Sequence[str]) -> dict[str, SessionRecord]:
    """The records of the sessions of `names`; of those that are there."""
    records = _records(connection, _NAMED, {"names": list(names)})
    return {record.session: record for record in records}


def _records(
    connection: Connection, query: str | TextClause, values: dict[str, object]
) -> tuple[SessionRecord, ...]:
    shared = dict[tuple[str, ...], tuple[tuple[str, str], ...]]()
    records = []
    statement = text(query) if isinstance(query, str) else query
    for row in connection.execute(statement, values).all():
        (name, run, repetition, position, key, x, protocol, n, k, automaton, fingerprint) = row[:11]
        memo, assumptions, *agents, ending, cause, messages, subject, channel, faults = row[11:]
        initiator, initiator_is, responder, responder_is = agents
        pair = shared.setdefault(
            tuple(agents),
            ((initiator, initiator_is), (responder, responder_is))[: 2 if responder else 1],
        )
        members = members_of(connection, name) if channel or faults else ()
        if members and not channel:
            pair = tuple((member.name, member.description) for member in members)
        records.append(
            SessionRecord(
                name,
                run,
                repetition,
                position,
                Instance(key, x),
                protocol,
                n,
                k,
                automaton,
                fingerprint,
                bool(memo),
                tuple(assumptions.split()),
                pair,
                ending,
                cause,
                messages,
                subject,
                channel,
                faults,
                members,
            )
        )
    return tuple(records)


def erasures(connection: Connection, run: str) -> tuple[Erasure, ...]:
    """The sessions of `run` whose texts were erased, in order."""
    x, s = schema.erasures.c, schema.sessions.c
    query = (
        select(x.session, x.created, x.texts, x.prompts)
        .join(schema.sessions, s.session == x.session)
        .where(s.run == run)
        .order_by(s.ordinal)
    )
    return tuple(Erasure(*row) for row in connection.execute(query))


def costs(connection: Connection, run: str) -> tuple[Cost, ...]:
    """What a run's calls took, by purpose and model."""
    query = (
        "SELECT purpose, model, calls, cached, failed, retries, sent, received, cache_read, "
        "cache_written, dollars, seconds, attempts, unsettled FROM costs WHERE run = :run "
        "ORDER BY purpose, model"
    )
    return tuple(
        Cost(
            row.purpose,
            row.model,
            int(row.calls),
            int(row.cached),
            int(row.failed),
            int(row.retries),
            Usage(*map(int, (row.sent, row.received, row.cache_read, row.cache_written))),
            row.dollars,
            row.seconds,
            int(row.attempts),
            int(row.unsettled),
        )
        for row in connection.execute(text(inlined(query, "costs")), {"run": run})
    )


def spending(connection: Connection, run: str) -> Spending:
    """What a run has spent on models, with each attempt whose end is not known in full."""
    r, p = schema.reservations.c, schema.settlements.c
    dollars = case((p.number.is_(None), r.reserved), else_=p.dollars)
    query = (
        select(
            func.count(),
            func.coalesce(func.sum(dollars), 0.0),
            func.count() - func.count(dollars),
            func.coalesce(func.max(case((p.dollars > r.reserved, 1), else_=0)), 0),
        )
        .select_from(schema.reservations)
        .join(schema.settlements, (p.run == r.run) & (p.reservation == r.number), isouter=True)
        .where(r.run == run)
    )
    calls, total, unpriced, exceeded = connection.execute(query).one()
    return Spending(int(calls), float(total), int(unpriced), bool(exceeded))


def replies(connection: Connection, run: str) -> Iterator[tuple[tuple[str, str, int], Reply]]:
    """What each model replied to what: the first reply to each (model, prompt, epoch)."""
    c, t, p = schema.calls.c, schema.texts.c, schema.prompts.c
    columns = [c.model, c.prompt, p.text.label("asked"), c.epoch]
    columns += [t.text, c.stop, c.sent, c.received]
    more = [c.cache_read, c.cache_written, c.request_id]
    query = (
        select(*columns, *more)
        .join(schema.texts, t.digest == c.reply_digest)
        .join(schema.prompts, p.digest == c.prompt, isouter=True)
        .where(c.run == run, t.text.is_not(None))
        .order_by(c.number)
    )
    known = set[tuple[str, str, int]]()
    for call in connection.execute(query):
        digest = call.prompt if call.asked is None else chain.text_digest(call.asked)
        asked = (call.model, digest, call.epoch)
        if asked not in known:
            known.add(asked)
            usage = Usage(call.sent, call.received, call.cache_read, call.cache_written)
            yield asked, Reply(call.text, Stop(call.stop), usage, Served(call.request_id))
