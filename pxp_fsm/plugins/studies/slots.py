"""When a partner's answer is shown: at the end of a slot that is drawn from the seed.

A slot's length depends on the study's seed and on the message alone, so that nothing about the
partner can be told from it. A partner that misses a slot waits for the end of the next: how many
slots went by is what a blinded expert can see of the partner's speed, and all of it.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

OPENING = 3.0
"""Seconds of the slots in which sessions are opened: partners take unlike times to get ready."""


class AnswerRelease(NamedTuple):
    """When an answer is shown, in seconds since 1970, and how many slots went by."""

    at: float
    slots: int


def slot_length(seed: int, message: str, least: float, most: float) -> float:
    """Seconds of a slot of `message`, which names the place of a message in a study.

    >>> 20 <= slot_length(0, "drug/p001/1/1/2", 20, 40) <= 40
    True
    """
    return least + (most - least) * random.Random(f"{seed}/{message}").random()


def opening_length(least: float) -> float:
    """Seconds of the slots in which sessions are opened, where the shortest others last `least`.

    >>> opening_length(20.0)
    3.0
    """
    return min(OPENING, least)


def released(asked: float, ready: float, length: float) -> AnswerRelease:
    """When an answer that was asked for at `asked`, and there at `ready`, is shown.

    >>> released(100.0, 130.0, 20.0)
    AnswerRelease(at=140.0, slots=2)
    """
    slots = max(1, math.ceil((ready - asked) / length))
    return AnswerRelease(asked + slots * length, slots)
