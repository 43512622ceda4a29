"""Options of `pxp language`."""

from __future__ import annotations

from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class LanguageOptions:
    """Count, list, compare and draw the complete tag sequences of LANGUAGE.

    LANGUAGE is one of: interact or pxp, optionally with bounds and relations
    (interact(4,2)/tolerance, interact(any,3), pxp(2)); published, the authors' code, with 5 rounds
    or the number given (published(9)/noisy); a class (strong:human, two_way); the name of
    relations, next to a protocol; a DATABASE (or the published code's tags.txt), for the sessions
    recorded in it.
    """

    what: str = option(argument=True, metavar="LANGUAGE")
    n: str | None = option(
        "The bound n of INTERACT, or any.", None, metavar="N", default=str(defaults.N)
    )
    k: int | None = option(
        "The bound k of INTERACT or PXP(k).",
        None,
        metavar="K",
        default=f"{defaults.K}; PXP: none",
        least=1,
        most=1000,
    )
    relations: str | None = option(
        "The assumptions on MATCH and AGREE: equivalence, tolerance, noisy, 'without symmetric', "
        "deterministic+shared, …",
        None,
        metavar="NAME",
        default="each of the first three, or noisy",
    )
    within: tuple[str, ...] = option(
        "Intersect with this language; repeatable.", (), name="and", metavar="LANGUAGE"
    )
    minus: tuple[str, ...] = option("Subtract this language; repeatable.", (), metavar="LANGUAGE")
    compare: str | None = option(
        "Report whether one language includes the other, with shortest witnesses.",
        None,
        metavar="LANGUAGE",
    )
    limit: int | None = option(
        "Print the first N sequences, the shortest first, instead of counts.",
        None,
        least=1,
        most=100_000,
    )
    run: str | None = option("Use only this run of DATABASE.", None, metavar="RUN")
    output: Path | None = common.drawing("Draw the minimal automaton")
    as_json: bool = common.as_json()
