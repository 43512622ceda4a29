"""A lock on a run: one process works on it at a time. It ends with its process.

Nothing is written and no clock is read: PostgreSQL keeps an advisory lock as long as the connection
lives; beside an SQLite file, another one is held locked. A process that was killed leaves no lock.
A connection that is cut ends its locks: they are taken again before more is stored, or it is said
that another process has one of them.
"""

from __future__ import annotations

import hashlib
import selectors
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from backends.databases.faults import retried, translated_errors
from pxp_fsm.errors import BlackboardError

_KEPT_ALIVE = text(
    "SELECT set_config('tcp_keepalives_idle', '15', false), "
    "set_config('tcp_keepalives_interval', '5', false), "
    "set_config('tcp_keepalives_count', '3', false)"
)
"""Half a minute after the machine of a process was lost, its server ends what it locked."""


class RunLocked(BlackboardError):
    """Another process works on the run."""


class RunLock(Protocol):
    """What is held while a run is worked on; `shared` by several processes, or by one alone."""

    shared: bool

    def release(self) -> None:
        """Let others have it."""


class Locks:
    """The locks on runs that one blackboard holds, in however many threads.

    On PostgreSQL one connection of the pool holds all of them: as many runs as one likes go on at
    once. A server that is away is waited for, `patience` seconds at most.
    """

    def __init__(self, engine: Engine, shown: str, patience: float) -> None:
        self._engine, self._shown, self._patience = engine, shown, patience
        self._held: dict[str, RunLock] = {}
        self._taken_over: set[str] = set()
        self._connection: Connection | None = None
        self._one_at_a_time = threading.Lock()

    def take(self, run: str, *, shared: bool = False) -> None:
        """Lock `run`, unless it is held; raises `RunLocked` where another process has.

        A `shared` lock is one of many that keep out a process that wants the run alone; workers
        have it. Who holds it alone may share it from then on; on SQLite another may get it alone
        in between, and this one is refused. A database in memory cannot be shared:
        `BlackboardError`.
        """

        def take() -> None:
            self._take_again()
            held = self._held.get(run)
            if held is None or (shared and not held.shared):
                if isinstance(held, _LockedFile):
                    self._held.pop(run).release()
                self._held[run] = self._lock(run, shared)
                self._taken_over.discard(run)
                if isinstance(held, _AdvisoryLock):  # only now: nobody gets it alone in between
                    held.release()

        self._patiently(take)

    def check(self, name: str) -> None:
        """Raise `RunLocked` where the lock on the run of `name` was lost, and another has it now.

        `name` is a run or one of its sessions. Where the connection was cut and nobody has taken
        the locks that it held, they are taken again.
        """
        if self._engine.dialect.name == "postgresql" and (self._held or self._taken_over):
            self._patiently(self._take_again)
            if any(f"{name}/".startswith(f"{self._run_of(lost)}/") for lost in self._taken_over):
                raise RunLocked(
                    f"the connection that locked the run of {name} was cut, and another process is "
                    f"working on the run now, so this one stores nothing more; let the other "
                    f"finish, or stop it and resume the run"
                )

    def _patiently(self, work: Callable[[], None]) -> None:
        """`work`, by one thread at a time, and again where the database was away."""

        def once() -> None:
            with translated_errors(self._shown), self._one_at_a_time:
                work()

        retried(once, self._patience)

    def _run_of(self, locked: str) -> str:
        """The run of a lock: of a part of one, that which is shared."""
        known = (*self._held, *self._taken_over)
        return next((run for run in known if locked.startswith(f"{run}/")), locked)

    def _take_again(self) -> None:
        """Take what was held by a connection that is lost."""
        server = self._engine.dialect.name == "postgresql"
        if not (server and self._held) or self._is_connected():
            return
        self._disconnect()
        for run, lock in self._held.items():
            try:
                self._held[run] = self._lock(run, lock.shared)
            except RunLocked:
                self._taken_over.add(run)
        for run in self._taken_over:
            self._held.pop(run, None)

    def _is_connected(self) -> bool:
        """Whether the connection that holds the locks lives; the server is asked where it spoke.

        A server that ends a connection says so: nothing is sent while nothing has come.
        """
        connection = self._connection
        if connection is None or connection.invalidated:
            return False
        driver: Any = connection.connection.driver_connection
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(driver.fileno(), selectors.EVENT_READ)
                silent = not selector.select(0)
            return silent or connection.scalar(text("SELECT true")) is True
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error):
            return False

    def free(self, run: str) -> None:
        """Let other processes have `run`."""
        with self._one_at_a_time:
            self._taken_over.discard(run)
            lock = self._held.pop(run, None)
            if lock is not None:
                lock.release()
            self._disconnect_if_idle()

    def free_all(self) -> None:
        """Let other processes have every run."""
        for run in (*self._held, *self._taken_over):
            self.free(run)

    def holds(self, run: str, shared: bool) -> bool:
        """Whether `run` is held; with `shared`, whether others may hold it too."""
        lock = self._held.get(run)
        return lock is not None and (lock.shared or not shared)

    def _lock(self, run: str, shared: bool) -> RunLock:
        number = int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], signed=True)
        if self._engine.dialect.name == "postgresql":
            return self._advisory_lock(run, number, shared)
        name = self._engine.url.database
        if name and name != ":memory:":
            return _LockedFile(Path(name), run, f"{number & (2**64 - 1):016x}", shared)
        if shared:
            raise BlackboardError("a database in memory cannot be shared by several workers")
        return _NoLock()

    def _advisory_lock(self, run: str, number: int, shared: bool) -> RunLock:
        if self._connection is not None and self._connection.invalidated:
            self._disconnect()
        if self._connection is None:
            options = {"isolation_level": "AUTOCOMMIT"}
            self._connection = self._engine.connect().execution_options(**options)
            self._connection.scalar(_KEPT_ALIVE)
        lock = _AdvisoryLock(self._connection, number, shared)
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

    shared = False

    def release(self) -> None:
        return


class _AdvisoryLock:
    def __init__(self, connection: Connection, number: int, shared: bool) -> None:
        self._connection, self._number, self.shared = connection, {"number": number}, shared
        self._kind = "_shared" if shared else ""

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

    def __init__(self, database: Path, run: str, name: str, shared: bool) -> None:
        self._path, self.shared = database.with_name(f"{database.name}-claim-{name}"), shared
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
            if not self._takes(shared):
                self._connection.close()
                raise _locked(run)
            if before is not None and self._identity() == before:
                return
            self._connection.close()  # its last holder removed it in between

    def _takes(self, shared: bool) -> bool:
        """Whether it is locked now: by a reader's lock if `shared`, else by a writer's."""
        try:
            if shared:
                self._connection.execute("BEGIN")
                self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            else:
                self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True

    def _identity(self) -> int | None:
        try:
            return self._path.stat().st_ino
        except FileNotFoundError:
            return None

    def release(self) -> None:
        if self.shared:
            self._connection.rollback()
        if not self.shared or self._takes(shared=False):  # the last of those who share it
            with suppress(OSError):  # on Windows an open file stays; it holds no lock
                self._path.unlink()
        self._connection.close()
