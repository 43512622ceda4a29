"""`pxp lan`: networks of LLM agents, made, run, trained, edited, undone, drawn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pxp_fsm.workbench.cli.lan_tasks import COMMANDS
from pxp_fsm.workbench.cli.models import model_options, settings_of
from pxp_fsm.workbench.cli.printing import printable

if TYPE_CHECKING:
    from pxp_fsm.lan.pipeline import Told
    from pxp_fsm.lan.running import Event

_NETWORK = click.argument(
    "network", type=click.Path(path_type=Path, dir_okay=False), metavar="NETWORK"
)
_EXAMPLES = click.option(
    "--examples",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help='JSON, one example a line: {"input": "...", "output": "..."}.',
)
_MODEL = click.option(
    "--model",
    required=True,
    metavar="MODEL",
    help="Whom all its agents ask: a model (docs/models.md), or script:FILE.",
)


@click.group()
def lan() -> None:
    """Networks of LLM agents in files such as my.lan.json, trained from few examples."""


@lan.command()
@click.argument("task")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Where it is written (my.lan.json).",
)
@click.option("--agent", default="Solver", show_default=True, metavar="NAME", help="Its name.")
def new(task: str, output: Path, agent: str) -> None:
    """Make the network that TASK begins with: one agent, whose subtask is the task."""
    from pxp_fsm.workbench import networks

    made = networks.new(task, output, agent)
    click.echo(printable(f"Made: {output}, with the agent {made.network.names[0]}"))


@lan.command()
@_NETWORK
@click.argument("text", metavar="INPUT")
@_MODEL
@click.option("--stream", is_flag=True, help="Each agent's activation and result as they happen.")
@model_options
def run(network: Path, text: str, model: str, stream: bool, **options: Any) -> None:
    """Run NETWORK on INPUT and print its output."""
    from pxp_fsm.lan.lan import Lan
    from pxp_fsm.workbench import networks

    async def ran() -> str:
        async with networks.model_of(model, settings_of(options), _waits) as opened:
            found = await Lan.load(network, opened).run(text, _shown if stream else _silent)
            return found.output

    click.echo("\n".join(map(printable, asyncio.run(ran()).split("\n"))))


@lan.command()
@_NETWORK
@_EXAMPLES
@_MODEL
@click.option("--unattended", is_flag=True, help="Nobody supervises: every step is confirmed.")
@click.option(
    "--developer",
    metavar="WHO",
    help="Who supervises: terminal (a person); or simulated, confirms, edits:P or follows:FILE.",
)
@click.option(
    "--judge",
    metavar="MODEL",
    help="Who decides whether an output will do, and a rationale follows a hint.  "
    "[default: only the same text, whatever its case and spaces]",
)
@click.option(
    "--iterations", type=int, default=5, show_default=True, help="Updates an example may take."
)
@click.option(
    "--retries", type=int, default=5, show_default=True, help="Retries an update may take."
)
@click.option("--database", metavar="URL", help="Keep each step's session there, as a run.")
@model_options
def train(
    network: Path,
    examples: Path,
    model: str,
    unattended: bool,
    developer: str | None,
    judge: str | None,
    iterations: int,
    retries: int,
    database: str | None,
    **options: Any,
) -> None:
    """Train NETWORK by examples; its file is written anew after each change.

    An update is tried on a copy, and committed if every example that was handled before still is.
    """
    from pxp_fsm.lan.pipeline import Limits
    from pxp_fsm.workbench import networks
    from pxp_fsm.workbench.lan_tasks.developers import named

    if unattended is (developer is not None):
        raise click.UsageError(
            "say --unattended or --developer terminal (or another), one of the two"
        )
    who = None if developer is None else named(developer, seed=0)
    training = networks.Training(
        network,
        networks.examples(examples),
        model,
        who,
        limits=Limits(iterations, retries),
        judge=judge,
        settings=settings_of(options),
        database=database,
        on_wait=_waits,
    )
    outcomes = asyncio.run(training.run(_quietly if developer == "terminal" else _told))
    handled = sum(outcome.handled for outcome in outcomes)
    click.echo(f"Handled: {handled} of {len(outcomes)}")


@lan.command()
@_NETWORK
@click.argument("words", nargs=-1, required=True, metavar="OPERATION...")
def edit(network: Path, words: tuple[str, ...]) -> None:
    """Edit NETWORK by one OPERATION.

    \b
    create NAME TASK OUTPUT     a new agent
    delete NAME                 an agent goes, with its edges
    connect NAME NAME           a new edge, from the first to the second
    disconnect NAME NAME        an edge goes
    set NAME FIELD VALUE...     name, task, output; enabled (yes, no);
                                knowledge, control_knowledge, required (texts)
    """
    from pxp_fsm.lan.lan import Lan
    from pxp_fsm.workbench.network_edits import operation

    edited = Lan.load(network)
    edited.edit(operation(words), about=" ".join(words))
    edited.save(network)
    click.echo(f"Change {edited.version}")


@lan.command()
@_NETWORK
def log(network: Path) -> None:
    """Print what was done to NETWORK, change by change."""
    from pxp_fsm.lan.lan import Lan

    changes = Lan.load(network).history.changes
    undone = {change.undoes for change in changes}
    for number, change in enumerate(changes, start=1):
        mark = " (undone)" if number in undone else ""
        click.echo(printable(f"{number:>4}  {change.by:<9}  {change.about}{mark}"))


@lan.command()
@_NETWORK
def undo(network: Path) -> None:
    """Undo the latest change of NETWORK; the log keeps both."""
    from pxp_fsm.lan.lan import Lan

    undone = Lan.load(network)
    undone.undo()
    undone.save(network)
    click.echo(printable(undone.history.changes[-1].about))


@lan.command()
@_NETWORK
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Its ending (.svg .png .dot .gv .mmd) says the format.",
)
def draw(network: Path, output: Path) -> None:
    """Draw NETWORK: its agents and the edges between them."""
    from pxp_fsm.diagrams import write
    from pxp_fsm.lan.drawing import diagram
    from pxp_fsm.lan.lan import Lan

    write(diagram(Lan.load(network).network), output)
    click.echo(printable(f"Drawn: {output}"))


for _command in COMMANDS:
    lan.add_command(_command)


def _waits(why: str) -> None:
    click.echo(printable(why), err=True)


def _silent(_event: Event) -> None:
    """Nothing is shown."""


def _shown(event: Event) -> None:
    """An agent's activation or result, as a line on standard error."""
    from pxp_fsm.lan.running import Activation, Produced

    if isinstance(event, Activation):
        said = "active" if event.active else f"inactive ({event.guard})"
        click.echo(printable(f"{event.agent}: {said}"), err=True)
    elif isinstance(event, Produced):
        click.echo(printable(f"{event.agent}: {event.result}"), err=True)


def _told(event: Told) -> None:
    """What a training does, as lines on standard output."""
    from pxp_fsm.lan.pipeline import Moved
    from pxp_fsm.lan.supervision import Agreement

    if isinstance(event, Agreement):
        said = event.value if event.value is not None else event.why
        click.echo(printable(f"  step ended {event.ending}: {said}"))
    elif isinstance(event, Moved) and event.row.label in _TELLING:
        detail = f": {event.detail}" if event.detail else ""
        click.echo(printable(f"{_TELLING[event.row.label]}{detail}"))


def _quietly(_event: Told) -> None:
    """Whoever supervises is shown what there is by the questions themselves."""


_TELLING = {
    "EXAMPLE": "An example",
    "BEGIN": "  iteration",
    "REPEAT": "  once more",
    "COMMIT": "  committed",
    "RECORD": "  handled",
    "GIVE_UP": "  given up",
}
