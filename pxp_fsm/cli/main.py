"""The `pxp` command group: its help, its errors and its exit codes."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import click

from pxp_fsm import __version__
from pxp_fsm.cli.command import Entry, Group
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.doors import shadowed
from pxp_fsm.errors import (
    BlackboardError,
    FileError,
    Halted,
    NotThere,
    PXPError,
    PXPWarning,
    quoted,
)

BAD_INPUT, FAULT, INTERRUPTED, NO_READER = 2, 3, 130, 141
"""Exit codes besides 0: a request that cannot be met, a database or disk failure, Ctrl-C, and a
closed pipe."""


_NETWORKS = {
    "new": Entry("create a network of one agent", "networks", "lan"),
    "run": Entry("run a network on an input", "networks", "lan"),
    "train": Entry("train a network on examples", "networks", "lan"),
    "edit": Entry("apply one operation to a network", "networks", "lan"),
    "log": Entry("print the change log of a network", "networks", "lan"),
    "undo": Entry("undo the latest change", "networks", "lan"),
    "redo": Entry("do again what was undone last", "networks", "lan"),
    "restore": Entry("go to an earlier version", "networks", "lan"),
    "show": Entry("print a network, with its last run", "networks", "lan"),
    "draw": Entry("draw a network", "networks", "lan"),
    "serve": Entry("edit, run and train a network in a browser", "networks", "lan_serve"),
    "tasks": Entry("list tasks and their criteria", "networks", "lan_tasks"),
    "test": Entry("score a network on a task", "networks", "lan_tasks"),
    "compare": Entry("compare three ways of training on a task", "networks", "lan_tasks"),
    "distance": Entry("compute the least editing between two networks", "networks", "lan_tasks"),
    "actions": Entry("list the manual changes of a network", "networks", "lan_tasks"),
}

_DATA = {
    "check": Entry("check data of your own", "data", "data"),
    "select": Entry("select rows by what they are about", "data", "data"),
    "summarize": Entry("let a model summarise explanations", "data", "data"),
    "split": Entry("draw rows for sessions, validation and test", "data", "data"),
}

_STUDY = {
    "check": Entry("check a study and prove its lifecycles", "studies", "study"),
    "serve": Entry("let people take part in a browser", "studies", "study"),
    "change": Entry("open, pause, resume, close, anonymise a study", "studies", "study"),
    "status": Entry("show who takes part, and who waits for whom", "studies", "study"),
    "export": Entry("export a study without names", "studies", "study"),
}

SECTIONS = {
    "Verify tables": {
        "check": Entry("check properties of tables, protocols, systems", "proofs"),
        "language": Entry("count, list and compare tag sequences", "proofs"),
        "odds": Entry("compute probabilities of outcomes", "proofs"),
        "conform": Entry("test a program against a table", "proofs"),
    },
    "Run sessions": {
        "run": Entry("run sessions of a task, DRUG or RAD", "sessions"),
        "experiment": Entry("run the experiment in a file", "sessions", "run"),
        "serve": Entry("let experts take part in a browser", "web"),
        "mcp": Entry("let assistants take part, over MCP", "web"),
        "data": Entry("check, select, split, summarise data of your own", module="main"),
        "lan": Entry("run and train networks of LLM agents", module="main"),
        "study": Entry("let people take part in a study", module="main"),
    },
    "Show results": {
        "explore": Entry("explore a system step by step in a browser", "web"),
        "sessions": Entry("list or show sessions", "results"),
        "draw": Entry("draw automata, sessions, counterexamples", "results"),
        "report": Entry("report tables and figures of runs", "results"),
        "compare": Entry("compare two runs, session by session", "results"),
        "monitor": Entry("evaluate temporal formulas on recorded sessions", "results"),
        "audit": Entry("find messages that no correct agent could have sent", "results"),
        "test": Entry("ask the machine of a run its test data (Figure 2)", "sessions"),
        "judge": Entry("submit the pairs of a run to a judge again", "sessions"),
        "cost": Entry("show model costs", "results"),
    },
    "Store and exchange": {
        "verify": Entry("report changes to stored runs", "storage"),
        "upgrade": Entry("upgrade an older database", "storage", "verify"),
        "export": Entry("export runs as files, tables for other tools", "storage", "exchange"),
        "import": Entry("import exported runs and tables", "storage", "exchange"),
        "archive": Entry("pack runs for a paper's supplement, check a pack", "storage"),
        "erase": Entry("erase what was said in sessions", "storage", "verify"),
    },
    "Find out": {
        "list": Entry("list tasks, claims, runs, models, systems, languages", "about"),
        "help": Entry("read a page of the documentation", "about"),
        "doctor": Entry("report what is installed, and what it enables", "about"),
    },
}
"""The commands by purpose."""


class _Commands(Group):
    """Handles exceptions before click does, whose exit codes differ for some of them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_shown():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(NO_READER) from None
        except PXPError as error:
            if isinstance(error, FileError):
                _print("Error: ", error.problems)
            else:
                lines = str(error).split("\n") if isinstance(error, Halted) else (str(error),)
                _print("Error: ", lines)
            fault = isinstance(error, BlackboardError) and not isinstance(error, NotThere)
            raise click.exceptions.Exit(FAULT if fault else BAD_INPUT) from error
        except OSError as error:
            _print("Error: ", (_describe(error),))
            raise click.exceptions.Exit(FAULT) from error
        except UnicodeEncodeError as error:
            said = f"{quoted(error.object)} is not valid Unicode; give the file a name in UTF-8"
            _print("Error: ", (said,))
            raise click.exceptions.Exit(BAD_INPUT) from error
        except MemoryError as error:
            _print("Error: ", ("there is not enough memory; what was stored is kept",))
            raise click.exceptions.Exit(FAULT) from error
        except KeyboardInterrupt as stopped:
            _print("", str(stopped).split("\n") if stopped.args else ("Stopped.",))
            raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """A block whose warnings of this package are lines on standard error."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, PXPWarning):
                _print("Warning: ", (str(message),))
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", PXPWarning)
        warnings.showwarning = show
        yield


def _print(label: str, lines: Sequence[str]) -> None:
    """Print to standard error, with unprintable characters escaped; ignore a closed stream."""
    with suppress(OSError):
        click.echo(label + "\n".join(map(printable, lines)), err=True)


def _describe(error: OSError) -> str:
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
    """Verify and run state machines for protocols between agents that predict and explain.

    Exit codes: 0 success; 1 a stored run was changed (verify, archive), a run contains messages
    that no correct agent could have sent (audit), a verdict is not the expected one (check), a
    formula is false (monitor), a program differs from its table (conform), or a package is shadowed
    (doctor); 2 the request or its data cannot be used; 3 a database or a disk failed; 4 a verdict
    is unknown (check, conform); 130 stopped by Ctrl-C (every message sent so far is stored); 141
    the reader of the pipe has closed it.
    """


@click.group(cls=Group, sections={"Commands": _NETWORKS})
def lan() -> None:
    """Run and train networks of LLM agents, kept in files such as my.lan.json."""


@click.group(cls=Group, sections={"Commands": _STUDY})
def study() -> None:
    """Conduct studies with people, set up in files such as my_study.toml (pxp help studies)."""


@click.group(cls=Group, sections={"Commands": _DATA})
def data() -> None:
    """Check, select, split, summarise data of your own: CSV or JSON Lines (pxp help data)."""


SEARCHES = 100_000, 20, 50
"""When to search for garbage: seldom, since what a check builds is kept (a quarter of its time)."""


def main(arguments: Sequence[str] | None = None, prog_name: str | None = None) -> NoReturn:
    """Run the command and exit with its code; no failure is shown as a traceback."""
    gc.set_threshold(*SEARCHES)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before the start; nobody reads it
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for line in shadowed():
        _print("Warning: ", (line,))
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
        _print("", ("Stopped.",))
        return INTERRUPTED
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        _print("", shown.getvalue().expandtabs(2).rstrip("\n").split("\n"))
        return error.exit_code
    return code if isinstance(code, int) else 0
