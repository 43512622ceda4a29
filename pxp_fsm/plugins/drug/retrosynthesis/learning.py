"""Learning from the other agent: what it sends becomes a precedent at once.

A lesson counts for products that are similar and for steps that it shares a template with, as the
published precedents do. It never proposes anything: it lifts what the machine derives itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pxp_fsm.plugins.drug.retrosynthesis.environments import encode, environments
from pxp_fsm.plugins.drug.retrosynthesis.proposals import tanimoto
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, ranked

LIFT = 4.0
"""What a lesson about the same product and the same reactants adds to a score (natural-log units).

Chosen among 2, 4, 6 and 8 on scaffolds of the precedents. On the validation set larger ones gain
two of 90 answers about the very molecule, and lose one about related ones
(`benchmarks/bench_learning.py WHEEL --lift 2 4 6 8`)."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A reaction that the other agent sent, and the names of the templates that derive it."""

    product: str
    reactants: str
    steps: frozenset[str]


class PredictorLessons:
    """The lessons of one predictor, each once, in the order in which they were heard."""

    def __init__(self, lessons: Iterable[Lesson] = ()) -> None:
        self._lessons = list(lessons)

    def __iter__(self) -> Iterator[Lesson]:
        return iter(self._lessons)

    def __len__(self) -> int:
        return len(self._lessons)

    def add(self, lesson: Lesson) -> None:
        """Take `lesson` in; what was heard before changes nothing."""
        if lesson not in self._lessons:
            self._lessons.append(lesson)

    def ranked(self, product: str, found: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        """`found` for `product`, best first after the lessons."""
        if not self._lessons:
            return found
        return ranked(
            replace(one, score=one.score + LIFT * self._likeness(product, one)) for one in found
        )

    def _likeness(self, product: str, candidate: Candidate) -> float:
        """How much the most similar lesson is like `candidate`, from 0 to 1.

        Of the same product a lesson speaks for the very reactants that it has, and no others; and
        only where precedents of other products speak for them as well.
        """
        proposal = candidate.proposal
        support = () if proposal is None else proposal.support
        explained = any(one.precedent.product != product for one in support)
        return max(
            (
                likeness(product, lesson.product) * likeness(candidate.reactants, lesson.reactants)
                for lesson in self._lessons
                if not lesson.steps.isdisjoint(candidate.steps)
                and (
                    lesson.product != product
                    or (explained and lesson.reactants == candidate.reactants)
                )
            ),
            default=0.0,
        )


@lru_cache(maxsize=100_000)
def likeness(one: str, other: str) -> float:
    """The Tanimoto coefficient of two texts of molecules (canonical SMILES)."""
    return tanimoto(_environments(one), _environments(other))


@lru_cache(maxsize=20_000)
def _environments(smiles: str) -> frozenset[int]:
    return environments(*encode([smiles])).sets(1)[0]
