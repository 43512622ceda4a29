"""Options of `pxp show`."""

from __future__ import annotations

from typing import Any, ClassVar

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Show X: what a database or a run holds, or everything that happened in a session.

    Without X the sessions of the database are listed.
    """

    without: ClassVar[str] = "database"
    what: tuple[str, ...] = option("", (), argument=True, metavar="[X]", listed="runs")


def _limit() -> Any:
    return option("List at most N sessions.", 200, least=1)


def _skip() -> Any:
    return option("Skip the first N sessions.", 0, least=0)


@dataclass(frozen=True, kw_only=True)
class ShowDatabase:
    """List all sessions of a database."""

    file: str | None = option("", None, argument=True)
    limit: int = _limit()
    skip: int = _skip()
    database: str = common.database()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ShowRun:
    """List the sessions of a run."""

    name: str = option(argument=True)
    limit: int = _limit()
    skip: int = _skip()
    database: str = common.database()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ShowSession:
    """Show the messages of a session; `verbose` adds what models were asked."""

    name: str = option(argument=True)
    database: str = common.database()
    verbose: bool = common.verbose(
        "Also show what models were asked for each message, and replied."
    )
    as_json: bool = common.as_json()
