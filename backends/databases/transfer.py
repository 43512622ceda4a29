"""A run out of one blackboard and into another: the very rows, with their chain.

What goes out is what is stored, so that it can be verified wherever it comes in. What comes in is
somebody's file: every value is checked, the chain is followed, and it is all of it or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Executable, Select, Table, select, union

from backends.databases import chain, rows, schema
from backends.databases import direct as sql
from backends.databases.faults import explained
from backends.databases.verify import Mark, verify_run
from pxp_fsm.errors import BlackboardError, DataError, NotThere, quoted

FORMAT = "pxp-fsm blackboard"
READ = ("2", "3", schema.SCHEMA_VERSION)
"""The schema versions whose exports come in: their rows are today's, but for calls."""
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as it is exchanged: its columns, and which of them are numbers, reals or empty."""

    name: str
    columns: tuple[str, ...]
    whole: frozenset[str]
    real: frozenset[str]
    optional: frozenset[str]


def _shape(table: Table, without: tuple[str, ...] = ()) -> Shape:
    columns = [column for column in table.columns if column.name not in without]
    kinds = {column.name: column.type.python_type for column in columns}
    return Shape(
        table.name,
        tuple(kinds),
        frozenset(name for name, kind in kinds.items() if kind is int),
        frozenset(name for name, kind in kinds.items() if kind is float),
        frozenset(column.name for column in columns if column.nullable),
    )


SHAPES = {
    shape.name: shape
    for shape in (
        _shape(schema.texts),
        _shape(schema.runs, without=("ordinal",)),
        _shape(schema.sessions),
        _shape(schema.entries),
        _shape(schema.judgements),
        _shape(schema.calls),
    )
}
"""What is exchanged, in the order in which it comes in."""

Rows = Iterator[tuple[str, dict[str, Any]]]


def outgoing(engine: Engine, run: str) -> Rows:
    """Every row of `run` as (table, row), sorted by key; as it was at one instant.

    Raises `NotThere` where there is no such run.
    """
    shown = engine.url.render_as_string(hide_password=True)
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with explained(shown), engine.connect() as connection:
        r = schema.runs.c
        known = connection.scalars(select(r.run).order_by(r.ordinal)).all()
        if run not in known:
            raise NotThere(f"{shown} has no run {run!r}; there are: {', '.join(known) or 'none'}")
        for name, query in _queries(run):
            columns = SHAPES[name].columns
            options = {"yield_per": _BATCH}
            with connection.execute(query, execution_options=options) as result:
                for row in result:
                    yield name, dict(zip(columns, row, strict=True))


def _queries(run: str) -> Iterator[tuple[str, Select[Any]]]:
    t, r, s = schema.texts.c, schema.runs.c, schema.sessions.c
    e, j, c = schema.entries.c, schema.judgements.c, schema.calls.c
    mine = select(s.session).where(s.run == run)
    used = union(
        select(s.x_digest).where(s.run == run),
        select(e.prediction_digest).where(e.session.in_(mine)),
        select(e.explanation_digest).where(e.session.in_(mine)),
        select(c.reply_digest).where(c.run == run, c.reply_digest.is_not(None)),
    )
    chosen = {
        "texts": (schema.texts, t.digest.in_(used), [t.digest]),
        "runs": (schema.runs, r.run == run, [r.run]),
        "sessions": (schema.sessions, s.run == run, [s.ordinal]),
        "entries": (schema.entries, e.session.in_(mine), [e.session, e.number]),
        "judgements": (schema.judgements, j.session.in_(mine), [j.session, j.number, j.place]),
        "calls": (schema.calls, c.run == run, [c.number]),
    }
    for name, (table, wanted, order) in chosen.items():
        columns = [table.c[column] for column in SHAPES[name].columns]
        yield name, select(*columns).where(wanted).order_by(*order)


def incoming(engine: Engine, found: Rows, source: str) -> Mark:
    """Take in the rows that `outgoing` gave; the run's mark.

    Raises `DataError` where a row or the chain is not right, or the run is there already; nothing
    is stored then.
    """
    shown = engine.url.render_as_string(hide_password=True)
    with explained(shown), engine.execution_options(writes=True).begin() as connection:
        run, closings = None, list[dict[str, Any]]()
        for name, taken in _batches(_checked(found, source)):
            batch = taken
            if name == "runs":
                if run is not None or len(batch) != 1:
                    raise DataError(f"{source}: a file holds one run")
                run = batch[0]
                if connection.scalar(sql.RUN_OPENING, {"named": run["run"]}) is not None:
                    raise DataError(
                        f"{shown} has a run {quoted(run['run'])} already; give another database"
                    )
            elif name == "sessions":
                closings += [row for row in batch if row["ending"] is not None]
                batch = [{**row, **_OPEN} for row in taken]
            connection.execute(_STORE[name], batch)
        if run is None:
            raise DataError(f"{source}: it holds no run")
        _close(connection, closings)
        mark, problems = verify_run(connection, run)
        if problems:
            said = "; ".join(f"{p.where}: {p.what}" for p in problems[:5])
            raise DataError(f"{source}: its chain is broken, nothing was taken in: {said}")
    return mark


_OPEN = {"ending": None, "cause": None, "length": None, "seal": None}
_STORE: dict[str, Executable] = {
    "texts": sql.KEEP_TEXT,
    "runs": sql.ADD_RUN,
    "sessions": sql.ADD_SESSION,
    "entries": sql.ADD_ENTRY,
    "judgements": sql.ADD_JUDGEMENT,
    "calls": sql.ADD_CALL,
}


def _close(connection: Connection, closings: list[dict[str, Any]]) -> None:
    if closings:
        values = [{"named": row["session"], **{k: row[k] for k in _OPEN}} for row in closings]
        connection.execute(sql.CLOSE, values)


def _batches(found: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Consecutive rows of one table, some at a time."""
    waiting: list[dict[str, Any]] = []
    current = ""
    for name, row in found:
        if name != current or len(waiting) == _BATCH:
            if waiting:
                yield current, waiting
            current, waiting = name, []
        waiting.append(row)
    if waiting:
        yield current, waiting


def _checked(found: Rows, source: str) -> Rows:
    """The rows, each one a row of its table whose values every database keeps exactly."""
    for place, (name, row) in enumerate(found, start=1):
        where = f"{source}, row {place}"
        shape = SHAPES.get(name)
        if shape is None or set(row) != set(shape.columns):
            known = ", ".join(SHAPES)
            raise DataError(f"{where}: it is no row of one of the tables {known}")
        try:
            exact = {key: value for key, value in row.items() if key not in shape.real}
            limit = rows.GREATEST_SEED if name == "runs" else rows.GREATEST
            rows.check("it", exact, set(shape.whole), optional=shape.optional, greatest=limit)
        except BlackboardError as error:
            raise DataError(f"{where}: {error}") from error
        for key in shape.real:
            if row[key] is None and key in shape.optional:
                continue
            if type(row[key]) is not float or not math.isfinite(row[key]):
                raise DataError(f"{where}: {key} is no number")
        if name == "texts" and chain.text_digest(row["text"]) != row["digest"]:
            raise DataError(f"{where}: the text has not the digest under which it is kept")
        yield name, row
