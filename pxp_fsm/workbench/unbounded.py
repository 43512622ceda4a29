"""`pxp check --channel fifo`: channels without a bound, for every capacity or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator

from proofs.effort import UNLIMITED, Effort
from proofs.systems import System
from proofs.systems.compatibility import MOST_STATES, TITLES, search_unbounded
from proofs.verdicts import Result, Status, Verdict
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.workbench.checks import Request

UNBOUNDED = "fifo"
"""The channel without a capacity."""


def lines(request: Request, system: System) -> Iterator[Result]:
    """A line for each property that k-multiparty compatibility answers, with k up to `request.k`.

    Raises `UsageError` for formulas and properties that are asked of bounded channels alone.
    Interrupted, it gives the lines so far, and one for what was not decided, before
    `KeyboardInterrupt` goes on.
    """
    _refuse_others(request)
    effort = Effort(request.limit or MOST_STATES, request.memory or UNLIMITED)
    started, found, left = time.perf_counter(), dict[str, Verdict](), ""
    stopped = None
    try:
        for name, verdict in search_unbounded(system, request.k, effort):
            found[name] = verdict
    except KeyboardInterrupt as error:
        stopped, left = error, f"interrupted: {effort.latest or 'at once'}"
    except MemoryError:
        left = f"the memory is used up: {effort.latest or 'at once'}"
    seconds = (time.perf_counter() - started) / len(TITLES)
    for name in TITLES:
        if name in (request.names or TITLES):
            verdict = found.get(name, Verdict(Status.UNKNOWN, left))
            yield Result(
                system.name,
                name,
                TITLES[name],
                "free guards, fifo of any capacity",
                verdict,
                Status.HOLDS,
                seconds,
                f"{system.name} over {UNBOUNDED}",
            )
    if stopped is not None:
        raise stopped


def _refuse_others(request: Request) -> None:
    if request.formulas or request.termination:
        raise UsageError(
            "--channel fifo has no bound, over which neither formulas nor termination are checked; "
            "write fifo:C"
        )
    others = {
        "--relations": request.relations is not None,
        "--values": request.values is not None,
        "--reduce": request.reduce is not None,
        "--fair": bool(request.fair),
        "--runs": request.runs != "complete",
    }
    for option, given in others.items():
        if given:
            raise UsageError(f"{option} does not go with --channel fifo; leave one of them out")
    unknown = [name for name in request.names if name not in TITLES]
    if unknown:
        raise UsageError(
            f"{quoted(unknown[0])} is not asked of channels without a bound; there are: "
            f"{', '.join(TITLES)}; or write fifo:C"
        )
