"""Options of `pxp draw`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from proofs.requests import parameters_option
from pxp_fsm import defaults
from pxp_fsm.cli.options import common
from pxp_fsm.diagrams import FORMATS, Style
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option

_FAILING = "Counterexample"


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Draw X, for screens and papers.

    A counterexample is drawn as a sequence chart, and on the automaton of each agent; with --agent,
    on the automaton of that agent alone.
    """

    without: ClassVar[str] = "table"
    what: tuple[str, ...] = option("", (), argument=True, metavar="[X...]", listed="systems")


def _output() -> Any:
    return option(
        "The file to write; its suffix (.svg .png .pdf .tex .dot .gv .mmd .txt) is the format.",
        None,
        short="-o",
        default="named after X",
    )


def _form() -> Any:
    return option(
        "The format, if FILE is not given; itf and latex write the steps of a counterexample.",
        None,
        name="format",
        choices=(*FORMATS, "itf", "latex"),
    )


def _agent() -> Any:
    return option(
        "Draw the automaton of this agent of a session or counterexample, with its path and state.",
        None,
        metavar="NAME",
    )


@dataclass(frozen=True, kw_only=True)
class DrawSystem:
    """Draw a system: its members, or a counterexample."""

    what: tuple[str, ...] = option("", (), argument=True)
    output: Path | None = _output()
    form: str | None = _form()
    style: Style
    agent: str | None = _agent()
    counterexample: str | None = option(
        "Without X: draw the shortest session that contradicts this claim of pxp check "
        "(pxp.terminates where two protocols have a claim of that name). With tables: draw a "
        "counterexample to this standard check or formula.",
        None,
        metavar="CLAIM",
        group=_FAILING,
        listed="claims",
    )
    channel: str | None = option(
        "The channel between the tables of a counterexample, as in pxp check. Of a system's file "
        "alone: draw its reachable states over this channel, grouped by the state of its first "
        "member.",
        None,
        metavar="CHANNEL",
        default="sync",
        group=_FAILING,
    )
    relations: str | None = option(
        "The assumptions of the claim on MATCH and AGREE.", None, metavar="NAME", group=_FAILING
    )
    parameters: tuple[str, ...] = parameters_option()
    n: int = option("The bound n of INTERACT.", defaults.N, group=_FAILING)
    k: int = option("The bound k.", defaults.K, metavar="K", group=_FAILING)


@dataclass(frozen=True, kw_only=True)
class DrawTable(DrawSystem):
    """Draw a table: its automaton, or a counterexample of it or of several."""

    state: str | None = option("Mark this state of the automaton.", None, metavar="STATE")


@dataclass(frozen=True, kw_only=True)
class DrawSession:
    """Draw a session: its messages, or the way of one agent."""

    name: str = option(argument=True)
    output: Path | None = _output()
    form: str | None = _form()
    style: Style
    agent: str | None = _agent()
    database: str = common.database("The database that holds the session: a file or a URL.")


@dataclass(frozen=True, kw_only=True)
class DrawFile:
    """Draw what a file holds."""

    file: str = option(argument=True)
    output: Path | None = _output()
    form: str | None = _form()
    style: Style
