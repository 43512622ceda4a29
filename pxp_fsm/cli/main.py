"""The command group: its help, its errors and its exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from pxp_fsm import __version__
from pxp_fsm.cli.command import Entry, Group
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import BlackboardError, FileError, Halted, NotThere, PXPError

BAD_INPUT, FAULT, INTERRUPTED, NO_READER = 2, 3, 130, 141
"""Exit codes beside 0: a request that cannot be met, a database or disk at fault, Ctrl-C, and a
pipe that nobody reads any more."""


_NETWORKS = {
    "new": Entry("make a network of one agent", "networks", "lan"),
    "run": Entry("run a network on an input", "networks", "lan"),
    "train": Entry("train a network by examples", "networks", "lan"),
    "edit": Entry("edit a network by one operation", "networks", "lan"),
    "log": Entry("print what was done to a network", "networks", "lan"),
    "undo": Entry("undo the latest change", "networks", "lan"),
    "draw": Entry("draw a network", "networks", "lan"),
    "tasks": Entry("list tasks and their criteria", "networks", "lan_tasks"),
    "test": Entry("score a network on a task", "networks", "lan_tasks"),
    "compare": Entry("train on a task in three ways", "networks", "lan_tasks"),
    "distance": Entry("the least editing between two networks", "networks", "lan_tasks"),
    "actions": Entry("list what was done by hand", "networks", "lan_tasks"),
}

SECTIONS = {
    "Prove what tables allow": {
        "check": Entry("check properties of tables, protocols, systems", "proofs"),
        "language": Entry("all tag sequences of a protocol", "proofs"),
        "odds": Entry("probabilities of outcomes", "proofs"),
        "conform": Entry("test a program against a table", "proofs"),
    },
    "Run sessions": {
        "run": Entry("sessions of a task, DRUG or RAD", "sessions"),
        "experiment": Entry("the experiment in a file", "sessions", "run"),
        "lan": Entry("networks of LLM agents, run and trained", module="main"),
    },
    "Show results": {
        "sessions": Entry("sessions, listed or shown", "results"),
        "draw": Entry("automata, sessions, counterexamples", "results"),
        "report": Entry("tables and figures of runs", "results"),
        "compare": Entry("two runs, session by session", "results"),
        "monitor": Entry("evaluate temporal formulas on recorded sessions", "results"),
        "audit": Entry("messages that no correct agent could have sent", "results"),
        "judge": Entry("a run's pairs, put to a judge again", "sessions"),
        "cost": Entry("show model costs", "results"),
    },
    "Keep and exchange": {
        "verify": Entry("whether anything was changed after the fact", "storage"),
        "upgrade": Entry("an older database", "storage", "verify"),
        "export": Entry("runs as files, tables for other tools", "storage", "exchange"),
        "import": Entry("what was exported", "storage", "exchange"),
    },
}
"""The commands by what they are for."""


class _Commands(Group):
    """Sees what is raised before click does, which has other exit codes for some of it."""

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


@click.group(
    cls=_Commands,
    sections=SECTIONS,
    name="pxp",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="pxp")
def commands() -> None:
    """State machines, proved and run, for protocols between agents that predict and explain.

    Exit codes: 0 done, 1 a stored run was changed (verify), holds what no correct agent sends
    (audit), a verdict is not the expected one (check), a formula is false (monitor) or a program
    differs (conform), 2 the request or its data cannot be used, 3 a database or disk failed, 4 a
    verdict is unknown (check, conform), 130 stopped by Ctrl-C (everything sent so far is stored),
    141 nobody reads the pipe any more.
    """


@click.group(cls=Group, sections={"Commands": _NETWORKS})
def lan() -> None:
    """Networks of LLM agents in files such as my.lan.json, trained from few examples."""


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
