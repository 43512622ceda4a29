"""`pxp run`: sessions for every instance of a task, with the papers' Table 1 at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pxp_fsm.workbench import defaults

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
)


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
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
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
    **plan: Any,
) -> None:
    """Run sessions of TASK (drug) and count their intelligibility, as in the papers' Table 1."""
    from pxp_fsm.workbench.cli import running

    if resume is not None:
        _refuse_with_resume(context)
    chosen = _plan(task, **plan) if resume is None else None
    running.execute(task, chosen, resume, database, output)


def _plan(
    task: str,
    *,
    protocol: str,
    n: int | None,
    k: int | None,
    unbounded: bool,
    data: Path | None,
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
    return Plan(task, protocol, n, k, data=str(data) if data is not None else None, **others)


def _refuse_with_resume(context: click.Context) -> None:
    """A resumed run goes by its own plan; an option that says otherwise would be a surprise."""
    given = [
        f"--{name}"
        for name in _PLAN_OPTIONS
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"a resumed run goes by its own plan; leave out {', '.join(given)}")
