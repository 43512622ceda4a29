"""Which sessions are shown whole."""

from __future__ import annotations

from collections.abc import Sequence

from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted

WHOLE = 100
"""Sessions of a run that are shown whole unless told otherwise: the papers' five times twenty."""


def chosen(board: SqlBlackboard, runs: Sequence[str], which: str | None) -> dict[str, list[str]]:
    """The sessions to show whole, by run: a number of each run, `all`, or names joined by commas.

    A name is a session's or an instance's. Raises `UsageError` where a name is nobody's.
    """
    which = (which or str(WHOLE)).strip()
    if which == "all" or (which.isascii() and which.isdigit()):
        most = None if which == "all" else int(which[:12])
        return {
            run: [record.session for record in board.sessions(run, limit=most)] if most != 0 else []
            for run in runs
        }
    names = [name.strip() for name in which.split(",")]
    found: dict[str, list[str]] = {}
    seen = set()
    for run in runs:
        found[run] = []
        for record in board.sessions(run):
            hits = {record.session, record.instance.key}.intersection(names)
            if hits:
                seen |= hits
                found[run].append(record.session)
    unknown = [name for name in names if name not in seen]
    if unknown:
        raise UsageError(
            f"there is no session or instance {quoted(', '.join(unknown))}; --sessions takes a "
            f"number, all, or names of sessions or instances joined by commas"
        )
    return found
