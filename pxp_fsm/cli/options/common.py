"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pxp_fsm import defaults
from pxp_fsm.options import option


def database(text: str = "The database: a file or a URL.") -> Any:
    """The database to read."""
    return option(text, defaults.STORED, metavar="URL")


def database_argument() -> Any:
    """The database to read, as an argument."""
    return option("", defaults.STORED, argument=True)


def mapping() -> Any:
    """How the messages of other programs are those of a protocol."""
    return option(
        "For a log of Inspect or OpenTelemetry spans of other programs: which protocol their "
        "agents follow, and where their messages have tags.",
        None,
        metavar="FILE.toml",
    )


def port(otherwise: int) -> Any:
    """The port of a server of pages."""
    text = "The port of the server; 0 is any free one."
    return option(text, otherwise, least=0, most=65535, metavar="PORT")


def server_url(whose: str) -> Any:
    """The address by which others come to a server of pages; without it there are no others."""
    text = f"Where {whose} reach the server: https://HOST of the server that terminates TLS."
    return option(text, None, metavar="URL", default="this machine alone")


def new_database() -> Any:
    """The database in which sessions are stored."""
    return option(
        "The database that stores the sessions: a file or a URL.",
        None,
        metavar="URL",
        default="in the output folder",
    )


def output(text: str = "Write tables and drawings into this folder.") -> Any:
    """The folder that receives the artifacts of a run."""
    return option(text, Path(defaults.OUTPUT), path="folder")


def respondents(who: str = "Who") -> Any:
    """Who answers for the members of a system."""
    return option(
        f"{who} answers for the member NAME, instead of whom the file names: a model "
        "(script:FILE is one), terminal, program:COMMAND, random or, for pxp mcp, mcp; repeatable.",
        (),
        name="respondent",
        metavar="NAME=WHO",
    )


def executor() -> Any:
    """The executor of a run's sessions."""
    return option(
        "Run on workers: dask://HOST:PORT or processes://N (requires PostgreSQL).",
        None,
        metavar="URL",
    )


def anchor() -> Any:
    """The anchor that a run's mark is appended to."""
    return option(
        "Append the mark of the run at its end to this file, signed with --sign KEY.",
        None,
        metavar="FILE",
    )


def signing_key() -> Any:
    """The private key that signs an anchor."""
    return option("The private key (Ed25519, PEM) that signs --anchor.", None, metavar="KEY")


def as_json(text: str = "Write JSON to standard output.") -> Any:
    """Whether the results are printed as JSON."""
    return option(text, False, name="json")


def drawing(text: str) -> Any:
    """An optional file for a picture."""
    return option(f"{text} (.svg .png .pdf .tex .dot .gv .mmd).", None)


def seed(text: str, least: int | None = None) -> Any:
    """The seed of a random number generator."""
    return option(text, 0, least=least)


def verbose() -> Any:
    """Whether a run prints more than one screen."""
    return option(
        "Print intervals, remarks, what is proved and every file, too.", False, short="-v"
    )
