"""How far a judge agrees with itself: the same question put again and again, and turned round."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from guards.judge import Judge, Sample, majority
from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.relations import Outcome

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pair with what a judge said of it, in its order and turned round; empty where nothing."""

    pair: Pair
    samples: tuple[Sample, ...]
    turned: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Consistency:
    """How far a judge agrees with itself; `number` samples of each question.

    `unanimous` counts pairs of whose samples all say the same, `agreement` is the chance that two
    samples of a pair do, on average over pairs (None for one sample), `symmetric` counts pairs
    whose majority is the same when they are turned round. `silent` are the questions without a
    verdict, and in no count.
    """

    number: int
    asked: tuple[Asked, ...]
    silent: int

    @property
    def pairs(self) -> int:
        """Pairs of which there are samples."""
        return len(self._answered())

    @property
    def unanimous(self) -> int:
        return sum(len(_outcomes(asked.samples)) == 1 for asked in self._answered())

    @property
    def agreement(self) -> float | None:
        answered = self._answered()
        if self.number < 2 or not answered:
            return None
        return sum(_agreement(asked.samples) for asked in answered) / len(answered)

    @property
    def turned(self) -> int:
        """Pairs of which there are samples in both orders."""
        return sum(bool(asked.samples and asked.turned) for asked in self.asked)

    @property
    def symmetric(self) -> int:
        return sum(
            bool(asked.samples and asked.turned)
            and majority(asked.samples) is majority(asked.turned)
            for asked in self.asked
        )

    def _answered(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.samples]


async def consistency(judge: Judge, pairs: Sequence[Pair], number: int) -> Consistency:
    """Put every pair to `judge`, `number` times in each order; raises `UsageError` for none.

    Questions go out together; the model's own limits bound how many at a time.
    """
    if not pairs:
        raise UsageError("there are no pairs of explanations to be judged")
    questions = [*pairs, *((right, left) for left, right in pairs)]
    said = await asyncio.gather(*(_samples(judge, pair, number) for pair in questions))
    here, there = said[: len(pairs)], said[len(pairs) :]
    asked = tuple(map(Asked, pairs, here, there))
    return Consistency(number, asked, sum(not samples for samples in said))


async def _samples(judge: Judge, pair: Pair, number: int) -> tuple[Sample, ...]:
    try:
        return await judge.samples(*pair, number, 0)
    except NoAnswer:
        return ()


def _outcomes(samples: Sequence[Sample]) -> set[Outcome]:
    return {sample.outcome for sample in samples}


def _agreement(samples: Sequence[Sample]) -> float:
    """The chance that two different samples say the same (as in Fleiss 1971)."""
    yes = sum(sample.outcome is Outcome.YES for sample in samples)
    same = comb(yes, 2) + comb(len(samples) - yes, 2)
    return same / comb(len(samples), 2)
