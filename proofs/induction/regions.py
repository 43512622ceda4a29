"""Regions: the distinctions between numbers in which the invariants are written.

Each is a family of alternatives that together cover all whole numbers, which Z3 checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from proofs.induction.numbers import Given, Numbers, Whole

Region = tuple[str, ...]
"""The alternative of each feature, by name."""

OTHERS = 7
"""PXP(k): up to here, messages that take no self-loop are counted exactly."""


class Feature(NamedTuple):
    """A distinction between numbers: alternatives by name, which together cover everything."""

    name: str
    alternatives: Mapping[str, Given]


def check_coverage(numbers: Numbers, feature: Feature) -> None:
    """Raise unless every number is in some alternative: else steps could lead nowhere unseen."""
    if not numbers.covers(feature.alternatives.values()):
        raise AssertionError(f"the alternatives of {feature.name} leave numbers out")


def turn(numbers: Numbers) -> Feature:
    """How many messages were sent: exactly up to 2, then odd or even."""
    sent = numbers.named("sent")
    odd = (sent % 2).equals(1)
    ways: dict[str, Given] = {str(i): (sent.equals(i),) for i in range(3)}
    ways["odd"] = (odd, (3 - sent).at_most(0))
    ways["even"] = (odd.contrary(), (4 - sent).at_most(0))
    ways["negative"] = (sent.at_most(-1),)
    return Feature("sent", ways)


def room(numbers: Numbers) -> Feature:
    """Whether there is room for another message."""
    sent, n = numbers.named("sent"), numbers.named("n")
    below, above = sent.at_most(n - 1), n.at_most(sent - 1)
    return Feature("room", {"< n": (below,), "= n": (sent.equals(n),), "> n": (above,)})


def others(numbers: Numbers, tags: Iterable[str]) -> Feature:
    """How many of the messages took no self-loop: exactly, up to a bound."""
    taken = sum(map(numbers.named, tags), start=Whole(numbers.anything, (), 0))
    rest = numbers.named("sent") - taken
    ways: dict[str, Given] = {str(i): (rest.equals(i),) for i in range(OTHERS + 1)}
    ways["more"] = ((OTHERS + 1 - rest).at_most(0),)
    ways["negative"] = (rest.at_most(-1),)
    return Feature("others", ways)


def loops(numbers: Numbers, tags: Iterable[str]) -> tuple[Feature, ...]:
    """How often the self-loop on each tag was taken: never, at most k times, more often."""
    k = numbers.named("k")
    found = []
    for tag in tags:
        taken = numbers.named(tag)
        some = (1 - taken).at_most(0)
        ways: dict[str, Given] = {
            "0": (taken.equals(0),),
            "1..k": (some, taken.at_most(k)),
            "> k": (some, (k + 1).at_most(taken)),
            "negative": (taken.at_most(-1),),
        }
        found.append(Feature(tag, ways))
    return tuple(found)
