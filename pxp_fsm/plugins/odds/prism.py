"""The chain in the PRISM language, for Storm, PRISM and similar tools.

With a bound n the number of messages is a variable, and what a session comes to is what is reached
in the end. Without one the model is small; what a bound n comes to is then what holds after step
n - 1, `P=? [F[n-1,n-1] "two_way"]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from pxp_fsm.plugins.odds.chain import EARLY, LATE, Conclusion, Players, Weighted, spanned
from pxp_fsm.plugins.odds.functions import placed
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.protocol import decisions

Slope = tuple[int, int]


def prism(
    players: Players, k: int, n: int | None = None, free: tuple[int, str] | None = None
) -> str:
    """The chain as a DTMC with a label for each of `OUTCOMES` (`label_of`) and `over`.

    `free` names a parameter, of agent 0 (m) or 1 (h), that is left open as the constant `x`.
    """
    decisions.check_bounds(n or 1, k)
    low = high = players
    if free is not None:
        low, high = (placed(players, *free, Fraction(value)) for value in (0, 1))
    weighted = spanned(low, high, lambda constant, slope: (constant, slope))
    results = list(
        dict.fromkeys(
            target
            for stage in weighted.into
            for into in stage
            for target in into
            if isinstance(target, Conclusion)
        )
    )
    return "\n".join(_lines(weighted, results, k, n, free is not None)) + "\n"


def label_of(outcome: str) -> str:
    """The label that an outcome has: its name in letters and underscores."""
    return re.sub("[^a-z]+", "_", outcome).strip("_")


def _lines(
    weighted: Weighted[Slope], results: list[Conclusion], k: int, n: int | None, free: bool
) -> Iterator[str]:
    states = len(weighted.chain.speakers)
    places: dict[int | Conclusion, int] = {state: state for state in range(states)}
    places |= {result: states + place for place, result in enumerate(results)}
    most = k if n is None else n
    going = "" if n is None else f" & sent<{n}"
    yield f"// INTERACT with judgements by chance, k = {k}"
    yield f"// {'any number of messages' if n is None else f'at most {n} messages'}"
    yield "dtmc"
    if free:
        yield "const double x;"
    yield ""
    yield "module session"
    yield f"  sent : [1..{max(most, 1)}] init 1; // messages sent" + (
        ", k at the most" if n is None else ""
    )
    yield f"  s : [0..{states + len(results) - 1}] init 0; // below {states} it goes on"
    for stage, when in ((EARLY, f"sent<{k}"), (LATE, f"sent>={k}")):
        for speaker in (1, 0):
            for state, moves in sorted(_by_state(weighted, stage, speaker).items()):
                told = " + ".join(
                    f"{_share(weight, weighted.scales[speaker])} : "
                    f"(s'={places[target]}) & (sent'=min(sent+1, {most}))"
                    for target, weight in moves
                )
                yield f"  [] s={state} & {when}{going} -> {told};"
    yield f"  [] s>={states} -> true;"
    if n is not None:
        yield f"  [] s<{states} & sent={n} -> true;"
    yield "endmodule"
    yield ""
    yield f'label "over" = s>={states}{f" | sent={n}" if n is not None else ""};'
    for outcome, holds in OUTCOMES.items():
        if outcome == "endless":
            continue
        ended = [str(states + place) for place, result in enumerate(results) if holds(result)]
        alive = [str(s) for s, result in enumerate(weighted.chain.bounds) if holds(result)]
        parts = [" | ".join(f"s={place}" for place in ended)] if ended else []
        if alive:
            still = " | ".join(f"s={place}" for place in alive)
            parts.append(f"({still})" + (f" & sent={n}" if n is not None else ""))
        yield f'label "{label_of(outcome)}" = {" | ".join(parts) or "false"};'


def _by_state(
    weighted: Weighted[Slope], stage: int, speaker: int
) -> dict[int, list[tuple[int | Conclusion, Slope]]]:
    by_state: dict[int, list[tuple[int | Conclusion, Slope]]] = {}
    for target, terms in weighted.into[stage][speaker].items():
        for weight, states in terms:
            for state in states:
                by_state.setdefault(state, []).append((target, weight))
    return by_state


def _share(weight: Slope, scale: int) -> str:
    constant, slope = weight
    if not slope:
        return f"{constant}/{scale}"
    return f"({constant} + {slope}*x)/{scale}"
