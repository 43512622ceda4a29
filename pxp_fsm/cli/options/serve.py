"""Options of `pxp serve`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pxp_fsm.cli.options import common
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Serve X in a browser: a system step by step, a network, or the pages of people who take part.

    Without X, INTERACT's two machines. The server listens on this machine alone, and Ctrl-C ends
    it; behind a server that terminates TLS, --url says where others reach it.

    Of tables and systems the page shows every member's automaton, the messages so far, what can
    happen next, and why everything else cannot; with --output it is one file that needs no server.
    Of an experiment, or a run, experts take part: human = "browser" (who names the tags) or
    "browser:relations" (who answers MATCH and AGREE) stands below [agents] in the file. The command
    prints a link for each, and one for whoever conducts it. After a restart everything goes on.
    """

    without: ClassVar[str] = "table"
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
    states: int | None = option(
        "With --output, the most states that the file holds.", None, default="20000", least=1
    )
    port: int = common.port(0)
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
    port: int = common.port(0)
    browser: bool = common.browser()
    database: str = common.database()


@dataclass(frozen=True, kw_only=True)
class ServeRuns:
    """Let experts take part in a browser: in the experiments of files, or in stored runs."""

    targets: tuple[str, ...] = option(argument=True)
    subjects: tuple[str, ...] = option(
        "The pseudonym of an expert, who has a run of each file; repeatable.",
        (),
        name="subject",
        metavar="NAME",
        default="that of the file, or expert",
    )
    port: int = common.port(8765)
    url: str | None = common.server_url("others")
    days: float = common.days(14.0)
    browser: bool = common.browser()
    database: str = common.database("The database, which is made where there is none.")
