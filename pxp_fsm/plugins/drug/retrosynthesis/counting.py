"""Ranking by counts: a machine that has seen few examples, and learns from each.

A named reaction is the more likely, the more examples of it there are: the posterior of a
categorical distribution with a flat Dirichlet prior. Examples are the precedents that the machine
begins with, and the lessons that it hears; both count alike. Among the steps of one reaction its
leaving group, the structure of the step and the likeness to an example decide.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from pxp_fsm.errors import NoAnswer
from pxp_fsm.plugins.drug.retrosynthesis import precedents
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import (
    canonical_set,
    deriving,
    product_of,
)
from pxp_fsm.plugins.drug.retrosynthesis.learning import (
    Lesson,
    likeness,
    molecules_of,
    prepare,
)
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, Named, ranked
from pxp_fsm.plugins.drug.retrosynthesis.templates import Library, builtin

PRIOR = 0.5
"""What each named reaction counts before any example.

Chosen among 0.1, 0.2, 0.5 and 1 by the likelihood of 150 precedents under 6 draws of 20 others."""

LIKE = 3.0
"""What an example of the same reaction with the same molecules adds to a score (log units)."""


def counted(
    product: str, proposed: tuple[Candidate, ...], examples: Sequence[Lesson]
) -> tuple[Candidate, ...]:
    """`proposed` for `product`, best first by `examples` of other products.

    Scores are logarithms of what the named reactions count, up to a constant for each product. What
    no named reaction derives is left out.
    """
    by_reaction: defaultdict[str, list[Lesson]] = defaultdict(list)
    for example in examples:
        if example.product != product:
            for reaction in example.steps:
                by_reaction[reaction].append(example)
    named = [candidate for candidate in proposed if candidate.named]
    prepare(molecules_of(product, named, itertools.chain.from_iterable(by_reaction.values())))
    return ranked(_scored(product, candidate, by_reaction) for candidate in named)


def _scored(
    product: str, candidate: Candidate, by_reaction: Mapping[str, Sequence[Lesson]]
) -> Candidate:
    """`candidate` by the named reaction that speaks most for it."""
    reactants = candidate.reactants
    ways = []
    for named in candidate.named:
        examples = by_reaction.get(named.template.id, ())
        # An example that several reactions derive counts in part for each of them.
        count = math.fsum(1 / len(example.steps) for example in examples)
        near = sorted(
            (
                (
                    likeness(product, lesson.product) * likeness(reactants, lesson.reactants),
                    lesson.patent,
                )
                for lesson in examples
            ),
            reverse=True,
        )
        # The plausibility without the hand-written prior: how usual a reaction is, examples say.
        fit = named.plausibility - math.log(named.template.prior)
        best = near[0][0] if near else 0.0
        score = math.log(count + PRIOR) + fit + LIKE * best
        ways.append((score, named, near))
    ways.sort(key=lambda way: (-round(way[0], 9), way[1].template.id, way[1].leaving))
    score, named, near = ways[0]
    cited = tuple((patent, similarity) for similarity, patent in near if patent)
    others = tuple(way[1] for way in ways[1:])
    return Candidate(reactants, score, None, (named, *others), _names(candidate.named), cited)


def _names(named: Sequence[Named]) -> frozenset[str]:
    return frozenset(reaction.template.id for reaction in named)


@lru_cache(maxsize=64)
def drawn(number: int, draw: str) -> tuple[Lesson, ...]:
    """`number` bundled precedents that a named reaction derives; the text `draw` decides which.

    With another number the same draw begins with the same precedents.
    """
    return tuple(example for example, _ in zip(_drawing(draw), range(number), strict=False))


def _drawing(draw: str) -> Iterator[Lesson]:
    known = precedents.builtin()
    order = random.Random(draw)
    seen: set[int] = set()
    while len(seen) < len(known):
        number = order.randrange(len(known))
        if number not in seen:
            seen.add(number)
            example = _example(number)
            if example is not None:
                yield example


@lru_cache(maxsize=10_000)
def _example(number: int) -> Lesson | None:
    """The precedent of that number; None where no named reaction derives it."""
    precedent = precedents.builtin()[number]
    reactants = canonical_set(precedent.reactants) or ()
    try:
        return named_lesson(precedent.product, reactants, builtin(), precedent.patent)
    except NoAnswer:
        return None


def named_lesson(
    smiles: str, reactants: tuple[str, ...], named: Library, patent: str = ""
) -> Lesson | None:
    """That the product `smiles` is made of `reactants`; None where nothing in `named` derives it.

    Raises `NoAnswer` where `smiles` cannot be taken apart.
    """
    from rdkit import Chem

    product = product_of(smiles)
    steps = deriving(product, reactants, named) if reactants else None
    if not steps:
        return None
    return Lesson(str(Chem.MolToSmiles(product)), ".".join(reactants), steps, patent)
