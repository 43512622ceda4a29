"""Options of the `pxp study` commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


def _study() -> Any:
    return option(argument=True, metavar="STUDY.toml")


@dataclass(frozen=True, kw_only=True)
class CheckStudy:
    """Check the study in a file, and prove the lifecycles that it is run by.

    The JSON Schema of the file is pxp_fsm/plugins/studies/study.schema.json.
    """

    file: Path = _study()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ServeStudy:
    """Let people take part in a study in a browser, and conduct it, until Ctrl-C.

    The command prints the address that a panel is given (with its parameters), the link of whoever
    conducts the study, and one for each --invite. The study is opened, paused, resumed and closed
    on the researcher's page. The server listens on this machine alone; behind a server that
    terminates TLS, --url says where participants reach it. After a restart everything goes on.
    """

    file: Path = _study()
    database: str = common.database("The database that holds the study; created if there is none.")
    invite: int = option("Invite NUMBER people by a link for each.", 0, least=0, metavar="NUMBER")
    port: int | None = common.port()
    url: str | None = common.server_url()
    days: float = common.days(90.0)
    browser: bool = common.browser()


@dataclass(frozen=True, kw_only=True)
class ShowStudy:
    """Print who takes part in a study, how far they are, and who waits for whom."""

    file: Path = _study()
    database: str = common.database("The database that holds the study: a file or a URL.")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class StudyChangeOptions:
    """Open, pause, resume, close or anonymise a study, or withdraw a participant.

    Who withdraws is named by PSEUDONYM; what they said is erased.
    A closed study brings everybody to the debrief. An anonymised one has removed who they are, so
    that nobody can withdraw any more.
    """

    file: Path = _study()
    event: str = option(
        argument=True, choices=("open", "pause", "resume", "close", "anonymise", "withdraw")
    )
    participant: str | None = option("", None, argument=True, metavar="[PSEUDONYM]")
    yes: bool = option("Do not ask, where it cannot be undone.", False)
    database: str = common.database("The database that holds the study; created if there is none.")


@dataclass(frozen=True, kw_only=True)
class ExportStudy:
    """Export a study without names, as CSV with a data dictionary.

    Who the participants are is written to a file of its own, and only where one is named.
    """

    file: Path = _study()
    output: Path | None = common.output_path()
    identifiers: Path | None = option("Write who the participants are to this file.", None)
    database: str = common.database("The database that holds the study: a file or a URL.")
