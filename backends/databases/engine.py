"""Opening a database: any SQLAlchemy URL or a file name; faults in words a person can act on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from backends.databases import schema
from pxp_fsm.errors import BlackboardError
from pxp_fsm.messages import Tag


def database_url(name: str) -> URL:
    """The URL that `name` means: a URL as it is, anything else the path of an SQLite file."""
    if "://" not in name:
        return URL.create("sqlite", database=name)
    try:
        return make_url(name)
    except ArgumentError as error:
        raise BlackboardError(
            "this database URL cannot be read; write sqlite:///FILE or "
            "postgresql+psycopg://USER@HOST/NAME"
        ) from error


def open_engine(name: str, *, create: bool) -> Engine:
    """An engine on a database with our schema; made there if the database is empty.

    Raises `BlackboardError` where it cannot be opened, belongs to something else, or has another
    version of the schema; with `create` false also where it does not exist.
    """
    url = database_url(name)
    shown = url.render_as_string(hide_password=True)
    path = Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
    if path is not None and str(path) != ":memory:":
        if not create and not path.is_file():
            raise BlackboardError(f"there is no database {path}; `pxp run` makes one")
        if not path.parent.is_dir():
            raise BlackboardError(f"there is no folder {path.parent} to put the database in")
    with explained(shown):
        try:
            engine = create_engine(url)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise BlackboardError(f"{shown}: the driver is not installed ({error})") from error
        if url.get_backend_name() == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
        _check_or_create(engine, shown)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("foreign_keys=ON", "journal_mode=WAL", "busy_timeout=5000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _check_or_create(engine: Engine, shown: str) -> None:
    names = set(inspect(engine).get_table_names())
    if schema.about.name in names:
        query = select(schema.about.c.value).where(schema.about.c.key == "schema_version")
        with engine.connect() as connection:
            found = connection.scalar(query)
        if found != schema.SCHEMA_VERSION:
            raise BlackboardError(
                f"{shown} has schema version {found}, this program reads "
                f"{schema.SCHEMA_VERSION}; use the program that wrote it, or another database"
            )
        return
    if names:
        raise BlackboardError(f"{shown} holds other tables already; give a database of its own")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        for view in schema.VIEWS:
            connection.execute(text(view))
        connection.execute(schema.tags.insert(), [{"tag": str(tag)} for tag in Tag])
        connection.execute(
            schema.about.insert(), {"key": "schema_version", "value": schema.SCHEMA_VERSION}
        )


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn a database's own errors into `BlackboardError`s that say what to do."""
    try:
        yield
    except IntegrityError as error:
        raise BlackboardError(
            f"{what}: refused by the database ({error.orig}); is a second process working on "
            f"the same run?"
        ) from error
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error)
        remedy = next((hint for sign, hint in _REMEDIES.items() if sign in reason), "")
        raise BlackboardError(f"{what}: {reason}{remedy}") from error


_REMEDIES = {
    "disk is full": "; what was stored before is kept: make room, then resume the run",
    "disk I/O error": "; what was stored before is kept: check the disk, then resume the run",
    "readonly database": "; give a database that may be written",
    "unable to open": "; check the path and its permissions",
    "not a database": "; give the path of a database, or a new name",
    "is locked": "; another process is writing to it: wait, or use another database",
}
