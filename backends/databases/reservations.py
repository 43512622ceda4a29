"""Rows of attempts to ask a model, stored before each is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from backends.databases.records import Row, now
from pxp_fsm.prompting.model import Request
from pxp_fsm.protocol.messages import storable

RESERVATION = (
    "run",
    "number",
    "session",
    "purpose",
    "model",
    "reserved",
    "dollars",
    "settled",
    "created",
)
"""The columns of `reservations`."""


def reservation_row(model: str, request: Request, dollars: float | None) -> Row:
    """The row of an attempt that is about to be sent, but for its run and number."""
    return {
        "session": request.session or None,
        "purpose": storable(request.purpose),
        "model": storable(model),
        "reserved": dollars,
        "dollars": dollars,
        "settled": 0,
        "created": now(),
    }


_MOST_RETRIES = 1000
"""More than any version made; a file that comes in may say anything."""


def earlier_reservations(calls: Iterable[Row]) -> Iterator[Row]:
    """The attempts of calls of schema version 4 and before, which were recorded when all was over.

    `calls` are in the order of their runs and numbers.
    """
    for _run, of_run in groupby(calls, key=lambda call: call["run"]):
        number = 0
        for call in of_run:
            if call["cached"]:
                continue
            for left in range(min(call["retries"], _MOST_RETRIES), -1, -1):
                number += 1
                known = call["dollars"] is not None
                dollars = None if not known else 0.0 if left else call["dollars"]
                made = {name: call[name] for name in ("run", "session", "purpose", "model")}
                paid = {"reserved": dollars, "dollars": dollars, "settled": 1}
                yield {**made, "number": number, **paid, "created": call["created"]}
