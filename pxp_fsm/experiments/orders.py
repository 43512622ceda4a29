"""The order of the instances in each repetition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum
from math import factorial
from typing import TypeVar

from pxp_fsm.errors import UsageError

T = TypeVar("T")

_MOST = 1_000
"""Repetitions that all differ: each is compared with all before it."""


class Order(StrEnum):
    """`FIXED`: as the data have it. `SHUFFLED`: drawn anew for each repetition.

    `SAMPLED`: drawn from all orders without repetition, so that as many repetitions as there are
    orders go through every one of them.
    """

    FIXED = "fixed"
    SHUFFLED = "shuffled"
    SAMPLED = "sampled"


def check_order(order: Order, instances: int, repetitions: int) -> None:
    """Raise `UsageError` where there are not so many different orders."""
    if order is not Order.SAMPLED:
        return
    there = factorial(instances) if instances < 20 else _MOST + 1
    if repetitions > there:
        raise UsageError(
            f"{instances} instances have {there} orders, so {repetitions} repetitions cannot "
            f"all differ; give {there} repetitions at most, or order shuffled",
            "instances",
        )
    if repetitions > _MOST:
        raise UsageError(
            f"at most {_MOST} orders can be sampled; give fewer repetitions", "repetitions"
        )


def ordered(rows: Sequence[T], order: Order, seed: int, repetition: int) -> list[T]:
    """`rows` in the order of a repetition (from 1); the same for the same seed."""
    found = list(rows)
    if order is Order.SHUFFLED:
        random.Random(f"{seed}/{repetition}").shuffle(found)
    elif order is Order.SAMPLED:
        found = _permuted(found, _sampled(len(found), seed, repetition))
    return found


def _sampled(size: int, seed: int, repetition: int) -> int:
    """Which of all orders, by its number, the repetition has; none is drawn twice."""
    drawn = random.Random(f"{seed}/orders")
    there, seen, number = factorial(size), set[int](), 0
    for place in range(repetition):
        free = _free(drawn.randrange(there - place), seen)
        seen.add(free)
        number = free
    return number


def _free(rank: int, seen: set[int]) -> int:
    """The number that is in place `rank`, from 0, of those not in `seen`."""
    for number in sorted(seen):
        if number <= rank:
            rank += 1
    return rank


def _permuted(rows: Sequence[T], number: int) -> list[T]:
    """The order of that number, from 0, of all orders of `rows` in lexicographic order."""
    left, found = list(rows), []
    for size in range(len(left), 0, -1):
        place, number = divmod(number, factorial(size - 1))
        found.append(left.pop(place))
    return found
