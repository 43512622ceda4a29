"""One measurement of the odds, ours or Storm's, in a process of its own: `bench_odds.py` calls it.

    odds_probe.py ours|storm exact|floats N OUTCOMES

OUTCOMES is how many of the outcomes are asked for; CPU seconds and the values are printed as JSON.
Two pairs of players are answered for: the first by a program that has just begun, the second by one
that has answered before, from what it has loaded and nothing that it has kept.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from pxp_fsm.plugins.odds import Behaviour, Player, exact
from pxp_fsm.plugins.odds.behaviour import REVISING
from pxp_fsm.plugins.odds.chain import chain, draws
from pxp_fsm.plugins.odds.floats import floats
from pxp_fsm.plugins.odds.prism import label_of, prism
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.protocol.decisions import Category

K = 3
ASKED = ("two-way", *(name for name in OUTCOMES if name not in ("two-way", "endless")))
"""The outcomes, the one that is asked for alone first; nothing is endless where n bounds it."""


def player(shares: str, revise: str) -> Player:
    categories = dict(zip(Category, map(Fraction, shares.split()), strict=True))
    return Player(Behaviour(categories, dict.fromkeys(REVISING, Fraction(revise))))


PAIRS = (
    (player("1/2 1/10 1/5 1/5", "2/3"), player("2/5 1/5 1/10 3/10", "1/2")),
    (player("2/5 1/5 1/5 1/5", "1/3"), player("1/2 1/10 3/10 1/10", "3/5")),
)

Values = list[str | float]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    done = work()
    return time.process_time() - started, done


Players = tuple[Player, Player]


def ours(players: Players, kind: str, n: int, outcomes: int) -> tuple[float, float, Values]:
    """CPU seconds before and of the computation, and what came out."""
    chain.cache_clear()
    before, _ = timed(lambda: chain(draws(players)).gathered)

    def work() -> Values:
        if kind == "floats":
            computed = floats(players, n, K)
            return [computed.of(name) for name in ASKED[:outcomes]]
        odds = exact(players, n, K)
        return [fingerprint(odds.of(name)) for name in ASKED[:outcomes]]

    if kind == "floats":
        import numpy  # noqa: F401 - loading it is not what is measured
    spent, values = timed(work)
    return before, spent, values


def fingerprint(value: Fraction) -> str:
    """A long rational, known by its remainders: writing it takes longer than computing it."""
    prime = (1 << 127) - 1
    return f"{value.numerator % prime}/{value.denominator % prime}"


def storm(players: Players, kind: str, n: int, outcomes: int) -> tuple[float, float, Values]:
    """The same by Storm: before is reading and building the model, then all are checked."""
    import stormpy

    exactly = kind == "exact"
    text = prism(players, K, n if exactly else None)
    form = 'P=? [F "{}"]' if exactly else f'P=? [F[{n - 1},{n - 1}] "{{}}"]'
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "chain.pm")
        file.write_text(text, "utf-8")

        def build() -> Any:
            program = stormpy.parse_prism_program(str(file))
            asked = ";".join(form.format(label_of(name)) for name in ASKED[:outcomes])
            properties = stormpy.parse_properties(asked, program)
            kept = stormpy.Rational if exactly else float
            return stormpy.build_model[kept](program, properties), properties

        before, (model, properties) = timed(build)

    def work() -> Any:
        first = model.initial_states[0]
        return [stormpy.model_checking(model, each).get_value(first) for each in properties]

    spent, values = timed(work)
    if exactly:
        sys.set_int_max_str_digits(0)
        return before, spent, [fingerprint(Fraction(str(each))) for each in values]
    return before, spent, values


def main() -> None:
    who, kind, n, outcomes = sys.argv[1:]
    answered = {"ours": ours, "storm": storm}[who]
    for players in PAIRS:
        before, spent, values = answered(players, kind, int(n), int(outcomes))
        print(json.dumps({"before": before, "spent": spent, "values": values}))


if __name__ == "__main__":
    main()
