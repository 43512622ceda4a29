"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pxp_fsm import defaults
from pxp_fsm.options import option


def database(told: str = "A file or a database URL.") -> Any:
    """The database that is read."""
    return option(told, defaults.STORED, metavar="URL")


def database_argument() -> Any:
    """The database that is read, as an argument."""
    return option("", defaults.STORED, argument=True)


def new_database() -> Any:
    """The database in which sessions are stored."""
    return option(
        "Where sessions are stored: a file or a database URL.",
        None,
        metavar="URL",
        default="in the output folder",
    )


def output(told: str = "Where table and drawings are written.") -> Any:
    """The folder of what a run writes."""
    return option(told, Path(defaults.OUTPUT), path="folder")


def executor() -> Any:
    """Where the sessions of a run go on."""
    return option(
        "Spread the run over workers: dask://HOST:PORT or processes://N, on PostgreSQL.",
        None,
        metavar="URL",
    )


def as_json(told: str = "JSON on standard output.") -> Any:
    """Whether the results are data."""
    return option(told, False, name="json")


def drawing(told: str) -> Any:
    """A file for a picture, optional."""
    return option(f"{told} (.svg .png .dot .gv .mmd).", None)


def seed(told: str, least: int | None = None) -> Any:
    """Of what is drawn by chance."""
    return option(told, 0, least=least)
