"""`pxp mcp`: assistants in the sessions of a task, or of a system."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from backends.databases import SqlBlackboard
from backends.people import has_terminal
from pxp_fsm import web
from pxp_fsm.automata.system import system_in
from pxp_fsm.automata.system_files import MCP, TERMINAL, SystemFile, is_system_file, read_system
from pxp_fsm.cli.help import findings
from pxp_fsm.cli.options import web as options
from pxp_fsm.cli.pages import require_mcp, tokens_of
from pxp_fsm.cli.presentation.text import printable, program
from pxp_fsm.cli.run import of_preset
from pxp_fsm.cli.run_system import say_proved
from pxp_fsm.cli.serve import EXPERT
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments import files, plans, runs, system_members, system_runs
from pxp_fsm.experiments.execution import Run
from pxp_fsm.experiments.summary import counted


def mcp(request: options.Mcp) -> None:
    """Carry sessions on, and serve their assistants until Ctrl-C."""
    require_mcp()
    target = request.plan["task"]
    if is_system_file(target):
        _serve_system(request, read_system(target))
    else:
        _serve_task(request, target)


def _serve_task(request: options.Mcp, target: str) -> None:
    """The run of a task, of an experiment's file, or the one that is resumed."""
    for name in ("respondents", "sessions", "anyway"):
        if getattr(request, name):
            raise UsageError("this applies to a system file, not to a task", name)
    file = _is_file(target)
    if file and request.resume:
        raise UsageError("the run of an experiment's file is found by itself; omit this", "resume")
    if (file or request.resume) and len(request.plan) > 1:
        given = ", ".join(f"--{name}" for name in request.plan if name != "task")
        raise UsageError(f"{'a file' if file else 'a resumed run'} keeps its plan; omit {given}")
    experiment = files.load(Path(target)) if file else None
    plan = experiment.plan if experiment else _plan(request) if not request.resume else None
    if plan is not None:
        _check_plan(plan, request)
    request.output.mkdir(parents=True, exist_ok=True)
    database = request.database or str(request.output / DATABASE)
    with SqlBlackboard(database, create=request.resume is None) as board:
        if request.resume is not None:
            run = runs.resume(request.resume, board, request.models, may_be_over=True)
            _check_plan(run.plan, request)
        elif experiment is not None:
            run = files.open_run(experiment, board, request.models, may_be_over=True)
        else:
            assert plan is not None  # noqa: S101 - neither a file nor a stored run has it
            run = runs.start(plan, board, settings=request.models)
        if run.task.name != target and experiment is None:
            raise UsageError(f"run {run.name} is about {run.task.name}, not {target}")
        _serve(request, board, run, database)


def _plan(request: options.Mcp) -> plans.Plan:
    """The plan that the options mean: without another word, the assistant is the human."""
    values = dict(request.plan)
    if values.get("machine") not in plans.ASSISTANTS and "human" not in values:
        values["human"] = MCP
    plan = plans.build_plan({**of_preset(values), **values}, Path())
    return replace(plan, subject=EXPERT) if plan.in_browser and plan.subject is None else plan


def _check_plan(plan: plans.Plan, request: options.Mcp) -> None:
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


def _serve(request: options.Mcp, board: SqlBlackboard, run: Run, database: str) -> None:
    many = counted(run.total, "session")
    title = f"Run {run.name}: {run.task.about}, {run.plan.rules()}, {many}"
    try:
        web.serve_tasks(
            board,
            [run],
            request.port,
            partial(_show, request, title),
            stdio=request.stdio,
            url=request.url,
            days=request.days,
            pages=findings(),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped. {_resumable(request, run.name, database)}") from None


def _serve_system(request: options.Mcp, file: SystemFile) -> None:
    """The sessions of a system file."""
    others = [f"--{name}" for name in request.plan if name not in ("task", "seed")]
    if others:
        raise UsageError(f"{', '.join(others)} applies to a task, not to a system; leave it out")
    system = system_in(file)
    given = system_members.respondents(file, request.respondents, settings=request.models)
    _check_members(request, given)
    over_stdio = request.stdio is not None
    say_proved(system, file, request.output, anyway=request.anyway, err=over_stdio)
    database = request.database or str(request.output / DATABASE)
    with SqlBlackboard(database, create=request.resume is None) as board:
        seed, sessions = int(request.plan.get("seed", 0)), request.sessions or 1
        models = request.models
        if request.resume is None:
            name = system_runs.start_run(
                *(board, file, system, given), seed=seed, sessions=sessions, caps=models.caps
            )
        else:
            name = request.resume
            stored = system_runs.check_resumed(board, name, file, system, given, models)
            seed, sessions, models, _ = stored
        run = system_runs.SystemRun(
            name=name,
            system=system,
            file=file,
            respondents=given,
            board=board,
            sessions=sessions,
            seed=seed,
            settings=models,
        )
        try:
            web.serve_assistants(
                run,
                request.port,
                partial(_show, request, f"Run {name}"),
                stdio=request.stdio,
                url=request.url,
                days=request.days,
                pages=findings(),
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Stopped. {_resumable(request, name, database)}") from None


def _check_members(request: options.Mcp, given: Mapping[str, str]) -> None:
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


def _show(
    request: options.Mcp,
    title: str,
    address: str,
    tokens: Mapping[str, str],
    links: Mapping[str, str],
) -> None:
    """Print where each assistant connects, with its token, and the links of people."""
    stdio = request.stdio
    lines = [title] + ([f"{stdio}: over standard input and output"] if stdio else [])
    lines += tokens_of(address, tokens)
    lines += [f"{subject or 'researcher'}: {link}" for subject, link in links.items()]
    end = "Each token and link is one member's own. Ctrl-C ends the server; nothing is lost."
    for line in [*lines, end] if tokens or links else lines:
        click.echo(printable(line), err=stdio is not None)


def _resumable(request: options.Mcp, name: str, database: str) -> str:
    given = [word for text in request.respondents for word in ("--respondent", text)]
    target = request.plan["task"]
    by_name = is_system_file(target) or not _is_file(target)
    command = [program(), "mcp", target, *(["--resume", name] if by_name else [])]
    command += ["--database", database, "--output", str(request.output), *given]
    command += ["--anyway"] if request.anyway else []
    command += [] if request.stdio is None else ["--stdio", request.stdio]
    return f"Everything that happened is stored; carry on with\n  {shlex.join(command)}"
