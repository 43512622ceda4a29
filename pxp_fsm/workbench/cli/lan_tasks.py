"""`pxp lan tasks`, `test`, `compare`, `distance`, `actions`: tasks and measures of networks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pxp_fsm.workbench.cli.models import model_options, settings_of

if TYPE_CHECKING:
    from backends.models.serving import Settings
    from pxp_fsm.lan.developer import Developer
    from pxp_fsm.workbench.lan_tasks.conditions import HandEditor, Measured, Setting
    from pxp_fsm.workbench.lan_tasks.judging import CriterionJudge
    from pxp_fsm.workbench.lan_tasks.reading import LanTask
    from pxp_fsm.workbench.lan_tasks.scoring import Score
    from pxp_fsm.workbench.metering import Meter

_NETWORK = click.Path(path_type=Path, dir_okay=False)
_MODEL = click.option(
    "--model", required=True, metavar="MODEL", help="Whom all agents ask; or script:FILE."
)
_JUDGE = click.option(
    "--judge", metavar="MODEL", help="Who decides the criteria that no program can."
)


@click.command()
@click.argument("task", required=False)
def tasks(task: str | None) -> None:
    """List the tasks that come with the package, or the criteria of TASK (a name or a file).

    The published JSON Schema of task files is pxp_fsm/workbench/lan_tasks/task.schema.json.
    """
    from pxp_fsm.workbench.cli.printing import console, printable
    from pxp_fsm.workbench.lan_tasks.reading import BUNDLED, load
    from pxp_fsm.workbench.report import Sheet, as_rich

    if task is None:
        found = [load(name) for name in BUNDLED]
        rows = [
            (
                f"{one.name}: {one.title}",
                str(sum(c.by == "program" for c in one.criteria)),
                str(sum(c.by == "judge" for c in one.criteria)),
                f"{one.train} + {len(one.examples) - one.train}",
            )
            for one in found
        ]
        headings = ("task", "by a program", "by a judge", "train + test")
        console().print(as_rich(Sheet("Tasks, and who decides their criteria", headings, (*rows,))))
        return
    one = load(task)
    click.echo(printable(f"{one.title}: {one.task}"))
    for number, criterion in enumerate(one.criteria, start=1):
        rule = f" ({criterion.rule})" if criterion.rule else ""
        click.echo(printable(f"  {number}. {criterion.says} [{criterion.by}{rule}]"))
    click.echo(printable(f"Source: {one.source}"))


@click.command()
@click.argument("network", type=_NETWORK)
@click.argument("task", required=False)
@click.option(
    "--examples",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="In place of a task: JSON, one example a line, as for train.",
)
@_MODEL
@_JUDGE
@click.option("--seed", type=int, default=1, show_default=True, help="Of the task's split.")
@model_options
def test(
    network: Path,
    task: str | None,
    examples: Path | None,
    model: str,
    judge: str | None,
    seed: int,
    **options: Any,
) -> None:
    """Score NETWORK on TASK (a name or a file): training and testing examples apart.

    An output scores 1 if it meets all criteria of the task, else 0. With --examples it is right if
    it is the output that was asked for, as a text, or if the judge says that it will do. NETWORK is
    not changed.
    """
    import asyncio

    from pxp_fsm.errors import UsageError

    if (task is None) == (examples is None):
        raise UsageError("say what to score by: a TASK, or --examples FILE")
    settings = settings_of(options)
    if examples is not None:
        asyncio.run(_tested(network, examples, model, judge, settings))
    elif task is not None:
        asyncio.run(_scored(network, task, model, judge, seed, settings, options["in_flight"]))


@click.command()
@click.argument("task")
@_MODEL
@_JUDGE
@click.option(
    "--developer",
    default="confirms",
    show_default=True,
    metavar="WHO",
    help="Who supervises EasyLAN: nobody, confirms, edits:P, follows:FILE or terminal.",
)
@click.option(
    "--hand",
    default="adds-examples",
    show_default=True,
    metavar="WHO",
    help="Who edits the baseline by hand: adds-examples, or follows:FILE.",
)
@click.option("--seeds", default="1", show_default=True, metavar="N,…", help="One split for each.")
@click.option("--iterations", type=click.IntRange(min=1), default=5, show_default=True)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    metavar="DIR",
    help="Where the trained networks are left.",
)
@click.option(
    "--database",
    metavar="URL",
    help="Where sessions and calls are stored: a file or URL.  [default: in the output folder]",
)
@model_options
def compare(
    task: str,
    model: str,
    judge: str | None,
    developer: str,
    hand: str,
    seeds: str,
    iterations: int,
    output: Path,
    database: str | None,
    **options: Any,
) -> None:
    """Train on TASK (a name or a file) in three ways, and set them side by side.

    EasyLAN; the baseline, edited by hand by a simulated developer, who adds each example that goes
    wrong as knowledge or follows a file; and the naive network, whose knowledge is exactly the
    training examples.
    """
    import asyncio

    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench.cli.printing import console, printable
    from pxp_fsm.workbench.defaults import DATABASE
    from pxp_fsm.workbench.lan_tasks import comparing, developers
    from pxp_fsm.workbench.lan_tasks.conditions import Calls, Setting
    from pxp_fsm.workbench.lan_tasks.reading import load
    from pxp_fsm.workbench.metering import Meter
    from pxp_fsm.workbench.networks import models_of
    from pxp_fsm.workbench.report import as_rich

    found, numbers, meter = load(task), _seeds(seeds), Meter()
    settings = settings_of(options)

    async def all_of(board: SqlBlackboard) -> list[Measured]:
        calls = meter.kept = Calls(board)
        async with models_of(settings, _waits, meter) as opened:
            by = _judge(opened, judge)
            measured = []
            for seed in numbers:
                setting = Setting(
                    found, found.split(seed), opened(model), by, calls, options["in_flight"]
                )
                who = _developer(setting, developer), developers.hand(hand)
                measured += await _conditions(setting, *who, iterations)
            return measured

    output.mkdir(parents=True, exist_ok=True)
    with SqlBlackboard(database or str(output / DATABASE)) as board:
        measured = asyncio.run(all_of(board))
    for sheet in (
        comparing.measures(found, measured),
        comparing.criteria(found, measured),
        comparing.actions(measured),
    ):
        console().print(as_rich(sheet))
    for line in comparing.notes(measured):
        click.echo(printable(line))
    _say_cost(meter)
    _save(measured, output)


@click.command()
@click.argument("before", type=_NETWORK)
@click.argument("after", type=_NETWORK)
def distance(before: Path, after: Path) -> None:
    """LMD: the least editing by hand (clicks, keys, drags) that turns BEFORE into AFTER.

    The published table of costs is pxp_fsm/lan/costs.toml.
    """
    from pxp_fsm.lan.distance import distance as lmd
    from pxp_fsm.lan.files import load
    from pxp_fsm.workbench.cli.printing import printable

    found = lmd(load(before).network, load(after).network)
    for step in found.steps:
        click.echo(printable(f"  {step.ued:>6}  {step.operation} {step.on}"))
    click.echo(
        f"LMD {found.upper}"
        if found.exact
        else f"LMD from {found.lower} to {found.upper} (the search was cut short)"
    )
    if found.beyond:
        click.echo(printable(f"Not counted: {', '.join(found.beyond)}"))


@click.command()
@click.argument("network", type=_NETWORK)
def actions(network: Path) -> None:
    """What was done by hand to NETWORK, from its log: each action with its least UED."""
    from pxp_fsm.lan.files import load
    from pxp_fsm.lan.measures import by_hand, modifications, ued
    from pxp_fsm.workbench.cli.printing import printable

    history = load(network)
    done = by_hand(history)
    for acted in done:
        click.echo(printable(f"  {acted.ued:>6}  {acted.action} {acted.on}"))
    click.echo(f"UED {ued(done)} as Table 6 counts it; modifications {modifications(history)}")


COMMANDS: Sequence[click.Command] = (tasks, test, compare, distance, actions)
"""What stands under `pxp lan`, beside running and training."""


async def _conditions(
    setting: Setting, developer: Developer | None, hand: HandEditor, iterations: int
) -> list[Measured]:
    from pxp_fsm.lan.pipeline import Limits
    from pxp_fsm.workbench.lan_tasks.conditions import baseline, easylan, naive_lan

    return [
        await easylan(setting, developer, Limits(iterations=iterations)),
        await baseline(setting, hand),
        await naive_lan(setting),
    ]


async def _tested(
    network: Path, examples: Path, model: str, judge: str | None, settings: Settings | None
) -> None:
    """Run a network on examples and say which outputs are right, as texts."""
    from pxp_fsm.lan.lan import Lan
    from pxp_fsm.workbench import networks
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.lan_tasks import training_judges

    some, right = networks.examples(examples), 0
    async with networks.models_of(settings, _waits) as opened:
        same = None if judge is None else training_judges.of_outputs(opened(judge))
        async for one in networks.tested(Lan.load(network, opened(model)), some, same):
            right += one.right
            said = one.why if one.output is None else one.output
            mark = "right" if one.right else "wrong"
            click.echo(printable(f"{mark}  {one.example.external}: {said}"))
    click.echo(f"Right: {right} of {len(some)}")


async def _scored(
    network: Path,
    task: str,
    model: str,
    judge: str | None,
    seed: int,
    settings: Settings | None,
    at_once: int,
) -> None:
    """Score a network on both parts of a task's examples."""
    from pxp_fsm.lan.asking import Asker, bundled
    from pxp_fsm.lan.files import load as load_network
    from pxp_fsm.lan.running import Runner
    from pxp_fsm.workbench.lan_tasks.reading import load
    from pxp_fsm.workbench.lan_tasks.scoring import score
    from pxp_fsm.workbench.metering import Meter
    from pxp_fsm.workbench.networks import models_of

    lan, found, meter = load_network(network).network, load(task), Meter()
    split = found.split(seed)
    async with models_of(settings, _waits, meter) as opened:
        by, runner = _judge(opened, judge), Runner(Asker(opened(model), bundled()))
        for name, part in (("train", split.train), ("test", split.test)):
            measured = await score(lan, found, part, runner, by, at_once=at_once)
            _say_score(found, name, measured)
    _say_cost(meter)


def _developer(setting: Setting, name: str) -> Developer | None:
    from pxp_fsm.workbench.lan_tasks.developers import named

    return named(name, setting.split.seed, setting.meets.will_do)


def _judge(opened: Any, name: str | None) -> CriterionJudge | None:
    from pxp_fsm.workbench.lan_tasks.judging import CriterionJudge

    return None if name is None else CriterionJudge(opened(name))


def _seeds(text: str) -> tuple[int, ...]:
    from pxp_fsm.errors import UsageError
    from pxp_fsm.messages import quoted

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise UsageError(f"seeds are numbers, separated by commas, not {quoted(text)}")
    return tuple(dict.fromkeys(map(int, parts)))


def _say_score(task: LanTask, name: str, measured: Score) -> None:
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.lan_tasks.comparing import shown_score

    click.echo(f"{name}: {shown_score([measured])}, {measured.total} examples")
    for criterion in task.criteria:
        met = f"{measured.met(criterion)}/{measured.total}"
        click.echo(printable(f"  {met:>6}  {criterion.says} [{criterion.by}]"))
    for one in measured.scored:
        if one.failure:
            click.echo(printable(f"  no output on {one.example.input}: {one.failure}"))


def _say_cost(meter: Meter) -> None:
    """What models cost; nothing where a script stood in for them."""
    if meter.sent or meter.known or meter.failed:
        click.echo(f"Models were asked: {meter.shown()}")


def _waits(why: str) -> None:
    from pxp_fsm.workbench.cli.printing import printable

    click.echo(printable(why), err=True)


def _save(measured: Sequence[Measured], folder: Path) -> None:
    from pxp_fsm.lan.files import save
    from pxp_fsm.workbench.cli.printing import printable

    for one in measured:
        path = folder / f"{one.condition.lower()}-{one.seed}.lan.json"
        save(one.history, path)
        click.echo(printable(f"saved {path}"))
