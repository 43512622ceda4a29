"""Options of `pxp check`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from proofs.requests import Request
from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Check X: tables and systems for their properties, files for their faults.

    Without X, interact and pxp with every claim about them. One table is joined with itself, two
    tables with each other. More tables form a system in which rows name their partners; NAME=TABLE
    names a member. Data are followed by the TASK that is to read them. HOLDS means for all n and k,
    with a certificate; HOLDS UP TO means for the n and k that were explored. Some claims state that
    a property fails: such a failure is the expected verdict.

    Exit code 1: a verdict is not the expected one. Exit code 2: a file or its data cannot be used.
    Exit code 4: a verdict is unknown.
    """

    without: ClassVar[str] = "table"
    what: tuple[str, ...] = option("", (), argument=True, metavar="[X...]", listed="systems")


@dataclass(frozen=True, kw_only=True)
class CheckTables(Request):
    """Check tables or a system."""

    as_json: bool = common.as_json()
    output: tuple[Path, ...] = option(
        "Also write the results: JUnit (.xml), SARIF (.sarif), or each trace as ITF into a folder; "
        "repeatable.",
        (),
        short="-o",
        metavar="PATH",
        path="any",
    )


@dataclass(frozen=True, kw_only=True)
class CheckData:
    """Check data of your own as a task would read them; every fault has its file and line."""

    table: Path = option(argument=True, path="any")
    task: str | None = option("", None, argument=True)
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class CheckExperiment:
    """Check the file of an experiment, and the data that it is about."""

    file: Path = option(argument=True)
    as_json: bool = common.as_json()
