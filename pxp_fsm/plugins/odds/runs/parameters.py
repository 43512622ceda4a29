"""Parsing of parameters: numbers, behaviours of agents, parameter names, targets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.odds import Behaviour, Player
from pxp_fsm.plugins.odds.behaviour import ANSWERED, PARAMETERS, REVISING
from pxp_fsm.plugins.odds.prism import label_of
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.protocol.decisions import Category

ROLES = ("machine", "human")
"""The agents by number: the initiator m is the machine, the responder h the human."""

_NUMBER = re.compile(r"([0-9]{1,30})(?:\.([0-9]{1,30})|/([0-9]{1,30}))?")


def number(text: str, subject: str) -> Fraction:
    """An exact number: `2/5`, `0.4`, `1`; raises `UsageError` where it is none."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[3] and not int(match[3])):
        raise UsageError(f"{subject} must be a number such as 2/5 or 0.4, not {quoted(text)}")
    return Fraction(match[0])


def player(texts: Sequence[str], role: str) -> Player:
    """An agent from `A=2/5,B=0.2,C=0.1,D=0.3,revise=1/2`; `RATIFY:A=1` is its reply to RATIFY.

    Omitted numbers are 0. `revise.B` and so on override `revise`, which applies to the rest.
    """
    usual: Behaviour | None = None
    after: dict[str, Behaviour] = {}
    for text in texts:
        tag, colon, parameters = text.rpartition(":")
        tag = tag.strip().upper()
        if colon and tag not in ANSWERED:
            raise UsageError(
                f"the word before the colon in {quoted(text)} must be the tag that is answered: "
                f"{', '.join(ANSWERED)}",
                role,
            )
        if (tag in after) if colon else (usual is not None):
            raise UsageError(f"the behaviour{f' after {tag}' if tag else ''} is given twice", role)
        behaviour = _behaviour(parameters, role)
        if colon:
            after[tag] = behaviour
        else:
            usual = behaviour
    if usual is None:
        raise UsageError(
            f"the behaviour of the {role} is missing; write it as in A=2/5,B=1/5,D=2/5,revise=1/2",
            role,
        )
    return Player(usual, after)


def _behaviour(text: str, role: str) -> Behaviour:
    shares: dict[str, Fraction] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or name not in PARAMETERS:
            raise UsageError(
                f"{quoted(part)} is not NAME=NUMBER with a name of {', '.join(PARAMETERS)}", role
            )
        if name in shares:
            raise UsageError(f"{name} is given twice", role)
        shares[name] = number(value, f"{name} of the {role}")
    return _behaviour_of(shares, role)


def _behaviour_of(shares: Mapping[str, Fraction], role: str) -> Behaviour:
    revise = shares.get("revise", Fraction(0))
    try:
        return Behaviour(
            {category: shares.get(category.value, Fraction(0)) for category in Category},
            {category: shares.get(f"revise.{category.value}", revise) for category in REVISING},
        )
    except UsageError as error:
        raise UsageError(str(error), role) from None


def parameter(text: str) -> tuple[int, str]:
    """The agent and the parameter of `human.A` or `machine.RATIFY:revise`."""
    role, dot, name = text.strip().partition(".")
    if not dot or role not in ROLES:
        raise UsageError(
            f"a parameter must belong to an agent, such as human.A or machine.revise; it is "
            f"{quoted(text)}"
        )
    return ROLES.index(role), name


def outcome(text: str) -> str:
    """One of `OUTCOMES` by its name, or by its name in letters and dashes or underscores."""
    wanted = label_of(text.strip().lower())
    for name in OUTCOMES:
        if wanted == label_of(name):
            return name
    known = ", ".join(label_of(name).replace("_", "-") for name in OUTCOMES)
    raise UsageError(f"there is no outcome {quoted(text)}; there are: {known}")


def target(text: str) -> tuple[str, Fraction]:
    """Outcome and probability of `two-way=0.9`."""
    name, equals, value = text.rpartition("=")
    if not equals:
        raise UsageError(
            f"a target must be OUTCOME=PROBABILITY, such as two-way=0.9, not {quoted(text)}"
        )
    chance = number(value, f"the target of {name.strip()}")
    if chance > 1:
        raise UsageError(f"a target must be a probability, at most 1, not {value}")
    return outcome(name), chance
