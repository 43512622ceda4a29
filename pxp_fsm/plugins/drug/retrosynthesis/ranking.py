"""Ranking: how likely a set of reactants is, by its precedents and by named reactions.

The plausibility of a named reaction is a sum of logarithms and small terms, in natural-log units:
the template's prior, the leaving group's share, and structural terms that are the same for every
template. The score of a set of reactants is a weighted sum of that and of what its precedents say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import Disconnection, canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.proposals import Proposal
from pxp_fsm.plugins.drug.retrosynthesis.templates import Library, Template

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

WEIGHTS = {
    "relevance": 0.395,
    "similarity": -0.524,
    "product": -7.523,
    "reactants": 7.365,
    "made": 0.807,
    "lost": 1.544,
    "mean similarity": 6.150,
    "mean made": 0.350,
    "mean lost": -0.109,
    "places": -0.364,
    "frequency": 0.065,
    "molecules": -0.240,
    "named": 0.997,
    "plausibility": 0.140,
}
"""What each feature adds to the score of a set of reactants; see `features`.

Fitted by `benchmarks/build_precedents.py` on the validation set of USPTO-50k without the molecules
of the papers' authors: conditional logistic regression, so that scores are log-odds up to a
constant for each product."""

_LEAST = 1e-3
"""Added before a logarithm is taken."""


@dataclass(frozen=True, slots=True)
class Named:
    """A named reaction that gives the product, with its leaving group and its plausibility."""

    template: Template
    leaving: str
    plausibility: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of reactants proposed for a product: by precedents, by a named reaction, or by both.

    `reactants` is canonical SMILES, sorted and joined with dots. `score` is in natural-log units.
    `steps` names every template that derives the reactants: lessons are shared by these names.
    Where examples are counted, `cited` has the patents of those of its reaction, with similarities.
    """

    reactants: str
    score: float
    proposal: Proposal | None
    named: tuple[Named, ...]
    steps: frozenset[str]
    cited: tuple[tuple[str, float], ...] = ()


def plausibility(step: Disconnection, product: str, library: Library) -> float:
    """How plausible the named `step` towards `product` (canonical SMILES) is; higher is better."""
    share = step.template.shares[step.leaving] / max(step.template.shares.values())
    return math.log(step.template.prior) + math.log(share) + _structure(step, product, library)


def candidates(
    proposed: Iterable[Proposal], named: Mapping[str, Sequence[Named]]
) -> tuple[Candidate, ...]:
    """Every set of reactants once, best first; equal scores are ordered by the SMILES.

    `named` has the named reactions of each set of reactants.
    """
    merged = []
    for reactants, ways in alternatives(proposed, named).items():
        best = max(
            ways, key=lambda way: (score(way), way.proposal.template if way.proposal else "")
        )
        steps = {way.proposal.template for way in ways if way.proposal is not None}
        steps |= {reaction.template.id for reaction in best.named}
        merged.append(
            Candidate(reactants, score(best), best.proposal, best.named, frozenset(steps))
        )
    return ranked(merged)


@dataclass(frozen=True, slots=True)
class RankedWay:
    """One way to a set of reactants: by one extracted template, or by named reactions alone.

    `share` is what the precedents of the template count, of all that counts for the product.
    """

    proposal: Proposal | None
    named: tuple[Named, ...]
    share: float


def alternatives(
    proposed: Iterable[Proposal], named: Mapping[str, Sequence[Named]]
) -> dict[str, list[RankedWay]]:
    """The ways to each set of reactants; arguments as of `candidates`."""
    proposals = list(proposed)
    total = math.fsum({proposal.template: proposal.relevance for proposal in proposals}.values())
    names = {key: tuple(sorted(those, key=_by_plausibility)) for key, those in named.items()}
    ways: dict[str, list[RankedWay]] = {}
    for proposal in proposals:
        way = RankedWay(proposal, names.get(proposal.reactants, ()), proposal.relevance / total)
        ways.setdefault(proposal.reactants, []).append(way)
    return {key: [RankedWay(None, those, 0.0)] for key, those in names.items()} | ways


def features(way: RankedWay) -> dict[str, float]:
    """What speaks for a set of reactants that is reached this `way`, by the names in `WEIGHTS`.

    `relevance` is the logarithm of the way's share; `product`, `reactants`, `made` and `lost` are
    the greatest similarities to a precedent, `mean ...` those of all that are compared;
    `similarity`, `places` and `frequency` are logarithms. Without precedents all of these are 0,
    but logarithms of shares and similarities are those of almost nothing.
    """
    values = dict.fromkeys(WEIGHTS, 0.0)
    if way.named:
        values |= {"named": 1.0, "plausibility": way.named[0].plausibility}
    values["relevance"] = math.log(way.share + _LEAST**2)
    values["similarity"] = math.log(_LEAST)
    proposal = way.proposal
    if proposal is None or not proposal.support:
        return values
    support = proposal.support
    count = len(support)
    return values | {
        "similarity": math.log(support[0].similarity + _LEAST),
        "product": max(neighbour.product for neighbour in support),
        "reactants": max(neighbour.reactants for neighbour in support),
        "made": max(neighbour.made for neighbour in support),
        "lost": max(neighbour.lost for neighbour in support),
        "mean similarity": sum(neighbour.similarity for neighbour in support) / count,
        "mean made": sum(neighbour.made for neighbour in support) / count,
        "mean lost": sum(neighbour.lost for neighbour in support) / count,
        "places": math.log(proposal.places),
        "frequency": math.log(proposal.frequency),
        "molecules": proposal.reactants.count(".") + 1.0,
    }


def score(way: RankedWay) -> float:
    """The score of a set of reactants that is reached this `way`, in natural-log units."""
    values = features(way)
    return math.fsum(weight * values[name] for name, weight in WEIGHTS.items())


def ranked(proposed: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Candidates, best first; rounded, so that the order of a sum's terms decides no tie."""
    return tuple(
        sorted(proposed, key=lambda candidate: (-round(candidate.score, 9), candidate.reactants))
    )


def _by_plausibility(named: Named) -> tuple[float, str, str]:
    return (-round(named.plausibility, 9), named.template.id, named.leaving)


def _structure(step: Disconnection, product: str, library: Library) -> float:
    whole = _molecule(product)
    atoms: list[int] = sorted((part.molecule.GetNumAtoms() for part in step.parts), reverse=True)
    score: float = AUXILIARY_ATOM * max(0, sum(atoms) - whole.GetNumAtoms())
    if len(atoms) > 1:
        score += BALANCE * 2 * atoms[1] / sum(atoms[:2])
        small = min(step.parts, key=lambda part: (part.molecule.GetNumAtoms(), part.smiles))
        if small.smiles in _known(tuple(library.reagents)):
            score += KNOWN_REAGENT
        elif small.molecule.GetNumAtoms() <= SMALL and not _stereocentres(small.smiles):
            score += SMALL_REAGENT
    score += MORE_REACTANTS * max(0, len(atoms) - 2)
    score += RING_MADE * max(0, _rings(whole) - sum(_rings(part.molecule) for part in step.parts))
    made = _stereocentres(product) - sum(map(_stereocentres, step.reactants))
    score += STEREOCENTRE_MADE * max(0, made)
    for group, used in step.template.conflicts.items():
        count = sum(_matches(part.molecule, library.groups[group]) for part in step.parts)
        score += CONFLICT * max(0, count - used)
    return score


@lru_cache(maxsize=50_000)
def occurrences(smiles: str, smarts: str) -> int:
    """How often the pattern `smarts` is found in `smiles`."""
    return _matches(_molecule(smiles), smarts)


def _matches(molecule: Any, smarts: str) -> int:
    return len(molecule.GetSubstructMatches(_pattern(smarts)))


def _rings(molecule: Any) -> int:
    return int(molecule.GetRingInfo().NumRings())


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
