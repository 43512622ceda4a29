"""Options of the commands about pxp-fsm itself: `pxp list`, `help`, `doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from pxp_fsm.cli.options import common
from pxp_fsm.options import option

KINDS = ("tasks", "claims", "runs", "models", "systems", "languages")


@dataclass(frozen=True, kw_only=True)
class List:
    """List what commands take by name, each with its meaning.

    Runs are those of the database; models are those of the catalogue, with prices; systems are the
    built-in tables, and the tables and system files of this folder.
    """

    kind: str = option(argument=True, choices=KINDS)
    database: str = common.database("The database that holds the runs: a file or a URL.")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class Help:
    """Print the page TOPIC, or the options of the command TOPIC; without TOPIC list the pages."""

    topic: str | None = option("", None, argument=True)


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Report what is installed, which extras and outside tools are found, and what they enable.

    Exit code 1: a package of pxp-fsm is shadowed or was replaced by another.
    """

    as_json: bool = common.as_json()
