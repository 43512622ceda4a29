"""Options of `pxp draw` for a machine of another library."""

from __future__ import annotations

from pathlib import Path

from pxp_fsm.diagrams import FORMATS, Style
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class DrawMachine:
    """Draw a machine of another library."""

    what: str = option(argument=True)
    output: Path | None = option(
        "The file to write; its suffix (.svg .png .pdf .tex .dot .gv .mmd) determines the format.",
        None,
        short="-o",
        default="named after X",
    )
    form: str | None = option(
        "The format, if FILE is not given; itf and latex write the steps of a counterexample.",
        None,
        name="format",
        choices=(*FORMATS, "itf", "latex"),
    )
    style: Style
    state: str | None = option("Mark this state.", None, metavar="STATE")
