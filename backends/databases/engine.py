"""Opening a database: a file name or a URL, SQLite or PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from backends.databases import versions
from backends.databases.faults import explained
from pxp_fsm.errors import BlackboardError, NotThere

__all__ = ["database_url", "explained", "open_engine"]

_POSTGRESQL = ("postgresql", "postgres")
_EXAMPLES = "write sqlite:///FILE or postgresql://USER@HOST/NAME"


def database_url(name: str) -> URL:
    """The URL that `name` means: a URL as it is, anything else the path of an SQLite file."""
    if "://" not in name:
        return URL.create("sqlite", database=name)
    try:
        url = make_url(name)
    except (ArgumentError, ValueError) as error:
        raise BlackboardError(f"this database URL cannot be read; {_EXAMPLES}") from error
    return url.set(drivername="postgresql+psycopg") if url.drivername in _POSTGRESQL else url


def open_engine(name: str, *, create: bool, current: bool = True) -> Engine:
    """An engine on a database with our schema; made there if the database is empty.

    Raises `BlackboardError` where it cannot be opened, belongs to something else, or (if
    `current`) has another version of the schema; with `create` false also where it has none.
    """
    url = database_url(name)
    shown = url.render_as_string(hide_password=True)
    sqlite = url.get_backend_name() == "sqlite"
    path = Path(url.database) if sqlite and url.database else None
    if path is not None and str(path) != ":memory:":
        if not create and not path.is_file():
            raise NotThere(f"there is no database {path}; `pxp run` makes one")
        if not path.parent.is_dir():
            raise BlackboardError(f"there is no folder {path.parent} to put the database in")
    with explained(shown):
        engine = _engine(_readable(url, path) if not create else url, shown)
        if sqlite:
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        if current:
            try:
                versions.check_or_make(engine, shown, create=create)
                if sqlite and create:
                    _keep_a_log(engine)
            except BaseException:
                engine.dispose()
                raise
    return engine


def _engine(url: URL, shown: str) -> Engine:
    try:
        engine = create_engine(url)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        remedy = (
            "; pip install 'pxp-fsm[postgresql]'" if url.drivername.startswith(_POSTGRESQL) else ""
        )
        raise BlackboardError(f"{shown}: the driver is not installed ({error}){remedy}") from error
    if engine.dialect.name not in ("sqlite", "postgresql"):
        raise BlackboardError(f"{shown}: a blackboard is on SQLite or PostgreSQL; {_EXAMPLES}")
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Transactions begin where we say so, not where the driver thinks that they should."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "busy_timeout=30000",
        "foreign_keys=ON",
        "recursive_triggers=ON",
        "synchronous=FULL",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _keep_a_log(engine: Engine) -> None:
    """Write-ahead logging, which stays on: readers and a writer do not wait for each other.

    Only for a database that has been found to be ours, and is to be written.
    """
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode=WAL")
    finally:
        connection.close()


def _readable(url: URL, path: Path | None) -> URL:
    """For reading a file where nothing may be written: no log, no lock, no change."""
    if path is None or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return url
    query = {"mode": "ro", "immutable": "1", "uri": "true"}
    return url.set(database=f"file:{quote(str(path.absolute()))}", query=query)


def _begin_sqlite(connection: Connection) -> None:
    """A transaction that will write takes the lock at once: two can then not block each other."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
