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
    found: list[Row] = []
    with databases.SqlBlackboard(database, create=False) as board:
        summaries = [one for one in board.summaries() if run in (None, one.run)]
        if not summaries and run is not None:
            raise NotThere(f"{board.shown} has no run {quoted(run)}")
        for summary in summaries:
            costs = board.costs(summary.run)
            for line in costs:
                numbers = _numbers(line, summary.sessions)
                found.append((summary.run, line.purpose, line.model, *numbers))
            if len(costs) > 1:
                found.append((summary.run, "all", "", *_sum(costs, summary.sessions)))
    return _HEADINGS, found


def _numbers(one: databases.Cost, sessions: int) -> tuple[str, ...]:
    usage = one.usage
    return (
        f"{one.calls:,}",
        f"{one.cached:,}",
        f"{one.failed:,}",
        f"{one.retries:,}",
        f"{one.calls / sessions:.1f}" if sessions else "",
        f"{usage.sent + usage.cache_read + usage.cache_written:,}",
        f"{usage.cache_read:,}",
        f"{usage.received:,}",
        "not known" if one.dollars is None else f"{one.dollars:.4f}",
        f"{one.seconds / one.calls:.2f}" if one.calls else "",
        f"{one.unsettled:,}",
    )


def _sum(costs: tuple[databases.Cost, ...], sessions: int) -> tuple[str, ...]:
    """The sums of all lines; of money, only where every line has it."""
    calls = sum(one.calls for one in costs)
    used = [one.usage for one in costs]
    dollars = [one.dollars for one in costs if one.dollars is not None]
    return (
        f"{calls:,}",
        *(f"{sum(getattr(one, name) for one in costs):,}" for name in _COUNTS),
        f"{calls / sessions:.1f}" if sessions else "",
        f"{sum(one.sent + one.cache_read + one.cache_written for one in used):,}",
        f"{sum(one.cache_read for one in used):,}",
        f"{sum(one.received for one in used):,}",
        f"{sum(dollars):.4f}" if len(dollars) == len(costs) else "not known",
        f"{sum(one.seconds for one in costs) / calls:.2f}" if calls else "",
        f"{sum(one.unsettled for one in costs):,}",
    )


_COUNTS = ("cached", "failed", "retries")
