"""Whether tables, views and triggers of a database say what this program made them say.

A view or a trigger of the right name may say something else. On SQLite the statements themselves
are compared; PostgreSQL rewrites them, so that its views are compared with temporary ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from backends.databases import schema
from backends.databases.triggers import triggers
from backends.databases.views import VIEWS
from pxp_fsm.protocol.messages import Tag

_GONE = "it is gone"
_REPLACED = "it does not say what it said: it was replaced"

Finding = tuple[str, str]
"""Where something is not as it was made, and what."""


def changed_definitions(connection: Connection, unknown: list[Finding]) -> Iterator[Finding]:
    """Every table, view, trigger and tag that is missing, replaced or too many.

    Views that could not be compared are appended to `unknown`.
    """
    there = set(inspect(connection).get_table_names())
    missing = [name for name in schema.metadata.tables if name not in there]
    for name in missing:
        yield f"table {name}", _GONE
    yield from _views(connection, unknown)
    yield from _triggers(connection)
    if schema.tags.name not in missing:
        yield from _tags(connection)


def _tags(connection: Connection) -> Iterator[Finding]:
    known = {str(tag) for tag in Tag}
    found = set(connection.scalars(schema.tags.select()))
    for tag in sorted(known - found):
        yield "table tags", f"the tag {tag} is missing"
    for tag in sorted(map(str, found - known)):
        yield "table tags", f"there is no tag {tag!r}"


def _views(connection: Connection, unknown: list[Finding]) -> Iterator[Finding]:
    made: dict[str, str] = {}
    failure = ""
    if connection.dialect.name == "sqlite":
        query = text("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
        found = dict(map(tuple, connection.execute(query)))
        made = {name: f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items()}
    else:
        found = _definitions(connection, "current_schema()::regnamespace")
        try:
            made = _as_rewritten(connection)
        except DBAPIError as error:
            failure = str(error.orig).partition("\n")[0]
    for name in sorted(VIEWS):
        if name not in found:
            yield f"view {name}", _GONE
        elif failure:
            unknown.append((f"view {name}", f"no temporary view can be created ({failure})"))
        elif str(found[name]).split() != made[name].split():
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
    found = _sqlite_triggers(connection) if sqlite else _postgresql_triggers(connection)
    for name, table, statement in triggers(connection.dialect.name, columns):
        where = f"table {table}"
        made = (statement,) if sqlite else _parts(name, table, statement)
        one = found.pop(name, None)
        if one is None:
            yield where, f"the trigger {name}, which guards it, is gone"
        elif one != (table, *made):
            yield where, f"the trigger {name}, which guards it, was replaced or disabled"
    for name, other in sorted(found.items()):
        yield f"table {other[0]}", f"the trigger {name} is not one of ours"


def _sqlite_triggers(connection: Connection) -> dict[str, tuple[object, ...]]:
    query = text("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
    return {name: (table, said) for name, table, said in connection.execute(query)}


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
    found = re.search(rf"BEFORE (\w+) ON {table} FOR EACH (\w+)", made)
    event, each = found.groups() if found else ("", "")
    kind = _BEFORE + _EVENTS[event] + (_ROW if each == "ROW" else 0)
    return body, kind, name, True
