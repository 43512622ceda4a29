"""Questions about the probabilities of sessions, and their answers."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Any

from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds import Odds, Player, exact, lengths
from pxp_fsm.plugins.odds.chain import Players
from pxp_fsm.plugins.odds.floats import floats
from pxp_fsm.plugins.odds.functions import Dual, Function, along, placed, sensitivity
from pxp_fsm.plugins.odds.limit import limit
from pxp_fsm.plugins.odds.runs.parameters import ROLES
from pxp_fsm.plugins.odds.targets import Ends, Reach, reaches

EXACT_BY_ITSELF, EXACT_AT_MOST, AT_MOST = 2_000, 20_000, 1_000
"""Messages: up to which results are exact unless floats are asked for; and the most there may be
for exact results, and for a free parameter, sensitivities and a list of lengths."""


@dataclass(frozen=True)
class OddsQuestion:
    """The odds of INTERACT(n, k) between `players`; n None is no bound.

    `exact` is None where nobody has said. `free` is a parameter that is left open, `targets` are
    outcomes with the probability that they are to reach.
    """

    players: Players
    n: int | None
    k: int
    exact: bool | None = None
    free: tuple[int, str] | None = None
    targets: tuple[tuple[str, Fraction], ...] = ()
    sensitivities: bool = False
    lengths: bool = False


@dataclass(frozen=True)
class OddsAnswer:
    """The answer: `odds` are rationals, or floats where `exact` is false."""

    question: OddsQuestion
    odds: Odds[Any]
    exact: bool
    sensitivities: dict[str, Odds[Dual]] = field(default_factory=dict)
    functions: Odds[Function] | None = None
    reached: tuple[tuple[Reach, ...], ...] = ()
    lengths: tuple[Fraction, ...] = ()


def answer(question: OddsQuestion) -> OddsAnswer:
    """Everything that is asked; `UsageError` where it cannot be answered."""
    n, k, players = question.n, question.k, question.players
    if question.targets and question.free is None:
        raise UsageError("a target requires a free parameter, such as human.A", "targets")
    exactly = _exactly(question)
    if not exactly and n is not None:
        odds: Odds[Any] = floats(players, n, k)
    else:
        odds = limit(players, k) if n is None else exact(players, n, k)
    functions = None if question.free is None else _functions(question)
    reached = tuple(
        reaches(functions.of(outcome), chance, _ends(question, outcome))
        for outcome, chance in question.targets
        if functions is not None
    )
    return OddsAnswer(
        question,
        odds,
        exactly,
        _sensitivities(question) if question.sensitivities else {},
        functions,
        reached,
        _lengths(question) if question.lengths else (),
    )


def _exactly(question: OddsQuestion) -> bool:
    steps = question.k if question.n is None else question.n
    wanted = question.exact
    if wanted is None:
        wanted = question.n is None or steps <= EXACT_BY_ITSELF
    exactly = wanted or question.n is None
    if exactly and steps > EXACT_AT_MOST:
        letter = "k" if question.n is None else "n"
        raise UsageError(
            f"exact results require {letter} up to {EXACT_AT_MOST:,}, not {steps:,}; compute with "
            f"floats, or without a bound (n = inf)",
            "exact",
        )
    return exactly


def _functions(question: OddsQuestion) -> Odds[Function]:
    _check(question, "a free parameter")
    if question.free is None:
        raise AssertionError("there is a free parameter")
    return along(question.players, *question.free, question.n, question.k)


def _check(question: OddsQuestion, subject: str) -> None:
    """Raise `UsageError` where n, or k without a bound, is too large for `subject`."""
    letter, steps = ("k", question.k) if question.n is None else ("n", question.n)
    if steps > AT_MOST:
        raise UsageError(f"with {subject} {letter} is at most {AT_MOST:,}; it was {steps:,}")


def _ends(question: OddsQuestion, outcome: str) -> Ends:
    """What is so where the free parameter is 0 or 1, if that may differ from just beside it.

    Without a bound sessions may be endless there and nowhere else.
    """
    if question.n is not None or question.free is None:
        return None, None
    agent, name = question.free
    at = [limit(placed(question.players, agent, name, Fraction(x)), question.k) for x in (0, 1)]
    return at[0].of(outcome), at[1].of(outcome)


def _lengths(question: OddsQuestion) -> tuple[Fraction, ...]:
    if question.n is None:
        raise UsageError("lengths require a bound n on messages", "also")
    _check(question, "lengths")
    return lengths(question.players, question.n, question.k)


def _sensitivities(question: OddsQuestion) -> dict[str, Odds[Dual]]:
    """The derivative along each parameter that can change alone."""
    _check(question, "sensitivities")
    derivatives = {}
    for agent, player in enumerate(question.players):
        for name in changeable(player):
            derivatives[f"{ROLES[agent]}.{name}"] = sensitivity(
                question.players, agent, name, question.n, question.k
            )
    return derivatives


def changeable(player: Player) -> list[str]:
    """The parameters of an agent along which something can change."""
    parameters = []
    for tag, behaviour in (("", player.usual), *player.after.items()):
        names = [c for c in ("A", "B", "C", "D") if behaviour.value(c) != 1]
        alike = behaviour.value("revise") is not None
        names += ["revise"] if alike else ["revise.B", "revise.C", "revise.D"]
        parameters += [f"{tag}:{name}" if tag else name for name in names]
    return parameters
