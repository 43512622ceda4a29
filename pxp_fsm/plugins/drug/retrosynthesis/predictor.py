"""A local agent for DRUG: one-step retrosynthesis by precedents, without key or network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import NoAnswer, require_extra
from pxp_fsm.plugins.drug.retrosynthesis import precedents
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import (
    canonical_set,
    disconnections,
    product_of,
)
from pxp_fsm.plugins.drug.retrosynthesis.explanation import explained
from pxp_fsm.plugins.drug.retrosynthesis.learning import Lesson, PredictorLessons
from pxp_fsm.plugins.drug.retrosynthesis.precedents import Precedent, Precedents
from pxp_fsm.plugins.drug.retrosynthesis.proposals import Proposal, proposals
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, Named, candidates, plausibility
from pxp_fsm.plugins.drug.retrosynthesis.templates import Library, builtin
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag

_FILES = (
    "disconnections.py",
    "environments.py",
    "explanation.py",
    "learning.py",
    "precedents.py",
    "precedents.zip",
    "predictor.py",
    "proposals.py",
    "ranking.py",
    "templates.py",
    "templates.toml",
)
_REMEMBERED = 512
"""Molecules whose candidates are kept, so that a process takes each apart once."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where candidates come from: named reactions, and precedents.

    With `same_product`, precedents whose product is the very molecule count as well; those whose
    numbers are `withheld` never do.
    """

    named: Library
    precedents: Precedents
    same_product: bool = False
    withheld: tuple[int, ...] = ()


@lru_cache(maxsize=8)
def builtin_sources(same_product: bool = False) -> Sources:
    """The named reactions and the precedents that come with the package."""
    return Sources(builtin(), precedents.builtin(), same_product)


def precedents_of(product: str) -> tuple[Precedent, ...]:
    """The bundled precedents of `product` (canonical SMILES)."""
    known = precedents.builtin()
    return tuple(map(known.__getitem__, known.of_product(product, known.similarity(product))))


class Retrosynthesis:
    """Predicts the reactants of a molecule's last step, and explains the step.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. x is the product's SMILES, y
    the reactants as canonical SMILES, sorted and joined with dots. Candidates come from published
    precedents and from named reactions; precedents of the product itself are left out unless
    `same_product`. What the other agent sends is a precedent from then on, but it only lifts
    candidates that the predictor derives itself. Raises `UsageError` where RDKit is missing.
    """

    def __init__(
        self,
        sources: Sources | None = None,
        lessons: PredictorLessons | None = None,
        *,
        same_product: bool = False,
    ) -> None:
        require_extra("drug", "retrosynthesis", {"rdkit": "RDKit"})
        self._sources = sources or builtin_sources(same_product)
        self._lessons = lessons or PredictorLessons()

    @property
    def name(self) -> str:
        """With a fingerprint of what the answers depend on: its files, and the version of RDKit."""
        from rdkit.rdBase import rdkitVersion

        return f"retrosynthesis {package_fingerprint(__package__, _FILES, rdkitVersion)}"

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """What has been learned: the reactions that were heard and that it derives itself."""
        return tuple(self._lessons)

    def untouched(self) -> Retrosynthesis:
        """The same predictor as it was before it learned anything."""
        return Retrosynthesis(self._sources)

    def copy(self) -> Retrosynthesis:
        """The same predictor with what it has learned, to learn on from apart."""
        return Retrosynthesis(self._sources, PredictorLessons(self._lessons))

    async def answer(self, question: Question) -> Answer:
        best = self.rank(question.instance.x, 1)[0]
        return Answer(best.reactants, self.explain(best))

    def predict(self, smiles: str) -> str:
        """The reactants that it predicts for the product `smiles`; raises `NoAnswer`."""
        return self.rank(smiles, 1)[0].reactants

    def explain(self, candidate: Candidate) -> str:
        """Why `candidate` is proposed: its reaction, and the precedents that speak for it."""
        return explained(candidate, self._sources.named)

    def rank(self, smiles: str, limit: int = 10) -> tuple[Candidate, ...]:
        """The `limit` best candidates for the product `smiles`, best first; at least one.

        Raises `NoAnswer` where RDKit cannot read `smiles`, where the molecule is too large, or
        where nothing derives it.
        """
        product, found = _derived(smiles, self._sources)
        if not found:
            raise NoAnswer(f"no reaction template applies to {smiles[:80]!r}")
        return self._lessons.ranked(product, found)[:limit]

    def why_not(self, smiles: str, reactants: str) -> str:
        """Why the answer to the product `smiles` is not `reactants`: rank, reaction, precedents.

        Raises `NoAnswer` as `rank` does.
        """
        found = self.rank(smiles, MOST)
        wanted = ".".join(canonical_set(reactants) or ())
        place = next((n for n, one in enumerate(found, 1) if one.reactants == wanted), None)
        if place is None:
            return (
                f"None of the {len(found)} sets of reactants that templates derive is this one, so "
                f"that no precedent speaks for it."
            )
        candidate = found[place - 1]
        why = explained(candidate, self._sources.named)
        if candidate.proposal is None or not candidate.proposal.support:
            why += " No precedent speaks for them."
        return f"These reactants have rank {place} of {len(found)}. {why}"

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn from `message` about the product `instance.x`; REJECT and TERM teach nothing."""
        if message.tag in (Tag.REJECT, Tag.TERM):
            return
        try:
            product, found = _derived(instance.x, self._sources)
        except NoAnswer:
            return
        received = ".".join(canonical_set(message.answer.prediction) or ())
        for candidate in found:
            if candidate.reactants == received:
                self._lessons.add(Lesson(product, received, candidate.steps))


MOST = 1_000
"""More candidates than a molecule has."""


@lru_cache(maxsize=_REMEMBERED)
def _derived(smiles: str, sources: Sources) -> tuple[str, tuple[Candidate, ...]]:
    """The product's canonical SMILES, and every candidate before anything is learned."""
    written, proposed, named = taken_apart(smiles, sources)
    return written, candidates(proposed, named)


def taken_apart(
    smiles: str, sources: Sources
) -> tuple[str, list[Proposal], dict[str, list[Named]]]:
    """The product's canonical SMILES, what precedents propose, and what named reactions do.

    Raises `NoAnswer` where `smiles` cannot be taken apart.
    """
    from rdkit import Chem

    product = product_of(smiles)
    written = str(Chem.MolToSmiles(product))
    similarity = sources.precedents.similarity(written)
    if not sources.same_product:
        similarity[sources.precedents.of_product(written, similarity)] = 0
    similarity[list(sources.withheld)] = 0
    named: dict[str, list[Named]] = {}
    for step in disconnections(product, sources.named):
        one = Named(step.template, step.leaving, plausibility(step, written, sources.named))
        named.setdefault(".".join(step.reactants), []).append(one)
    return written, proposals(product, written, sources.precedents, similarity), named
