"""Formatting of an answer about probabilities as text, tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from pxp_fsm.experiments.sheets import Sheet
from pxp_fsm.plugins.odds import Player
from pxp_fsm.plugins.odds.behaviour import Behaviour
from pxp_fsm.plugins.odds.functions import Function
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.plugins.odds.runs.answers import OddsAnswer
from pxp_fsm.plugins.odds.runs.parameters import ROLES
from pxp_fsm.plugins.odds.targets import ParameterValue, Reach

_LONG, _LONGEST, _DIGITS = 40, 200, 4_000
"""Characters of a fraction and of a function that a terminal shows; digits that JSON takes."""


def lines(answered: OddsAnswer) -> Iterator[str]:
    """What the odds are of."""
    question = answered.question
    bound = "no bound on messages" if question.n is None else f"n = {question.n}"
    yield f"INTERACT, {bound}, k = {question.k}; judgements by chance, drawn anew at each message"
    for role, player in zip(ROLES, question.players, strict=True):
        yield from (f"  {role}{line}" for line in described(player))


def described(player: Player) -> Iterator[str]:
    """What an agent does, a line for each tag that it is said of."""
    yield f": {_described(player.usual)}"
    for tag, behaviour in player.after.items():
        yield f" in answer to {tag}: {_described(behaviour)}"


def _described(behaviour: Behaviour) -> str:
    parts = [f"{name} {behaviour.value(name)}" for name in ("A", "B", "C", "D")]
    alike = behaviour.value("revise")
    if alike is not None:
        parts.append(f"revise {alike}")
    else:
        parts += [f"{name} {value}" for name, value in behaviour.named() if "." in name]
    return ", ".join(parts)


def sheets(answered: OddsAnswer) -> Iterator[Sheet]:
    """The odds; then the sensitivities, functions and lengths, as far as they are asked for."""
    rows: list[tuple[str, ...]] = [
        (name, f"{float(value):.6f}", _exactly(value)) for name, value in _shown(answered)
    ]
    length = answered.odds.length
    rows.append(
        ("messages, expected", "endless", "")
        if length is None
        else ("messages, expected", f"{float(length):.4f}", _exactly(length))
    )
    headings: tuple[str, ...] = ("a session is", "probability", "exactly")
    if not answered.exact:
        headings, rows = headings[:2], [row[:2] for row in rows]
    yield Sheet("Odds", headings, tuple(rows))
    if answered.sensitivities:
        yield _slopes(answered)
    if answered.functions is not None:
        yield _functions(answered)
    if answered.lengths:
        listed = (
            (str(place), f"{float(share):.6f}", _exactly(share))
            for place, share in enumerate(answered.lengths, start=1)
        )
        yield Sheet("Lengths", ("messages", "probability", "exactly"), tuple(listed))


def _shown(answered: OddsAnswer) -> Iterator[tuple[str, Any]]:
    never = "bound" if answered.question.n is None else "endless"
    for name, value in answered.odds.items():
        if name != never:
            yield name, value


def _exactly(value: Any) -> str:
    if not isinstance(value, Fraction | int):
        return ""
    text = _digits(Fraction(value), _LONG)
    return "long" if text is None else text


def _digits(value: Fraction, most: int) -> str | None:
    """A rational as text; None where it is longer than `most`."""
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    text = str(value) if bits < 4 * most else None  # Python refuses to write very long numbers
    return text if text is not None and len(text) <= most else None


def _slopes(answered: OddsAnswer) -> Sheet:
    names = tuple(answered.sensitivities)
    rows = [
        (name, *(f"{float(odds.of(name).slope):+.4f}" for odds in answered.sensitivities.values()))
        for name, _ in _shown(answered)
    ]
    rows.append(
        (
            "messages, expected",
            *(
                "-" if odds.length is None else f"{float(odds.length.slope):+.4f}"
                for odds in answered.sensitivities.values()
            ),
        )
    )
    return Sheet("Change of each with each parameter (derivative)", ("", *names), tuple(rows))


def _functions(answered: OddsAnswer) -> Sheet:
    if answered.functions is None or answered.question.free is None:
        raise AssertionError("there is a free parameter")
    rows = tuple((name, _function(answered.functions.of(name))) for name, _ in _shown(answered))
    if answered.functions.length is not None:
        rows += (("messages, expected", _function(answered.functions.length)),)
    return Sheet(f"With x = {parameter(answered)}", ("a session is", "probability"), rows)


def parameter(answered: OddsAnswer) -> str:
    """The free parameter's name."""
    agent, name = answered.question.free or (0, "")
    return f"{ROLES[agent]}.{name}"


def _function(function: Function) -> str:
    up, down = function.coefficients()
    if sum(value.bit_length() for value in (*up, *down)) > 4 * _LONGEST:
        return f"degree {len(up) - 1} over {len(down) - 1} (--json has it)"
    text = str(function)
    return text if len(text) <= _LONGEST else f"degree {len(up) - 1} over {len(down) - 1} (--json)"


def targets(answered: OddsAnswer) -> Iterator[str]:
    """Where each target is reached, and the smallest value that does it."""
    name = parameter(answered)
    for (outcome, chance), reaches in zip(answered.question.targets, answered.reached, strict=True):
        aim = f"{outcome} with probability {chance} or more"
        if not reaches:
            yield f"{aim}: nowhere, whatever {name} is"
            continue
        parts = "; ".join(_part(reach) for reach in reaches)
        smallest = f"The smallest is {_place(reaches[0].first)}."
        if reaches[0].above:
            smallest = "There is no smallest: anything above 0 will do."
        yield f"{aim}: {name} {parts}. {smallest}"


def _part(reach: Reach) -> str:
    if reach.first == reach.last:
        return f"at {_place(reach.first)}"
    first = f"above {_place(reach.first)}" if reach.above else f"from {_place(reach.first)}"
    last = f"below {_place(reach.last)}" if reach.below else f"to {_place(reach.last)}"
    return f"{first} {last}"


def _place(place: ParameterValue) -> str:
    if place.exact:
        text = _digits(place.low, _LONG)
        return text if text is not None else f"{float(place):.12f}"
    return f"≈{float(place):.12f}"


def as_json(answered: OddsAnswer) -> dict[str, Any]:
    """The whole answer; exact numbers as text beside their floats, coefficients from x^0 on."""
    question = answered.question
    told: dict[str, Any] = {
        "protocol": "interact",
        "n": question.n,
        "k": question.k,
        "agents": {
            role: {
                tag or "usual": {name: str(value) for name, value in behaviour.named()}
                for tag, behaviour in (("", player.usual), *player.after.items())
            }
            for role, player in zip(ROLES, question.players, strict=True)
        },
        "exact": answered.exact,
        "outcomes": {name: _number(value) for name, value in answered.odds.items()},
        "length": _number(answered.odds.length),
    }
    if answered.lengths:
        told["lengths"] = [_number(value) for value in answered.lengths]
    if answered.sensitivities:
        told["sensitivities"] = {
            name: {outcome: _number(value.slope) for outcome, value in odds.items()}
            | {"length": None if odds.length is None else _number(odds.length.slope)}
            for name, odds in answered.sensitivities.items()
        }
    if answered.functions is not None:
        functions = {name: answered.functions.of(name) for name in OUTCOMES}
        if answered.functions.length is not None:
            functions["length"] = answered.functions.length
        told["free"] = {
            "parameter": parameter(answered),
            "functions": {name: _coefficients(function) for name, function in functions.items()},
            "targets": [
                {
                    "outcome": outcome,
                    "probability": str(chance),
                    "reached": [
                        {
                            "from": _ends(reach.first) | {"in": not reach.above},
                            "to": _ends(reach.last) | {"in": not reach.below},
                        }
                        for reach in reaches
                    ],
                }
                for (outcome, chance), reaches in zip(
                    question.targets, answered.reached, strict=True
                )
            ],
        }
    return told


def _number(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    exactly = _digits(Fraction(value), _DIGITS) if isinstance(value, Fraction | int) else None
    return {"value": float(value), "exact": exactly}


def _coefficients(function: Function) -> dict[str, list[str]]:
    both = (("numerator", function.numerator), ("denominator", function.denominator))
    return {name: [str(value) for value in polynomial.coeffs()] for name, polynomial in both}


def _ends(place: ParameterValue) -> dict[str, Any]:
    return {"value": float(place), "low": str(place.low), "high": str(place.high)}
