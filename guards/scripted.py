"""Relations that answer by a script or by chance."""

from __future__ import annotations

import random
from collections.abc import Iterable

from pxp_fsm.errors import GuardError
from pxp_fsm.relations import NOISY, Assumption, Outcome


class ScriptedRelation:
    """Replays a list of outcomes, one a question; raises `GuardError` when it is used up."""

    name = "script"
    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = iter(tuple(outcomes))

    async def holds(self, left: str, right: str) -> Outcome:
        outcome = next(self._outcomes, None)
        if outcome is None:
            raise GuardError("the script has no outcome left")
        return outcome


class ChanceRelation:
    """Holds with probability `rate`, by a seed; says something new each time it is asked."""

    name = "chance"
    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, seed: int, rate: float = 0.5) -> None:
        self._random = random.Random(seed)
        self._rate = rate

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if self._random.random() < self._rate else Outcome.NO
