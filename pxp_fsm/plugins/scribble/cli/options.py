"""Options of the commands about global protocols."""

from __future__ import annotations

from pathlib import Path

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class CheckProtocol:
    """Check the form of a global protocol, and the system of its roles over fifo:1."""

    file: Path = option(argument=True, path="file")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ExportProtocol:
    """Write the projection of a global protocol as a system file with a table for each role."""

    file: Path = option(argument=True, path="file")
    output: Path | None = option(
        "The folder to write into.",
        None,
        short="-o",
        metavar="DIR",
        path="folder",
        default="the protocol's name",
    )
