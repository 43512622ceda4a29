"""`pxp check --channel fifo`: channels without a bound, for every capacity or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator

from proofs.systems import System
from proofs.systems.compatibility import MOST_STATES, TITLES, check_unbounded
from proofs.verdicts import Status
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.workbench.checks import Line, Request

UNBOUNDED = "fifo"
"""The channel without a capacity."""


def lines(request: Request, system: System) -> Iterator[Line]:
    """A line for each property that k-multiparty compatibility answers, with k up to `request.k`.

    Raises `UsageError` for formulas and properties that are asked of bounded channels alone.
    """
    if request.formulas or request.termination:
        raise UsageError(
            "--channel fifo has no bound, over which neither formulas nor termination are checked; "
            "write fifo:C"
        )
    unknown = [name for name in request.names if name not in TITLES]
    if unknown:
        raise UsageError(
            f"{quoted(unknown[0])} is not asked of channels without a bound; there are: "
            f"{', '.join(TITLES)}; or write fifo:C"
        )
    started = time.perf_counter()
    verdicts = check_unbounded(system, request.k, request.limit or MOST_STATES)
    seconds = (time.perf_counter() - started) / len(verdicts)
    for name, verdict in verdicts.items():
        if name in (request.names or TITLES):
            yield Line(
                system.name,
                name,
                TITLES[name],
                "free guards, fifo of any capacity",
                verdict,
                Status.HOLDS,
                verdict.status is Status.HOLDS,
                seconds,
                f"{system.name} over {UNBOUNDED}",
            )
