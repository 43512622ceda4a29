"""`pxp lan test`, `pxp run TASK` and `show TASK`, `pxp compare`: tasks and measures of networks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from backends.models.registry import open_models
from guards.text import NormalisedText
from pxp_fsm.cli.presentation.text import console, printable, waits
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.sheets import as_rich
from pxp_fsm.plugins.easylan.cli import options
from pxp_fsm.plugins.easylan.cli.network import print_cost, prompts_file, set_of
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
from pxp_fsm.prompting.prompts import Prompt


def show(request: options.ShowTask) -> None:
    """Print a task and who decides its criteria."""
    task = load_task(request.task)
    if request.as_json:
        document = {
            "name": task.name,
            "title": task.title,
            "task": task.task,
            "criteria": [{"says": c.says, "by": c.by, "rule": c.rule} for c in task.criteria],
            "training": task.train,
            "testing": len(task.examples) - task.train,
            "source": task.source,
        }
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(printable(f"{task.title}: {task.task}"))
    for number, criterion in enumerate(task.criteria, start=1):
        rule = f" ({criterion.rule})" if criterion.rule else ""
        click.echo(printable(f"  {number}. {criterion.says} [{criterion.by}{rule}]"))
    click.echo(printable(f"Source: {task.source}"))


def test(request: options.LanTestOptions) -> None:
    """Print how many examples a network gets right."""
    if request.task is None:
        asyncio.run(_test_handled(request))
    elif request.task.endswith(".jsonl"):
        asyncio.run(_test_examples(request, Path(request.task)))
    else:
        asyncio.run(_test_task(request, request.task))


async def _test_examples(request: options.LanTestOptions, examples: Path) -> None:
    """Run a network on examples and print which outputs are right, as texts."""
    some, right, rows = setup.examples(examples), 0, list[dict[str, Any]]()
    async with open_models(request.models.settings, waits) as opened:
        judge = _given(request).judge
        same = None if judge is None else output_judge(opened(judge))
        network = Lan.load(request.network, opened(request.machine), _prompts(request))
        async for tested in setup.tested(network, some, same):
            right += tested.right
            output = tested.why if tested.output is None else tested.output
            rows.append({"input": tested.example.external, "output": output, "right": tested.right})
            mark = "right" if tested.right else "wrong"
            if not request.as_json:
                click.echo(printable(f"{mark}  {tested.example.external}: {output}"))
    if request.as_json:
        click.echo(json.dumps({"right": right, "of": len(some), "examples": rows}, indent=1))
        return
    click.echo(f"Right: {right} of {len(some)}")


async def _test_handled(request: options.LanTestOptions) -> None:
    """Run a network again on what it has handled, and print what is right no more."""
    network, meter = files.load(request.network).network, Meter()
    async with open_models(request.models.settings, waits, meter) as opened:
        asker = Requester(opened(request.machine), _prompts(request))
        judge = _given(request).judge
        same = NormalisedText() if judge is None else output_judge(opened(judge))
        lost = await replay(network, NetworkRunner(asker, remembered(network)), same)
    total = len(network.handled)
    wrong = [
        (
            regression.handled.external,
            regression.why if regression.output is None else regression.output,
        )
        for regression in lost
    ]
    if request.as_json:
        rows = [{"input": external, "output": output, "right": False} for external, output in wrong]
        document = {"right": total - len(lost), "of": total, "examples": rows}
        click.echo(json.dumps(document, indent=1))
        return
    for external, output in wrong:
        click.echo(printable(f"wrong  {external}: {output}"))
    click.echo(f"Right: {total - len(lost)} of {total} handled before")
    print_cost(meter)


async def _test_task(request: options.LanTestOptions, task: str) -> None:
    """Score a network on both parts of a task's examples."""
    network, lan_task, meter = files.load(request.network).network, load_task(task), Meter()
    split, scores = lan_task.split(request.seed), dict[str, Score]()
    async with open_models(request.models.settings, waits, meter) as opened:
        by, runner = (
            _judge(opened, _given(request).judge),
            NetworkRunner(Requester(opened(request.machine), _prompts(request))),
        )
        for name, part in (("train", split.train), ("test", split.test)):
            at_once = request.models.settings.in_flight
            scores[name] = await score(network, lan_task, part, runner, by, at_once=at_once)
    if request.as_json:
        document = {name: _document(lan_task, measured) for name, measured in scores.items()}
        click.echo(json.dumps(document, indent=1))
        return
    for name, measured in scores.items():
        _print_score(lan_task, name, measured)
    print_cost(meter)


def compare(request: options.RunNetworkTask) -> None:
    """Train on a task in three ways, print the measures and save the networks."""
    meter, settings = Meter(), set_of(options.ComparisonSettings, request.assignments)
    comparing = comparison.TrainingComparison(
        load_task(request.task),
        request.machine,
        request.output,
        judge=settings.judge,
        developer=settings.developer,
        hand=settings.hand,
        seeds=settings.seeds,
        limits=TrainingLimits(iterations=settings.iterations),
        resume=settings.resume,
        database=request.database,
        settings=request.models.settings,
    )
    measured = asyncio.run(comparing.measured(waits, meter))
    sheets, notes = comparison.sheets(comparing.task, measured), comparison.notes(measured)
    saved = list(comparing.save(measured))
    if request.as_json:
        document = {
            "tables": [asdict(sheet) for sheet in sheets],
            "notes": list(notes),
            "files": list(map(str, saved)),
        }
        click.echo(json.dumps(document, indent=1))
        return
    for sheet in sheets:
        console().print(as_rich(sheet))
    for line in notes:
        click.echo(printable(line))
    print_cost(meter)
    for path in saved:
        click.echo(printable(f"saved {path}"))


def distance(request: options.CompareNetworks) -> None:
    """Print the least editing between two networks, step by step."""
    measured = network_distance(
        files.load(request.before).network, files.load(request.after).network
    )
    if request.as_json:
        document = {
            "steps": [{"ued": s.ued, "operation": s.operation, "on": s.on} for s in measured.steps],
            "least": measured.lower,
            "most": measured.upper,
            "not counted": list(measured.beyond),
        }
        click.echo(json.dumps(document, indent=1, default=str))
        return
    for step in measured.steps:
        click.echo(printable(f"  {step.ued:>6}  {step.operation} {step.on}"))
    click.echo(
        f"LMD {measured.upper}"
        if measured.exact
        else f"LMD from {measured.lower} to {measured.upper} (the search was cut short)"
    )
    if measured.beyond:
        click.echo(printable(f"Not counted: {', '.join(measured.beyond)}"))


def _judge(opened: Callable[[str], LanguageModel], name: str | None) -> CriterionJudge | None:
    return None if name is None else CriterionJudge(opened(name))


def _given(request: options.LanTestOptions) -> options.TestSettings:
    return set_of(options.TestSettings, request.assignments)


def _prompts(request: options.LanTestOptions) -> Mapping[str, Prompt]:
    return load_prompts(prompts_file(_given(request)))


def _document(task: LanTask, measured: Score) -> dict[str, Any]:
    """A score as JSON: how many examples meet each criterion."""
    met = [
        {"says": criterion.says, "by": criterion.by, "met": measured.met(criterion)}
        for criterion in task.criteria
    ]
    return {"examples": measured.total, "criteria": met}


def _print_score(task: LanTask, name: str, measured: Score) -> None:
    click.echo(f"{name}: {comparison.format_score([measured])}, {measured.total} examples")
    for criterion in task.criteria:
        met = f"{measured.met(criterion)}/{measured.total}"
        click.echo(printable(f"  {met:>6}  {criterion.says} [{criterion.by}]"))
    for scored in measured.scored:
        if scored.failure:
            click.echo(printable(f"  no output on {scored.example.input}: {scored.failure}"))
