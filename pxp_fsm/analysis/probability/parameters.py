"""What somebody types: numbers, what an agent does, parameters, targets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from proofs.probability import Behaviour, Player
from proofs.probability.behaviour import ANSWERED, PARAMETERS, REVISING
from proofs.probability.prism import label_of
from proofs.probability.results import OUTCOMES
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.protocol.decisions import Category

ROLES = ("machine", "human")
"""The agents by number: the initiator m is the machine, the responder h the human."""

_NUMBER = re.compile(r"([0-9]{1,30})(?:\.([0-9]{1,30})|/([0-9]{1,30}))?")


def number(text: str, what: str) -> Fraction:
    """An exact number: `2/5`, `0.4`, `1`; raises `UsageError` where it is none."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (found[3] and not int(found[3])):
        raise UsageError(f"{what} is a number such as 2/5 or 0.4; it was {quoted(text)}")
    return Fraction(found[0])


def player(texts: Sequence[str], role: str) -> Player:
    """An agent from `A=2/5,B=0.2,C=0.1,D=0.3,revise=1/2`, and `RATIFY:A=1` for what it does then.

    What is left out is 0. `revise.B` and so on go before `revise`, which is that of all others.
    """
    usual: Behaviour | None = None
    after: dict[str, Behaviour] = {}
    for text in texts:
        tag, colon, said = text.rpartition(":")
        tag = tag.strip().upper()
        if colon and tag not in ANSWERED:
            raise UsageError(
                f"--{role} {quoted(text)}: before the colon stands the tag that is answered, one "
                f"of {', '.join(ANSWERED)}"
            )
        if (tag in after) if colon else (usual is not None):
            raise UsageError(
                f"--{role}: what it does{f' after {tag}' if tag else ''} is said twice"
            )
        found = _behaviour(said, role)
        if colon:
            after[tag] = found
        else:
            usual = found
    if usual is None:
        raise UsageError(
            f"--{role} is missing: say what it does, for instance --{role} A=2/5,B=1/5,D=2/5,"
            f"revise=1/2"
        )
    return Player(usual, after)


def _behaviour(text: str, role: str) -> Behaviour:
    said: dict[str, Fraction] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or name not in PARAMETERS:
            raise UsageError(
                f"--{role}: {quoted(part)} is not NAME=NUMBER with a name of "
                f"{', '.join(PARAMETERS)}"
            )
        if name in said:
            raise UsageError(f"--{role}: {name} is given twice")
        said[name] = number(value, f"--{role} {name}")
    return _made(said, role)


def _made(said: Mapping[str, Fraction], role: str) -> Behaviour:
    revise = said.get("revise", Fraction(0))
    try:
        return Behaviour(
            {category: said.get(category.value, Fraction(0)) for category in Category},
            {category: said.get(f"revise.{category.value}", revise) for category in REVISING},
        )
    except UsageError as error:
        raise UsageError(f"--{role}: {error}") from None


def parameter(text: str) -> tuple[int, str]:
    """The agent and the parameter of `human.A` or `machine.RATIFY:revise`."""
    role, dot, name = text.strip().partition(".")
    if not dot or role not in ROLES:
        raise UsageError(
            f"a parameter is that of an agent, such as human.A or machine.revise; it was "
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
            f"a target is an outcome and a probability, two-way=0.9, not {quoted(text)}"
        )
    chance = number(value, f"the target of {name.strip()}")
    if chance > 1:
        raise UsageError(f"a target is a probability, at most 1; it was {value}")
    return outcome(name), chance
