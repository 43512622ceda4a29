"""Options of `pxp check`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proofs.requests import Request
from pxp_fsm.cli.options import common
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Request):
    """Check TABLEs: interact and pxp with every claim about them, or tables of your own.

    One table is joined with itself, two tables with each other. More tables form a system in which
    rows name their partners; NAME=TABLE names a member. HOLDS means for all n and k, with a
    certificate; HOLDS UP TO means for the n and k that were explored. Some claims state that a
    property fails: such a failure is the expected verdict. Exit code 1: a verdict is not the
    expected one. Exit code 4: a verdict is unknown.
    """

    as_json: bool = common.as_json()
    junit: Path | None = option("Also write JUnit XML.", None, metavar="FILE", path="any")
    sarif: Path | None = option("Also write SARIF.", None, metavar="FILE", path="any")
    itf: Path | None = option(
        "Write each trace as ITF JSON into this folder.", None, metavar="DIR", path="folder"
    )
