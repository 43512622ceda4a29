"""Assignment of arms and tasks to participants: counterbalanced in blocks, in an order by seed.

Orders are those of Williams (1949): in a square each task stands once at each place, and follows
each other task equally often. A block holds every combination of an order of tasks and an order of
arms once, so that over a block each task meets each arm, and each place, equally often.
"""

from __future__ import annotations

import random
from itertools import product
from typing import NamedTuple

from pxp_fsm.plugins.studies.files import Arm, Study, StudyTask


class Assigned(NamedTuple):
    """What a participant does at a place, from 1."""

    place: int
    task: StudyTask
    arm: Arm


def assignment(study: Study, number: int) -> tuple[Assigned, ...]:
    """What the participant who came as `number`, from 1, does, in order.

    It depends on the study's seed and on `number` alone.
    """
    block, at = divmod(number - 1, block_size(study))
    orders = list(product(balanced_orders(len(study.tasks)), _arms(study)))
    random.Random(f"{study.seed}/{study.name}/{block}").shuffle(orders)
    tasks, arms = orders[at]
    return tuple(
        Assigned(place, study.tasks[task], study.arms[arms[(place - 1) % len(arms)]])
        for place, task in enumerate(tasks, 1)
    )


def block_size(study: Study) -> int:
    """How many participants make up a block, after which everything is in balance."""
    return len(balanced_orders(len(study.tasks))) * len(_arms(study))


def _arms(study: Study) -> list[tuple[int, ...]]:
    """The orders of arms: of all of them, or of one alone between participants."""
    if study.design == "between":
        return [(arm,) for arm in range(len(study.arms))]
    return balanced_orders(len(study.arms))


def balanced_orders(size: int) -> list[tuple[int, ...]]:
    """Williams' orders of the numbers below `size`: as many, or twice as many if it is odd.

    >>> balanced_orders(4)
    [(0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1)]
    """
    first = [0]
    for step in range(1, size):
        first.append((size - step // 2) % size if step % 2 == 0 else (step + 1) // 2)
    rows = [tuple((position + shift) % size for position in first) for shift in range(size)]
    return rows + [row[::-1] for row in rows] if size % 2 and size > 1 else rows
