"""Ranking of disconnections: how plausible a step is, before and after learning.

The score of a step is a sum of logarithms and small terms, in natural-log units:
the template's prior and the leaving group's share, structural terms that are the same for every
template, and the learned weights of its features.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from backends.models.local.retrosynthesis.disconnections import Disconnection, canonical_set
from backends.models.local.retrosynthesis.templates import NO_LEAVING_GROUP, Library, Template

BALANCE = 1.2
"""For two halves of equal size; nothing for a step that only changes a group."""
KNOWN_REAGENT = 0.4
SMALL_REAGENT = 0.2
"""For a smallest reactant without stereocentres of at most `SMALL` heavy atoms."""
SMALL = 8
AUXILIARY_ATOM = -0.06
"""For each heavy atom that the step throws away: leaving and protecting groups."""
MORE_REACTANTS = -0.4
RING_MADE = -0.2
STEREOCENTRE_MADE = -0.5
CONFLICT = -0.7
"""For each functional group that would react as well."""

_CENTRE = re.compile("@+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of reactants proposed for a product, by its most plausible step.

    `reactants` is canonical SMILES, sorted and joined with dots.
    """

    reactants: str
    template: Template
    leaving: str
    score: float

    @property
    def features(self) -> frozenset[str]:
        """The names under which this step's weights are learned."""
        return features(self.template, self.leaving)


def features(template: Template, leaving: str) -> frozenset[str]:
    """`template:`, `class:` and, where there is one, `leaving:` with the name of each."""
    names = {f"template:{template.id}", f"class:{template.reaction_class}"}
    return frozenset(names if leaving == NO_LEAVING_GROUP else names | {f"leaving:{leaving}"})


def unlearned(step: Disconnection, product: str, library: Library) -> float:
    """The score of `step` towards `product` (canonical SMILES) before anything is learned."""
    share = step.template.shares[step.leaving] / max(step.template.shares.values())
    return math.log(step.template.prior) + math.log(share) + _structure(step, product, library)


def ranked(
    steps: Iterable[tuple[Disconnection, float]], weight: Callable[[frozenset[str]], float]
) -> tuple[Candidate, ...]:
    """`steps` with their unlearned scores as candidates, best first.

    Equal scores are ordered by the reactants' SMILES, then by the template's id.
    """
    candidates = [
        Candidate(
            ".".join(step.reactants),
            step.template,
            step.leaving,
            score + weight(features(step.template, step.leaving)),
        )
        for step, score in steps
    ]
    return tuple(sorted(candidates, key=_order))


def distinct(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The first candidate of each set of reactants."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.reactants, candidate)
    return tuple(first.values())


def _order(candidate: Candidate) -> tuple[float, str, str, str]:
    # Rounded, so that the order of a sum's terms cannot decide a tie.
    score = -round(candidate.score, 9)
    return (score, candidate.reactants, candidate.template.id, candidate.leaving)


def _structure(step: Disconnection, product: str, library: Library) -> float:
    atoms = sorted((_atoms(smiles) for smiles in step.reactants), reverse=True)
    score = AUXILIARY_ATOM * max(0, sum(atoms) - _atoms(product))
    if len(atoms) > 1:
        score += BALANCE * 2 * atoms[1] / sum(atoms[:2])
        smallest = min(step.reactants, key=lambda smiles: (_atoms(smiles), smiles))
        if smallest in _known(tuple(library.reagents)):
            score += KNOWN_REAGENT
        elif _atoms(smallest) <= SMALL and not _stereocentres(smallest):
            score += SMALL_REAGENT
    score += MORE_REACTANTS * max(0, len(atoms) - 2)
    score += RING_MADE * max(0, _rings(product) - sum(map(_rings, step.reactants)))
    made = _stereocentres(product) - sum(map(_stereocentres, step.reactants))
    score += STEREOCENTRE_MADE * max(0, made)
    for group, used in step.template.conflicts.items():
        count = sum(occurrences(smiles, library.groups[group]) for smiles in step.reactants)
        score += CONFLICT * max(0, count - used)
    return score


@lru_cache(maxsize=50_000)
def occurrences(smiles: str, smarts: str) -> int:
    """How often the pattern `smarts` is found in `smiles`."""
    return len(_molecule(smiles).GetSubstructMatches(_pattern(smarts)))


def _atoms(smiles: str) -> int:
    return int(_molecule(smiles).GetNumAtoms())


def _rings(smiles: str) -> int:
    return int(_molecule(smiles).GetRingInfo().NumRings())


def _stereocentres(smiles: str) -> int:
    return len(_CENTRE.findall(smiles))


@lru_cache(maxsize=5_000)
def _molecule(smiles: str) -> Any:
    from rdkit import Chem

    return Chem.MolFromSmiles(smiles)


@cache
def _pattern(smarts: str) -> Any:
    from rdkit import Chem

    return Chem.MolFromSmarts(smarts)


@cache
def _known(reagents: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for smiles in reagents for name in canonical_set(smiles) or ())
