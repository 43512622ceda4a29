"""Whether a name is that of a stored run or of a stored session."""

from __future__ import annotations

from backends.databases import SqlBlackboard
from pxp_fsm.cli.kinds import SESSION_NAME
from pxp_fsm.errors import NotThere, quoted


def find_session(name: str, database: str) -> bool:
    """Whether `name` means a session of the database, and not a run; `NotThere` for neither."""
    try:
        with SqlBlackboard(database, create=False) as board:
            board.run(name)
            return is_session(board, name)
    except NotThere as error:
        said = f"{quoted(name)} is no file and no name that pxp list shows, and {error}"
        raise NotThere(said) from error


def is_session(board: SqlBlackboard, name: str) -> bool:
    """Whether a session is meant, and not a run: one without a `/` is alone in the run it names."""
    if SESSION_NAME.fullmatch(name):
        return True
    found = board.listing(name, limit=2)
    return len(found) == 1 and found[0].session == name
