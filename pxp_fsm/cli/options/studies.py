"""Options of the `pxp study` commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pxp_fsm.cli.options import common
from pxp_fsm.options import option


def _study() -> Any:
    return option(argument=True, metavar="STUDY.toml")


@dataclass(frozen=True, kw_only=True)
class Check:
    """Check the study in a file, and prove the lifecycles that it is run by.

    The JSON Schema of the file is pxp_fsm/studies/study.schema.json.
    """

    file: Path = _study()


@dataclass(frozen=True, kw_only=True)
class Status:
    """Print who takes part in a study, how far they are, and who waits for whom."""

    file: Path = _study()
    database: str = common.database("The database that holds the study: a file or a URL.")


@dataclass(frozen=True, kw_only=True)
class Change:
    """Open, pause, resume, close or anonymise a study, or withdraw a participant.

    A closed study brings everybody to the debrief. An anonymised one has removed who they are, so
    that nobody can withdraw any more.
    """

    file: Path = _study()
    event: str = option(
        argument=True, choices=("open", "pause", "resume", "close", "anonymise", "withdraw")
    )
    participant: str | None = option(
        "Who withdraws; what they said is erased.", None, metavar="PSEUDONYM"
    )
    yes: bool = option("Do not ask, where it cannot be undone.", False)
    database: str = common.database("The database that holds the study; created if there is none.")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Export a study without names, as CSV with a data dictionary.

    Who the participants are is written to a file of its own, and only where one is named.
    """

    file: Path = _study()
    output: Path | None = option(
        "The folder to write; it must not exist.",
        None,
        short="-o",
        path="folder",
        default="named after the study",
    )
    identifiers: Path | None = option("Write who the participants are to this file.", None)
    database: str = common.database("The database that holds the study: a file or a URL.")
