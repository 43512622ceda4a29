"""Learning from the other agent: what it sends becomes an example at once.

A lesson never proposes anything: it lifts what the machine derives itself. Of the very molecule it
puts the reactants that were heard in front; of other molecules it lifts candidates that share a
reaction with it. How much is the ranking's choice: `lifted` adds to the scores of a machine with
many precedents, `counting.counted` counts examples where there are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.retrosynthesis.environments import encode, environments
from pxp_fsm.plugins.drug.retrosynthesis.proposals import tanimoto
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, ranked

LIFT = 4.0
"""What a lesson about the same reactants would add to a score (natural-log units).

Chosen among 2, 4, 6 and 8 on scaffolds of the precedents (`benchmarks/bench_learning.py WHEEL
--lift 2 4 6 8`)."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A reaction that was heard or read, and the names of the templates that derive it.

    `patent` is the number of the patent that it was read in; "" where the other agent sent it.
    """

    product: str
    reactants: str
    steps: frozenset[str]
    patent: str = ""


def lifted(
    product: str, proposed: tuple[Candidate, ...], lessons: Sequence[Lesson]
) -> tuple[Candidate, ...]:
    """`proposed` for `product`, best first after `lessons` about other products."""
    others = [lesson for lesson in lessons if lesson.product != product]
    if not others:
        return proposed
    prepare(molecules_of(product, proposed, others))
    return ranked(
        replace(candidate, score=candidate.score + LIFT * _likeness(product, candidate, others))
        for candidate in proposed
    )


def molecules_of(
    product: str, proposed: Iterable[Candidate], lessons: Iterable[Lesson]
) -> Iterator[str]:
    """All whose likeness may be asked for."""
    yield product
    yield from (candidate.reactants for candidate in proposed)
    for lesson in lessons:
        yield from (lesson.product, lesson.reactants)


def told_first(
    product: str, proposed: tuple[Candidate, ...], lessons: Sequence[Lesson]
) -> tuple[Candidate, ...]:
    """`proposed` with the reactants in front that were heard last about `product` itself."""
    heard = [lesson.reactants for lesson in lessons if lesson.product == product]
    if not heard:
        return proposed
    return tuple(sorted(proposed, key=lambda candidate: candidate.reactants != heard[-1]))


def _likeness(product: str, candidate: Candidate, lessons: Sequence[Lesson]) -> float:
    """How much the most similar lesson is like `candidate`, from 0 to 1."""
    return max(
        (
            likeness(product, lesson.product) * likeness(candidate.reactants, lesson.reactants)
            for lesson in lessons
            if not lesson.steps.isdisjoint(candidate.steps)
        ),
        default=0.0,
    )


@lru_cache(maxsize=100_000)
def likeness(product: str, other: str) -> float:
    """The Tanimoto coefficient of two texts of molecules (canonical SMILES)."""
    return tanimoto(_environments(product), _environments(other))


_ENVIRONMENTS: dict[str, frozenset[int]] = {}
_REMEMBERED = 20_000


def prepare(molecules: Iterable[str]) -> None:
    """Compute what `likeness` needs of `molecules` together: ten times as fast as one by one."""
    new = [smiles for smiles in dict.fromkeys(molecules) if smiles not in _ENVIRONMENTS]
    if not new:
        return
    if len(_ENVIRONMENTS) + len(new) > _REMEMBERED:
        _ENVIRONMENTS.clear()
    computed = environments(*encode(new)).sets(len(new))
    _ENVIRONMENTS.update(zip(new, computed, strict=True))


def _environments(smiles: str) -> frozenset[int]:
    known = _ENVIRONMENTS.get(smiles)
    return environments(*encode([smiles])).sets(1)[0] if known is None else known
