"""`pxp serve` of tasks, experiments and runs, and of systems with assistants: who takes part."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from backends.databases import SqlBlackboard
from backends.people import has_terminal
from pxp_fsm import defaults, web
from pxp_fsm.automata.system_files import MCP, TERMINAL, SystemFile, read_system
from pxp_fsm.cli import explore
from pxp_fsm.cli.help import findings
from pxp_fsm.cli.options import serve as options
from pxp_fsm.cli.pages import port_of, require_mcp, require_server, show_links, with_folder
from pxp_fsm.cli.presentation.text import printable, program
from pxp_fsm.cli.run import SystemSettings, of_preset, say_proved
from pxp_fsm.errors import UsageError, counted, quoted
from pxp_fsm.experiments import files, plans, runs
from pxp_fsm.experiments.openings import SystemOpening, TaskOpening
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.schemas import read_assignments
from pxp_fsm.tasks.task import task_meanings

EXPERT = "expert"
"""The pseudonym of a person whom neither a file nor --subject names."""

Opened = Callable[[SqlBlackboard], Run[Any]]
"""Begins a run, or finds the one that is stored."""


def serve(request: options.ServeRuns) -> None:
    """Serve the people and assistants of tasks, experiments and runs until Ctrl-C."""
    require_server("the server of pages")
    assigned = read_assignments(Plan, request.assignments, "assignments")
    opened = [
        open_run for target in request.targets for open_run in _opened(target, assigned, request)
    ]
    if request.stdio is not None and len(opened) > 1:
        raise UsageError("an assistant there has one run; give one", "stdio")
    with SqlBlackboard(with_folder(request.database)) as board:
        served = [open_run(board) for open_run in opened]
        names = [run.name for run in served]
        if len(set(names)) < len(names):
            raise UsageError("the same run is given twice; leave one of them out")
        _serve(request, board, served, ())


def system(request: options.ServeSystem) -> None:
    """Explore a system; with --mcp serve its assistants until Ctrl-C."""
    if request.mcp or request.stdio is not None:
        _assistants(request)
        return
    for name in ("assignments", "url"):
        if getattr(request, name):
            raise UsageError("this has no effect without --mcp", name)
    explore.tables(request)


def _assistants(request: options.ServeSystem) -> None:
    """The run of a system file, new or stored, after what is proved of it."""
    for name in ("channel", "edit", "output", "formulas"):
        if getattr(request, name):
            raise UsageError("this has no effect with --mcp", name)
    require_mcp()
    target, *others = request.tables
    if len(others) > 1:
        raise UsageError(f"after {target} stands at most one RUN, which goes on")
    file = read_system(target)
    settings = SystemSettings.read(file, request.assignments)
    if others and settings.given:
        told = f"{', '.join(settings.given)} cannot be set: a stored run keeps its own"
        raise UsageError(told, "assignments")
    who = settings.members(file, request.models.settings)
    _check_members(request, file, who)
    opening = SystemOpening(
        file,
        who,
        sessions=settings.repetitions,
        seed=settings.seed,
        settings=request.models.settings,
    )
    over_stdio = request.stdio is not None
    is_url = "://" in request.database
    folder = Path(defaults.OUTPUT) if is_url else Path(request.database).parent
    say_proved(opening.system, file, folder, err=over_stdio)
    with SqlBlackboard(with_folder(request.database)) as board:
        if others:
            run = runs.resume(others[0], board, request.models.settings, opening)
        else:
            run = runs.start(opening, board)
        again = settings.words
        again += ["--mcp"] if request.stdio is None else []
        _serve(request, board, [run], (target, *again))


def _serve(
    request: options.ServeRuns | options.ServeSystem,
    board: SqlBlackboard,
    served: Sequence[Run[Any]],
    again: Sequence[str],
) -> None:
    """Serve runs until Ctrl-C, and say how they go on; `again` are words of that command."""
    addressing: Any = {"url": request.url, "days": request.days}
    assistants = [name for run in served for name in _assistants_of(run)]
    stdio = request.stdio
    if assistants:
        require_mcp()
        site = web.assistant_site(board, served, pages=findings(), stdio=stdio, **addressing)
    else:
        site = web.expert_site(board, served, **addressing)

    def show(opening: web.OpenSite) -> None:
        lines = [_title(run) for run in served] if assistants else []
        lines += [] if stdio is None else [f"{stdio}: over standard input and output"]
        for line in lines:
            click.echo(printable(line), err=stdio is not None)
        show_links(request.browser and stdio is None, opening, err=stdio is not None)

    try:
        web.serve(site, port_of(request.port), show)
    except KeyboardInterrupt:
        names = [run.name for run in served]
        command = [program(), "serve", *again, *names, "--database", request.database]
        command += [] if stdio is None else ["--stdio", stdio]
        advice = f"Everything that happened is stored; carry on with\n  {shlex.join(command)}"
        raise KeyboardInterrupt(f"Stopped. {advice}") from None


def _assistants_of(run: Run[Any]) -> Sequence[str]:
    """The members of a run that are assistants."""
    if isinstance(run.opening, SystemOpening):
        return [name for name, who in run.opening.respondents.items() if who == MCP]
    return list(run.opening.plan.assistants)


def _title(run: Run[Any]) -> str:
    if isinstance(run.opening, SystemOpening):
        return f"Run {run.name}"
    opening, many = run.opening, counted(run.total, "session")
    return f"Run {run.name}: {opening.task.about}, {opening.plan.rules()}, {many}"


def _opened(
    target: str, assigned: Mapping[str, Any], request: options.ServeRuns
) -> Iterator[Opened]:
    """The runs that a target means: one for each expert of a task or file, or that of the name."""
    settings = replace(request.models.settings, programs=plans.programs_named(assigned))
    is_file = Path(target).suffix in (".toml", ".json")
    if not is_file and target not in task_meanings():
        for name in ("subjects", "assignments", "mcp"):
            if getattr(request, name):
                raise UsageError(f"run {quoted(target)} keeps its plan", name)
        yield partial(_stored, target, request)
        return
    if is_file and request.mcp:
        raise UsageError(f"{target} says who takes part; leave this out", "mcp")
    for subject in request.subjects or (None,):
        values = assigned if subject is None else {**assigned, "subject": subject}
        if is_file:
            experiment = files.load(Path(target), values)
            plan = _with_people(experiment.plan, target, is_file=True)
            _check_stdio(request.stdio, plan.assistants)
            experiment = replace(experiment, plan=plan)
            yield partial(_of_file, experiment, settings=settings)
        else:
            plan = _with_people(_plan(target, values, request), target, is_file=False)
            _check_stdio(request.stdio, plan.assistants)
            yield partial(runs.start, TaskOpening.read(plan, settings=settings))


def _plan(task: str, assigned: Mapping[str, Any], request: options.ServeRuns) -> Plan:
    """The plan of a task, whose human is, without another word, a person, or with --mcp not."""
    values = {**of_preset(assigned), **assigned, "task": task}
    if values.get("machine") not in plans.ASSISTANTS and "human" not in values:
        is_mcp = request.mcp or request.stdio is not None
        values["human"] = MCP if is_mcp else plans.BROWSER
    return plans.build_plan(values, Path())


def _with_people(plan: Plan, target: str, *, is_file: bool) -> Plan:
    """The plan, in which somebody is asked by the server; a person has a pseudonym."""
    if not plan.is_served:
        where = "below [agents]" if is_file else "by --set agents.human=browser"
        raise UsageError(
            f'{target}: nobody takes part by a server; write human = "browser" for a person, or '
            f'human or machine = "mcp" for an assistant, {where}'
        )
    if plan.in_browser and plan.subject is None:
        return replace(plan, subject=EXPERT)
    return plan


def _of_file(experiment: files.Experiment, board: SqlBlackboard, *, settings: Any) -> Run[Any]:
    return files.open_run(experiment, board, settings, may_be_over=True)


def _stored(name: str, request: options.ServeRuns, board: SqlBlackboard) -> Run[Any]:
    run = runs.resume(name, board, request.models.settings, may_be_over=True)
    _check_stdio(request.stdio, run.opening.plan.assistants)
    if not run.opening.plan.is_served:
        raise UsageError(f"in run {quoted(name)} nobody takes part by a server")
    return run


def _check_stdio(stdio: str | None, assistants: Iterable[str]) -> None:
    if stdio is not None and stdio not in assistants:
        there = ", ".join(assistants) or "none"
        raise UsageError(f"{quoted(stdio)} is no assistant; there are: {there}", "stdio")


def _check_members(request: options.ServeSystem, file: SystemFile, who: Mapping[str, str]) -> None:
    """Raise `UsageError` for options that do not go together."""
    if MCP not in who.values():
        name = next(iter(who))
        raise UsageError(
            f'nobody is an assistant; write respondent = "mcp" in {request.tables[0]}, or give '
            f"--set {name}.respondent=mcp"
        )
    _check_stdio(request.stdio, [name for name, respondent in who.items() if respondent == MCP])
    if TERMINAL in who.values():
        if request.stdio is not None:
            raise UsageError("a person at the terminal cannot type there beside it", "stdio")
        if not has_terminal():
            raise UsageError("a person at the terminal requires a terminal as input and output")
