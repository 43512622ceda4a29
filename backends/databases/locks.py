"""A lock on a run: one process works on it at a time. It ends with its process.

Nothing is written and no clock is read: PostgreSQL keeps an advisory lock as long as the connection
lives; beside an SQLite file, another one is held locked. A process that was killed leaves no lock.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from pxp_fsm.errors import BlackboardError


class RunLocked(BlackboardError):
    """Another process works on the run."""


class RunLock(Protocol):
    """What is held while a run is worked on."""

    def release(self) -> None:
        """Let others have it."""


def lock_run(engine: Engine, run: str, *, shared: bool = False) -> RunLock:
    """Lock `run`; raises `RunLocked` where another process has.

    A `shared` lock is one of many that keep out a process that wants the run alone; workers have it
    while each locks its own part. Only PostgreSQL has such locks: `BlackboardError` elsewhere.
    """
    number = int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], signed=True)
    if engine.dialect.name == "postgresql":
        return _AdvisoryLock(engine, run, number, shared)
    if shared:
        raise BlackboardError("only a PostgreSQL blackboard can be shared by several workers")
    name = engine.url.database
    if not name or name == ":memory:":
        return _NoLock()
    return _LockedFile(Path(name), run, f"{number & (2**64 - 1):016x}")


def _locked(run: str) -> RunLocked:
    return RunLocked(
        f"another process is working on run {run}; nothing was changed: let it finish, or stop it"
    )


class _NoLock:
    """A database in memory belongs to one process."""

    def release(self) -> None:
        return


class _AdvisoryLock:
    def __init__(self, engine: Engine, run: str, number: int, shared: bool) -> None:
        self._connection: Connection = engine.connect().execution_options(
            isolation_level="AUTOCOMMIT"
        )
        self._number, self._kind = {"number": number}, "_shared" if shared else ""
        query = text(f"SELECT pg_try_advisory_lock{self._kind}(:number)")
        try:
            free = self._connection.scalar(query, self._number)
        except SQLAlchemyError:
            self._connection.close()
            raise
        if not free:
            self._connection.close()
            raise _locked(run)

    def release(self) -> None:
        with suppress(SQLAlchemyError):  # a connection that was cut holds no lock
            # said, and not left to the end of the connection, which the server may see later
            self._connection.scalar(
                text(f"SELECT pg_advisory_unlock{self._kind}(:number)"), self._number
            )
            self._connection.invalidate()
        with suppress(SQLAlchemyError):
            self._connection.close()


class _LockedFile:
    """SQLite's own lock on an empty file: the same on every system, gone with the process."""

    def __init__(self, database: Path, run: str, name: str) -> None:
        self._path = database.with_name(f"{database.name}-claim-{name}")
        while True:
            try:
                self._path.touch()
            except OSError as error:
                why = str(error.strerror).lower()
                raise BlackboardError(
                    f"{database}: run {run} cannot be worked on ({why}); give a database that may "
                    f"be written"
                ) from error
            before = self._identity()
            self._connection = sqlite3.connect(
                self._path, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                self._connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                self._connection.close()
                raise _locked(run) from error
            if before is not None and self._identity() == before:
                return
            self._connection.close()  # its last holder removed it in between

    def _identity(self) -> int | None:
        try:
            return self._path.stat().st_ino
        except FileNotFoundError:
            return None

    def release(self) -> None:
        with suppress(OSError):  # on Windows an open file stays; it holds no lock
            self._path.unlink()
        self._connection.close()
