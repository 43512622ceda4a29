"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backends.models.settings import LIMITS, Settings
from pxp_fsm import defaults
from pxp_fsm.cli import configuration
from pxp_fsm.options import given, option
from pxp_fsm.registry import load

_SERVER = "Server"


def database(text: str = "The database: a file or a URL.") -> Any:
    """The database to read: where none is named, that of pxp.toml, or that of the last runs."""
    return option(text, defaults.STORED, metavar="URL", common=True)


def database_argument() -> Any:
    """The database to read, as an argument."""
    return option("", defaults.STORED, argument=True)


def models_file(text: str) -> Any:
    """A file with servers, prices and settings of models."""
    return option(
        text, None, name="models", metavar="FILE", default="pxp.toml, where it is", group=LIMITS
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How models are asked: a file of settings, and the caps."""

    models_file: Path | None = models_file(
        "Servers, prices, rates, cache and recordings of models: a file (pxp help models)."
    )
    caps: dict[str, Any] = given(Settings)

    @property
    def settings(self) -> Settings:
        """The settings of the file, or of pxp.toml, with the caps."""
        path = configuration.models_file(self.models_file)
        if path is None:
            return Settings(**self.caps)
        settings: Settings = load("backends.models.files:read_settings")(path)
        return replace(settings, **self.caps)


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
    return option(
        "The port of the server; 0 is any free one.",
        otherwise,
        least=0,
        most=65535,
        metavar="PORT",
        default="8765 where others take part (8766: assistants), else 0",
        group=_SERVER,
    )


def browser() -> Any:
    """Whether the page of whoever starts a server is opened."""
    return option("Open the page in the browser.", True, group=_SERVER)


def days(otherwise: float) -> Any:
    """How long links and tokens count."""
    return option(
        "The days for which a link is valid.",
        otherwise,
        above=0,
        most=3650,
        default="14, of a study 90",
        group=_SERVER,
    )


def server_url(whose: str) -> Any:
    """The address by which others come to a server of pages; without it there are no others."""
    text = f"Where {whose} reach the server: https://HOST of the server that terminates TLS."
    return option(text, None, metavar="URL", default="this machine alone", group=_SERVER)


def new_database(default: str = "in the output folder") -> Any:
    """The database in which sessions are stored."""
    return option(
        "The database that stores the sessions: a file or a URL.",
        None,
        metavar="URL",
        default=default,
        common=True,
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
    return option(text, False, name="json", common=True)


def drawing(text: str) -> Any:
    """An optional file for a picture."""
    return option(f"{text} (.svg .png .pdf .tex .dot .gv .mmd).", None)


def seed(text: str, least: int | None = None) -> Any:
    """The seed of a random number generator."""
    return option(text, 0, least=least)


def verbose(text: str) -> Any:
    """Whether more is printed than most readers want."""
    return option(text, False, short="-v", common=True)
