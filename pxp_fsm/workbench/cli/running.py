"""What `pxp run` does: progress, the run itself, and what is left behind."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path
from tempfile import NamedTemporaryFile

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench import report, runs
from pxp_fsm.workbench.statistics import statistics_of
from pxp_fsm.workbench.tasks import DataSet, Task, find_task


def execute(
    task: str, plan: runs.Plan | None, resume: str | None, database: str | None, output: Path
) -> None:
    """Run a new plan, or resume a run, then print and leave what came of it."""
    data = _checked(task, plan)
    if plan is not None or database is not None:
        _prepare(output)
    with SqlBlackboard(
        database or str(output / "blackboard.sqlite"), create=plan is not None
    ) as board:
        if plan is not None:
            run = runs.start(plan, board, data)
        else:
            run = runs.resume(str(resume), board)
            if run.plan.task != task:
                raise UsageError(f"run {run.name} is about {run.plan.task}, not {task}")
        _announce(run)
        try:
            _with_progress(run)
        except KeyboardInterrupt:
            click.echo(_stopped(run, database, output), err=True)
            raise
        _finish(run, board, database, output)


def _checked(task: str, plan: runs.Plan | None) -> DataSet | None:
    """Read and check everything that can be wrong before anything is made or stored."""
    found: Task = find_task(task)
    if plan is None:
        return None
    runs.check(plan)
    data = found.load(Path(plan.data) if plan.data else None)
    runs.choose(plan, data)
    return data


def _prepare(output: Path) -> None:
    """Make the output folder, and see that it can be written before anything is run."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=output):
            pass
    except OSError as error:
        raise UsageError(
            f"{output}: cannot be written ({error.strerror}); give another folder with --output"
        ) from error


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _announce(run: runs.Run) -> None:
    plan, rules = run.plan, run.plan.rules()
    bounds = ", ".join(
        f"{name} = {value}" for name, value in (("n", rules.n), ("k", rules.k)) if value is not None
    )
    click.echo(
        f"Run {run.name}: {run.task.about}, {run.data.origin}\n"
        f"{rules.automaton.title} with {bounds}; {_counted(len(run.data.sessions), 'instance')}, "
        f"{_counted(plan.repetitions, 'repetition')}, seed {plan.seed}"
    )
    if run.finished:
        click.echo(f"Resumed: {run.finished} of {run.total} sessions are over already")


def _with_progress(run: runs.Run) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("sessions"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[tags]}"),
    )
    tags: Counter[str] = Counter()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
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


def _stopped(run: runs.Run, database: str | None, output: Path) -> str:
    where = f" --output {shlex.quote(str(output))}"
    if database:
        where += f" --database {shlex.quote(database)}"
    return (
        f"\nStopped. Everything sent so far is stored; carry on with\n"
        f"  {program()} run {run.plan.task} --resume {run.name}{where}"
    )


def _finish(run: runs.Run, board: SqlBlackboard, database: str | None, output: Path) -> None:
    statistics = statistics_of(board, run.name)
    table = report.table1(statistics, report.compared(run))
    Console().print(report.as_rich(table))
    for line in report.remarks(run, statistics):
        click.echo(line)
    left = report.leave(run, board, statistics, output)
    click.echo("\nLeft behind:")
    for what, where in [(f"database, run {run.name}", board.shown), *left]:
        click.echo(f"  {what}: {where}")
    option = f"--database {shlex.quote(database or str(output / 'blackboard.sqlite'))}"
    click.echo(f"\nLook at a session: {program()} sessions {run.name}/1/1 {option}")


def program() -> str:
    """How the command was called: `pxp` where that is found, else the path that was typed."""
    called = Path(sys.argv[0])
    return "pxp" if called.name != "pxp" or shutil.which("pxp") else str(called)
