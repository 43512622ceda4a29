"""A lock on a run: one process works on it at a time. It ends with its process.

Nothing is written and no clock is read: PostgreSQL keeps an advisory lock as long as the connection
lives; beside an SQLite file, another one is held locked. A process that was killed leaves no lock.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
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


class Locks:
    """The locks on runs that one blackboard holds, in however many threads.

    On PostgreSQL one connection of the pool holds all of them: as many runs as one likes go on at
    once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held: dict[str, RunLock] = {}
        self._connection: Connection | None = None
        self._one_at_a_time = threading.Lock()

    def take(self, run: str, *, shared: bool = False) -> None:
        """Lock `run`, unless it is held; raises `RunLocked` where another process has.

        A `shared` lock is one of many that keep out a process that wants the run alone; workers
        have it while each locks its own part. Only PostgreSQL has such locks: `BlackboardError`
        elsewhere.
        """
        with self._one_at_a_time:
            if run not in self._held:
                self._held[run] = self._lock(run, shared)

    def free(self, run: str) -> None:
        """Let other processes have `run`."""
        with self._one_at_a_time:
            lock = self._held.pop(run, None)
            if lock is not None:
                lock.release()
            self._disconnect_if_idle()

    def free_all(self) -> None:
        """Let other processes have every run."""
        for run in tuple(self._held):
            self.free(run)

    def __contains__(self, run: str) -> bool:
        return run in self._held

    def _lock(self, run: str, shared: bool) -> RunLock:
        number = int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], signed=True)
        if self._engine.dialect.name == "postgresql":
            return self._advisory_lock(run, number, "_shared" if shared else "")
        if shared:
            raise BlackboardError("only a PostgreSQL blackboard can be shared by several workers")
        name = self._engine.url.database
        if not name or name == ":memory:":
            return _NoLock()
        return _LockedFile(Path(name), run, f"{number & (2**64 - 1):016x}")

    def _advisory_lock(self, run: str, number: int, kind: str) -> RunLock:
        if self._connection is not None and self._connection.invalidated:
            self._disconnect()
        if self._connection is None:
            options = {"isolation_level": "AUTOCOMMIT"}
            self._connection = self._engine.connect().execution_options(**options)
        lock = _AdvisoryLock(self._connection, number, kind)
        try:
            free = lock.is_free()
        except SQLAlchemyError:
            self._disconnect_if_idle()
            raise
        if not free:
            self._disconnect_if_idle()
            raise _locked(run)
        return lock

    def _disconnect_if_idle(self) -> None:
        if not self._held:
            self._disconnect()

    def _disconnect(self) -> None:
        """End the connection, and with it whatever it still locks."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.invalidate()
            with suppress(SQLAlchemyError):
                connection.close()


def _locked(run: str) -> RunLocked:
    return RunLocked(
        f"another process is working on run {run}; nothing was changed: let it finish, or stop it"
    )


class _NoLock:
    """A database in memory belongs to one process."""

    def release(self) -> None:
        return


class _AdvisoryLock:
    def __init__(self, connection: Connection, number: int, kind: str) -> None:
        self._connection, self._number, self._kind = connection, {"number": number}, kind

    def is_free(self) -> bool:
        """Take it, if nobody has it."""
        query = text(f"SELECT pg_try_advisory_lock{self._kind}(:number)")
        return bool(self._connection.scalar(query, self._number))

    def release(self) -> None:
        with suppress(SQLAlchemyError):  # a connection that was cut holds no lock
            # said, and not left to the end of the connection, which the server may see later
            self._connection.scalar(
                text(f"SELECT pg_advisory_unlock{self._kind}(:number)"), self._number
            )


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
