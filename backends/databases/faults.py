"""Database errors as messages with a remedy, and waiting for a lost connection."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from pxp_fsm.errors import BlackboardError

T = TypeVar("T")


class DatabaseUnavailable(BlackboardError):
    """The connection was cut or the database is restarting; the request may be repeated."""


@contextmanager
def translated_errors(doing: str) -> Iterator[None]:
    """Turn a database's own errors into `BlackboardError`s that say what to do."""
    try:
        yield
    except IntegrityError as error:
        raise BlackboardError(
            f"{doing}: refused by the database ({_reason(error)}); is a second process working on "
            f"the same run?"
        ) from error
    except (SQLAlchemyError, sqlite3.Error) as error:  # SQLite's own while it connects
        reason = _reason(error)
        remedy = next((hint for sign, hint in _REMEDIES.items() if sign in reason), "")
        kind = DatabaseUnavailable if _is_unavailable(error) else BlackboardError
        raise kind(f"{doing}: {reason}{remedy}") from error
    except UnicodeDecodeError as error:  # a name in the file, which SQLite wanted to quote
        raise BlackboardError(
            f"{doing}: database disk image is malformed, a name in it is not valid Unicode; put a "
            f"copy back"
        ) from error
    except UnicodeEncodeError as error:
        raise BlackboardError(f"{doing}: refused, a text is not valid Unicode ({error})") from error


def retried(work: Callable[[], T], patience: float) -> T:
    """`work`, tried again while the database is away, for `patience` seconds.

    A commit whose answer was lost may have been done: `work` must find out.
    """
    until, pause = time.monotonic() + patience, 0.05
    while True:
        try:
            return work()
        except DatabaseUnavailable:
            if time.monotonic() + pause > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 1.0)


def _reason(error: Exception) -> str:
    """The database's own words, on one line; what was to be stored may be long."""
    words = " ".join(str(getattr(error, "orig", None) or error).split())
    return words if len(words) <= 400 else f"{words[:400]}…"


_TEMPORARY = ("08", "40", "57P", "53300")
"""SQLSTATEs (their beginnings) that pass: no connection, deadlock, restart, too many clients."""


def _is_unavailable(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", "no such thing")
    if state is None:
        return isinstance(error, OperationalError)
    return isinstance(state, str) and state.startswith(_TEMPORARY)


_REMEDIES = {
    "disk is full": "; what was stored before is kept: make room, then resume the run",
    "No space left": "; what was stored before is kept: make room, then resume the run",
    "File too large": "; what was stored before is kept: make room, then resume the run",
    "disk I/O error": "; what was stored before is kept: check the disk, then resume the run",
    "malformed": "; put a copy back",
    "readonly database": "; give a database that may be written",
    "unable to open": "; check the path and its permissions",
    "not a database": "; give the path of a database, or a new name where one is to be made",
    "is locked": "; another process is writing to it: wait, or use another database",
    "password authentication": "; check user and password in the URL",
    "onnection refused": "; is the server running, and are host and port right?",
}
