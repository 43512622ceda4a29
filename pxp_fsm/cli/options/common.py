"""Options that several commands share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from backends.models.settings import Settings
from pxp_fsm import defaults
from pxp_fsm.cli import configuration
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import DATA, LIMITS, OUTPUT, SERVER, given, option
from pxp_fsm.registry import load


def database(text: str = "The database: a file or a URL.") -> Any:
    """The database to read: where none is named, that of pxp.toml, or that of the last runs."""
    return option(text, defaults.STORED, metavar="URL", common=True)


def database_argument() -> Any:
    """The database to read, as an argument."""
    return option("", defaults.STORED, argument=True)


def database_and_runs() -> Any:
    """A database and runs of it, or runs of the database that is read without one."""
    return option("", (), argument=True, metavar="[DATABASE] [RUN...]", listed="runs")


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


def port() -> Any:
    """The port of a server of pages."""
    return option(
        "The port of the server; 0 is any free one.",
        None,
        least=0,
        most=65535,
        metavar="PORT",
        default="8765 where others take part, else 0",
        group=SERVER,
    )


def browser() -> Any:
    """Whether the page of whoever starts a server is opened."""
    return option("Where a page is served: open it in the browser.", True, group=SERVER)


def days(otherwise: float) -> Any:
    """How long links and tokens count."""
    return option(
        "The days for which a link is valid.",
        otherwise,
        above=0,
        most=3650,
        default="14, of a study 90",
        group=SERVER,
    )


def server_url() -> Any:
    """The address by which others come to a server of pages; without it there are no others."""
    text = "Where others reach the server: https://HOST of the server that terminates TLS."
    return option(text, None, metavar="URL", default="this machine alone", group=SERVER)


def new_database(default: str = "in the output folder") -> Any:
    """The database in which sessions are stored."""
    return option(
        "The database that stores the sessions: a file or a URL.",
        None,
        metavar="URL",
        default=default,
        common=True,
    )


def output(text: str = "Write tables and drawings into this folder.", group: str = "") -> Any:
    """The folder that receives the artifacts of a run."""
    return option(text, Path(defaults.OUTPUT), path="folder", group=group)


def run_output() -> Any:
    """The folder that receives the artifacts of a run, in the group of such options."""
    return output(group=OUTPUT)


def assignments() -> Any:
    """What is set of the fields of a file."""
    return option(
        "Set what the file of an experiment or a system sets: agents.votes=3, learning.keep=better "
        "(pxp help experiments); NAME.respondent=WHO, who answers for a member (pxp help "
        "running_systems); repeatable.",
        (),
        name="set",
        metavar="KEY=VALUE",
        group=DATA,
    )


def executor() -> Any:
    """The executor of a run's sessions."""
    return option(
        "Run on workers: processes://N, or dask://HOST:PORT (requires PostgreSQL).",
        None,
        metavar="URL",
        group=LIMITS,
    )


def output_path() -> Any:
    """What an export writes."""
    return option(
        "The file to write; its suffix determines the format (.pml is Promela, .mmd Mermaid, "
        ".parquet a folder). Of a study, the folder, which must not exist.",
        None,
        short="-o",
        metavar="PATH",
        path="any",
        default="named after X",
    )


def as_json(text: str = "Write JSON to standard output.") -> Any:
    """Whether the results are printed as JSON."""
    return option(text, False, name="json", common=True)


def drawing(text: str) -> Any:
    """An optional file for a picture."""
    return option(f"{text} (.svg .png .pdf .tex .dot .gv .mmd).", None, short="-o")


def seed(text: str, least: int | None = None) -> Any:
    """The seed of a random number generator."""
    return option(text, 0, least=least)


def verbose(text: str) -> Any:
    """Whether more is printed than most readers want."""
    return option(text, False, short="-v", common=True)
