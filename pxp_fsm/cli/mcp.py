"""`pxp mcp`: assistants as members of the sessions of a system."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import click

from backends.databases import SqlBlackboard
from backends.people import has_terminal
from pxp_fsm import web
from pxp_fsm.automata.system import system_in
from pxp_fsm.automata.system_files import MCP, TERMINAL, read_system
from pxp_fsm.cli.help import pages
from pxp_fsm.cli.options import web as options
from pxp_fsm.cli.pages import require_server
from pxp_fsm.cli.presentation.text import printable, program
from pxp_fsm.cli.run_system import say_proved
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import UsageError, quoted, require_extra
from pxp_fsm.experiments import system_members, system_runs


def mcp(request: options.Mcp) -> None:
    """Carry the sessions of a system on, and serve its assistants until Ctrl-C."""
    require_extra("mcp", "the server of assistants", {"mcp": "mcp"})
    require_server("the server of assistants")
    file = read_system(request.file)
    system = system_in(file)
    given = system_members.respondents(file, request.respondents, settings=request.models)
    _check(request, given)
    over_stdio = request.stdio is not None
    say_proved(system, file, request.output, anyway=request.anyway, err=over_stdio)
    database = request.database or str(request.output / DATABASE)
    with SqlBlackboard(database, create=request.resume is None) as board:
        seed, sessions, models = request.seed, request.sessions or 1, request.models
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

        def ready(address: str, tokens: Mapping[str, str]) -> None:
            for line in _lines(name, address, tokens, request.stdio):
                click.echo(printable(line), err=over_stdio)

        found = {page: path for page, path in pages().items() if page.startswith("findings")}
        try:
            web.serve_assistants(
                run,
                request.port,
                ready,
                stdio=request.stdio,
                url=request.url,
                days=request.days,
                pages=found,
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Stopped. {_resumable(request, name, database)}") from None


def _check(request: options.Mcp, given: Mapping[str, str]) -> None:
    """Raise `UsageError` for options that do not go together."""
    assistants = [name for name, who in given.items() if who == MCP]
    if not assistants:
        name = next(iter(given))
        raise UsageError(
            f'nobody is an assistant; write respondent = "mcp" in {request.file}, or give '
            f"--respondent {name}=mcp"
        )
    if request.stdio is not None and request.stdio not in assistants:
        there = ", ".join(assistants)
        raise UsageError(f"{quoted(request.stdio)} is no assistant; there are: {there}", "stdio")
    if TERMINAL in given.values():
        if request.stdio is not None:
            raise UsageError("a person at the terminal cannot type there beside it", "stdio")
        if not has_terminal():
            raise UsageError("a person at the terminal requires a terminal as input and output")
    if request.resume is not None and (request.sessions is not None or request.seed):
        raise UsageError("a resumed run keeps its own seed and sessions; leave them out")


def _lines(run: str, address: str, tokens: Mapping[str, str], stdio: str | None) -> list[str]:
    """What is printed once the server is ready: where each assistant connects, with its token."""
    lines = [f"Run {run}"] + ([f"{stdio}: over standard input and output"] if stdio else [])
    for name, token in tokens.items():
        lines += [f"{name}: {address}", f"  Authorization: Bearer {token}"]
    end = "Each token is one member's own. Ctrl-C ends the server; nothing is lost."
    return lines + ([end] if tokens else [])


def _resumable(request: options.Mcp, name: str, database: str) -> str:
    given = [word for text in request.respondents for word in ("--respondent", text)]
    command = [program(), "mcp", request.file, "--resume", name, "--database", database]
    command += ["--output", str(request.output), *given]
    command += ["--anyway"] if request.anyway else []
    command += [] if request.stdio is None else ["--stdio", request.stdio]
    return f"Everything that happened is stored; carry on with\n  {shlex.join(command)}"
