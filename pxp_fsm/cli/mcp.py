"""`pxp mcp`: assistants in the sessions of a task, or of a system."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from backends.databases import SqlBlackboard
from backends.people import has_terminal
from pxp_fsm import web
from pxp_fsm.automata.system_files import MCP, TERMINAL, is_system_file, read_system
from pxp_fsm.cli.help import findings
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.pages import require_mcp, show_links
from pxp_fsm.cli.presentation.text import printable, program
from pxp_fsm.cli.run import of_preset, say_proved
from pxp_fsm.cli.serve import EXPERT
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import UsageError, counted, quoted
from pxp_fsm.experiments import (
    files,
    members,
    plans,
    runs,
)
from pxp_fsm.experiments.openings import SystemOpening
from pxp_fsm.experiments.runs import Run

Opened = Callable[[SqlBlackboard], Run[Any]]
"""Begins the run, or finds the one that is resumed."""


def mcp(request: options.McpOptions) -> None:
    """Carry sessions on, and serve their assistants until Ctrl-C."""
    require_mcp()
    target = request.plan["task"]
    opened = _of_system(request) if is_system_file(target) else _of_task(request)
    request.output.mkdir(parents=True, exist_ok=True)
    database = request.database or str(request.output / DATABASE)
    with SqlBlackboard(database, create=request.resume is None) as board:
        run = opened(board)
        try:
            given: Any = {"stdio": request.stdio, "url": request.url, "days": request.days}
            site = web.assistant_site(board, [run], pages=findings(), **given)
            web.serve(site, request.port, partial(_show, request, _title(run)))
        except KeyboardInterrupt:
            stopped = f"Stopped. {_resumable(request, run.name, database)}"
            raise KeyboardInterrupt(stopped) from None


def _title(run: Run[Any]) -> str:
    if isinstance(run.opening, SystemOpening):
        return f"Run {run.name}"
    opening, many = run.opening, counted(run.total, "session")
    return f"Run {run.name}: {opening.task.about}, {opening.plan.rules()}, {many}"


def _of_task(request: options.McpOptions) -> Opened:
    """The run of a task, of an experiment's file, or the one that is resumed."""
    for name in ("respondents", "sessions", "anyway"):
        if getattr(request, name):
            raise UsageError("this applies to a system file, not to a task", name)
    target, resume = request.plan["task"], request.resume
    file = _is_file(target)
    if file and resume:
        raise UsageError("the run of an experiment's file is found by itself; omit this", "resume")
    if (file or resume) and len(request.plan) > 1:
        given = ", ".join(f"--{name}" for name in request.plan if name != "task")
        raise UsageError(f"{'a file' if file else 'a resumed run'} keeps its plan; omit {given}")
    if resume is not None:

        def resumed(board: SqlBlackboard) -> Run[Any]:
            run = runs.resume(resume, board, request.models.settings, may_be_over=True)
            _check_plan(run.opening.plan, request)
            if run.opening.task.name != target:
                raise UsageError(f"run {run.name} is about {run.opening.task.name}, not {target}")
            return run

        return resumed
    if file:
        experiment = files.load(Path(target))
        _check_plan(experiment.plan, request)
        return lambda board: files.open_run(
            experiment, board, request.models.settings, may_be_over=True
        )
    plan = _plan(request)
    _check_plan(plan, request)
    return lambda board: runs.start(plan, board, request.models.settings)


def _of_system(request: options.McpOptions) -> Opened:
    """The run of a system file, after what is proved of it."""
    others = [f"--{name}" for name in request.plan if name not in ("task", "seed")]
    if others:
        raise UsageError(f"{', '.join(others)} applies to a task, not to a system; leave it out")
    file, resume = read_system(request.plan["task"]), request.resume
    given = members.respondents(file, request.respondents, settings=request.models.settings)
    _check_members(request, given)
    opening = SystemOpening(
        file,
        given,
        sessions=request.sessions or 1,
        seed=int(request.plan.get("seed", 0)),
        settings=request.models.settings,
    )
    over_stdio = request.stdio is not None
    say_proved(opening.system, file, request.output, anyway=request.anyway, err=over_stdio)
    if resume is None:
        return lambda board: runs.start(opening, board)
    return lambda board: runs.resume(resume, board, request.models.settings, opening)


def _plan(request: options.McpOptions) -> plans.Plan:
    """The plan that the options mean: without another word, the assistant is the human."""
    values = dict(request.plan)
    if values.get("machine") not in plans.ASSISTANTS and "human" not in values:
        values["human"] = MCP
    plan = plans.build_plan({**of_preset(values), **values}, Path())
    return replace(plan, subject=EXPERT) if plan.in_browser and plan.subject is None else plan


def _check_plan(plan: plans.Plan, request: options.McpOptions) -> None:
    if not plan.assistants:
        raise UsageError(
            'nobody is an assistant; write human = "mcp" or machine = "mcp" below [agents]'
            if _is_file(request.plan["task"])
            else "nobody is an assistant; give --human mcp or --machine mcp"
        )
    _check_stdio(request.stdio, tuple(plan.assistants))


def _check_stdio(stdio: str | None, assistants: tuple[str, ...]) -> None:
    if stdio is not None and stdio not in assistants:
        there = ", ".join(assistants)
        raise UsageError(f"{quoted(stdio)} is no assistant; there are: {there}", "stdio")


def _check_members(request: options.McpOptions, given: Mapping[str, str]) -> None:
    """Raise `UsageError` for options that do not go together."""
    assistants = tuple(name for name, who in given.items() if who == MCP)
    if not assistants:
        name = next(iter(given))
        raise UsageError(
            f'nobody is an assistant; write respondent = "mcp" in {request.plan["task"]}, or give '
            f"--respondent {name}=mcp"
        )
    _check_stdio(request.stdio, assistants)
    if TERMINAL in given.values():
        if request.stdio is not None:
            raise UsageError("a person at the terminal cannot type there beside it", "stdio")
        if not has_terminal():
            raise UsageError("a person at the terminal requires a terminal as input and output")
    if request.resume is not None and (request.sessions is not None or "seed" in request.plan):
        raise UsageError("a resumed run keeps its own seed and sessions; leave them out")


def _is_file(target: str) -> bool:
    return Path(target).suffix in (".toml", ".json")


def _show(request: options.McpOptions, title: str, opening: web.OpenSite) -> None:
    """Print where each assistant connects, with its token, and the links of people."""
    stdio = request.stdio
    for line in [title] + ([f"{stdio}: over standard input and output"] if stdio else []):
        click.echo(printable(line), err=stdio is not None)
    show_links(False, opening, err=stdio is not None)


def _resumable(request: options.McpOptions, name: str, database: str) -> str:
    given = [word for text in request.respondents for word in ("--respondent", text)]
    target = request.plan["task"]
    by_name = is_system_file(target) or not _is_file(target)
    command = [program(), "mcp", target, *(["--resume", name] if by_name else [])]
    command += ["--database", database, "--output", str(request.output), *given]
    command += ["--anyway"] if request.anyway else []
    command += [] if request.stdio is None else ["--stdio", request.stdio]
    return f"Everything that happened is stored; carry on with\n  {shlex.join(command)}"
