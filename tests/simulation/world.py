"""A world from a seed: its clock, the order in which tasks go on, and when a process dies.

A *moment* is a place where a process can die or a fault strike: each step of the event loop, each
statement and each commit that reaches the database, each request before and after it is billed.
A process that has died reaches neither database nor server any more, whatever its code still tries.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import selectors
import sqlite3
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

import psycopg
from sqlalchemy import event
from sqlalchemy.engine import Engine

T = TypeVar("T")


class Killed(BaseException):
    """The process is dead."""


class World:
    """What happens to a lab, drawn from `seed`; `counts` says how often each thing happened.

    At each moment the process is killed with the chance `kills`, and the database fails with the
    chance `faults`, each at most so often that the lab comes to its end. While it is `asleep`
    nothing happens.
    """

    def __init__(self, seed: int, kills: float = 0.0, faults: float = 0.0) -> None:
        self.random, self.salts = random.Random(seed), random.Random(seed)
        self.kills, self.faults = kills, faults
        self.counts: Counter[str] = Counter()
        self.dead = self.asleep = False
        self.left = {"kills": 12, "faults": 8}

    def moment(self, where: str) -> None:
        """Die here, perhaps."""
        if self.asleep:
            return
        if self.dead:
            raise Killed
        if self._strikes("kills", self.kills * (1 if where == "before a statement" else 8)):
            self.dead = True
            self.counts[f"killed {where}"] += 1
            raise Killed

    def fails(self, what: str) -> bool:
        """Whether the database fails here."""
        failed = not self.asleep and self._strikes("faults", self.faults)
        self.counts[what] += failed
        return failed

    def _strikes(self, kind: str, chance: float) -> bool:
        struck = chance > 0 and self.left[kind] > 0 and self.random.random() < chance
        self.left[kind] -= struck
        return struck


class _NoSelector(selectors.BaseSelector):
    """Nothing comes from outside: waiting only turns the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = key = selectors.SelectorKey(fileobj, int(fileobj), events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("every task waits for another")
        self.now += timeout
        return []

    def get_map(self) -> dict[Any, selectors.SelectorKey]:
        return self._keys


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is turned by waiting, and that goes on with any task."""

    def __init__(self, world: World) -> None:
        self._world, self._turning = world, _NoSelector()
        super().__init__(self._turning)

    def time(self) -> float:
        return self._turning.now

    def _run_once(self) -> None:
        ready: Any = self._ready  # type: ignore[attr-defined]
        self._world.random.shuffle(ready)
        if not self._world.dead:
            self._world.moment("at an await")
        super()._run_once()  # type: ignore[misc]


def live(world: World, work: Coroutine[Any, Any, T]) -> T:
    """What `work` comes to in this world, unless the process dies: `Killed`."""
    random.seed(world.salts.getrandbits(64))  # by which pauses between attempts are drawn
    loop = SimulatedLoop(world)
    loop.set_exception_handler(lambda _loop, _context: None)
    task = loop.create_task(work)
    try:
        return loop.run_until_complete(task)
    finally:
        world.dead = True  # nothing of what is left of it has any effect
        try:
            _die_away(loop)
            if task.done() and not task.cancelled():
                task.exception()
        finally:
            loop.close()


def _die_away(loop: SimulatedLoop) -> None:
    """What the dead still try comes to nothing."""
    loop.call_soon(loop.stop)  # whatever else has told it to
    loop.run_forever()
    for _ in range(1000):
        left = asyncio.all_tasks(loop)
        if not left:
            break
        for one in left:
            one.cancel()
        loop.run_until_complete(asyncio.wait(left, timeout=1))
    loop.run_until_complete(loop.shutdown_asyncgens())


# Databases


class _SqliteCursor(sqlite3.Cursor):
    def execute(self, statement: str, *given: Any) -> Any:
        assert isinstance(self.connection, _SqliteConnection)
        with self.connection.disturbed(statement):
            return super().execute(statement, *given)

    def executemany(self, statement: str, rows: Any, /) -> Any:
        assert isinstance(self.connection, _SqliteConnection)
        with self.connection.disturbed(statement):
            return super().executemany(statement, rows)


class _SqliteConnection(sqlite3.Connection):
    world: World

    def cursor(self, factory: Any = _SqliteCursor) -> Any:
        return super().cursor(factory)

    def commit(self) -> None:
        with self.disturbed("COMMIT"):
            super().commit()

    @contextmanager
    def disturbed(self, statement: str) -> Iterator[None]:
        commits = statement.startswith("COMMIT")
        what = "a commit" if commits else "a statement"
        self.world.moment(f"before {what}")
        if self.world.fails("the disk failed"):
            raise sqlite3.OperationalError("disk I/O error")
        yield
        if commits:
            self.world.moment("after a commit")


class _PostgresqlCursor(psycopg.Cursor[Any]):
    def execute(self, *given: Any, **more: Any) -> Any:
        assert isinstance(self.connection, _PostgresqlConnection)
        self.connection.disturb("a statement")
        return super().execute(*given, **more)


class _PostgresqlConnection(psycopg.Connection[Any]):
    world: World

    def commit(self) -> None:
        self.disturb("a commit")
        super().commit()
        if self.world.fails("the answer to a commit was lost"):
            self.close()
            raise psycopg.OperationalError("the connection was lost")
        self.world.moment("after a commit")

    def disturb(self, what: str) -> None:
        self.world.moment(f"before {what}")
        if self.world.fails("the connection was cut"):
            self.close()


@contextmanager
def databases_of(world: World) -> Iterator[None]:
    """In here every connection to a database is one of this world, and so are the salts of texts.

    The order of what is stored follows from them.
    """

    def connect(dialect: Any, _record: Any, given: Any, more: dict[str, Any]) -> Any:
        if dialect.name == "sqlite":
            made: Any = sqlite3.connect(*given, **more, factory=_SqliteConnection)
        else:
            made = _PostgresqlConnection.connect(*given, **more, cursor_factory=_PostgresqlCursor)
        made.world = world
        return made

    def salt(size: int) -> str:
        return world.salts.randbytes(size).hex()

    event.listen(Engine, "do_connect", connect)
    try:
        with patch.object(secrets, "token_hex", salt):
            yield
    finally:
        event.remove(Engine, "do_connect", connect)
