"""`pxp run`: the run of a task, an experiment or a system, its progress, its artifacts."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Protocol

import click

from backends.databases import Origin, SqlBlackboard
from backends.models.paper_settings import find_preset
from backends.models.settings import Settings
from backends.people import has_terminal
from proofs.export.traces import actions_of
from proofs.systems.standard_checks import NO_DEADLOCK
from pxp_fsm.analysis.monitoring import LiveMonitors, Monitors, foregone, monitored
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System, running_system
from pxp_fsm.automata.system_files import MCP, TERMINAL, SystemFile, is_system_file, read_system
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.presentation import runs as printed
from pxp_fsm.cli.presentation.text import console, printable, program
from pxp_fsm.cli.stored import task_of
from pxp_fsm.defaults import DATABASE
from pxp_fsm.documents import text_of
from pxp_fsm.errors import Halted, UsageError, counted, unknown_name
from pxp_fsm.experiments import (
    executors,
    files,
    members,
    plan_data,
    plans,
    proved,
    runs,
    summary,
)
from pxp_fsm.experiments.members import unserved
from pxp_fsm.experiments.openings import SystemOpening, TaskOpening
from pxp_fsm.experiments.outcomes import outcomes_of
from pxp_fsm.experiments.runs import Progress, Run
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import settings
from pxp_fsm.protocol.messages import NOTHING
from pxp_fsm.protocol.rules import FAULTS
from pxp_fsm.schemas import read_assignments
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.learning import Gated, Keep
from pxp_fsm.tasks.task import find_task

Request = options.RunTask | options.RunExperiment

FAULTY = 5
"""Exit code where a fault of a member ended a session."""

SEEDED = ("seed", "repetitions")
"""What of a plan is of the run of a system, too."""

MOST_SESSIONS = 1_000_000
"""Of a system."""

_SHOWN = 20
"""Up to so many sessions of a system, each is told when it is over; of one, each action is."""


class Screen(Protocol):
    """What is shown of runs, of a task or of a system."""

    def announce(self, run: Run[Any], board: SqlBlackboard, *, again: bool) -> None:
        """Say what a run is about; `again` if only LEARN differs from the one before it."""

    def carry(self, run: Run[Any], board: SqlBlackboard) -> None:
        """Carry the run to its end in this process, and show how it goes."""

    def resumed_by(self, run: Run[Any]) -> Sequence[str]:
        """What a command that carries the run on says: what is run, and the options to repeat."""

    def finish(self, setting: str, run: Run[Any], board: SqlBlackboard) -> None:
        """Write what came of a run that is over."""

    def conclude(self, board: SqlBlackboard, database: str) -> None:
        """Print what came of all of them; `database` is as a command names it."""

    def documents(self) -> Sequence[Mapping[str, Any]]:
        """What came of each run that is over, as JSON has it."""


Begun = Callable[[SqlBlackboard], Iterator[tuple[str, Run[Any]]]]
"""The runs to be carried on, by setting; each is recorded when it is asked for."""


def run(request: options.RunTask) -> int:
    """Run a new plan or system, or resume or fork a run, then print and write what came of it.

    Whatever can be wrong with the plan, its data, its members or the output folder is found before
    the run. The exit code says whether a fault ended a session.
    """
    of_system = is_system_file(request.plan["task"])
    source = RunOrigin.read(request.source)
    if not of_system and "/" in request.plan["task"]:
        request, source = _of_message(request)
    if source.origin is None or of_system:
        of_fork = [name for change in request.changes for name in change.chosen]
        for name in [*of_fork, *(["answer_file"] if request.answer_file else [])]:
            told = "this is of a fork of a task's session: give SESSION@MESSAGE"
            raise UsageError(told, name)
    if not of_system:
        request = replace(request, plan=with_assignments(request.plan, request.assignments))
        if request.save_plan is not None:
            _save_plan(request, request.save_plan)
            return 0
    begun, screen = _system(request, source) if of_system else _task(request, source)
    return _carry_all(request, begun, screen, new=source.run is None and source.origin is None)


def _of_message(request: options.RunTask) -> tuple[options.RunTask, RunOrigin]:
    """What SESSION@MESSAGE alone means: the run's task, and that message."""
    text = request.plan["task"]
    if request.source is not None:
        raise UsageError(f"{text} says what is carried on; leave out {request.source}")
    origin = Origin.read(text)
    task = task_of(origin, request.database or str(request.output / DATABASE))
    return replace(request, plan={**request.plan, "task": task}), RunOrigin(origin=origin)


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """What a run goes on with: a stopped run, a message of a session, or a trace's file."""

    run: str | None = None
    origin: Origin | None = None
    trace: Path | None = None

    @staticmethod
    def read(text: str | None) -> RunOrigin:
        """What a text on the command line means."""
        if text is None:
            return RunOrigin()
        if text.endswith(".json"):
            return RunOrigin(trace=Path(text))
        # A run's name may have an @, as that of an experiment has; only sessions have a /.
        if "/" in text:
            return RunOrigin(origin=Origin.read(text))
        return RunOrigin(run=text)


def with_assignments(plan: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """What options and --set KEY=VALUE give of a plan; raises `UsageError` for a field of both."""
    assigned = read_assignments(plans.Plan, assignments, "assignments")
    for name in assigned:
        if name in plan:
            raise UsageError(f"{name} has an option, which is given too", "assignments")
    return {**plan, **assigned}


def _save_plan(request: options.RunTask, path: Path) -> None:
    """Write the plan as an experiment's file, once it is seen that it can be run."""
    for name in ("source", "both", "monitors"):
        if getattr(request, name):
            raise UsageError("an experiment's file is one new run; leave out this", name)
    values = _values(request)
    plan_data.read_plan(plans.build_plan(values, Path()))
    files.save(path, values)
    click.echo(printable(f"Made: {path}; run it with {program()} run {shlex.quote(str(path))}"))


def experiment(request: options.RunExperiment) -> int:
    """Run an experiment, or what is left of it, then print and write what came of it."""
    _where(request)
    assigned = with_assignments({}, request.assignments)
    loaded = files.load(request.file, assigned)
    settings = replace(request.models.settings, programs=plans.programs_named(assigned))
    _see_the_person(loaded.plan)
    members.models(loaded.plan, loaded.task, loaded.data, settings)

    def begun(board: SqlBlackboard) -> Iterator[tuple[str, Run[Any]]]:
        opened = files.open_run(loaded, board, settings)
        click.echo(printable(f"Experiment {loaded.title}, fingerprint {loaded.fingerprint}"))
        yield "", opened

    return _carry_all(request, begun, TaskScreen(request, Monitors(())), new=True)


def _carry_all(request: Request, begun: Begun, screen: Screen, *, new: bool) -> int:
    """Carry runs to their end, one after the other, and show what came of them: the exit code.

    As JSON that is all of standard output; what else is printed is on standard error.
    """
    with redirect_stdout(sys.stderr) if request.as_json else nullcontext():
        code = _carry_each(request, begun, screen, new=new)
    if request.as_json:
        click.echo(json.dumps(list(screen.documents()), indent=1))
    return code


def _carry_each(request: Request, begun: Begun, screen: Screen, *, new: bool) -> int:
    finished: list[str] = []
    database, output = _where(request)
    if new:
        _prepare(output)
    with SqlBlackboard(database, create=new) as board:
        for number, (setting, started) in enumerate(begun(board)):
            _prepare(output)
            try:
                screen.announce(started, board, again=number > 0)
                _carry(started, board, request, screen)
                screen.finish(setting, started, board)
                finished.append(started.name)
            except KeyboardInterrupt:
                stopped = f"Stopped. {_resumable(started, board, request, screen)}"
                raise KeyboardInterrupt(stopped) from None
            except Halted as error:
                how = _resumable(started, board, request, screen)
                raise Halted(f"{error}\n{how}") from error
        screen.conclude(board, _named(board, request.database, output))
        return _faults(board, finished)


def _faults(board: SqlBlackboard, finished: Sequence[str]) -> int:
    """Say which sessions of runs a fault of a member has ended; the exit code."""
    faulty = [line for run in finished for line in board.listing(run) if line.ending in FAULTS]
    if not faulty:
        return 0
    click.echo(f"A fault ended {counted(len(faulty), 'session')}:", err=True)
    for line in faulty[:_SHOWN]:
        click.echo(printable(f"  {line.session}, {line.ending}: {line.cause}"), err=True)
    if len(faulty) > _SHOWN:
        click.echo(f"  and {len(faulty) - _SHOWN:,} more", err=True)
    return FAULTY


def _carry(run: Run[Any], board: SqlBlackboard, request: Request, screen: Screen) -> None:
    """Carry `run` to its end, by itself or on workers."""
    if request.executor is None:
        screen.carry(run, board)
        return
    show = printed.progress(run.name, board, run.total)
    executors.spread(run, _where(request)[0], board, request.executor, on_tick=show)


def _where(request: Request) -> tuple[str, Path]:
    """The database and the output folder; raises `UsageError` where workers cannot share them."""
    database = request.database or str(request.output / DATABASE)
    if request.executor is not None:
        executors.check_executor(request.executor, database)
    return database, request.output


def _resumable(run: Run[Any], board: SqlBlackboard, request: Request, screen: Screen) -> str:
    where = ["--output", str(request.output)]
    if request.database is not None:
        where += ["--database", _named(board, request.database, request.output)]
    if request.executor is not None:
        where += ["--executor", request.executor]
    about, *others = screen.resumed_by(run)
    command = [program(), "run", about, run.name, *where, *others]
    return f"Everything so far is stored; carry on with\n  {shlex.join(command)}"


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


def _named(board: SqlBlackboard, database: str | None, output: Path) -> str:
    """The database as a command names it: as it was given, but for a password in its URL."""
    if database is None:
        return str(output / DATABASE)
    return database if board.engine.url.password is None else board.shown


def _say(line: str) -> None:
    click.echo(printable(line), err=True)


def _task(request: options.RunTask, source: RunOrigin) -> tuple[Begun, TaskScreen]:
    """The runs of a task: new ones of a plan, or the one that is resumed or forked."""
    if source.trace is not None:
        raise UsageError("a trace is that of a system; a task has none", "source")
    monitors = Monitors(request.monitors)
    _where(request)
    task, resume = request.plan["task"], source.run
    if resume is not None:
        _refuse_with_resume(request)

        def resumed(board: SqlBlackboard) -> Iterator[tuple[str, Run[Any]]]:
            run = runs.resume(resume, board, request.models.settings)
            if run.opening.plan.task != task:
                raise UsageError(f"run {resume} is about {run.opening.plan.task}, not {task}")
            _see_the_person(run.opening.plan)
            yield "", run

        return resumed, TaskScreen(request, monitors)
    if source.origin is not None:
        return _fork(source.origin, request), TaskScreen(request, monitors)
    try:
        openings = {
            setting: TaskOpening.read(plan, settings=_models(request))
            for setting, plan in _settings(request).items()
        }
    except UsageError as error:
        if not (request.both and error.field == "learn"):
            raise
        problem = (
            "its controlled setting weighs lessons on a validation set, and these data have none: "
            "give rows the set validation (pxp data split), or leave rows to no session "
            "(--instances)"
        )
        raise UsageError(problem, "both") from error
    for opening in openings.values():
        _see_the_person(opening.plan)
        _check_monitors(monitors, opening.plan)
        monitors.of(opening.plan.rules())

    def new(board: SqlBlackboard) -> Iterator[tuple[str, Run[Any]]]:
        for setting, opening in openings.items():
            yield setting, runs.start(opening, board)

    return new, TaskScreen(request, monitors)


def _fork(origin: Origin, request: options.RunTask) -> Begun:
    """Carry on a stored session as a new run."""
    for name in ("executor", "both"):
        if getattr(request, name):
            raise UsageError("this has no effect where one session is carried on", name)
    plan = _plan(request)
    _see_the_person(plan)
    changed = {name: getattr(plan, name) for name in request.plan}
    if request.answer_file is not None:
        changed["answer"] = text_of(request.answer_file, "an answer").strip()
        plans.answer_in(changed["answer"])

    def begun(board: SqlBlackboard) -> Iterator[tuple[str, Run[Any]]]:
        forked = runs.fork(origin, board, changed, _models(request), changes=request.changes)
        _see_the_person(forked.opening.plan)
        yield "", forked

    return begun


def _models(request: options.RunTask) -> Settings:
    """How models are asked; the programs that the command line names may be started."""
    return replace(request.models.settings, programs=plans.programs_named(request.plan))


def _values(request: options.RunTask) -> Mapping[str, Any]:
    """The fields of the plan that the options mean."""
    return {**of_preset(request.plan), **request.plan}


def _plan(request: options.RunTask) -> plans.Plan:
    """The plan that the options mean."""
    return plans.build_plan(_values(request), Path())


def _settings(request: options.RunTask) -> Mapping[str, plans.Plan]:
    """The plan by its setting's name: one without a name, or those of the papers' two settings.

    Of a machine that says how likely its answers are there are two controlled ones: by likelihood,
    and by accuracy as in the papers. What is refused is the lesson, as in the authors' code.
    """
    plan = _plan(request)
    if not request.both:
        return {"": plan}
    for value, option in (
        ("learn" in request.plan, "learning.keep"),
        (plan.person, "a person in the human's role"),
    ):
        if value:
            raise UsageError(f"this has no effect beside {option}: it runs both settings", "both")
    gated = plan if "gate" in request.plan else replace(plan, gate=Gated.CONTEXT.value)
    likely = find_task(plan.task).has_likelihood and plan.goes_without_model
    both = [
        *([replace(gated, learn=Keep.LIKELIHOOD.value)] if likely else []),
        replace(gated, learn=Keep.BETTER.value),
        replace(plan, learn=Keep.ALWAYS.value),
    ]
    return {setting_plan.setting: setting_plan for setting_plan in both}


def of_preset(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """How a preset's paper ran its experiment, where a preset is given.

    With a person it is the uncontrolled setting, in which no lesson is weighed.
    """
    if values.get("preset") is None:
        return {}
    paper = dict(find_preset(values["preset"]).plan)
    if values.get("human") in plans.PERSONS:
        paper.pop("learn", None)
    return paper


def _refuse_with_resume(request: options.RunTask) -> None:
    """Refuse options that differ from the plan of a resumed run."""
    options_set = [
        f"--set {setting.key}" if setting.option.only_in else f"--{setting.field}"
        for setting in settings(plans.Plan)
        if setting.field in request.plan and not setting.option.argument
    ]
    options_set += ["--both"] if request.both else []
    if options_set:
        raise UsageError(f"a resumed run keeps its own plan; leave out {', '.join(options_set)}")


def _see_the_person(plan: plans.Plan) -> None:
    """A person is asked at a terminal; that there is one is known before anything is stored."""
    if plan.is_served:
        raise unserved(plan)
    if plan.person is not None and not has_terminal():
        raise UsageError(
            f"--human {plan.person} requires a terminal as input and output; run the command in a "
            f"terminal, without a pipe"
        )


def _check_monitors(monitors: Monitors, plan: plans.Plan) -> None:
    """Raise `UsageError` where there are formulas over sessions of more than two agents."""
    if monitors.formulas and plan.agents is not None and plan.agents > 2:
        told = (
            f"formulas are heard live in sessions of two agents, and a panel has {plan.agents}; "
            f"pxp monitor RUN FORMULA hears what is stored of it"
        )
        raise UsageError(told, "monitors")


class TaskScreen:
    """What is shown of the runs of a task: how far they are, then Table 1."""

    def __init__(self, request: Request, monitors: Monitors) -> None:
        self._request = request
        self._monitors = monitors
        self._finished: dict[str, printed.FinishedRun] = {}

    def announce(self, run: Run[TaskOpening], board: SqlBlackboard, *, again: bool) -> None:
        _check_monitors(self._monitors, run.opening.plan)
        rules = run.opening.plan.rules()
        printed.announce(run, board, self._request.output, self._request.verbose, again)
        for line in foregone(self._monitors, rules):
            click.echo(printable(line))

    def carry(self, run: Run[TaskOpening], board: SqlBlackboard) -> None:
        plan = run.opening.plan
        live = LiveMonitors(self._monitors, plan.rules(), board, _say)
        run.on_wait = run.on_fault = _say
        if plan.person is not None:
            _with_a_person(run, self._request.output, live)
        elif sys.stderr.isatty():
            _with_a_bar(run, live)
        else:
            _with_lines(run, live)

    def resumed_by(self, run: Run[TaskOpening]) -> Sequence[str]:
        """A resumed run keeps its own plan."""
        return (run.opening.plan.task,)

    def finish(self, setting: str, run: Run[TaskOpening], board: SqlBlackboard) -> None:
        """Files first: they are there even where nobody reads what is printed."""
        output, statistics = self._request.output, statistics_of(board, run.name)
        told = monitored(self._monitors, board, run.name).lines if self._monitors.formulas else ()
        try:
            left = summary.write_artifacts(run, board, statistics, output)
        except OSError as error:
            raise _unwritable(output, error) from error
        outcomes = outcomes_of(board, run.name)
        directed = () if run.opening.plan.agents is None else board.directions(run.name)
        self._finished[setting] = printed.FinishedRun(
            run, statistics, outcomes, left, told, directed
        )

    def conclude(self, board: SqlBlackboard, database: str) -> None:
        printed.conclude(self._finished, board, database, self._request.verbose)

    def documents(self) -> Sequence[Mapping[str, Any]]:
        return [
            printed.document(setting, finished_run)
            for setting, finished_run in self._finished.items()
        ]


def _with_lines(run: Run[TaskOpening], live: LiveMonitors) -> None:
    """A line a repetition, where nobody watches."""
    left = run.left

    def on_step(step: Progress) -> None:
        if step.event is not None:
            return
        left[step.repetition] -= 1
        if not left[step.repetition]:
            spent = f": {run.meter.shown()}" if run.meter.shown() else ""
            done = f"repetition {step.repetition} of {run.opening.repetitions} is over{spent}"
            click.echo(done, err=True)

    run.execute(live.beside(on_step))


def _with_a_person(run: Run[TaskOpening], output: Path, live: LiveMonitors) -> None:
    """Only how each session ended: the conversation itself is shown by whoever asks."""
    latest: Event | None = None

    def on_step(step: Progress) -> None:
        nonlocal latest
        latest = step.event or latest
        if step.event is None:
            tag = "no message"
            if latest is not None:
                tag = f"{latest.carried.tag} by {latest.carried.sender}"
            click.echo(
                printable(f"Session {step.session} is over: {step.ending}; the last was {tag}")
            )

    click.echo("Ctrl-C or Ctrl-D leaves at any point; nothing is lost.")
    run.execute(live.beside(on_step), output)


def _with_a_bar(run: Run[TaskOpening], live: LiveMonitors) -> None:
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
            if step.event is not None:
                tags[step.event.carried.tag] += 1
            progress.update(
                bar,
                advance=1 if step.event is None else 0,
                description=f"repetition {step.repetition}",
            )
            sent.plain = printable(" ".join(f"{tag} {many}" for tag, many in sorted(tags.items())))
            spent.plain = run.meter.shown()

        run.execute(live.beside(on_step))


def _system(request: options.RunTask, source: RunOrigin) -> tuple[Begun, SystemScreen]:
    """The run of a system's file, new, resumed or forked, after what is proved of it."""
    _where(request)
    file = read_system(request.plan["task"])
    settings = SystemSettings.read(file, request.assignments)
    _refuse(request, settings, source)
    follow = () if source.trace is None else _trace(source.trace)
    system, monitors = running_system(file), Monitors(request.monitors)
    monitors.of(system)
    respondents = settings.members(file, request.models.settings, some=bool(follow))
    for member, who in respondents.items():
        if who == MCP:
            raise UsageError(
                f"member {member} is an assistant, which pxp serve --mcp serves; give the "
                f"system to that, or name another: --set {member}.respondent=WHO"
            )
    if TERMINAL in respondents.values() and not has_terminal():
        raise UsageError(
            "a person at the terminal requires a terminal as input and output; run the command in "
            "a terminal, without a pipe"
        )
    say_proved(system, file, request.output, err=request.as_json)
    opening = SystemOpening(
        file,
        respondents,
        sessions=request.plan.get("repetitions", settings.repetitions),
        seed=int(request.plan.get("seed", settings.seed)),
        follow=follow,
        origin=source.origin,
        settings=request.models.settings,
    )

    def begun(board: SqlBlackboard) -> Iterator[tuple[str, Run[Any]]]:
        if source.run is None:
            yield "", runs.start(opening, board)
        else:
            yield "", runs.resume(source.run, board, request.models.settings, opening)

    return begun, SystemScreen(request, monitors)


def say_proved(system: System, file: SystemFile, output: Path, *, err: bool = False) -> None:
    """Say what is proved of `system`, with the results in `output`.

    Raises `UsageError` where it is not as its file expects, such as where it has a deadlock.
    """
    output.mkdir(parents=True, exist_ok=True)
    known = proved.proved(system, file, output / f"{file.name}-proved.json")
    click.echo(printable(known.line), err=err)
    if known.objections:
        raise UsageError(
            f"{file.title} is not run: {'; '.join(known.objections)}. Mend the tables, or let "
            f'{file.path} expect it, as [[properties]] with check = "{NO_DEADLOCK}" and expected = '
            f'"FAILS"'
        )


def _trace(path: Path) -> tuple[SystemAction, ...]:
    return actions_of(text_of(path, "a trace in ITF"), str(path))


@dataclass(frozen=True, slots=True)
class SystemSettings:
    """What --set KEY=VALUE sets of a system: `given` names each key that is set."""

    respondents: Mapping[str, str]
    seed: int = 0
    repetitions: int = 1
    given: tuple[str, ...] = ()

    @staticmethod
    def read(file: SystemFile, assignments: Sequence[str]) -> SystemSettings:
        """What the texts set; raises `UsageError` for a key that is none of a system."""
        respondents, plan = dict[str, str](), list[str]()
        for text in assignments:
            key, _, who = text.partition("=")
            name, dot, field = key.rpartition(".")
            if key in SEEDED:
                plan.append(text)
            elif not dot or field != "respondent":
                keys = dict.fromkeys(("NAME.respondent", *SEEDED), "")
                raise unknown_name("key", key, keys, "assignments")
            elif name in respondents:
                raise UsageError(f"{key} is set twice; leave one of them out", "assignments")
            else:
                respondents[name] = who
        seeded = read_assignments(plans.Plan, plan, "assignments")
        return SystemSettings(respondents, **seeded, given=(*seeded,))

    def members(self, file: SystemFile, models: Settings, *, some: bool = False) -> dict[str, str]:
        """Who answers for each member of the system."""
        try:
            return members.respondents(file, self.respondents, some=some, settings=models)
        except UsageError as error:
            raise UsageError(str(error), "assignments") from error

    @property
    def words(self) -> list[str]:
        """The respondents, as a command names them again."""
        chosen = self.respondents.items()
        return [word for name, who in chosen for word in ("--set", f"{name}.respondent={who}")]


def _refuse(request: options.RunTask, settings: SystemSettings, source: RunOrigin) -> None:
    """Refuse what applies to tasks alone, or does not go together."""
    for name in settings.given:
        raise UsageError(f"{name} has an option; give --{name}", "assignments")
    others = [f"--{name}" for name in request.plan if name not in ("task", *SEEDED)]
    named = (("save-plan", request.save_plan), ("both", request.both))
    others += [f"--{name}" for name, is_set in named if is_set]
    if others:
        raise UsageError(
            f"{', '.join(others)} applies to the sessions of a task, not to a system; leave it out"
        )
    repetitions = request.plan.get("repetitions", 1)
    if repetitions > MOST_SESSIONS:
        raise UsageError(f"of a system it is at most {MOST_SESSIONS}", "repetitions")
    if source.run is not None and len(request.plan) > 1:
        raise UsageError("a resumed run keeps its own seed and repetitions; leave them out")


class SystemScreen:
    """What is shown of the run of a system: what happens, then how its sessions ended."""

    def __init__(self, request: options.RunTask, monitors: Monitors) -> None:
        self._request = request
        self._monitors = monitors
        self._finished: Run[SystemOpening] | None = None
        self._documents: Sequence[Mapping[str, Any]] = ()

    def announce(self, run: Run[SystemOpening], board: SqlBlackboard, *, again: bool) -> None:
        opening, system = run.opening, run.opening.system
        origin = opening.origin
        click.echo(
            printable(
                f"Run {run.name}: {opening.file.title}; {counted(len(system.members), 'member')} "
                f"over {system.channel.name}, {counted(opening.sessions, 'session')}, seed "
                f"{opening.seed}"
                + (f", from action {origin.number} of {origin.session} on" if origin else "")
            )
        )

    def carry(self, run: Run[SystemOpening], board: SqlBlackboard) -> None:
        """Of one session each action is told, of a few how each ended."""
        many = run.opening.sessions
        run.on_wait = run.on_fault = _say
        live = LiveMonitors(self._monitors, run.opening.system, board, _say)

        def on_step(step: Progress) -> None:
            if step.event is not None and many == 1:
                message = step.event.message
                empty = message is None or message.payload == NOTHING
                carried = "" if message is None or empty else f" {message.payload}"
                click.echo(printable(f"{step.event.number:>3}  {step.event.action}{carried}"))
            elif step.event is None and many <= _SHOWN:
                usual = step.cause == "every member is in an end state"
                cause = "" if usual else f": {step.cause}"
                click.echo(printable(f"Session {step.session} is over: {step.ending}{cause}"))

        run.execute(live.beside(on_step), self._request.output)

    def resumed_by(self, run: Run[SystemOpening]) -> Sequence[str]:
        request = self._request
        assignments = [word for text in request.assignments for word in ("--set", text)]
        spread = [] if request.executor is None else ["--executor", request.executor]
        return (request.plan["task"], *assignments, *spread)

    def finish(self, setting: str, run: Run[SystemOpening], board: SqlBlackboard) -> None:
        self._finished = run

    def conclude(self, board: SqlBlackboard, database: str) -> None:
        run = self._finished
        assert run is not None  # noqa: S101 - one run was begun
        endings = sorted(run.endings().items())
        click.echo("; ".join(f"{ending}: {many}" for ending, many in endings))
        asked = self._request.monitors
        told = monitored(self._monitors, board, run.name).lines if asked else ()
        for line in told:
            click.echo(printable(line))
        self._documents = [
            {
                "run": run.name,
                "system": run.opening.file.name,
                "sessions": run.total,
                "endings": dict(endings),
                "monitored": list(told),
            }
        ]
        look = [program(), "show", f"{run.name}/1/1", "--database", database]
        click.echo(printable(f"Look at a session: {shlex.join(look)}"))

    def documents(self) -> Sequence[Mapping[str, Any]]:
        return self._documents
