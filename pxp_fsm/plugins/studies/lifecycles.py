"""The lifecycle of a participant and of a study: the system that is proved, and that runs.

Members are the study, the guide (the server's side of one participant), the participant, whose
states are statuses, and the partner, the other side of a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from proofs.core.results import Result
from proofs.systems import check_formulas, check_standard
from pxp_fsm.automata.system import System
from pxp_fsm.automata.system_files import SystemFile, read_system

STUDY, GUIDE, PARTICIPANT, PARTNER = "study", "guide", "participant", "partner"
"""The members."""

FILE = Path(__file__).parent / "data" / "participation.toml"
"""The system file; `pxp check` takes it as any other."""

ENDED = ("CLOSED", "ANONYMISED")
"""The states of a study in which nobody can come any more."""
OVER = ("DECLINED", "ERASED", "ANONYMISED")
"""The statuses after which nothing of a participant is left to withdraw."""

IN_TIME = (
    (
        "whoever waits for a partner that has gone does not wait for ever",
        "G (event.LOST -> F !(participant@WAITING | participant@ANSWERING))",
        "weak:partner.GONE",
    ),
    (
        "what somebody said who has withdrawn is erased",
        "G (participant@WITHDRAWN -> F participant@ERASED)",
        "weak:guide.ERASED",
    ),
)
"""What holds if the server goes on: what it is about, the formula, the step that is not put off."""


@cache
def participation() -> System:
    """The system of one participant of a study."""
    return System.load(FILE)


@cache
def system_file() -> SystemFile:
    """What the file says beside it: the properties."""
    return read_system(FILE)


def prove() -> Iterator[Result]:
    """Check what the lifecycles must be: standard checks, machines among them, and formulas.

    Those of `IN_TIME` come last, under their fairness.
    """
    yield from check_standard(participation())
    formulas = [stated.formula for stated in system_file().properties]
    yield from check_formulas(participation(), formulas)
    for _about, formula, fairness in IN_TIME:
        yield from check_formulas(participation(), [formula], fair=[fairness])
