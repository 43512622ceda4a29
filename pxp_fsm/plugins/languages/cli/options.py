"""Options of `pxp language`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class LanguageOptions:
    """Count, list, compare and draw the complete tag sequences of LANGUAGE.

    LANGUAGE is one of: interact or pxp, optionally with bounds and relations, in quotes
    ('interact(4,2)/tolerance', 'interact(any,3)', 'pxp(2)', interact/noisy); published, the
    authors' code, with 5 rounds or the number given ('published(9)/noisy'); a class (strong:human,
    two_way); the name of relations (equivalence, tolerance, noisy, 'without symmetric',
    deterministic+shared, ...), next to a protocol; a DATABASE (or the published code's tags.txt),
    for the sessions recorded in it. A protocol without relations is counted under equivalence,
    tolerance and noisy.

    With OTHER, a second language, report whether one includes the other, with shortest witnesses.
    """

    instead: ClassVar[Mapping[str, str]] = {
        "--n": "write 'interact(N,K)', with a number or any for N",
        "--k": "write 'interact(N,K)' or 'pxp(K)'",
        "--relations": "write the name after the protocol, as in interact/tolerance",
        "--compare": "write the other language after the first",
    }
    what: str = option(argument=True, metavar="LANGUAGE")
    other: str | None = option("", None, argument=True, metavar="[OTHER]")
    within: tuple[str, ...] = option(
        "Intersect with this language; repeatable.", (), name="and", metavar="LANGUAGE"
    )
    minus: tuple[str, ...] = option("Subtract this language; repeatable.", (), metavar="LANGUAGE")
    limit: int | None = option(
        "Print the first N sequences, the shortest first, instead of counts.",
        None,
        least=1,
        most=100_000,
    )
    run: str | None = option("Use only this run of DATABASE.", None, metavar="RUN")
    output: Path | None = common.drawing("Draw the minimal automaton")
    as_json: bool = common.as_json()
