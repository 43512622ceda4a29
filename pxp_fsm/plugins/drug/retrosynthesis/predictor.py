"""A local agent for DRUG: one-step retrosynthesis by precedents, without key or network."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial

from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import NoAnswer, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.retrosynthesis import precedents
from pxp_fsm.plugins.drug.retrosynthesis.counting import counted, drawn, named_lesson
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import (
    canonical_set,
    disconnections,
    product_of,
)
from pxp_fsm.plugins.drug.retrosynthesis.explanation import explained
from pxp_fsm.plugins.drug.retrosynthesis.learning import Lesson, lifted, told_first
from pxp_fsm.plugins.drug.retrosynthesis.precedents import Precedent, Precedents
from pxp_fsm.plugins.drug.retrosynthesis.proposals import Proposal, proposals
from pxp_fsm.plugins.drug.retrosynthesis.ranking import Candidate, Named, candidates, plausibility
from pxp_fsm.plugins.drug.retrosynthesis.templates import Library, builtin
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag

_FILES = (
    "counting.py",
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
    """Where candidates come from: named reactions, and precedents (None: named reactions alone).

    With `same_product`, precedents whose product is the very molecule count as well; those whose
    numbers are `withheld` never do.
    """

    named: Library
    precedents: Precedents | None
    same_product: bool = False
    withheld: tuple[int, ...] = ()


@lru_cache(maxsize=8)
def builtin_sources(same_product: bool = False) -> Sources:
    """The named reactions and the precedents that come with the package."""
    return Sources(builtin(), precedents.builtin(), same_product)


@lru_cache(maxsize=1)
def named_alone() -> Sources:
    """The named reactions that come with the package, without precedents."""
    return Sources(builtin(), None)


def precedents_of(product: str) -> tuple[Precedent, ...]:
    """The bundled precedents of `product` (SMILES)."""
    known = precedents.builtin()
    return tuple(map(known.__getitem__, known.of_product(product)))


UNDERIVED = -20.0
"""The log-likelihood of reactants that nothing derives: the same before and after any lesson."""


class Retrosynthesis:
    """Predicts the reactants of a molecule's last step, and explains the step.

    Fills `CopyableLearner` and `Likelihood` of `pxp_fsm.protocol.interfaces`. x is the product's
    SMILES, y the reactants as canonical SMILES, sorted and joined with dots. Candidates come from
    named reactions and from published precedents; precedents of the product itself are left out
    unless `same_product`. With `examples` it knows these reactions and no other precedents, and
    ranks named reactions by how many examples each has. What the other agent sends is an example
    from then on, but it only lifts candidates that the predictor derives itself. Raises
    `UsageError` where RDKit is missing.
    """

    def __init__(
        self,
        sources: Sources | None = None,
        lessons: Sequence[Lesson] = (),
        *,
        same_product: bool = False,
        examples: Sequence[Lesson] | None = None,
    ) -> None:
        require_extra("drug", "retrosynthesis", {"rdkit": "RDKit"})
        bundled = builtin_sources(same_product) if examples is None else named_alone()
        self._sources = sources or bundled
        self._lessons = list(lessons)
        known = tuple(examples or ())
        self._begun = None if examples is None else len(known)
        # Drawing one takes 20 ms, and is put off: where a model answers in the machine's place, its
        # name is read, and no more.
        self._drawn: Callable[[], tuple[Lesson, ...]] = lambda: known

    @classmethod
    def beginning_with(cls, number: int, draw: str) -> Retrosynthesis:
        """One that has seen `number` precedents, which the text `draw` chooses.

        >>> import pxp_fsm as pxp
        >>> machine = pxp.drug.Retrosynthesis.beginning_with(20, draw="0/1")
        >>> len(machine.examples)
        20
        """
        begun = cls(examples=())
        begun._begun, begun._drawn = number, cache(partial(drawn, number, draw))
        return begun

    @property
    def name(self) -> str:
        """With a fingerprint of what the answers depend on: its files, and the version of RDKit."""
        from rdkit.rdBase import rdkitVersion

        begun = "" if self._begun is None else f" from {self._begun} precedents"
        return f"retrosynthesis{begun} {package_fingerprint(__package__, _FILES, rdkitVersion)}"

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """What has been learned: the reactions that were heard and that it derives itself."""
        return tuple(self._lessons)

    @property
    def examples(self) -> tuple[Lesson, ...]:
        """The precedents that it began with; none where it has all of them."""
        return self._drawn()

    def untouched(self) -> Retrosynthesis:
        """The same predictor as it was before it learned anything."""
        other = copy.copy(self)
        other._lessons = []
        return other

    def copy(self) -> Retrosynthesis:
        """The same predictor with what it has learned, to learn on from apart."""
        other = copy.copy(self)
        other._lessons = list(self._lessons)
        return other

    async def answer(self, question: Question) -> Answer:
        best = self.rank(question.instance.x, 1)[0]
        return Answer(best.reactants, " ".join([self.explain(best), *self._not_taken_up(question)]))

    def _not_taken_up(self, question: Question) -> Sequence[str]:
        """Why what was received last is not taken up, where nothing here derives it."""
        if not question.history or question.history[-1].tag in (Tag.REJECT, Tag.TERM):
            return ()
        received = ".".join(canonical_set(question.history[-1].answer.prediction) or ())
        _, derived = _derived(question.instance.x, self._sources)
        if any(candidate.reactants == received for candidate in derived):
            return ()
        return (
            f"None of the {len(derived)} sets of reactants that the templates derive is the one "
            f"received, so it is not taken up.",
        )

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        """The natural logarithm of the share that `prediction` has of all candidates' odds."""
        wanted = ".".join(canonical_set(prediction) or ())
        try:
            ranking = self._ranked(question.instance.x)[1]
        except NoAnswer:
            return UNDERIVED
        scores = {candidate.reactants: candidate.score for candidate in ranking}
        if wanted not in scores:
            return UNDERIVED
        highest = max(scores.values())
        odds = math.fsum(math.exp(score - highest) for score in scores.values())
        return max(scores[wanted] - highest - math.log(odds), UNDERIVED)

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
        product, derived = self._ranked(smiles)
        return told_first(product, derived, self._lessons)[:limit]

    def _ranked(self, smiles: str) -> tuple[str, tuple[Candidate, ...]]:
        """The product, and its candidates by what is known of other products; `NoAnswer`."""
        product, derived = _derived(smiles, self._sources)
        if not derived:
            raise NoAnswer(f"no reaction template applies to {smiles[:80]!r}")
        if self._begun is None:
            return product, lifted(product, derived, self._lessons)
        return product, _counted(smiles, self._sources, (*self.examples, *self._lessons))

    def why_not(self, smiles: str, reactants: str) -> str:
        """Why the answer to the product `smiles` is not `reactants`: rank, reaction, precedents.

        Raises `NoAnswer` as `rank` does.
        """
        derived = self.rank(smiles, MOST)
        wanted = ".".join(canonical_set(reactants) or ())
        place = next(
            (
                n
                for n, derived_candidate in enumerate(derived, 1)
                if derived_candidate.reactants == wanted
            ),
            None,
        )
        if place is None:
            return (
                f"None of the {len(derived)} sets of reactants that templates derive is this one, "
                f"so that no precedent speaks for it."
            )
        candidate = derived[place - 1]
        why = explained(candidate, self._sources.named)
        if not candidate.cited and not (candidate.proposal and candidate.proposal.support):
            why += " No precedent speaks for them."
        return f"These reactants have rank {place} of {len(derived)}. {why}"

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn from `message` about the product `instance.x`; REJECT and TERM teach nothing."""
        if message.tag in (Tag.REJECT, Tag.TERM):
            return
        received = canonical_set(message.answer.prediction) or ()
        try:
            lesson = _lesson(instance.x, received, self._sources)
        except NoAnswer:
            return
        if lesson is not None and lesson not in self._lessons:
            self._lessons.append(lesson)


MOST = 1_000
"""More candidates than a molecule has."""


@lru_cache(maxsize=_REMEMBERED)
def _derived(smiles: str, sources: Sources) -> tuple[str, tuple[Candidate, ...]]:
    """The product's canonical SMILES, and every candidate before anything is learned."""
    written, proposed, named = taken_apart(smiles, sources)
    return written, candidates(proposed, named)


@lru_cache(maxsize=_REMEMBERED)
def _lesson(smiles: str, received: tuple[str, ...], sources: Sources) -> Lesson | None:
    """The lesson that `received` are the product's reactants; None where nothing derives them.

    Named reactions alone are tried only where they can give what was received.
    """
    if sources.precedents is None:
        return named_lesson(smiles, received, sources.named)
    product, derived = _derived(smiles, sources)
    reactants = ".".join(received)
    steps = next((c.steps for c in derived if c.reactants == reactants), None)
    return None if steps is None else Lesson(product, reactants, steps)


@lru_cache(maxsize=_REMEMBERED)
def _counted(smiles: str, sources: Sources, examples: tuple[Lesson, ...]) -> tuple[Candidate, ...]:
    """What `counted` gives: machines that heard the same are asked the same again."""
    product, derived = _derived(smiles, sources)
    return counted(product, derived, examples)


def taken_apart(
    smiles: str, sources: Sources
) -> tuple[str, list[Proposal], dict[str, list[Named]]]:
    """The product's canonical SMILES, what precedents propose, and what named reactions do.

    Raises `NoAnswer` where `smiles` cannot be taken apart.
    """
    from rdkit import Chem

    product = product_of(smiles)
    written = str(Chem.MolToSmiles(product))
    named: dict[str, list[Named]] = {}
    for step in disconnections(product, sources.named):
        reaction = Named(step.template, step.leaving, plausibility(step, written, sources.named))
        named.setdefault(".".join(step.reactants), []).append(reaction)
    known = sources.precedents
    if known is None:
        return written, [], named
    similarity = known.similarity(written)
    if not sources.same_product:
        similarity[known.of_product(written)] = 0
    similarity[list(sources.withheld)] = 0
    return written, proposals(product, written, known, similarity), named
