"""Sets of reactants for which precedents speak: molecular similarity with extracted templates.

After Coley, Rogers, Green and Jensen (ACS Cent. Sci. 2017, 3, 1237): a template that was extracted
from a precedent is applied to the product, and what comes of it counts the more, the more similar
products and reactants are to those of the precedent. Here templates have no neighbourhood, so that
similarity decides alone; which templates are applied is decided by how many similar precedents they
have; and the changed environments are compared as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from backends.models.local.retrosynthesis.disconnections import canonical_set
from backends.models.local.retrosynthesis.environments import Integers, encode, environments
from backends.models.local.retrosynthesis.precedents import Precedent, Precedents

APPLIED = 50
"""How many templates are applied: those with the most, and the most similar, precedents."""

COMPARED = 8
"""With how many precedents of its template a proposal is compared: the most similar products."""

SHARPNESS = 10
"""A precedent counts for its template as the similarity of its product to this power."""

_MAX_PLACES = 60
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Support:
    """A precedent that speaks for a set of reactants, with Tanimoto coefficients from 0 to 1.

    `product` and `reactants` compare whole molecules, `made` and `lost` the environments that the
    reaction makes and those that it takes away.
    """

    precedent: Precedent
    product: float
    reactants: float
    made: float
    lost: float

    @property
    def similarity(self) -> float:
        """Product and reactants together, as published."""
        return self.product * self.reactants


@dataclass(frozen=True, slots=True)
class Proposal:
    """Reactants (canonical SMILES, sorted, joined with dots) that one template derives.

    `template` is reaction SMARTS, product >> reactants. `relevance` is the sum that its precedents
    count, `places` how many different sets of reactants the template derives, `frequency` how many
    precedents have it. `support` holds the most similar precedents, best first.
    """

    reactants: str
    template: str
    relevance: float
    places: int
    frequency: int
    support: tuple[Support, ...]


def proposals(product: Any, smiles: str, known: Precedents, similarity: Integers) -> list[Proposal]:
    """What the precedents `known` propose for `product` (RDKit), in canonical SMILES `smiles`.

    `similarity` is of each precedent's product, and 0 where one is left out.
    """
    import numpy as np

    counts = np.bincount(
        known.template,
        weights=similarity.astype(float) ** SHARPNESS,
        minlength=len(known.templates),
    )
    derived: list[tuple[int, tuple[str, ...], list[int]]] = []
    for template in np.argsort(-counts, kind="stable")[:APPLIED].tolist():
        if counts[template] > 0 and (
            found := tuple(derivations(known.templates[template], product))
        ):
            near = known.having(template)
            near = near[np.argsort(-similarity[near], kind="stable")[:COMPARED]]
            derived.append((template, found, [int(one) for one in near if similarity[one] > 0]))
    cited = {one: known[one] for _, _, near in derived for one in near}
    texts = [smiles, *(text for _, found, _ in derived for text in found)]
    texts += [text for one in cited.values() for text in (one.product, one.reactants)]
    found_in = environment_sets(texts)
    return [
        Proposal(
            reactants,
            known.templates[template],
            float(counts[template]),
            len(found),
            int(known.frequency[template]),
            _supported(smiles, reactants, near, cited, similarity, found_in),
        )
        for template, found, near in derived
        for reactants in found
    ]


def derivations(template: str, product: Any) -> Iterator[str]:
    """Each set of reactants that `template` derives from `product`, once."""
    from rdkit import Chem, rdBase

    reaction = compiled(template)
    itself = Chem.MolToSmiles(product)
    seen = set()
    with rdBase.BlockLogs():
        for (outcome,) in reaction.RunReactants((product,), maxProducts=_MAX_PLACES):
            reactants = canonical_set(Chem.MolToSmiles(outcome))
            if reactants and itself not in reactants and reactants not in seen:
                seen.add(reactants)
                yield ".".join(reactants)


@lru_cache(maxsize=5_000)
def compiled(template: str) -> Any:
    """The extracted `template` as a reaction of RDKit that gives all reactants as one molecule."""
    from rdkit.Chem.rdChemReactions import ReactionFromSmarts

    product, _, reactants = template.partition(">>")
    reaction = ReactionFromSmarts(f"({product})>>({reactants})")
    reaction.Initialize()
    return reaction


def environment_sets(texts: Sequence[str]) -> dict[str, frozenset[int]]:
    """The environments of all radii in each of `texts` (canonical SMILES)."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, environments(*encode(distinct)).sets(len(distinct)), strict=True))


def tanimoto(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of what both have in what either has; 0 where neither has anything."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def _supported(
    product: str,
    reactants: str,
    near: Iterable[int],
    cited: dict[int, Precedent],
    similarity: Integers,
    found_in: dict[str, frozenset[int]],
) -> tuple[Support, ...]:
    mine, from_mine = found_in[product], found_in[reactants]
    support = []
    for number in near:
        precedent = cited[number]
        its, from_its = found_in[precedent.product], found_in[precedent.reactants]
        support.append(
            Support(
                precedent,
                float(similarity[number]),
                tanimoto(from_mine, from_its),
                tanimoto(mine - from_mine, its - from_its),
                tanimoto(from_mine - mine, from_its - its),
            )
        )
    return tuple(sorted(support, key=lambda one: (-one.similarity, one.precedent.patent)))
