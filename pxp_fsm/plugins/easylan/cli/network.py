"""`pxp lan`, `pxp show NETWORK` and `draw`: networks, built, run, trained, edited, undone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from pxp_fsm.cli.draw import draw_diagram
from pxp_fsm.cli.options.draw import DrawFile
from pxp_fsm.cli.presentation.text import printable, waits
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.runs import Run
from pxp_fsm.plugins.easylan.cli import options
from pxp_fsm.plugins.easylan.distance.measures import Attention, by_hand, counted
from pxp_fsm.plugins.easylan.experiments import comparison, setup
from pxp_fsm.plugins.easylan.experiments.developers import find_developer
from pxp_fsm.plugins.easylan.experiments.terminal import described, operations
from pxp_fsm.plugins.easylan.lan import Lan, diagram
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.running import serialization
from pxp_fsm.plugins.easylan.running.events import Activation, Event, Produced
from pxp_fsm.plugins.easylan.running.requests import load_prompts
from pxp_fsm.plugins.easylan.training.events import Answered, Kept, Moved, Resumed, Told
from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits
from pxp_fsm.plugins.easylan.training.supervision import StepEnded
from pxp_fsm.schemas import read_assignments


def new(request: options.LanNewOptions) -> None:
    """Write a network of one agent."""
    made = setup.new(request.task, request.output)
    click.echo(printable(f"Made: {request.output}, with the agent {made.network.names[0]}"))


def run(request: options.RunNetwork) -> None:
    """Print the output of a network."""
    on_event = _shown if request.verbose else _silent
    prompts = load_prompts(prompts_file(set_of(options.NetworkSettings, request.assignments)))

    async def output() -> str:
        async with setup.model_of(request.machine, request.models.settings, waits) as opened:
            lan = Lan.load(request.network, opened, prompts)
            try:
                return (await lan.run(request.text, on_event)).output
            finally:
                _keep_last(lan, request.network)

    text = asyncio.run(output())
    if request.as_json:
        click.echo(json.dumps({"input": request.text, "output": text}, indent=1))
        return
    click.echo("\n".join(map(printable, text.split("\n"))))


Settings = TypeVar("Settings")


def set_of(kind: type[Settings], assignments: Sequence[str]) -> Settings:
    """What --set KEY=VALUE means for a command of networks."""
    return kind(**read_assignments(kind, assignments, "assignments"))


def prompts_file(settings: options.NetworkSettings) -> Path | None:
    """The file of prompts that is set."""
    return None if settings.prompts is None else Path(settings.prompts)


def _keep_last(lan: Lan, network: Path) -> None:
    """Write the last run beside the network; where that may not be, its output is there still."""
    if lan.last is None:
        return
    try:
        serialization.save(lan.last, lan.version, serialization.path_of(network))
    except OSError as error:
        click.echo(printable(f"The run is not kept for pxp show: {error}"), err=True)


def train(request: options.LanTrainOptions) -> None:
    """Train a network, and print what happens to each example."""
    developer = request.developer
    settings = set_of(options.TrainingSettings, request.assignments)
    history = Lan.load(request.network).history
    who = find_developer(developer, seed=0)
    training = setup.Training(
        request.network,
        setup.examples(request.examples),
        request.machine,
        who,
        limits=TrainingLimits(settings.iterations, settings.retries),
        judge=settings.judge,
        settings=request.models.settings,
        database=request.database,
        on_wait=waits,
        updater=settings.updater,
        prompts=prompts_file(settings),
    )
    shown: Callable[[Told], None] = _noted if developer == "terminal" else _told
    if request.as_json:
        shown = _silent
    attention, began = Attention(), time.monotonic()

    def told(event: Told) -> None:
        attention(event)
        shown(event)

    runs = list[Run[setup.TrainingOpening]]()
    outcomes = asyncio.run(training.run(told, runs.append))
    after = Lan.load(request.network).history
    edits = sum(change.ued or 0 for change in after.changes[history.version :])
    handled, spent = sum(outcome.handled for outcome in outcomes), time.monotonic() - began
    if request.as_json:
        document = {
            "run": "".join(run.name for run in runs),
            "handled": handled,
            "of": len(outcomes),
            "examples": [asdict(outcome) for outcome in outcomes],
            "version": after.version,
            "seconds": {"all": round(spent, 3), "developer": round(attention.seconds, 3)},
            "UED": attention.ued + edits,
            "confirmations": attention.confirmations,
        }
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(f"Time: {spent:.0f} s, the developer's {attention.seconds:.0f} s")
    if who is not None:
        click.echo(f"UED: {attention.ued + edits}; confirmations: {attention.confirmations}")
    print_cost(*(run.meter for run in runs))
    click.echo(f"Handled: {handled} of {len(outcomes)}")
    if handled == len(outcomes) and after.version == history.version:
        click.echo("Every example was handled before; the network was not changed.")


def edit(request: options.LanEditOptions) -> None:
    """Edit a network, and print the number of the change."""
    with Lan.editing(request.network) as edited:
        edited.edit(*operations(request.words, edited.network), about=" ".join(request.words))
    click.echo(f"Change {edited.version}")


def history(request: options.LanHistoryOptions) -> None:
    """Print the changes of a network, or make one: undo, redo, go to an earlier version."""
    action = request.action
    if action is None:
        _print_history(request)
        return
    if action not in ("undo", "redo") and not (action.isascii() and action.isdigit()):
        raise UsageError(f"an action is undo, redo or a number, not {quoted(action)}")
    with Lan.editing(request.network) as changed:
        if action == "undo":
            changed.undo()
        elif action == "redo":
            changed.redo()
        else:
            changed.restore(int(action))
    click.echo(printable(f"Change {changed.version}: {changed.history.changes[-1].about}"))


def _print_history(request: options.LanHistoryOptions) -> None:
    history = Lan.load(request.network).history
    if request.as_json:
        click.echo(json.dumps(list(map(files.of_change, history.changes)), indent=1))
        return
    if not request.verbose and request.run is not None:
        raise UsageError("this has no effect without -v", "run")
    for number, change in enumerate(history.changes, start=1):
        mark = " (undone)" if number in history.undone_changes else ""
        click.echo(printable(f"{number:>4}  {change.by:<9}  {change.about}{mark}"))
    if request.verbose:
        _print_manual(request.network, request.database, request.run)


def _print_manual(network: Path, database: str | None, run: str | None) -> None:
    """Print what was done by hand to a network, and in the stored sessions of its training."""
    history = files.load(network)
    done = by_hand(history)
    if database is not None:
        done = (*comparison.acts_in_steps(database, run), *done)
    for acted in done:
        spent = "" if acted.spent is None else f" (took {acted.spent})"
        click.echo(printable(f"  {acted.ued:>6}  {acted.action} {acted.on}{spent}"))
    click.echo(counted(done, history))


def show(request: options.ShowNetwork) -> None:
    """Print a network, agent by agent, with its last run."""
    lan, path = Lan.load(request.network), serialization.path_of(request.network)
    run, version = serialization.load(path) if path.exists() else (None, 0)
    if request.as_json:
        click.echo(json.dumps(files.of_network(lan.network), indent=1))
        return
    for line in described(lan.network, run, request.agent):
        click.echo(printable(line))
    if run is None:
        click.echo("It has not run yet.")
    elif version != lan.version:
        click.echo(f"The last run was of version {version}; the network is in {lan.version}.")


def draw(request: DrawFile) -> None:
    """Draw a network into a file."""
    picture = diagram(Lan.load(Path(request.file)).network)
    draw_diagram(picture, request.file, request.output, request.form, request.style)


def print_cost(*meters: Meter) -> None:
    """What models cost; nothing where a script stood in for them."""
    for meter in meters:
        if meter.sent or meter.known or meter.failed:
            click.echo(f"Models were asked: {meter.shown()}")


def _silent(_event: Event | Told) -> None:
    """Nothing is shown, or the questions of whoever supervises show it."""


def _shown(event: Event) -> None:
    """An agent's activation or result, as a line on standard error."""
    if isinstance(event, Activation):
        shown = "active" if event.active else f"inactive ({event.guard})"
        click.echo(printable(f"{event.agent}: {shown}"), err=True)
    elif isinstance(event, Produced):
        click.echo(printable(f"{event.agent}: {event.result}"), err=True)


def _noted(event: Told) -> None:
    """What of a training is no question to the person who supervises it, as lines."""
    if isinstance(event, Resumed | Kept | Answered) or (
        isinstance(event, Moved) and event.label in ("RESTART", "RUN_AGAIN")
    ):
        _told(event)


def _told(event: Told) -> None:
    """What a training does, as lines on standard output."""
    if isinstance(event, StepEnded):
        shown = event.value if event.value is not None else event.why
        click.echo(printable(f"  step ended {event.ending}: {shown}"))
    elif isinstance(event, Kept):
        click.echo(printable(f"  step {event.step.number} stands: {event.value}"))
    elif isinstance(event, Answered):
        if event.stands:
            click.echo("  your answer stands")
    elif isinstance(event, Resumed):
        click.echo(f"Going on with example {event.number}, in state {event.state}")
    elif isinstance(event, Moved) and event.label in _TELLING:
        detail = f": {event.detail}" if event.detail else ""
        click.echo(printable(f"{_TELLING[event.label]}{detail}"))


_TELLING = {
    "EXAMPLE": "An example",
    "BEGIN": "  iteration",
    "REPEAT": "  once more",
    "RESTART": "  run again",
    "RUN_AGAIN": "  run again",
    "COMMIT": "  committed",
    "RECORD": "  handled",
    "GIVE_UP": "  given up",
}
