"""What a withdrawal erases: the sessions of a participant, who they were, and their links."""

from __future__ import annotations

from collections.abc import Iterable

from backends.databases import SqlBlackboard, disclosure, erasure
from pxp_fsm.errors import BlackboardError, NotThere


def erase_runs(board: SqlBlackboard, names: Iterable[str]) -> bool:
    """Erase the sessions of these runs or sessions, as far as they are stored; whether all were.

    False where another process works on one of them: nothing of that one is erased then.
    """
    for name in names:
        try:
            erasure.erase(board, erasure.sessions_of(board, [name]))
        except NotThere:
            continue
        except BlackboardError:
            return False
    return True


def forget(board: SqlBlackboard, run: str, subject: str | None = None) -> bool:
    """Remove who `subject` of `run` was, and their links (None: everybody's); whether it is clean.

    False where pages of the database's files may still hold it, since another process has them
    open.
    """
    disclosure.forget(board, run, subject)
    try:
        erasure.clean(board)
    except BlackboardError:
        return False
    return True
