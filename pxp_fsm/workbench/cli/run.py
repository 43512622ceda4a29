"""`pxp run`: sessions for every instance of a task, with the papers' Table 1 at the end."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

_PLAN_OPTIONS = (
    "instances",
    "data",
    "protocol",
    "n",
    "k",
    "repetitions",
    "seed",
    "memo",
    "timeout",
)


@click.command()
@click.argument("task")
@click.option(
    "--instances",
    default="",
    metavar="N|all|KEY,KEY",
    help="How many instances a repetition has, or which.  [default: 20, or all if there are fewer]",
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
    "--n", type=int, metavar="N", help="INTERACT: at most N messages a session.  [default: 10]"
)
@click.option(
    "--k",
    type=int,
    default=3,
    show_default=True,
    metavar="K",
    help="INTERACT: REJECT only after message K. PXP: each self-loop on a tag at most K times.",
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
    **plan: object,
) -> None:
    """Run sessions of TASK (drug) and count their intelligibility, as in the papers' Table 1."""
    from pxp_fsm.workbench import runs
    from pxp_fsm.workbench.cli import running

    if resume is not None:
        _refuse_with_resume(context)
        chosen = None
    else:
        if plan["protocol"] == "interact" and plan["n"] is None:
            plan["n"] = 10
        if plan["protocol"] == "pxp" and plan["n"] is not None:
            raise click.UsageError("--n is INTERACT's bound; PXP is bounded by --k")
        folder = plan.pop("data")
        plan["data"] = str(Path(str(folder)).resolve()) if folder else None
        chosen = runs.Plan(task=task, **plan)  # type: ignore[arg-type]  # click has checked types
    running.execute(task, chosen, resume, database, output)


def _refuse_with_resume(context: click.Context) -> None:
    """A resumed run goes by its own plan; an option that says otherwise would be a surprise."""
    given = [
        f"--{name}"
        for name in _PLAN_OPTIONS
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"a resumed run goes by its own plan; leave out {', '.join(given)}")
