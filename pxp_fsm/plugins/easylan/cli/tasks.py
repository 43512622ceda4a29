"""`pxp lan test` and `compare`, `pxp show TASK`, `pxp compare`: tasks and measures of networks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import click

from backends.models.registry import open_models
from guards.text import NormalisedText
from pxp_fsm.cli.presentation.text import console, printable, waits
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.summary import as_rich
from pxp_fsm.plugins.easylan.cli import options
from pxp_fsm.plugins.easylan.cli.network import print_cost
from pxp_fsm.plugins.easylan.distance.lmd import network_distance
from pxp_fsm.plugins.easylan.experiments import comparison, setup
from pxp_fsm.plugins.easylan.experiments.scoring import CriterionJudge, Score, output_judge, score
from pxp_fsm.plugins.easylan.experiments.tasks import LanTask, load_task
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, load_prompts
from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits
from pxp_fsm.plugins.easylan.training.regressions import remembered, replay
from pxp_fsm.prompting.model import LanguageModel


def show(request: options.ShowTask) -> None:
    """Print a task and who decides its criteria."""
    one = load_task(request.task)
    if request.as_json:
        document = {
            "name": one.name,
            "title": one.title,
            "task": one.task,
            "criteria": [{"says": c.says, "by": c.by, "rule": c.rule} for c in one.criteria],
            "training": one.train,
            "testing": len(one.examples) - one.train,
            "source": one.source,
        }
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(printable(f"{one.title}: {one.task}"))
    for number, criterion in enumerate(one.criteria, start=1):
        rule = f" ({criterion.rule})" if criterion.rule else ""
        click.echo(printable(f"  {number}. {criterion.says} [{criterion.by}{rule}]"))
    click.echo(printable(f"Source: {one.source}"))


def test(request: options.LanTestOptions) -> None:
    """Print how many examples a network gets right."""
    if request.task is None and request.examples is not None:
        asyncio.run(_test_examples(request, request.examples))
    elif request.task is not None and request.examples is None:
        asyncio.run(_test_task(request, request.task))
    elif request.task is None:
        asyncio.run(_test_handled(request))
    else:
        raise UsageError("give a TASK to score on, or --examples FILE, not both")


async def _test_examples(request: options.LanTestOptions, examples: Path) -> None:
    """Run a network on examples and print which outputs are right, as texts."""
    some, right = setup.examples(examples), 0
    async with open_models(request.models.settings, waits) as opened:
        judge = request.judge
        same = None if judge is None else output_judge(opened(judge))
        network = Lan.load(request.network, opened(request.model), load_prompts(request.prompts))
        async for one in setup.tested(network, some, same):
            right += one.right
            output = one.why if one.output is None else one.output
            mark = "right" if one.right else "wrong"
            click.echo(printable(f"{mark}  {one.example.external}: {output}"))
    click.echo(f"Right: {right} of {len(some)}")


async def _test_handled(request: options.LanTestOptions) -> None:
    """Run a network again on what it has handled, and print what is right no more."""
    network, meter = files.load(request.network).network, Meter()
    async with open_models(request.models.settings, waits, meter) as opened:
        asker = Requester(opened(request.model), load_prompts(request.prompts))
        judge = request.judge
        same = NormalisedText() if judge is None else output_judge(opened(judge))
        lost = await replay(network, NetworkRunner(asker, remembered(network)), same)
    for one in lost:
        output = one.why if one.output is None else one.output
        click.echo(printable(f"wrong  {one.handled.external}: {output}"))
    total = len(network.handled)
    click.echo(f"Right: {total - len(lost)} of {total} handled before")
    print_cost(meter)


async def _test_task(request: options.LanTestOptions, task: str) -> None:
    """Score a network on both parts of a task's examples."""
    network, found, meter = files.load(request.network).network, load_task(task), Meter()
    split = found.split(request.seed)
    async with open_models(request.models.settings, waits, meter) as opened:
        by, runner = (
            _judge(opened, request.judge),
            NetworkRunner(Requester(opened(request.model), load_prompts(request.prompts))),
        )
        for name, part in (("train", split.train), ("test", split.test)):
            at_once = request.models.settings.in_flight
            _print_score(
                found, name, await score(network, found, part, runner, by, at_once=at_once)
            )
    print_cost(meter)


def compare(request: options.LanCompareOptions) -> None:
    """Train on a task in three ways, print the measures and save the networks."""
    meter = Meter()
    comparing = comparison.TrainingComparison(
        load_task(request.task),
        request.model,
        request.output,
        judge=request.judge,
        developer=request.developer,
        hand=request.hand,
        seeds=_seeds(request.seeds),
        limits=TrainingLimits(iterations=request.iterations),
        resume=request.resume,
        database=request.database,
        settings=request.models.settings,
    )
    measured = asyncio.run(comparing.measured(waits, meter))
    for sheet in comparison.sheets(comparing.task, measured):
        console().print(as_rich(sheet))
    for line in comparison.notes(measured):
        click.echo(printable(line))
    print_cost(meter)
    for path in comparing.save(measured):
        click.echo(printable(f"saved {path}"))


def distance(request: options.CompareNetworks) -> None:
    """Print the least editing between two networks, step by step."""
    found = network_distance(files.load(request.before).network, files.load(request.after).network)
    for step in found.steps:
        click.echo(printable(f"  {step.ued:>6}  {step.operation} {step.on}"))
    click.echo(
        f"LMD {found.upper}"
        if found.exact
        else f"LMD from {found.lower} to {found.upper} (the search was cut short)"
    )
    if found.beyond:
        click.echo(printable(f"Not counted: {', '.join(found.beyond)}"))


def _judge(opened: Callable[[str], LanguageModel], name: str | None) -> CriterionJudge | None:
    return None if name is None else CriterionJudge(opened(name))


def _seeds(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(f"seeds are numbers, separated by commas, not {quoted(text)}")
    return tuple(dict.fromkeys(map(int, parts)))


def _print_score(task: LanTask, name: str, measured: Score) -> None:
    click.echo(f"{name}: {comparison.format_score([measured])}, {measured.total} examples")
    for criterion in task.criteria:
        met = f"{measured.met(criterion)}/{measured.total}"
        click.echo(printable(f"  {met:>6}  {criterion.says} [{criterion.by}]"))
    for one in measured.scored:
        if one.failure:
            click.echo(printable(f"  no output on {one.example.input}: {one.failure}"))
