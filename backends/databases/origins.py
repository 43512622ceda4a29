"""Origins: the stored session, and its message, from which a run carries a session on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pxp_fsm.errors import UsageError, quoted

ORIGIN = "origin"
"""The key under which the plan of a run says what its sessions carry on."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Message (or action) `number` of the stored `session`; 0 is before its first.

    >>> Origin.read("drug-1/1/3@2")
    Origin(session='drug-1/1/3', number=2)
    """

    session: str
    number: int

    def __str__(self) -> str:
        return f"{self.session}@{self.number}"

    @staticmethod
    def read(text: str) -> Origin:
        """The origin that `SESSION@NUMBER` means; `UsageError` where it means none."""
        session, _, number = text.rpartition("@")
        if not session or not number.isascii() or not number.isdigit() or len(number) > 9:
            raise UsageError(f"{quoted(text)} is no message of a session; write drug-1/1/3@2")
        return Origin(session, int(number))

    @property
    def in_plan(self) -> dict[str, dict[str, str | int]]:
        """What is stored of it in the plan of a run."""
        return {ORIGIN: asdict(self)}


def origin_of(plan: str) -> Origin | None:
    """What the sessions of a run with this stored plan carry on; None where they carry on none."""
    try:
        found = json.loads(plan).get(ORIGIN)
        session, number = found["session"], found["number"]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    fits = isinstance(session, str) and type(number) is int and number >= 0
    return Origin(session, number) if fits else None
