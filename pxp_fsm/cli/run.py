"""`pxp run` and `pxp experiment`: the run, its progress, and its artifacts."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from backends.databases import Origin, SqlBlackboard, anchors
from backends.models.paper_settings import find_preset
from backends.people import has_terminal
from pxp_fsm.analysis.monitoring import Live, Monitors, foregone, tallies
from pxp_fsm.cli import run_system
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.presentation import runs as printed
from pxp_fsm.cli.presentation.text import console, printable, program
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import Halted, UsageError
from pxp_fsm.experiments import (
    executors,
    files,
    participants,
    plan_data,
    plans,
    runs,
    summary,
)
from pxp_fsm.experiments.guests import unserved
from pxp_fsm.experiments.outcomes import outcomes_of
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.options import settings
from pxp_fsm.protocol.messages import Message

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Request = options.Run | options.Experiment


def run(request: options.Run) -> None:
    """Run a new plan, or resume a run, then print and write what came of it.

    Whatever can be wrong with the plan, its data or the output folder is found before the run.
    """
    if Path(request.plan["task"]).suffix in (".toml", ".json"):
        run_system.run(request)
        return
    _refuse_of_systems(request)
    monitors = Monitors(request.monitors)
    database, output = _where(request)
    _signing_key(request)
    if request.resume is not None:
        _refuse_with_resume(request)
        _resume(request.plan["task"], request.resume, request, monitors)
        return
    if request.fork is not None:
        _fork(Origin.read(request.fork), request, monitors)
        return
    begun = {
        setting: (plan, plan_data.read_plan(plan)) for setting, plan in _settings(request).items()
    }
    for plan, found in begun.values():
        _see_the_person(plan)
        monitors.under(plan.rules())
        participants.models(plan, *found, request.models)
    _prepare(output)
    with SqlBlackboard(database) as board:
        finished: dict[str, printed.Finished] = {}
        for setting, (plan, found) in begun.items():
            started = runs.start(plan, board, found, request.models)
            finished[setting] = _carry(started, board, request, monitors, bool(finished))
        _conclude(finished, board, request)


def _refuse_of_systems(request: options.Run) -> None:
    """Refuse what applies to system files alone."""
    for name, value in (
        ("respondents", request.respondents),
        ("sessions", request.sessions),
        ("follow", request.follow),
        ("anyway", request.anyway),
    ):
        if value:
            raise UsageError("this applies to a system file, not to a task", name)


def _resume(task: str, name: str, request: options.Run, monitors: Monitors) -> None:
    database, output = _where(request)
    with SqlBlackboard(database, create=False) as board:
        resumed = runs.resume(name, board, request.models)
        if resumed.plan.task != task:
            raise UsageError(f"run {resumed.name} is about {resumed.plan.task}, not {task}")
        _see_the_person(resumed.plan)
        _prepare(output)
        _conclude({"": _carry(resumed, board, request, monitors)}, board, request)


def _fork(origin: Origin, request: options.Run, monitors: Monitors) -> None:
    """Carry on a stored session as a new run."""
    database, output = _where(request)
    for name in ("executor", "both"):
        if getattr(request, name):
            raise UsageError("this has no effect beside --fork, which runs one session", name)
    plan = _plan(request)
    _see_the_person(plan)
    given = {name: getattr(plan, name) for name in request.plan}
    with SqlBlackboard(database, create=False) as board:
        forked = runs.fork(origin, board, given, request.models)
        _see_the_person(forked.plan)
        _prepare(output)
        _conclude({"": _carry(forked, board, request, monitors)}, board, request)


def experiment(request: options.Experiment) -> None:
    """Run an experiment, or what is left of it, then print and write what came of it."""
    database, output = _where(request)
    _signing_key(request)
    found = files.load(request.file, request.subject)
    _see_the_person(found.plan)
    participants.models(found.plan, found.task, found.data, request.models)
    _prepare(output)
    with SqlBlackboard(database) as board:
        opened = files.open_run(found, board, request.models)
        click.echo(printable(f"Experiment {found.title}, fingerprint {found.fingerprint}"))
        _conclude({"": _carry(opened, board, request, Monitors(()))}, board, request)


def _plan(request: options.Run) -> plans.Plan:
    """The plan that the options mean."""
    values = dict(request.plan)
    if request.unbounded:
        if values.get("protocol") != "pxp" or "k" in values:
            raise UsageError("--unbounded requires --protocol pxp, and replaces --k")
        values["k"] = plans.UNBOUNDED
    return plans.build_plan({**of_preset(values), **values}, Path())


def _settings(request: options.Run) -> Mapping[str, plans.Plan]:
    """The plan by its setting's name: one without a name, or those of both settings."""
    plan = _plan(request)
    if not request.both:
        return {"": plan}
    for given, option in (("learn" in request.plan, "learn"), (plan.person, "human")):
        if given:
            raise UsageError(f"this has no effect beside --{option}: it runs both settings", "both")
    return {
        printed.CONTROLLED: replace(plan, learn="better"),
        printed.UNCONTROLLED: replace(plan, learn="always"),
    }


def of_preset(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """How a preset's paper ran its experiment, where a preset is given.

    With a person it is the uncontrolled setting, in which no lesson is weighed.
    """
    if given.get("preset") is None:
        return {}
    paper = dict(find_preset(given["preset"]).plan)
    if given.get("human") in plans.PERSONS:
        paper.pop("learn", None)
    return paper


def _refuse_with_resume(request: options.Run) -> None:
    """Refuse options that differ from the plan of a resumed run."""
    given = [
        f"--{setting.option.name or setting.field}"
        for setting in settings(plans.Plan)
        if setting.field in request.plan and not setting.option.argument
    ]
    given += [f"--{name}" for name in ("unbounded", "both", "fork") if getattr(request, name)]
    if given:
        raise UsageError(f"a resumed run keeps its own plan; leave out {', '.join(given)}")


def _where(request: Request) -> tuple[str, Path]:
    """The database and the output folder; raises `UsageError` where workers cannot share them."""
    if request.executor is not None:
        executors.check_executor(request.executor, request.database)
    return request.database or str(request.output / DATABASE), request.output


def _carry(
    run: runs.Run,
    board: SqlBlackboard,
    request: Request,
    monitors: Monitors,
    again: bool = False,
) -> printed.Finished:
    """Carry `run` to its end, and write its files; `again` if only LEARN differs from the last."""
    database, output, executor = request.database, request.output, request.executor
    key = _signing_key(request)
    watched = monitors.under(run.plan.rules())
    live = Live(watched, lambda session: (one.message for one in board.entries(session)))
    try:
        printed.announce(run, board, output, request.verbose, again)
        for line in foregone(watched, run.plan.rules()):
            click.echo(printable(line))
        if executor is not None and database is not None:
            show = printed.progress(run.name, board, run.total)
            executors.spread(run, database, board, executor, on_tick=show)
        else:
            _with_progress(run, output, live)
        if request.anchor is not None and key is not None:
            anchors.sign_run(board, run.name, request.anchor, key)
        told = [one.line for one in tallies(monitors, board, run.name)] if watched else []
        return _finished(run, board, output, told)
    except KeyboardInterrupt:
        stopped = f"Stopped. {_resumable(run, board, database, output)}"
        raise KeyboardInterrupt(stopped) from None
    except Halted as error:
        raise Halted(f"{error}\n{_resumable(run, board, database, output)}") from error


def _signing_key(request: Request) -> Ed25519PrivateKey | None:
    """The key that signs the anchor, read before anything is run."""
    if request.anchor is not None and request.sign is None:
        raise UsageError("--anchor requires --sign, the key that signs it")
    if request.sign is not None and request.anchor is None:
        raise UsageError("--sign has no effect without --anchor")
    return None if request.sign is None else anchors.private_key(request.sign)


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


def _see_the_person(plan: plans.Plan) -> None:
    """A person is asked at a terminal; that there is one is known before anything is stored."""
    if plan.is_served:
        raise unserved(plan)
    if plan.person is not None and not has_terminal():
        raise UsageError(
            f"--human {plan.person} requires a terminal as input and output; run the command in a "
            f"terminal, without a pipe"
        )


def _with_progress(run: runs.Run, output: Path, live: Live) -> None:
    run.on_wait = run.on_fault = live.say = lambda line: click.echo(printable(line), err=True)
    if run.plan.person is not None:
        _with_a_person(run, output, live)
    elif sys.stderr.isatty():
        _with_a_bar(run, live)
    else:
        _with_lines(run, live)


def _with_lines(run: runs.Run, live: Live) -> None:
    """A line a repetition, where nobody watches."""
    left = run.left

    def on_step(step: runs.Progress) -> None:
        if step.message is not None:
            return
        left[step.repetition] -= 1
        if not left[step.repetition]:
            spent = f": {run.meter.shown()}" if run.meter.shown() else ""
            done = f"repetition {step.repetition} of {run.plan.repetitions} is over{spent}"
            click.echo(done, err=True)

    run.execute(live.beside(on_step))


def _with_a_person(run: runs.Run, output: Path, live: Live) -> None:
    """Only how each session ended: the conversation itself is shown by whoever asks."""
    latest: Message | None = None

    def on_step(step: runs.Progress) -> None:
        nonlocal latest
        latest = step.message or latest
        if step.message is None:
            tag = f"{latest.tag} by {latest.sender}" if latest is not None else "no message"
            click.echo(
                printable(f"Session {step.session} is over: {step.ending}; the last was {tag}")
            )

    click.echo("Ctrl-C or Ctrl-D leaves at any point; nothing is lost.")
    run.execute(live.beside(on_step), output)


def _with_a_bar(run: runs.Run, live: Live) -> None:
    """How far it is; below that the tags sent, and what models cost, which would crowd it out."""
    from rich.console import Group
    from rich.live import Live
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("sessions,"),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    tags: Counter[str] = Counter()
    out = console(stderr=True)
    progress = Progress(*columns, console=out)
    sent, spent = (Text(no_wrap=True, overflow="ellipsis") for _ in range(2))
    with Live(Group(progress, sent, spent), console=out, transient=True) as shown:
        run.on_wait = run.on_fault = live.say = lambda line: shown.console.print(
            printable(line), markup=False, highlight=False
        )
        bar = progress.add_task("", total=run.total, completed=run.finished)

        def on_step(step: runs.Progress) -> None:
            if step.message is not None:
                tags[step.message.tag] += 1
            progress.update(
                bar,
                advance=1 if step.message is None else 0,
                description=f"repetition {step.repetition}",
            )
            sent.plain = printable(" ".join(f"{tag} {many}" for tag, many in sorted(tags.items())))
            spent.plain = run.meter.shown()

        run.execute(live.beside(on_step))


def _resumable(run: runs.Run, board: SqlBlackboard, database: str | None, output: Path) -> str:
    where = ["--output", str(output)]
    if database is not None:
        where += ["--database", _named(board, database, output)]
    command = [program(), "run", run.plan.task, "--resume", run.name, *where]
    return f"Everything sent so far is stored; carry on with\n  {shlex.join(command)}"


def _finished(
    run: runs.Run, board: SqlBlackboard, output: Path, told: Sequence[str]
) -> printed.Finished:
    """Files first: they are there even where nobody reads what is printed."""
    statistics = statistics_of(board, run.name)
    try:
        left = summary.write_artifacts(run, board, statistics, output)
    except OSError as error:
        raise _unwritable(output, error) from error
    return printed.Finished(run, statistics, outcomes_of(board, run.name), left, told)


def _conclude(
    finished: Mapping[str, printed.Finished], board: SqlBlackboard, request: Request
) -> None:
    named = _named(board, request.database, request.output)
    printed.conclude(finished, board, named, request.verbose)


def _named(board: SqlBlackboard, database: str | None, output: Path) -> str:
    """The database as a command names it: as it was given, but for a password in its URL."""
    if database is None:
        return str(output / DATABASE)
    return database if board.engine.url.password is None else board.shown
