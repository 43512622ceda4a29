"""`pxp run SYSTEM.toml`: the sessions of a system, after what is proved of it."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import click

from backends.databases import Origin, SqlBlackboard
from backends.people import has_terminal
from proofs.export.itf import actions_of
from pxp_fsm.analysis.monitoring import LiveActions, Monitors, tallies
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.documents import text_of
from pxp_fsm.automata.system import System, system_in
from pxp_fsm.automata.system_files import MCP, TERMINAL, SystemFile, read_system
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.presentation.runs import progress
from pxp_fsm.cli.presentation.text import printable, program
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import Halted, UsageError
from pxp_fsm.experiments import executors, proved, system_members, system_runs
from pxp_fsm.experiments.faults import Reporter
from pxp_fsm.experiments.summary import counted
from pxp_fsm.sessions.occurrences import Occurrence
from pxp_fsm.sessions.system_session import SystemSession

_SHOWN = 20
"""Up to so many sessions each is told when it is over; of one, each action is."""


def run(request: options.Run) -> None:
    """Say what is proved of the system, run its sessions, and say how they ended.

    Whatever can be wrong with the file, its tables and its members is found before the run.
    """
    _refuse(request)
    if request.executor is not None:
        executors.check_executor(request.executor, request.database)
    file = read_system(request.plan["task"])
    system = system_in(file)
    follow = () if request.follow is None else _trace(request.follow)
    monitors = Monitors(request.monitors)
    monitors.of_system(system)
    given = system_members.respondents(
        file, request.respondents, some=bool(follow), settings=request.models
    )
    for member, who in given.items():
        if who == MCP:
            raise UsageError(
                f"member {member} is an assistant, which pxp mcp serves; run the system with "
                f"pxp mcp, or name another: --respondent {member}=WHO"
            )
    if TERMINAL in given.values() and not has_terminal():
        raise UsageError(
            "a person at the terminal requires a terminal as input and output; run the command in "
            "a terminal, without a pipe"
        )
    say_proved(system, file, request.output, anyway=request.anyway)
    database = request.database or str(request.output / DATABASE)
    with SqlBlackboard(database, create=request.resume is None and request.fork is None) as board:
        if request.resume is None:
            seed, sessions = int(request.plan.get("seed", 0)), request.sessions or 1
            models = request.models
            origin = None if request.fork is None else Origin.read(request.fork)
            name = system_runs.start_run(
                *(board, file, system, given),
                seed=seed,
                sessions=sessions,
                caps=models.caps,
                origin=origin,
            )
        else:
            name = request.resume
            stored = system_runs.check_resumed(board, name, file, system, given, request.models)
            seed, sessions, models, origin = stored
        click.echo(
            printable(
                f"Run {name}: {file.title}; {counted(len(system.members), 'member')} over "
                f"{system.channel.name}, {counted(sessions, 'session')}, seed {seed}"
                + (f", from action {origin.number} of {origin.session} on" if origin else "")
            )
        )
        reporter = Reporter()

        def on_end(session: SystemSession) -> None:
            if sessions <= _SHOWN:
                _over(session)
            for line in reporter.lines(session):
                click.echo(printable(line), err=True)

        live = LiveActions(
            monitors.of_system(system), board, lambda line: click.echo(printable(line), err=True)
        )

        def on_action(session: str, occurrence: Occurrence) -> None:
            if sessions == 1:
                _told(occurrence)
            live.hear(session, occurrence)

        carried = system_runs.SystemRun(
            name=name,
            system=system,
            file=file,
            respondents=given,
            board=board,
            sessions=sessions,
            seed=seed,
            follow=follow,
            origin=origin,
            settings=models,
            on_action=on_action,
            on_end=on_end,
        )
        endings = _carry(carried, request, database)
        told = [one.line for one in tallies(monitors, board, name)] if request.monitors else []
    click.echo("; ".join(f"{ending}: {many}" for ending, many in sorted(endings.items())))
    for line in told:
        click.echo(printable(line))
    look = [program(), "sessions", f"{name}/1/1", "--database", database]
    click.echo(printable(f"Look at a session: {shlex.join(look)}"))


def say_proved(
    system: System, file: SystemFile, output: Path, *, anyway: bool, err: bool = False
) -> None:
    """Say what is proved of `system`, with the results in `output`.

    Raises `UsageError` where it has a deadlock, or is not as its file expects, unless `anyway`.
    """
    output.mkdir(parents=True, exist_ok=True)
    found = proved.proved(system, file, output / f"{file.name}-proved.json")
    click.echo(printable(found.line), err=err)
    if found.objections and not anyway:
        raise UsageError(
            f"{file.title} is not run: {'; '.join(found.objections)}. Mend the tables, or run it "
            f"with --anyway"
        )


def _carry(run: system_runs.SystemRun, request: options.Run, database: str) -> Counter[str]:
    """Carry the run to its end, by itself or on workers; how many sessions have ended how."""
    try:
        if request.executor is None:
            return run.execute()
        show = progress(run.name, run.board, run.sessions)
        executors.spread(run, database, run.board, request.executor, on_tick=show)
        return run.endings()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped. {_resumable(request, run.name, database)}") from None
    except Halted as error:
        raise Halted(f"{error}\n{_resumable(request, run.name, database)}") from error


def _trace(path: Path) -> tuple[SystemAction, ...]:
    return actions_of(text_of(path, "a trace in ITF"), str(path))


def _refuse(request: options.Run) -> None:
    """Refuse what applies to tasks alone, or does not go together."""
    others = [
        f"--{name.replace('_', '-')}" for name in request.plan if name not in ("task", "seed")
    ]
    for name in ("unbounded", "anchor", "sign", "both"):
        if getattr(request, name):
            others.append(f"--{name}")
    if others:
        raise UsageError(
            f"{', '.join(others)} applies to the sessions of a task, not to a system; leave it out"
        )
    if request.fork is not None and request.follow is not None:
        raise UsageError(
            "this has no effect beside --fork, which says what happened first", "follow"
        )
    if request.resume is not None and (
        "seed" in request.plan or request.sessions is not None or request.fork is not None
    ):
        raise UsageError("a resumed run keeps its own seed, sessions and fork; leave them out")


def _resumable(request: options.Run, name: str, database: str) -> str:
    given = [word for text in request.respondents for word in ("--respondent", text)]
    follow = [] if request.follow is None else ["--follow", str(request.follow)]
    anyway = ["--anyway"] if request.anyway else []
    spread = [] if request.executor is None else ["--executor", request.executor]
    command = [program(), "run", request.plan["task"], "--resume", name, "--database", database]
    command += ["--output", str(request.output), *given, *follow, *anyway, *spread]
    return f"Everything that happened is stored; carry on with\n  {shlex.join(command)}"


def _told(occurrence: Occurrence) -> None:
    letter = occurrence.letter
    carried = "" if letter is None or letter.text == "null" else f" {letter.text}"
    click.echo(printable(f"{occurrence.number:>3}  {occurrence.action}{carried}"))


def _over(session: SystemSession) -> None:
    cause = "" if session.cause == "every member is in an end state" else f": {session.cause}"
    click.echo(printable(f"Session {session.name} is over: {session.ending}{cause}"))
