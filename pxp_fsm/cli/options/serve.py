"""Options of `pxp serve`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import DATA, LIMITS, PROTOCOL, SERVER, WHO, option

_MADE = "The database, which is made where there is none."


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Serve X in a browser: a system step by step, a network, or what people take part in.

    Without X, INTERACT's two machines. The server listens on this machine alone, and Ctrl-C ends
    it; behind a server that terminates TLS, --url says where others reach it.

    Of tables and systems the page shows every member's automaton, the messages so far, what can
    happen next, and why everything else cannot; with --output it is one file that needs no server.
    With --mcp assistants are those members of a system whose respondent is mcp; a RUN after the
    system's file goes on.

    Of a task, an experiment or a run, experts take part in a browser, and assistants (--mcp): they
    are the human, or whom agents.human and agents.machine name (browser, mcp; pxp help serving).
    The command prints a link or a token for each, and a link for whoever conducts it. After a
    restart everything goes on.
    """

    without: ClassVar[str] = "table"
    groups: ClassVar[tuple[str, ...]] = (SERVER, WHO, DATA, PROTOCOL, LIMITS)
    what: tuple[str, ...] = option("", (), argument=True, metavar="[X...]", listed="systems")


@dataclass(frozen=True, kw_only=True)
class ServeTables:
    """Explore tables or a system step by step."""

    tables: tuple[str, ...] = option("", (), argument=True)
    channel: str | None = option(
        "The channel between the tables: sync, fifo:C, lossy:C, … (pxp help systems).",
        None,
        metavar="CHANNEL",
        default="that of the system file, or sync",
    )
    edit: bool = option(
        "Edit the tables that are files as text; a file is written when you save it.", False
    )
    output: Path | None = option(
        "Write the page as one HTML file, with states and verdicts.", None, short="-o"
    )
    formulas: tuple[str, ...] = option(
        "With --output, also check FORMULA; repeatable.", (), name="formula", metavar="FORMULA"
    )
    port: int | None = common.port()
    browser: bool = common.browser()


@dataclass(frozen=True, kw_only=True)
class ServeSession:
    """Explore what happened in a stored session, and what could have; one under way is followed."""

    name: str = option(argument=True)
    monitors: tuple[str, ...] = option(
        "Say how this formula stands after each message; repeatable.",
        (),
        name="monitor",
        metavar="FORMULA",
    )
    port: int | None = common.port()
    browser: bool = common.browser()
    database: str = common.database()


def _mcp() -> Any:
    return option(
        "Let assistants take part, over MCP at http://127.0.0.1:PORT/mcp (pxp help mcp).",
        False,
        group=SERVER,
    )


def _stdio() -> Any:
    return option(
        "Serve the assistant NAME over standard input and output, and others over HTTP.",
        None,
        metavar="NAME",
        group=SERVER,
    )


@dataclass(frozen=True, kw_only=True)
class ServeSystem(ServeTables):
    """Explore a system step by step, or let assistants be members of it."""

    instead: ClassVar[Mapping[str, str]] = {"--respondent": "give --set NAME.respondent=WHO"}
    mcp: bool = _mcp()
    stdio: str | None = _stdio()
    assignments: tuple[str, ...] = common.assignments()
    url: str | None = common.server_url()
    days: float = common.days(14.0)
    database: str = common.database(_MADE)
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class ServeRuns:
    """Let people and assistants take part: in tasks, in experiments of files, in stored runs."""

    targets: tuple[str, ...] = option(argument=True)
    mcp: bool = _mcp()
    stdio: str | None = _stdio()
    subjects: tuple[str, ...] = option(
        "The pseudonym of an expert, who has a run of each task or file; repeatable.",
        (),
        name="subject",
        metavar="NAME",
        default="that of the file, or expert",
        group=WHO,
    )
    assignments: tuple[str, ...] = common.assignments()
    port: int | None = common.port()
    url: str | None = common.server_url()
    days: float = common.days(14.0)
    browser: bool = common.browser()
    database: str = common.database(_MADE)
    models: common.ModelOptions
