"""What `pxp run` does: progress, the run itself, and what is left behind."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryFile

import click

from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench import plans, report, runs
from pxp_fsm.workbench.cli.printing import console, printable
from pxp_fsm.workbench.defaults import DATABASE
from pxp_fsm.workbench.report import counted
from pxp_fsm.workbench.statistics import statistics_of


def execute(
    task: str, plan: plans.Plan | None, resume: str | None, database: str | None, output: Path
) -> None:
    """Run a new plan, or resume a run, then print and leave what came of it.

    Whatever can be wrong with the plan, its data or the output folder is found before the run.
    """
    found = plans.read(plan) if plan is not None else None
    if plan is not None:
        _prepare(output)
    with SqlBlackboard(database or str(output / DATABASE), create=plan is not None) as board:
        if plan is not None:
            run = runs.start(plan, board, found)
        else:
            run = runs.resume(str(resume), board)
            if run.plan.task != task:
                raise UsageError(f"run {run.name} is about {run.plan.task}, not {task}")
            _prepare(output)
        try:
            _announce(run)
            _with_progress(run)
            _finish(run, board, database, output)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_stopped(run, board, database, output)) from None


def _prepare(output: Path) -> None:
    """Make the output folder, and see that it can be written before anything is run."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=output):
            pass
    except OSError as error:
        raise _unwritable(output, error) from error


def _unwritable(path: Path, error: OSError) -> OSError:
    why = str(error.strerror or error).lower()
    return OSError(f"cannot write {path}: {why}; give another folder with --output")


def _announce(run: runs.Run) -> None:
    plan, rules = run.plan, run.plan.rules()
    bounds = [
        f"{name} = {value}" for name, value in (("n", rules.n), ("k", rules.k)) if value is not None
    ]
    click.echo(printable(f"Run {run.name}: {run.task.about}, {run.data.origin}"))
    click.echo(
        f"{rules.automaton.title} {'with ' + ', '.join(bounds) if bounds else 'without bounds'}; "
        f"{counted(len(run.data.sessions), 'instance')}, "
        f"{counted(plan.repetitions, 'repetition')}, seed {plan.seed}"
    )
    if run.finished:
        click.echo(f"Resumed: {run.finished} of {counted(run.total, 'session')} over already")


def _with_progress(run: runs.Run) -> None:
    if sys.stderr.isatty():
        _with_a_bar(run)
    else:
        _with_lines(run)


def _with_lines(run: runs.Run) -> None:
    """A line a repetition, where nobody watches."""
    latest = 0

    def over() -> None:
        if latest:
            click.echo(f"repetition {latest} of {run.plan.repetitions} is over", err=True)

    def on_step(step: runs.Step) -> None:
        nonlocal latest
        if step.repetition != latest:
            over()
            latest = step.repetition

    run.execute(on_step)
    over()


def _with_a_bar(run: runs.Run) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("sessions"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[tags]}", markup=False),
    )
    tags: Counter[str] = Counter()
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=run.total, completed=run.finished, tags="")

        def on_step(step: runs.Step) -> None:
            if step.message is not None:
                tags[step.message.tag] += 1
            shown = " ".join(f"{tag} {number}" for tag, number in sorted(tags.items()))
            progress.update(
                bar,
                advance=1 if step.message is None else 0,
                description=f"repetition {step.repetition}",
                tags=shown,
            )

        run.execute(on_step)


def _stopped(run: runs.Run, board: SqlBlackboard, database: str | None, output: Path) -> str:
    where = ["--output", str(output)]
    if database is not None:
        where += ["--database", _shown(board, database)]
    command = [program(), "run", run.plan.task, "--resume", run.name, *where]
    return f"Stopped. Everything sent so far is stored; carry on with\n  {shlex.join(command)}"


def _shown(board: SqlBlackboard, database: str) -> str:
    """The database as it was given, but for a password in its URL."""
    return database if board.engine.url.password is None else board.shown


def _finish(run: runs.Run, board: SqlBlackboard, database: str | None, output: Path) -> None:
    """Files first: they are there even where nobody reads what is printed."""
    statistics = statistics_of(board, run.name)
    try:
        left = report.leave(run, board, statistics, output)
    except OSError as error:
        raise _unwritable(output, error) from error
    table = report.table1(statistics, report.compared(run))
    console().print(report.as_rich(table))
    for line in report.remarks(run, statistics):
        click.echo(printable(line))
    click.echo("\nLeft behind:")
    for what, where in [(f"database, run {run.name}", board.shown), *left]:
        click.echo(printable(f"  {what}: {where}"))
    there = _shown(board, database) if database is not None else str(output / DATABASE)
    command = [program(), "sessions", f"{run.name}/1/1", "--database", there]
    click.echo(f"\nLook at a session: {shlex.join(command)}")


def program() -> str:
    """How the command was called: `pxp` where that is found, else the path that was typed."""
    called = Path(sys.argv[0])
    return "pxp" if called.name != "pxp" or shutil.which("pxp") else str(called)
