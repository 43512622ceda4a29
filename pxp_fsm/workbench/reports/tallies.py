"""What a report counts, session by session: curves, flows, categories, sequences. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from statistics import median

from backends.databases.records import CONCLUDED
from pxp_fsm.decisions import Category
from pxp_fsm.intelligibility import ONE_WAY
from pxp_fsm.messages import Tag
from pxp_fsm.workbench.reports.observed import Observed, ObservedMessage

_READ = {Tag.RATIFY: 0, Tag.REFUTE: 1, Tag.REVISE: 2, Tag.REJECT: 3}
NOT_OVER = "not over"
KINDS = ("human", "machine", "two-way")
"""The curves of one-way intelligible sessions for each agent, and of two-way ones."""


@dataclass(frozen=True, slots=True)
class Point:
    """A median over repetitions with the least and the most, as the papers' error bars show."""

    number: int
    median: Fraction
    least: Fraction
    most: Fraction


@dataclass(frozen=True, slots=True)
class Situation:
    """What a tag answered: the category, whether REJECT was allowed yet (j > k), and the tag.

    `category` is None where no judgement led to the tag: somebody, or something else, named it.
    """

    category: Category | None
    late: bool
    tag: str


@dataclass
class Tally:
    """Counts over the sessions of a run; `add` takes them one at a time and keeps none.

    Curves count sessions that the protocol itself ended, as Table 1 does; flows count all.
    """

    longest: int = 0
    curves: dict[tuple[str, int], Counter[int]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    totals: Counter[int] = field(default_factory=Counter)
    flows: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    endings: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    situations: Counter[tuple[Situation, bool]] = field(default_factory=Counter)
    sequences: Counter[tuple[str, ...]] = field(default_factory=Counter)
    by_repetition: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, session: Observed) -> None:
        """Count one more session."""
        steps, ending = session.steps, session.ending or NOT_OVER
        self.longest = max(self.longest, len(steps))
        self.by_repetition[session.repetition][ending] += 1
        self.sequences[(*(step.tag for step in steps), ending)] += 1
        for number, step in enumerate(steps, start=1):
            following = steps[number].tag if number < len(steps) else None
            if following is not None:
                self.flows[number, step.tag, following] += 1
            else:
                self.endings[number, step.tag, ending] += 1
            if number > 1:
                late = session.k is not None and number > session.k
                self.situations[_situation(step, late), step.machine] += 1
        if ending in CONCLUDED:
            self.totals[session.repetition] += 1
            for number, kind, change in gains(steps):
                self.curves[kind, session.repetition][number] += change

    def curve(self, kind: str, until: int) -> tuple[Point, ...]:
        """How many sessions are in the class if they are cut after message 1, 2, … `until`."""
        return over_repetitions(
            [self._cumulated(kind, repetition, until) for repetition in sorted(self.totals)]
        )

    def _cumulated(self, kind: str, repetition: int, until: int) -> Sequence[int]:
        changes = self.curves.get((kind, repetition), Counter())
        return list(accumulate(changes[number] for number in range(1, until + 1)))


def over_repetitions(series: Sequence[Sequence[int | Fraction]]) -> tuple[Point, ...]:
    """Median, least and most of each place over the series of the repetitions."""
    return tuple(
        Point(number, median(map(Fraction, values)), Fraction(min(values)), Fraction(max(values)))
        for number, values in enumerate(zip(*series, strict=True), start=1)
    )


def gains(steps: Iterable[ObservedMessage]) -> Iterable[tuple[int, str, int]]:
    """Where a session enters (+1) or leaves (-1) a class of `KINDS`: message, class, change.

    A later REJECT takes a session out of a class, so that a curve may fall.
    """
    states = {True: "none", False: "none"}
    before = dict.fromkeys(KINDS, False)
    for number, step in enumerate(steps, start=1):
        if step.tag not in _READ:
            continue
        states[step.machine] = ONE_WAY.moves[states[step.machine]][_READ[Tag(step.tag)]]
        machine, human = (states[role] in ONE_WAY.accepting for role in (True, False))
        now = {"human": human, "machine": machine, "two-way": human and machine}
        for kind in KINDS:
            if now[kind] != before[kind]:
                yield number, kind, 1 if now[kind] else -1
        before = now


def _situation(step: ObservedMessage, late: bool) -> Situation:
    if step.reason is None:
        return Situation(None, False, step.tag)
    return Situation(step.reason.category, late and step.reason.category is Category.D, step.tag)
