"""What `pxp check` is asked: the tables, what to ask of them, and how far to look."""

from __future__ import annotations

from dataclasses import dataclass

from pxp_fsm import defaults
from pxp_fsm.options import option

PROVED_OF = {"interact": ("interact",), "pxp": ("pxp", "pxp(k)")}
"""The protocols whose claims are about a built-in table."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to check; nothing in `tables` means both built-in protocols.

    With `values`, INTERACT's sessions are explored over so many explicit values of y and of e, for
    which MATCH and AGREE are equality. With `formulas` nothing else is checked: each of them on the
    system of the tables under free guards, over `runs` that are complete, finite or infinite, and
    as fair as `fair` asks (`weak:WHAT`, `strong:WHAT`); with `relations`, over the sessions of a
    built-in protocol. With `termination` it is asked whether the system ends. A system has several
    tables, with names (NAME=TABLE), or one that is joined with itself; it is checked over each of
    `channels`, and explored up to `limit` states and `memory` MB, with fewer states where it is
    told how to `reduce` them.
    """

    tables: tuple[str, ...] = option("", (), argument=True, metavar="[TABLE...]")
    names: tuple[str, ...] = option(
        "Only this one; repeatable.", (), name="property", metavar="NAME"
    )
    relations: str | None = option(
        "Only under these assumptions on MATCH and AGREE: equivalence, tolerance, noisy, 'without "
        "symmetric', deterministic+shared and the like.",
        None,
        metavar="NAME",
    )
    n: int = option("INTERACT's n, where explored.", defaults.N)
    k: int = option(
        "k, where explored; over --channel fifo, the largest that is tried.", defaults.K
    )
    values: int | None = option(
        "INTERACT over V explicit values of y and of e, without symmetry.",
        None,
        metavar="V",
        least=1,
    )
    formulas: tuple[str, ...] = option(
        "Only this formula of temporal logic (docs/logic.md), on the TABLEs, or with --relations "
        "on sessions of interact or pxp; repeatable.",
        (),
        name="formula",
        metavar="FORMULA",
    )
    runs: str = option(
        "Which runs a formula speaks of.", "complete", choices=("complete", "finite", "infinite")
    )
    fair: tuple[str, ...] = option(
        "Only runs that are fair to the steps after which WHAT holds (1.RATIFY), to each of the "
        "rows, or of the agents; repeatable.",
        (),
        metavar="weak:WHAT|strong:WHAT",
    )
    termination: bool = option("Only whether the TABLEs end: can, must, under fairness.", False)
    channels: tuple[str, ...] = option(
        "Over this channel: sync, fifo:C, lossy:C, duplicating:C, reordering:C with a capacity C, "
        "or several joined by + (docs/systems.md); fifo alone is of any capacity "
        "(docs/exchange.md); repeatable, a line each.",
        (),
        name="channel",
        metavar="CHANNEL",
    )
    limit: int | None = option(
        "Of a system, at most so many states; beyond, UNKNOWN.", None, metavar="STATES", least=1
    )
    memory: int | None = option(
        "Of a system, until the process holds so much; beyond, UNKNOWN.",
        None,
        metavar="MB",
        least=1,
    )
    reduce: str | None = option(
        "Of a system, fewer states: equal members are alike; orders that do not matter.",
        None,
        choices=("symmetry", "partial-order"),
    )
