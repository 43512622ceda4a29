"""`pxp judge`: the pairs of explanations that a run compared, put to a judge again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pxp_fsm.workbench.cli.models import model_options, settings_of
from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

if TYPE_CHECKING:
    from backends.models.serving import Settings
    from guards.consistency import Consistency
    from pxp_fsm.workbench.judging import Judged
    from pxp_fsm.workbench.metering import Meter
    from pxp_fsm.workbench.named import Named


@click.command()
@click.argument("run")
@click.option("--judge", "model", required=True, metavar="MODEL", help="Who judges.")
@click.option(
    "--consistency",
    type=click.IntRange(min=1, max=99),
    default=1,
    show_default=True,
    metavar="N",
    help="Put each question N times, and say how far the judge agrees with itself.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The first N pairs only.")
@click.option(
    "--prompts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Your own prompts, in place of those of the run.",
)
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="A file or a database URL.",
)
@model_options
def judge(
    run: str,
    model: str,
    consistency: int,
    limit: int | None,
    prompts: Path | None,
    database: str,
    **options: Any,
) -> None:
    """Put the explanations that RUN compared to a judge again; the run itself is not changed.

    Each pair is judged in both orders. Says how often the judge gives the verdict of the run, the
    same verdict to the same question, and the same verdict the other way round.
    """
    import asyncio

    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench import judging
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.metering import Meter

    settings, meter = settings_of(options), Meter()
    with SqlBlackboard(database, create=False) as board:
        pairs = judging.judged_pairs(board, run)[:limit]
        named = _named(board, run, model, prompts, settings)
    measured = asyncio.run(_measured(named, model, pairs, consistency, settings, meter))
    click.echo(printable(f"{model} on run {run}: {len(pairs)} pairs, {consistency} each way"))
    for line in judging.report(measured, pairs):
        click.echo(line)
    click.echo(f"Models were asked: {meter.shown()}")


def _named(
    board: Any, run: str, model: str, prompts: Path | None, settings: Settings | None
) -> Named:
    """The judge and how it is asked; raises what `named.models` does."""
    from pxp_fsm.workbench import named
    from pxp_fsm.workbench.plans import Plan, stored_plan
    from pxp_fsm.workbench.prompts import written
    from pxp_fsm.workbench.task_registry import find_task
    from pxp_fsm.workbench.tasks import DataSet

    (record,) = [record for record in board.runs() if record.run == run]
    plan = stored_plan(record)
    source = plan.prompts if prompts is None else written(prompts)
    asked = Plan(plan.task, judge=model, prompts=source)
    return named.models(asked, find_task(plan.task), DataSet("", ()), settings)


async def _measured(
    named: Named,
    model: str,
    pairs: tuple[Judged, ...],
    number: int,
    settings: Settings | None,
    meter: Meter,
) -> Consistency:
    from backends.models.serving import Serving, Settings
    from guards.consistency import consistency
    from guards.judge import Judge

    async with Serving(settings or Settings(), meter) as serving:
        assert named.prompts is not None  # noqa: S101 - a judge was named
        asked = Judge(serving.model(model), named.prompts)
        return await consistency(asked, [(pair.left, pair.right) for pair in pairs], number)
