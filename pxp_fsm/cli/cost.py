"""`pxp cost`: the model costs of a run, by purpose."""

from __future__ import annotations

import click
from rich import box
from rich.table import Table
from rich.text import Text

from backends.databases import Cost, SqlBlackboard
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import console, printable
from pxp_fsm.errors import NotThere, quoted

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
    "from cache",
    "out",
    "dollars",
    "s/call",
)


def cost(request: options.CostOptions) -> None:
    """Print a table of calls, tokens and dollars."""
    only = request.only
    table = Table(box=box.SIMPLE_HEAD)
    for place, heading in enumerate(_HEADINGS):
        table.add_column(heading, justify="left" if place < 3 else "right", no_wrap=place < 3)
    with SqlBlackboard(request.database, create=False) as board:
        summaries = [found for found in board.summaries() if only in (None, found.run)]
        if not summaries:
            what = f"no run {quoted(only)}" if only is not None else "no runs"
            raise NotThere(f"{board.shown} has {what}")
        unsettled = 0
        for found in summaries:
            costs = board.costs(found.run)
            for line in costs:
                shown = (found.run, line.purpose, line.model, *_numbers(line, found.sessions))
                table.add_row(*(Text(printable(value)) for value in shown))
            unsettled += sum(line.unsettled for line in costs)
            if len(costs) > 1:
                table.add_row(found.run, "all", "", *_sum(costs, found.sessions), style="bold")
    if table.row_count == 0:
        click.echo("No model was asked.")
        return
    console().print(table)
    if unsettled:
        click.echo(
            f"{unsettled:,} calls were under way when a run was stopped; each counts for the most "
            f"that it may have cost."
        )


def _numbers(one: Cost, sessions: int) -> tuple[str, ...]:
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
    )


def _sum(costs: tuple[Cost, ...], sessions: int) -> tuple[str, ...]:
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
    )


_COUNTS = ("cached", "failed", "retries")
