"""Sets of reactants for which precedents speak: molecular similarity with extracted templates.

After Coley, Rogers, Green and Jensen (ACS Cent. Sci. 2017, 3, 1237): a template that was extracted
from a precedent is applied to the product, and what comes of it counts the more, the more similar
products and reactants are to those of the precedent. Here templates have no neighbourhood, so that
similarity decides alone; which templates are applied is decided by how many similar precedents they
have; and the changed environments are compared as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import cut_out
from pxp_fsm.plugins.drug.retrosynthesis.environments import Integers, encode, environments
from pxp_fsm.plugins.drug.retrosynthesis.precedents import Precedent, Precedents

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
            reactant_sets := tuple(derivations(known.templates[template], product, smiles))
        ):
            near = known.having(template)
            near = near[np.argsort(-similarity[near], kind="stable")[:COMPARED]]
            derived.append(
                (
                    template,
                    reactant_sets,
                    [int(number) for number in near if similarity[number] > 0],
                )
            )
    texts = list(dict.fromkeys(text for _, reactant_sets, _ in derived for text in reactant_sets))
    cited = list(dict.fromkeys(number for _, _, near in derived for number in near))
    whole, *sets = environment_sets([smiles, *texts], known, cited)
    mine = {
        text: _Change(whole, parts) for text, parts in zip(texts, sets[: len(texts)], strict=True)
    }
    its = {
        number: _Change(product, parts)
        for number, product, parts in zip(
            cited, sets[len(texts) :: 2], sets[len(texts) + 1 :: 2], strict=True
        )
    }
    return [
        Proposal(
            reactants,
            known.templates[template],
            float(counts[template]),
            len(reactant_sets),
            int(known.frequency[template]),
            _supported(
                mine[reactants], [(known[number], its[number]) for number in near], similarity
            ),
        )
        for template, reactant_sets, near in derived
        for reactants in reactant_sets
    ]


def derivations(template: str, product: Any, itself: str) -> Iterator[str]:
    """Each set of reactants that `template` derives from `product`, once.

    `itself` is the product's canonical SMILES.
    """
    from rdkit import rdBase

    reaction = compiled(template)
    seen = set()
    with rdBase.BlockLogs():
        for (outcome,) in reaction.RunReactants((product,), maxProducts=_MAX_PLACES):
            reactants = cut_out(outcome)
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


def environment_sets(
    texts: Sequence[str], known: Precedents, numbers: Sequence[int] = ()
) -> list[frozenset[int]]:
    """The environments of all radii in each of `texts` (canonical SMILES).

    After those come, for each of `numbers`, the product and the reactants of that one of `known`.
    """
    import numpy as np

    codes, tokens = encode(texts, known.products.tokens)
    both = (known.products, known.reactants)
    coded = [codes, *(text.coded(number) for number in numbers for text in both)]
    return environments(np.concatenate(coded), tokens).sets(len(texts) + 2 * len(numbers))


def tanimoto(features: frozenset[int], other: frozenset[int]) -> float:
    """The share of what both have in what either has; 0 where neither has anything."""
    common = len(features & other)
    return common / (len(features) + len(other) - common) if common else 0.0


class _Change:
    """The environments of a reaction's reactants, those that it makes, and those it takes away."""

    __slots__ = ("lost", "made", "reactants")

    def __init__(self, product: frozenset[int], reactants: frozenset[int]) -> None:
        self.reactants = reactants
        self.made = product - reactants
        self.lost = reactants - product


def _supported(
    mine: _Change, near: Iterable[tuple[Precedent, _Change]], similarity: Integers
) -> tuple[Support, ...]:
    support = [
        Support(
            precedent,
            float(similarity[precedent.number]),
            tanimoto(mine.reactants, its.reactants),
            tanimoto(mine.made, its.made),
            tanimoto(mine.lost, its.lost),
        )
        for precedent, its in near
    ]
    return tuple(
        sorted(support, key=lambda supported: (-supported.similarity, supported.precedent.patent))
    )
