"""Database engines for a file name or a URL: SQLite or PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from backends.databases import versions
from backends.databases.faults import translated_errors
from pxp_fsm.documents import nearest_file
from pxp_fsm.errors import BlackboardError, NotThere, UsageError, require_extra

_POSTGRESQL = ("postgresql", "postgres")
_EXAMPLES = "write sqlite:///FILE or postgresql://USER@HOST/NAME"


def database_url(name: str) -> URL:
    """The URL that `name` means: a URL as it is, anything else the path of an SQLite file."""
    if "://" not in name:
        return URL.create("sqlite", database=name)
    try:
        url = make_url(name)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise UsageError(f"this database URL cannot be read; {_EXAMPLES}") from error
    return url.set(drivername="postgresql+psycopg") if url.drivername in _POSTGRESQL else url


def open_engine(name: str, *, create: bool, current: bool = True, reading: bool = False) -> Engine:
    """An engine on a database with our schema; made there if the database is empty and `create`.

    A database that is refused is left as it is, to the byte; one that may not be written is opened
    for reading, and so is any other if `reading`. Raises `UsageError` where `name` cannot be read,
    `NotThere` where there is none, and `BlackboardError` where it cannot be opened, belongs to
    something else, or (if `current`) has another version of the schema.
    """
    url = database_url(name)
    shown = url.render_as_string(hide_password=True)
    path = file_of(url)
    if path is not None:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise NotThere(f"{path} is a pipe or a device, no database; give a file")
        if not create and not path.is_file():
            near = nearest_file(path)
            raise NotThere(f"there is no database {path}{near or '; a run creates one'}")
        if not path.parent.is_dir():
            raise NotThere(f"there is no folder {path.parent} for the database")
    looks = current or reading or not (path and _may_write(path))
    looked_at = path is not None and path.is_file() and looks
    with translated_errors(shown):
        engine = _engine(url, shown, path if looked_at else None)
        try:
            is_current = not current or versions.has_current_schema(
                engine, shown, may_be_empty=create
            )
            if looked_at and path is not None and _may_write(path) and not reading:
                engine.dispose()
                engine = _engine(url, shown)
            if current and create and engine.dialect.name == "sqlite":
                _use_write_ahead_log(engine)
            if not is_current:
                versions.create_schema(engine)
        except BaseException:
            engine.dispose()
            raise
    return engine


def file_of(url: URL) -> Path | None:
    """The file of an SQLite database; None for a server, or for one in memory."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


class Place:
    """The file of an SQLite database as it was when it was opened; `file` is None for others."""

    def __init__(self, file: Path | None, shown: str) -> None:
        self._file, self._shown = file, shown
        self._identity = self._found()

    def check(self) -> None:
        """SQLite would write on into a file that is gone, and nobody would find it."""
        if self._identity is not None and self._found() != self._identity:
            raise BlackboardError(
                f"{self._shown} was removed or replaced while it was in use, so nothing more is "
                f"written to it; put the file back, then resume the run"
            )

    def _found(self) -> tuple[int, int] | None:
        """What tells the file from another of its name; None where there is none."""
        try:
            status = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if status is None else (status.st_dev, status.st_ino)


def _may_write(path: Path) -> bool:
    """SQLite writes into the file, and makes others beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _engine(url: URL, shown: str, read: Path | None = None) -> Engine:
    """An engine that has not looked at anything yet; one that only reads the file `read`."""
    options = {} if read is None else {"creator": partial(_reader, read)}
    waits = _synchronous(url)
    if url.drivername.startswith(_POSTGRESQL):
        require_extra("postgresql", f"the database {shown}", {"psycopg": "psycopg"})
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise BlackboardError(f"{shown}: SQLite and PostgreSQL are supported; {_EXAMPLES}")
    try:
        engine = create_engine(url.difference_update_query(["synchronous"]), **options)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise BlackboardError(f"{shown}: the driver is not installed ({error})") from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", partial(_prepare_sqlite, waits))
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _reader(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, and makes no file beside `path` unless a log is there.

    A database with a write-ahead log that nobody has open has none beside it; SQLite reads it
    without making one only if it is told that nobody writes to it.
    """
    idle = not path.with_name(f"{path.name}-wal").exists() and _is_logged(path)
    options = "mode=ro&immutable=1" if idle else "mode=ro"
    uri = f"file:{quote(str(path.absolute()))}?{options}"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def _is_logged(path: Path) -> bool:
    """Whether a database that nobody has open has a write-ahead log.

    To close a file ends the locks that this process has on it, also those of SQLite: then another
    process would take a log that is in use away.
    """
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02"


def _synchronous(url: URL) -> str:
    """When SQLite waits for the disk: at checkpoints (`NORMAL`), or at each commit too (`FULL`).

    With a write-ahead log a process that is killed loses nothing either way. If the power fails,
    the last commits may be undone with `NORMAL`, one by one from the end, and none with `FULL`.
    """
    if url.get_backend_name() != "sqlite":
        return "NORMAL"
    wanted = url.query.get("synchronous", "NORMAL")
    if not isinstance(wanted, str) or wanted.upper() not in ("NORMAL", "FULL"):
        raise UsageError("synchronous in a database URL is NORMAL or FULL")
    return wanted.upper()


def _prepare_sqlite(synchronous: str, connection: Any, _record: Any) -> None:
    """Transactions begin where we say so, not where the driver thinks that they should."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "busy_timeout=30000",
        "foreign_keys=ON",
        "recursive_triggers=ON",
        f"synchronous={synchronous}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _use_write_ahead_log(engine: Engine) -> None:
    """Write-ahead logging, which stays on: readers and a writer do not wait for each other.

    Only for a database that has been found to be ours, or empty, and is to be written. Where
    another process holds it, that one has seen to it, or the next to open it will.
    """
    connection = engine.raw_connection()
    try:
        with suppress(sqlite3.OperationalError):
            connection.cursor().execute("PRAGMA journal_mode=WAL")
    finally:
        connection.close()


def _begin_sqlite(connection: Connection) -> None:
    """A transaction that will write takes the lock at once: two can then not block each other."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
