"""Performance on the sessions' own instances, against length.

How often an agent's latest prediction, when a session is cut after message j, is the right one: the
machine's, and the human's where that is nobody who is taken to be right. The machine's accuracy on
test data, the other reading of Figure 2, is in `experiments/accuracy.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from pxp_fsm.experiments.accuracy import Normal
from pxp_fsm.experiments.reports.observed import Observed
from pxp_fsm.experiments.reports.tallies import Point, over_repetitions


@dataclass
class CorrectPredictions:
    """How many sessions' latest prediction is right after each message, by repetition.

    It is the machine's, or the human's where `machine` is False. `right` are the right predictions
    by instance, normal; `texts` finds a prediction by digest. Sessions about an instance without a
    right answer, and those that were erased, are not counted.
    """

    right: Mapping[str, str]
    normal: Normal
    texts: Callable[[str], str | None]
    machine: bool = True
    changes: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    totals: Counter[int] = field(default_factory=Counter)

    def add(self, session: Observed) -> None:
        """Count one more session."""
        wanted = self.right.get(session.instance)
        if wanted is None or not session.steps:
            return
        own = [
            (number, self.texts(step.prediction))
            for number, step in enumerate(session.steps, start=1)
            if step.machine is self.machine
        ]
        if any(said is None for _, said in own):
            return
        self.totals[session.repetition] += 1
        was = False
        for number, said in own:
            now = said is not None and self.normal(said) == wanted
            if now != was:
                self.changes[session.repetition][number] += 1 if now else -1
            was = now

    def curve(self, until: int) -> tuple[Point, ...]:
        """The share of sessions with a right prediction after message 1, 2, … `until`."""
        return over_repetitions(
            [
                [Fraction(count, total) for count in self._cumulated(repetition, until)]
                for repetition, total in sorted(self.totals.items())
            ]
        )

    def _cumulated(self, repetition: int, until: int) -> Iterator[int]:
        changes = self.changes[repetition]
        return accumulate(changes[number] for number in range(1, until + 1))
