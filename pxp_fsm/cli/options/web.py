"""Options of the commands that serve pages and assistants: `pxp explore`, `serve`, `mcp`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.models.settings import Settings
from pxp_fsm import defaults
from pxp_fsm.cli.command import given
from pxp_fsm.cli.options import common
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class Explore:
    """Explore a system step by step in a browser: TABLEs, or a system file; without one, INTERACT.

    The page shows every member's automaton, the messages so far, what can happen next, and why
    everything else cannot. The server listens on this machine alone and writes nothing, but with
    --edit the TABLEs that you save; Ctrl-C ends it. With --output the page is written as one file
    that needs no server and no network.
    """

    tables: tuple[str, ...] = option("", (), argument=True, metavar="[TABLE...]")
    channel: str | None = option(
        "The channel between the TABLEs: sync, fifo:C, lossy:C, … (pxp help systems).",
        None,
        metavar="CHANNEL",
        default="that of the system file, or sync",
    )
    session: str | None = option(
        "Explore what happened in a stored session, and what could have; one that is not over is "
        "followed.",
        None,
        metavar="NAME",
    )
    monitors: tuple[str, ...] = option(
        "With --session, say how this formula stands after each message; repeatable.",
        (),
        name="monitor",
        metavar="FORMULA",
    )
    database: str | None = option(
        "With --session, the database: a file or a URL.",
        None,
        metavar="URL",
        default=defaults.STORED,
    )
    edit: bool = option(
        "Edit the TABLEs that are files as text; a file is written when you save it.", False
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
    browser: bool = option("Open the page in the browser.", True)


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Let experts take part in a browser: in the experiments of FILEs, or in stored RUNs.

    In the file, human = "browser" (who names the tags) or "browser:relations" (who answers MATCH
    and AGREE) stands below [agents]. The command prints a link for each expert and one for whoever
    runs the experiments. The server listens on this machine alone; behind a server that terminates
    TLS, --url says where experts reach it. What was asked is asked again after a restart.
    """

    targets: tuple[str, ...] = option("", argument=True, metavar="FILE|RUN...")
    subjects: tuple[str, ...] = option(
        "The pseudonym of an expert, who has a run of each FILE; repeatable.",
        (),
        name="subject",
        metavar="NAME",
        default="that of the file, or expert",
    )
    database: str | None = option(
        "The database: a file or a URL.", None, metavar="URL", default=defaults.STORED
    )
    port: int = common.port(8765)
    url: str | None = common.server_url("experts")
    days: float = option("The days for which a link is valid.", 14.0, above=0, most=3650)
    browser: bool = option("Open the researcher's page in the browser.", True)


@dataclass(frozen=True, kw_only=True)
class Mcp:
    """Let assistants take part in sessions: Claude, editors, any client of MCP.

    TASK is drug or rad, where the assistant is the human, or whom --human mcp and --machine mcp
    name; an experiment's file; or a system's file, where it is each member with the respondent mcp.
    The command prints a token for each assistant; it is served on this machine alone, at
    http://127.0.0.1:PORT/mcp. With --stdio, a client that starts this command itself is NAME.
    Everything that happened is stored; --resume goes on with it.
    """

    plan: dict[str, Any] = given(Plan)
    respondents: tuple[str, ...] = common.respondents("System: who")
    stdio: str | None = option(
        "Serve the assistant NAME (human, machine or a member) over standard input and output, "
        "and others over HTTP.",
        None,
        metavar="NAME",
    )
    sessions: int | None = option(
        "System: run N sessions, all at a time.",
        None,
        metavar="N",
        default="1",
        least=1,
        most=10_000,
    )
    resume: str | None = option("Resume an interrupted run.", None, metavar="RUN")
    anyway: bool = option(
        "System: run it although it has a deadlock, or a property is not as expected.", False
    )
    output: Path = common.output()
    database: str | None = common.new_database()
    port: int = common.port(8766)
    url: str | None = common.server_url("assistants")
    days: float = option("The days for which a token is valid.", 14.0, above=0, most=3650)
    models: Settings
