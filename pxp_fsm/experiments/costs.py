"""The running costs of a run's models, from its stored calls."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import field

from backends.databases import CallsOf, Cost, SqlBlackboard
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import NOTHING_SPENT, Call, CallLog


@dataclass(slots=True)
class Meter:
    """Hands each call to `kept` and keeps the sums; fills `CallLog`.

    `calls` are those that reached a server, `known` those that a cache answered; `sent` and
    `received` are tokens billed, `dollars` what they cost where that is known (`unpriced` calls
    are those where it is not).
    """

    kept: CallLog | None = None
    calls: int = 0
    known: int = 0
    failed: int = 0
    sent: int = 0
    received: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    clock: Callable[[], float] = time.monotonic
    _since: float = field(init=False)
    _before: int = 0

    def __post_init__(self) -> None:
        self._since = self.clock()

    def begin(self, costs: Iterable[Cost]) -> None:
        """Begin with what an interrupted run had cost; the rate is that of now."""
        self.add(costs)
        self._since, self._before = self.clock(), self.calls

    def add(self, costs: Iterable[Cost]) -> None:
        """Count what is stored of a run."""
        for cost in costs:
            self.calls += cost.calls - cost.cached
            self.known += cost.cached
            self.failed += cost.failed
            self.sent += cost.usage.sent + cost.usage.cache_read + cost.usage.cache_written
            self.received += cost.usage.received
            self.dollars += cost.dollars or 0.0
            self.unpriced += cost.calls - cost.cached - cost.failed if cost.dollars is None else 0

    @property
    def rate(self) -> float:
        """Calls a minute, on average."""
        return 60.0 * (self.calls - self._before) / max(self.clock() - self._since, 1e-9)

    def keep(self, call: Call) -> None:
        """Store `call`, then count it."""
        if self.kept is not None:
            self.kept.keep(call)
        if call.reply is not None and call.reply.served.cached:
            self.known += 1
            return
        self.calls += 1
        if call.reply is None:
            self.failed += 1
            return
        usage = call.reply.usage
        self.sent += usage.sent + usage.cache_read + usage.cache_written
        self.received += usage.received
        if call.dollars is None:
            self.unpriced += 1
        else:
            self.dollars += call.dollars

    def shown(self) -> str:
        """The sums in a few words, as a progress display shows them; empty before any call."""
        if not self.calls and not self.known:
            return ""
        priced = not self.unpriced or self.dollars
        money = f"${self.dollars:.4f}{'+' if self.unpriced else ''}" if priced else "price unknown"
        cached = f", {self.known:,} of them cached" if self.known else ""
        failed = f", {self.failed:,} failed" if self.failed else ""
        return (
            f"{self.calls + self.known:,} calls{cached}{failed}, {self.sent:,} tokens in, "
            f"{self.received:,} out, {money}, {self.rate:,.0f} calls/min"
        )


def meter_of(board: SqlBlackboard, run: str) -> Meter:
    """A meter that stores the calls of `run`, and begins with what is stored of them."""
    meter = Meter(CallsOf(board, run))
    meter.begin(board.costs(run))
    return meter


@asynccontextmanager
async def serving_of(
    board: SqlBlackboard,
    run: str,
    settings: Settings,
    meter: Meter,
    on_wait: Callable[[str], None],
) -> AsyncIterator[Serving]:
    """The models of `run`: its calls are stored, within its caps, and none is sent twice.

    Who shares the run with other processes has its own part of what is left of the caps.
    """
    try:
        async with Serving(
            settings,
            meter,
            ledger=CallsOf(board, run),
            spent=NOTHING_SPENT if board.holds(run, shared=True) else board.spending(run),
            known=board.replies(run),
            on_wait=on_wait,
        ) as serving:
            yield serving
    finally:
        board.flush()
