"""Schema versions: the check on opening, the schema of an empty database, and upgrades."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Dialect, Engine, inspect, select, text
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from backends.databases import schema
from backends.databases.locks import Locks
from backends.databases.triggers import triggers
from backends.databases.views import VIEWS
from pxp_fsm.errors import BlackboardError, NotThere, require_extra
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from alembic.config import Config


MIGRATIONS = ("backends.databases:migrations/versions",)
"""The folders with a migration for each version."""


def has_current_schema(engine: Engine, shown: str, *, may_be_empty: bool) -> bool:
    """Whether the database has the schema of this program; False where it is empty and may be.

    Nothing is written. Raises `BlackboardError` where it has another version, or other tables, and
    `NotThere` where it is empty.
    """
    with engine.connect() as connection:
        names = set(inspect(connection).get_table_names())
        version = version_of(connection, names)
    if version == schema.SCHEMA_VERSION:
        return True
    if version is not None:
        older = _number(version) < _number(schema.SCHEMA_VERSION)
        remedy = (
            "`pxp upgrade` brings it up to date"
            if older
            else "use the program that wrote it, or another database"
        )
        raise BlackboardError(
            f"{shown} has schema version {version}, this program reads "
            f"{schema.SCHEMA_VERSION}; {remedy}"
        )
    if names:
        raise BlackboardError(f"{shown} holds other tables already; give a database of its own")
    if not may_be_empty:
        raise NotThere(f"{shown} is empty: it has no runs")
    return False


def create_schema(engine: Engine) -> None:
    """Give an empty database the schema, unless another process just has."""
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7079792)"))
        if version_of(connection, set(inspect(connection).get_table_names())) is None:
            _create(connection)


def version_of(connection: Connection, names: set[str]) -> str | None:
    """The schema version of a database with the tables `names`, or None if it is none of ours."""
    if schema.version.name not in names:
        return None
    version = connection.scalar(select(schema.version.c.version_num))
    return None if version is None else str(version)


def _number(version: str) -> float:
    """The number of a version; infinite for one that none of ours has."""
    return int(version) if re.fullmatch("[0-9]{1,9}", version) else math.inf


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """What an upgrade would do: from which version to which, and what each step is."""

    before: str
    after: str
    steps: tuple[str, ...]


def plan_upgrade(engine: Engine, shown: str) -> UpgradePlan:
    """What `upgrade` would do to the database; nothing is written.

    Raises `BlackboardError` where it is no blackboard, or a newer one.
    """
    config = _migrations()
    from alembic.script import ScriptDirectory

    with engine.connect() as connection:
        version = _older(connection, set(inspect(connection).get_table_names()), shown)
    steps = ScriptDirectory.from_config(config).iterate_revisions(schema.SCHEMA_VERSION, version)
    descriptions = tuple(" ".join(step.doc.split()) for step in steps)
    return UpgradePlan(version, schema.SCHEMA_VERSION, descriptions[::-1])


def upgrade(engine: Engine, shown: str) -> tuple[str, str]:
    """Bring an older database up to date, all of it or nothing; the versions before and after.

    Raises `RunLocked` where a process of the older version still works on a run.
    """
    _require_migrations()
    from alembic import command

    _refuse_while_worked_on(engine, shown)
    with _without_foreign_keys(engine) as connection:
        names = set(inspect(connection).get_table_names())
        version = _older(connection, names, shown)
        if version == schema.SCHEMA_VERSION:
            return version, version
        _drop_views_and_triggers(connection)
        command.upgrade(_migrations(connection), schema.SCHEMA_VERSION)
        create_views_and_triggers(connection)
        _check_references(connection, shown)
    return version, schema.SCHEMA_VERSION


def _refuse_while_worked_on(engine: Engine, shown: str) -> None:
    with engine.connect() as connection:
        there = schema.runs.name in inspect(connection).get_table_names()
        runs = connection.scalars(select(schema.runs.c.run)).all() if there else ()
    locks = Locks(engine, shown, patience=0.0)
    for run in runs:
        locks.take(run)
        locks.free(run)


@contextmanager
def _without_foreign_keys(engine: Engine) -> Iterator[Connection]:
    """A transaction in which SQLite lets a table be made anew that others refer to."""
    with engine.execution_options(writes=True).connect() as connection:
        if connection.dialect.name != "sqlite":
            with connection.begin():
                yield connection
            return
        driver = connection.connection.cursor()
        driver.execute("PRAGMA foreign_keys=OFF")  # only before a transaction begins
        try:
            with connection.begin():
                yield connection
        finally:
            driver.execute("PRAGMA foreign_keys=ON")


def _check_references(connection: Connection, shown: str) -> None:
    """What SQLite did not look at meanwhile: rows that refer to what is not there."""
    if connection.dialect.name == "sqlite":
        strays = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        if strays:
            table, _row, missing, _key = strays[0]
            raise BlackboardError(
                f"{shown}: {len(strays):,} rows, one of {table} the first, refer to what is not in "
                f"{missing}; nothing was changed"
            )


def _older(connection: Connection, names: set[str], shown: str) -> str:
    """The version of a database that is ours, and not of a later program."""
    version = version_of(connection, names)
    if version is None:
        raise BlackboardError(f"{shown} is not a blackboard; nothing was changed")
    if _number(version) > _number(schema.SCHEMA_VERSION):
        raise BlackboardError(f"{shown} has schema version {version}, which this program is not")
    return version


def _require_migrations() -> None:
    require_extra("upgrade", "an upgrade", {"alembic": "Alembic"})


def _migrations(connection: Connection | None = None) -> Config:
    _require_migrations()
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "backends.databases:migrations")
    config.set_main_option("version_locations", "\n".join(MIGRATIONS))
    config.set_main_option("path_separator", "newline")
    return config


def _create(connection: Connection) -> None:
    kind: Callable[[], Dialect] = type(connection.dialect)
    cursor = connection.connection.cursor()
    for statement in _definitions(kind):
        cursor.execute(statement)
    create_views_and_triggers(connection)
    connection.execute(schema.version.insert(), {"version_num": schema.SCHEMA_VERSION})


@cache
def _definitions(kind: Callable[[], Dialect]) -> tuple[str, ...]:
    """The statements that make tables and indexes."""
    tables = schema.metadata.sorted_tables
    made: list[DDLElement] = [*map(CreateTable, tables)]
    for table in tables:
        made += [
            CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    return tuple(str(statement.compile(dialect=kind())) for statement in made)


def _drop_views_and_triggers(connection: Connection) -> None:
    """Take away every view and trigger of an older version: only tables and rows are migrated."""
    if connection.dialect.name == "sqlite":
        kinds = text("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
        for kind, name in connection.execute(kinds).all():
            connection.exec_driver_sql(f'DROP {kind} "{name}"')
        return
    for name in inspect(connection).get_view_names():
        connection.exec_driver_sql(f'DROP VIEW IF EXISTS "{name}" CASCADE')
    functions = text(
        "SELECT proname FROM pg_proc WHERE prorettype = 'trigger'::regtype "
        "AND pronamespace = current_schema()::regnamespace"
    )
    for name in connection.scalars(functions).all():
        connection.exec_driver_sql(f'DROP FUNCTION "{name}" CASCADE')


def create_views_and_triggers(connection: Connection) -> None:
    """Make the views and triggers."""
    cursor = connection.connection.cursor()
    for name, query in VIEWS.items():
        cursor.execute(f"CREATE VIEW {name} AS {query}")
    columns = {table.name: table.columns.keys() for table in schema.metadata.sorted_tables}
    for _name, _table, statement in triggers(connection.dialect.name, columns):
        cursor.execute(statement)
