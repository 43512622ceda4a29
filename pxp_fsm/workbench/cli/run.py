"""`pxp run`: sessions for every instance of a task, with the papers' Table 1 at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pxp_fsm.workbench import defaults
from pxp_fsm.workbench.cli.models import model_options, settings_of

if TYPE_CHECKING:
    from pxp_fsm.workbench.plans import Plan

_PLAN_OPTIONS = (
    "instances",
    "data",
    "protocol",
    "n",
    "k",
    "unbounded",
    "repetitions",
    "seed",
    "memo",
    "timeout",
    "human",
    "machine",
    "judge",
    "preset",
    "prompts",
    "scope",
    "votes",
    "order",
    "learn",
    "gate",
    "carry",
)
_NAMES = {"scope": "judge-scope"}
"""Options that are called otherwise than what they set."""


@click.command()
@click.argument("task")
@click.option(
    "--instances",
    metavar="N|all|KEY,KEY",
    help="How many instances a repetition has, or which.  "
    f"[default: {defaults.INSTANCES}, or all if there are fewer]",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The authors' data folder, as published; left out, the bundled set is used.",
)
@click.option(
    "--protocol", type=click.Choice(["interact", "pxp"]), default="interact", show_default=True
)
@click.option(
    "--n",
    type=int,
    metavar="N",
    help=f"INTERACT: at most N messages a session.  [default: {defaults.N}]",
)
@click.option(
    "--k",
    type=int,
    metavar="K",
    help="INTERACT: REJECT only after message K. PXP: each self-loop on a tag at most K times.  "
    f"[default: {defaults.K}]",
)
@click.option(
    "--unbounded",
    is_flag=True,
    help="PXP: self-loops without a bound, in place of --k; a session stops at 1000 messages.",
)
@click.option(
    "--repetitions",
    type=int,
    default=1,
    show_default=True,
    metavar="R",
    help="How often all instances are gone through, each time in another order.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the orders.")
@click.option(
    "--memo/--no-memo",
    default=True,
    show_default=True,
    help="Whether an agent remembers its judgements within a session.",
)
@click.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    help="End a session as late whose question waits so long for its answer.  [default: never]",
)
@click.option(
    "--human",
    type=click.Choice(["terminal", "terminal:relations"]),
    help="You, at this terminal, in the human's place: naming the tags yourself, or answering "
    "MATCH and AGREE and letting the automaton name them.  [default: the task's own human]",
)
@click.option(
    "--machine",
    metavar="MODEL",
    help="Who predicts in place of the task's own machine: anthropic:NAME, openai:NAME[@URL].",
)
@click.option("--judge", metavar="MODEL", help="Who decides AGREE in place of the task's own way.")
@click.option(
    "--preset",
    metavar="NAME",
    help="A paper's models, settings and repetitions: B-rad, B-drug, C-rad, C-drug; with --machine "
    "and --judge other models, at its settings.",
)
@click.option(
    "--prompts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Your own prompts, in place of the task's (docs/prompts.md).",
)
@click.option(
    "--judge-scope",
    "scope",
    type=click.Choice(defaults.SCOPES),
    help="How far the judge's verdicts are remembered.  [default: session]",
)
@click.option(
    "--votes",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="How often the judge is asked each question; the majority counts.",
)
@click.option(
    "--order",
    type=click.Choice(["fixed", "shuffled", "sampled"]),
    default="shuffled",
    show_default=True,
    help="Of the instances: as the data have them; drawn for each repetition; or drawn so that "
    "no two repetitions have the same.",
)
@click.option(
    "--learn",
    type=click.Choice(["always", "better", "equal", "never"]),
    default="always",
    show_default=True,
    help="When the machine keeps what it is told: always (uncontrolled), or where accuracy on the "
    "validation set improves (controlled), or does not fall, or never.",
)
@click.option(
    "--gate",
    type=click.Choice(["revision", "context"]),
    default="revision",
    show_default=True,
    help="What is refused otherwise: the revised answer, or the lesson itself.",
)
@click.option(
    "--carry/--no-carry",
    default=None,
    help="Whether the machine goes on with what it has learned from session to session.  "
    "[default: the task's own machine does, a model does not]",
)
@click.option(
    "--executor",
    metavar="URL",
    help="Spread the run over workers: dask://HOST:PORT or processes://N, on PostgreSQL.",
)
@click.option(
    "--monitor",
    "monitors",
    multiple=True,
    metavar="FORMULA",
    help="Watch this formula of temporal logic (docs/logic.md) in every session, and tell at once "
    "where it is violated; repeatable.",
)
@model_options
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(defaults.OUTPUT),
    show_default=True,
    metavar="DIR",
    help="Where table and drawings are left.",
)
@click.option(
    "--database",
    metavar="URL",
    help="Where sessions are stored: a file or a database URL.  [default: in the output folder]",
)
@click.option("--resume", metavar="RUN", help="Carry on an interrupted run, at its next message.")
@click.pass_context
def run(
    context: click.Context,
    /,
    task: str,
    output: Path,
    database: str | None,
    resume: str | None,
    executor: str | None,
    monitors: tuple[str, ...],
    **options: Any,
) -> None:
    """Run sessions of TASK (drug or rad) and count their intelligibility.

    The count is that of the papers' Table 1.
    """
    from pxp_fsm.workbench.cli import running

    if resume is not None:
        _refuse_with_resume(context)
    plan = {name: options.pop(name) for name in _PLAN_OPTIONS}
    if plan["preset"] is not None and not _given(context, "repetitions"):
        from backends.models.presets import find_preset

        plan["repetitions"] = find_preset(plan["preset"]).repetitions
    chosen = _plan(task, **plan) if resume is None else None
    settings = settings_of(options)
    running.execute(task, chosen, resume, database, output, settings, executor, monitors)


def _plan(
    task: str,
    *,
    protocol: str,
    n: int | None,
    k: int | None,
    unbounded: bool,
    data: Path | None,
    prompts: Path | None,
    **others: Any,
) -> Plan:
    """The plan that the options mean."""
    from pxp_fsm.workbench.plans import Plan

    if protocol == "pxp" and n is not None:
        raise click.UsageError("--n is INTERACT's bound; PXP is bounded by --k")
    if unbounded and (protocol != "pxp" or k is not None):
        raise click.UsageError("--unbounded is of --protocol pxp, in place of --k")
    if n is None and protocol != "pxp":
        n = defaults.N
    if k is None and not unbounded:
        k = defaults.K
    if prompts is not None:
        from pxp_fsm.workbench.prompts import written

        others["prompts"] = written(prompts)
    return Plan(task, protocol, n, k, data=str(data) if data is not None else None, **others)


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_with_resume(context: click.Context) -> None:
    """A resumed run goes by its own plan; an option that says otherwise would be a surprise."""
    given = [f"--{_NAMES.get(name, name)}" for name in _PLAN_OPTIONS if _given(context, name)]
    if given:
        raise click.UsageError(f"a resumed run goes by its own plan; leave out {', '.join(given)}")
