"""The command group: its help, its errors and its exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from pxp_fsm import __version__
from pxp_fsm.errors import (
    BlackboardError,
    FileError,
    Halted,
    NotThere,
    PXPError,
)
from pxp_fsm.workbench.cli.audit import audit
from pxp_fsm.workbench.cli.check import check
from pxp_fsm.workbench.cli.conform import conform
from pxp_fsm.workbench.cli.cost import cost
from pxp_fsm.workbench.cli.draw import draw
from pxp_fsm.workbench.cli.exchange import export, import_
from pxp_fsm.workbench.cli.experiment import compare, experiment
from pxp_fsm.workbench.cli.judge import judge
from pxp_fsm.workbench.cli.lan import lan
from pxp_fsm.workbench.cli.language import language
from pxp_fsm.workbench.cli.monitor import monitor
from pxp_fsm.workbench.cli.odds import odds
from pxp_fsm.workbench.cli.printing import printable
from pxp_fsm.workbench.cli.report import report
from pxp_fsm.workbench.cli.run import run
from pxp_fsm.workbench.cli.sessions import sessions
from pxp_fsm.workbench.cli.verify import upgrade, verify

BAD_INPUT, FAULT, INTERRUPTED, NO_READER = 2, 3, 130, 141
"""Exit codes beside 0: a request that cannot be met, a database or disk at fault, Ctrl-C, and a
pipe that nobody reads any more."""


class _Group(click.Group):
    """Sees what is raised before click does, which has other exit codes for some of it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for."""
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(command.name or "", told) for command, told in section.items()]
                )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(NO_READER) from None
        except PXPError as error:
            if isinstance(error, FileError):
                _say("Error: ", error.problems)
            else:
                told = str(error).split("\n") if isinstance(error, Halted) else (str(error),)
                _say("Error: ", told)
            fault = isinstance(error, BlackboardError) and not isinstance(error, NotThere)
            raise click.exceptions.Exit(FAULT if fault else BAD_INPUT) from error
        except OSError as error:
            _say("Error: ", (_in_words(error),))
            raise click.exceptions.Exit(FAULT) from error
        except KeyboardInterrupt as stopped:
            _say("", str(stopped).split("\n") if stopped.args else ("Stopped.",))
            raise click.exceptions.Exit(INTERRUPTED) from None


def _say(label: str, lines: Sequence[str]) -> None:
    """On standard error, whoever wrote the words; a stream that is closed hears nothing."""
    with suppress(OSError):
        click.echo(label + "\n".join(map(printable, lines)), err=True)


def _in_words(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror[:1].lower()}{error.strerror[1:]}"


@click.group(cls=_Group, name="pxp", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pxp")
def commands() -> None:
    """State machines, proved and run, for protocols between agents that predict and explain.

    Exit codes: 0 done, 1 a stored run was changed (verify), holds what no correct agent sends
    (audit), a verdict is not the expected one (check), a formula is false (monitor) or a program
    differs (conform), 2 the request or its data cannot be used, 3 a database or disk failed, 4 a
    verdict is unknown (check, conform), 130 stopped by Ctrl-C (everything sent so far is stored),
    141 nobody reads the pipe any more.
    """


_SECTIONS: Mapping[str, Mapping[click.Command, str]] = {
    "Prove what tables allow": {
        check: "what is true of tables, protocols, systems",
        language: "all tag sequences there are",
        odds: "how probable what may happen is",
        conform: "whether a program does what a table says",
    },
    "Run sessions": {
        run: "sessions of a task, DRUG or RAD",
        experiment: "the experiment in a file",
        lan: "networks of LLM agents, run and trained",
    },
    "See what came of them": {
        sessions: "sessions, listed or shown",
        draw: "automata, sessions, counterexamples",
        report: "tables and figures of runs",
        compare: "two runs, session by session",
        monitor: "how formulas stand in recorded sessions",
        audit: "what good agents or judges never send",
        judge: "a run's pairs, put to a judge again",
        cost: "what models cost",
    },
    "Keep and exchange": {
        verify: "whether anything was changed after the fact",
        upgrade: "an older database",
        export: "runs as files, tables for other tools",
        import_: "what was exported",
    },
}
for _section in _SECTIONS.values():
    for _command in _section:
        commands.add_command(_command)


def main(arguments: Sequence[str] | None = None, prog_name: str | None = None) -> NoReturn:
    """Run the command and exit with its code; nothing that can go wrong is a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = _code(arguments, prog_name)
    try:
        sys.stdout.flush()
    except OSError:  # what is left cannot be written at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _code(arguments: Sequence[str] | None, prog_name: str | None) -> int:
    try:
        code = commands.main(arguments, prog_name, standalone_mode=False)
    except click.Abort:
        _say("", ("Stopped.",))
        return INTERRUPTED
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        _say("", shown.getvalue().rstrip("\n").split("\n"))
        return error.exit_code
    return code if isinstance(code, int) else 0
