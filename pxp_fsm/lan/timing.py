"""How long models took, so that the time of interaction can be told from it.

Source: arXiv 2309.15943, section 6.5.1: interaction time is the total less the models' time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pxp_fsm.models import Ask, Layer, Reply, Request


@dataclass
class Stopwatch:
    """Seconds since it was made, and those of them in which at least one model was being asked.

    Models asked at once are counted once. `clock` gives seconds from anywhere.
    """

    clock: Callable[[], float] = time.perf_counter
    began: float = field(init=False)
    calls: int = 0
    _busy: float = 0.0
    _asking: int = 0
    _since: float = 0.0

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def total(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self.began

    @property
    def models(self) -> float:
        """Seconds in which a model was being asked."""
        return self._busy + (self.clock() - self._since if self._asking else 0.0)

    @property
    def interaction(self) -> float:
        """Seconds in which no model was being asked: the paper's interaction time."""
        return self.total - self.models

    def begin(self) -> None:
        """A model is asked."""
        if not self._asking:
            self._since = self.clock()
        self._asking += 1
        self.calls += 1

    def end(self) -> None:
        """A model that was asked has replied, or cannot."""
        self._asking -= 1
        if not self._asking:
            self._busy += self.clock() - self._since


def timed(watch: Stopwatch) -> Layer:
    """Runs a stopwatch while a model is asked."""

    async def reply(ask: Ask, request: Request) -> Reply:
        watch.begin()
        try:
            return await ask(request)
        finally:
            watch.end()

    return reply
