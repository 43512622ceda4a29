"""What ended a session by a fault, for whoever watches a run: the cause, and a user's traceback."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from backends.databases import FAULTS as UNCOUNTED
from backends.databases import SqlBlackboard
from pxp_fsm.protocol.messages import printable
from pxp_fsm.protocol.rules import FAULTS, Ending

_MOST = 20
"""Causes that are reported while a run goes on; a cause is reported once."""


class Ended(Protocol):
    """A session that is over."""

    name: str
    ending: Ending | None
    cause: str
    fault: Exception | None


class Reporter:
    """Reports what ended sessions by a fault, each cause once, line by line."""

    def __init__(self) -> None:
        self._known = set[str]()

    def lines(self, session: Ended) -> Iterator[str]:
        """The cause, if it is a new one, and the traceback of what a user's own code raised."""
        new = session.cause not in self._known and len(self._known) < _MOST
        if session.ending is None or session.ending not in FAULTS or not new:
            return
        self._known.add(session.cause)
        yield f"Session {session.name} ended by a fault, {session.ending.value}: {session.cause}"
        if session.fault is not None:
            for text in traceback.format_exception(session.fault):
                yield from text.splitlines()


def log(line: str) -> None:
    """Report a line to whoever calls from Python: on standard error, unless logging says else."""
    logging.getLogger("pxp_fsm").warning("%s", printable(line))


def causes(board: SqlBlackboard, run: str, most: int = 3) -> Iterator[str]:
    """The most frequent causes that ended sessions of `run` by a fault, and how often they did."""
    ended = [one for one in board.sessions(run) if one.ending in UNCOUNTED]
    counts = Counter(f"{one.ending}: {one.cause}" for one in ended)
    for cause, many in counts.most_common(most):
        yield f"  {cause} ({many} session{'' if many == 1 else 's'})"
    if len(counts) > most:
        yield f"  and {len(counts) - most} other causes"
