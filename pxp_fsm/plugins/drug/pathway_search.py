"""The machine of DRUG with pathways: a search, step by step, back to what can be bought."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set
from dataclasses import replace

from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.pathway_relations import Pathway, pathway, read_pathway
from pxp_fsm.plugins.drug.relations import canonical_smiles
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag

_DEEPEST, _TRIED, _MOST_RANKED = 5, 3, 40
"""Steps in a row of a pathway, candidates that are tried for a molecule, and molecules that are
taken apart for one pathway."""


@dataclass(frozen=True, slots=True)
class _Route:
    """Steps found for a molecule, with what explains each; `open` ends cannot be bought."""

    steps: tuple[tuple[str, str, str], ...]
    open: int


class PathwayFinder:
    """Predicts a pathway back to `purchasable` molecules, step by step as `steps` predicts one.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. For each molecule that cannot
    be bought the best candidates are tried in their order; the first whose reactants all lead back
    to what can be bought is taken, or else the one with the fewest that do not, which are then ends
    of the pathway. Each step of a pathway that it is told is a lesson.
    """

    def __init__(self, steps: Retrosynthesis, purchasable: Set[str]) -> None:
        self._steps = steps
        self._purchasable = purchasable

    @property
    def name(self) -> str:
        """With a fingerprint of the search and of the list."""
        listed = hashlib.sha256("\n".join(sorted(self._purchasable)).encode()).hexdigest()
        here = package_fingerprint("pxp_fsm.plugins.drug", ("pathway_search.py",), listed)
        return f"{self._steps.name}, pathways {here}"

    def copy(self) -> PathwayFinder:
        """The same with what it has learned, to learn on from apart."""
        return PathwayFinder(self._steps.copy(), self._purchasable)

    def predict(self, smiles: str) -> str:
        """The pathway that it predicts for the molecule `smiles`; raises `NoAnswer`."""
        return str(self._find(smiles)[0])

    def _find(self, smiles: str) -> tuple[Pathway, Sequence[tuple[str, str, str]]]:
        steps = _Search(self._steps, self._purchasable).route(canonical_smiles(smiles)).steps
        return pathway((product, [reactants]) for product, reactants, _ in steps), steps

    async def answer(self, question: Question) -> Answer:
        """The pathway, with an explanation of each step; raises `NoAnswer`."""
        way, steps = self._find(question.instance.x)
        why = {product: explanations for product, _, explanations in steps}
        explanations = [why[step.product] for step in way.steps]
        if len(explanations) > 1:
            explanations = [
                f"Step {number}: {explanation}"
                for number, explanation in enumerate(explanations, start=1)
            ]
        return Answer(str(way), " ".join(explanations))

    def why_not(self, smiles: str, prediction: str) -> str:
        """Why the step that makes `smiles` is not that of `prediction`; raises `NoAnswer`."""
        step = read_pathway(prediction).steps[0]
        return self._steps.why_not(smiles, ".".join(step.reactants))

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn each step of the pathway in `message`; REJECT, TERM and what is none teach nothing.

        A step teaches about its own product.
        """
        if message.tag in (Tag.REJECT, Tag.TERM):
            return
        try:
            told = read_pathway(message.answer.prediction)
        except DataError:
            return
        for step in told.steps:
            answer = Answer(".".join(step.reactants), message.answer.explanation)
            self._steps.learn(
                Instance(step.product, step.product), replace(message, payload=answer)
            )


class _Search:
    """One search, depth first, for a pathway."""

    def __init__(self, steps: Retrosynthesis, purchasable: Set[str]) -> None:
        self._steps = steps
        self._purchasable = purchasable
        self._left = _MOST_RANKED

    def route(self, smiles: str, above: tuple[str, ...] = ()) -> _Route:
        """The route to `smiles`, on the way to the molecules `above`; raises `NoAnswer`."""
        self._left -= 1
        best: _Route | None = None
        for candidate in self._steps.rank(smiles, _TRIED):
            reactants = candidate.reactants.split(".")
            if not {smiles, *above}.isdisjoint(reactants):
                continue
            route = self._back(smiles, reactants, above)
            step = (smiles, candidate.reactants, self._steps.explain(candidate))
            if best is None or route.open < best.open:
                best = _Route((step, *route.steps), route.open)
            if not best.open:
                break
        if best is None:
            raise NoAnswer(f"every step back from {smiles[:80]!r} leads in a circle")
        return best

    def _back(self, smiles: str, reactants: Sequence[str], above: tuple[str, ...]) -> _Route:
        """The routes to all `reactants` of one step; an end where one cannot be bought is open."""
        steps: dict[str, tuple[str, str, str]] = {}
        ends = 0
        for reactant in sorted(set(reactants) - self._purchasable):
            route = self._further(reactant, (*above, smiles))
            if route is None or route.open:
                ends += 1
            else:
                steps |= {step[0]: step for step in route.steps if step[0] not in steps}
        return _Route(tuple(steps.values()), ends)

    def _further(self, smiles: str, above: tuple[str, ...]) -> _Route | None:
        """The route to a reactant; None where there is none, or the search has an end."""
        if len(above) >= _DEEPEST or self._left <= 0:
            return None
        try:
            return self.route(smiles, above)
        except NoAnswer:
            return None
