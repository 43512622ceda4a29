"""The `pxp` command group: its help, its errors and its exit codes."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import click

from pxp_fsm import __version__
from pxp_fsm.cli.command import CommandGroup, load_command
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import (
    BlackboardError,
    FileError,
    Halted,
    NotThere,
    PXPError,
    PXPWarning,
    quoted,
)
from pxp_fsm.registry import Entry, plugins
from pxp_fsm.shadowing import shadowed

BAD_INPUT, FAULT, INTERRUPTED, NO_READER = 2, 3, 130, 141
"""Exit codes besides 0: a request that cannot be met, a database or disk failure, Ctrl-C, and a
closed pipe."""


def _entry(short: str, body: str, options: str = "") -> Entry:
    """A command of the core: its modules are in `cli`, those of its options in `cli.options`."""
    here = "pxp_fsm.cli"
    return Entry(short, f"{here}.{body}", f"{here}.options.{options}" if options else "")


def _general(short: str, face: str) -> Entry:
    """A command whose argument's kind decides what is done (`cli.kinds`)."""
    return Entry(short, "", f"pxp_fsm.cli.options.{face}")


SECTIONS = {
    "Verify tables": {
        "check": _general("check tables, systems, experiments, data", "check:CheckOptions"),
    },
    "Run sessions": {
        "run": _general("run a task, a system, an experiment, a network", "sessions:RunOptions"),
        "serve": _general(
            "serve systems, sessions, networks, people, assistants", "serve:ServeOptions"
        ),
        "data": _entry("select, split, summarise data of your own", "main:data"),
    },
    "Show results": {
        "show": _general("list or show sessions, show a network or a study", "show:ShowOptions"),
        "draw": _general("draw automata, sessions, counterexamples, networks", "draw:DrawOptions"),
        "report": _entry(
            "report tables and figures of runs", "report:report", "results:ReportOptions"
        ),
        "compare": _general(
            "compare two tables, systems, runs, experiments or networks", "results:CompareOptions"
        ),
        "monitor": _entry(
            "evaluate temporal formulas on recorded sessions",
            "monitor:monitor",
            "results:MonitorOptions",
        ),
        "audit": _entry(
            "find messages that no correct agent could have sent",
            "audit:audit",
            "results:AuditOptions",
        ),
        "test": _entry(
            "ask the machine of a run its test data (Figure 2)", "test:test", "sessions:TestOptions"
        ),
        "judge": _entry(
            "submit the pairs of a run to a judge again", "judge:judge", "sessions:JudgeOptions"
        ),
    },
    "Store and exchange": {
        "verify": _general("report changes to stored runs or an archive", "storage:VerifyOptions"),
        "upgrade": _entry("upgrade an older database", "verify:upgrade", "storage:UpgradeOptions"),
        "export": _general("export runs, tables, studies", "storage:ExportOptions"),
        "import": _entry(
            "import exported runs and tables", "exchange:import_", "storage:ImportOptions"
        ),
        "erase": _entry("erase what was said in sessions", "verify:erase", "storage:EraseOptions"),
    },
    "Find out": {
        "list": _entry(
            "list tasks, claims, runs, costs, models, systems",
            "list:list_",
            "about:ListOptions",
        ),
        "help": _entry("read a page of the documentation", "help:help_", "about:HelpOptions"),
        "doctor": _entry(
            "report what is installed, and what it enables", "doctor:doctor", "about:DoctorOptions"
        ),
    },
}
"""The commands of the core by purpose; plug-ins add theirs to these sections, or to their own."""


INSTEAD = {
    "sessions": "show",
    "experiment": "run FILE",
    "explore": "serve",
    "mcp": "serve X --mcp",
    "archive": "export RUN -o FILE.zip, or pxp verify ARCHIVE",
    "cost": "list costs",
    "prove": "check",
    "validate": "check",
    "plot": "draw",
    "view": "show",
}
"""What to type in place of words that somebody may look for, and that are no commands."""

_DATA = {
    "select": _entry("select rows by what they are about", "data:select", "data:DataSelectOptions"),
    "summarize": _entry(
        "let a model summarise explanations", "data:summarize", "data:DataSummarizeOptions"
    ),
    "split": _entry(
        "draw rows for sessions, validation and test", "data:split", "data:DataSplitOptions"
    ),
}


class _Commands(CommandGroup):
    """Handles exceptions before click does, whose exit codes differ for some of them."""

    @property
    def sections(self) -> Mapping[str, Mapping[str, Entry]]:
        """The commands of the core and of plug-ins, by purpose; no plug-in replaces one of ours."""
        whole = {title: dict(entries) for title, entries in self.own.items()}
        taken = {name for entries in whole.values() for name in entries}
        for plugin in plugins():
            for name, entry in plugin.commands.items():
                if name not in taken:
                    taken.add(name)
                    whole.setdefault(entry.section or "Plug-ins", {})[name] = entry
        return whole

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for entries in self.own.values():
            if cmd_name in entries:  # without a look at what is installed, which takes long
                return load_command(cmd_name, entries[cmd_name])
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_shown():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(NO_READER) from None
        except PXPError as error:
            if isinstance(error, FileError):
                _print("Error: ", error.told)
            else:
                lines = str(error).split("\n") if isinstance(error, Halted) else (str(error),)
                _print("Error: ", lines)
            fault = isinstance(error, BlackboardError) and not isinstance(error, NotThere)
            raise click.exceptions.Exit(FAULT if fault else BAD_INPUT) from error
        except OSError as error:
            _print("Error: ", (_describe(error),))
            raise click.exceptions.Exit(FAULT) from error
        except UnicodeEncodeError as error:
            message = f"{quoted(error.object)} is not valid Unicode; give the file a name in UTF-8"
            _print("Error: ", (message,))
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


_EXIT_CODES = """Exit codes: 0 success; 1 a stored run was changed (verify), a run
contains messages that no correct agent could have sent (audit), a verdict is not the expected one
(check), a relation does not hold (compare), a formula is false (monitor), a program differs from
its table (conform), or a package is shadowed (doctor); 2 the request or its data cannot be used; 3
a database or a disk failed; 4 a verdict is unknown (check, compare, conform), or a session could
not be read (monitor); 5 a fault of a member ended a session (run); 130 stopped by Ctrl-C (every
message sent so far is stored); 141 the reader of the pipe has closed it."""


@click.group(
    cls=_Commands,
    sections=SECTIONS,
    instead=INSTEAD,
    name="pxp",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXIT_CODES,
)
@click.version_option(__version__, prog_name="pxp")
@click.option("--database", metavar="URL", help="The database: a file or a URL.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Print more than most readers want.")
def commands(**_common: Any) -> None:
    """Verify and run state machines for protocols between agents that predict and explain.

    --database, --json and --verbose may stand before a command or after it, where it has them.
    """


@click.group(cls=CommandGroup, sections={"Commands": _DATA}, instead={"check": "check DATA TASK"})
def data() -> None:
    """Select, split, summarise data of your own: CSV or JSON Lines (pxp help data)."""


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
