"""`pxp judge`: the pairs of explanations compared in a run, submitted to a judge again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from backends.databases import SqlBlackboard
from backends.models.registry import Serving
from backends.models.settings import Settings
from guards.relations.judge import Consistency, Judge, consistency
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.experiments import participants, rejudging
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.rejudging import Judged
from pxp_fsm.experiments.stored_plans import stored_plan
from pxp_fsm.tasks.prompts import prompts_text
from pxp_fsm.tasks.registry import find_task
from pxp_fsm.tasks.task import DataSet


def judge(request: options.Judge) -> None:
    """Put the pairs of a run to a judge, and print how consistent its verdicts are."""
    model, meter = request.model, Meter()
    with SqlBlackboard(request.database, create=False) as board:
        pairs = rejudging.judged_pairs(board, request.run)[: request.limit]
        found = _named(board, request.run, model, request.prompts, request.models)
    measured = asyncio.run(
        _measured(found, model, pairs, request.consistency, request.models, meter)
    )
    click.echo(
        printable(
            f"{model} on run {request.run}: {len(pairs)} pairs, {request.consistency} each way"
        )
    )
    for line in rejudging.report(measured, pairs):
        click.echo(line)
    click.echo(f"Models were asked: {meter.shown()}")


def _named(
    board: SqlBlackboard, run: str, model: str, prompts: Path | None, settings: Settings
) -> participants.Selection:
    """The judge and how it is asked; raises what `named.models` does."""
    (record,) = [record for record in board.runs() if record.run == run]
    plan = stored_plan(record)
    source = plan.prompts if prompts is None else prompts_text(prompts)
    wanted = Plan(plan.task, judge=model, prompts=source)
    return participants.models(wanted, find_task(plan.task), DataSet("", ()), settings)


async def _measured(
    found: participants.Selection,
    model: str,
    pairs: tuple[Judged, ...],
    number: int,
    settings: Settings,
    meter: Meter,
) -> Consistency:
    async with Serving(settings, meter) as serving:
        assert found.prompts is not None  # noqa: S101 - a judge was named
        judge = Judge(serving.model(model), found.prompts)
        return await consistency(judge, [(pair.left, pair.right) for pair in pairs], number)
