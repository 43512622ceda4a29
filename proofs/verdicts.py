"""What a check says: one of five verdicts, never more than was established."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from proofs.explore import Trace


class Status(StrEnum):
    """The verdicts. Bounded is never shown as proved."""

    HOLDS = "HOLDS"
    HOLDS_UP_TO = "HOLDS UP TO"
    FAILS = "FAILS"
    VACUOUS = "VACUOUS"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Verdict:
    """A status with what belongs to it.

    `detail` is the bound of HOLDS UP TO, the reason of UNKNOWN, or what was found; `trace` is the
    counterexample of FAILS, or a witness; `cycle` counts its last steps that repeat for ever.
    """

    status: Status
    detail: str = ""
    trace: Trace[Any] | None = None
    cycle: int = 0
