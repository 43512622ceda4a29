"""`pxp list costs`: what models cost in each run, by purpose."""

from __future__ import annotations

from backends import databases
from pxp_fsm.errors import NotThere, quoted

Row = tuple[str, ...]

_HEADINGS = (
    "run",
    "for",
    "model",
    "calls",
    "cached",
    "failed",
    "again",
    "a session",
    "tokens in",
    "prompt cache",
    "out",
    "dollars",
    "s/call",
    "unsettled",
)


def rows(database: str, run: str | None) -> tuple[Row, list[Row]]:
    """The headings, and a row for each purpose and model; of several, a row of their sums too."""
    listed: list[Row] = []
    with databases.SqlBlackboard(database, create=False) as board:
        summaries = [
            run_summary for run_summary in board.summaries() if run in (None, run_summary.run)
        ]
        if not summaries and run is not None:
            raise NotThere(f"{board.shown} has no run {quoted(run)}")
        for summary in summaries:
            costs = board.costs(summary.run)
            for line in costs:
                numbers = _numbers(line, summary.sessions)
                listed.append((summary.run, line.purpose, line.model, *numbers))
            if len(costs) > 1:
                listed.append((summary.run, "all", "", *_sum(costs, summary.sessions)))
    return _HEADINGS, listed


def _numbers(cost: databases.Cost, sessions: int) -> tuple[str, ...]:
    usage = cost.usage
    return (
        f"{cost.calls:,}",
        f"{cost.cached:,}",
        f"{cost.failed:,}",
        f"{cost.retries:,}",
        f"{cost.calls / sessions:.1f}" if sessions else "",
        f"{usage.sent + usage.cache_read + usage.cache_written:,}",
        f"{usage.cache_read:,}",
        f"{usage.received:,}",
        "not known" if cost.dollars is None else f"{cost.dollars:.4f}",
        f"{cost.seconds / cost.calls:.2f}" if cost.calls else "",
        f"{cost.unsettled:,}",
    )


def _sum(costs: tuple[databases.Cost, ...], sessions: int) -> tuple[str, ...]:
    """The sums of all lines; of money, only where every line has it."""
    calls = sum(cost.calls for cost in costs)
    used = [cost.usage for cost in costs]
    dollars = [cost.dollars for cost in costs if cost.dollars is not None]
    return (
        f"{calls:,}",
        *(f"{sum(getattr(cost, name) for cost in costs):,}" for name in _COUNTS),
        f"{calls / sessions:.1f}" if sessions else "",
        f"{sum(usage.sent + usage.cache_read + usage.cache_written for usage in used):,}",
        f"{sum(usage.cache_read for usage in used):,}",
        f"{sum(usage.received for usage in used):,}",
        f"{sum(dollars):.4f}" if len(dollars) == len(costs) else "not known",
        f"{sum(cost.seconds for cost in costs) / calls:.2f}" if calls else "",
        f"{sum(cost.unsettled for cost in costs):,}",
    )


_COUNTS = ("cached", "failed", "retries")
