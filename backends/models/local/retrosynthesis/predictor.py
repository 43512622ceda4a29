"""A local agent for DRUG: one-step retrosynthesis by templates, without key or network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from backends.models.local.retrosynthesis.disconnections import (
    Disconnection,
    canonical_set,
    disconnections,
    product_of,
)
from backends.models.local.retrosynthesis.learning import Weights, vocabulary
from backends.models.local.retrosynthesis.ranking import (
    Candidate,
    distinct,
    occurrences,
    ranked,
    unlearned,
)
from backends.models.local.retrosynthesis.templates import Library, builtin
from pxp_fsm.errors import NoAnswer
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag

_NUMBERS = {2: "two", 3: "three", 4: "four"}


def explained(candidate: Candidate, library: Library) -> str:
    """Two sentences on `candidate`: the reaction and its bond, then the reactants."""
    template = candidate.template
    starting = [words.format(leaving=candidate.leaving) for words in template.starting]
    verb = "gives" if len(starting) == 1 and not starting[0].startswith("two ") else "give"
    name = template.name[0].upper() + template.name[1:]
    fragments = _fragments(candidate.reactants.split("."), library)
    are = "reactant is" if len(fragments) == 1 else "reactants are"
    return (
        f"{name} makes {template.bond}: {_listed(starting)} {verb} {template.gives}. "
        f"The {are} {_listed(fragments)}."
    )


def _fragments(reactants: Sequence[str], library: Library) -> list[str]:
    """Each different reactant in words, the largest first."""
    names = {canonical_set(smiles): name for smiles, name in library.reagents.items()}
    words = []
    by_size = sorted(Counter(reactants).items(), key=lambda item: (-_size(item[0]), item[0]))
    for smiles, count in by_size:
        name = names.get((smiles,)) or _described(smiles, library)
        words.append(name if count == 1 else f"{_NUMBERS.get(count, count)} equivalents of {name}")
    return words


def _described(smiles: str, library: Library) -> str:
    """An unnamed reactant: its size, its most telling ring and up to two functional groups."""
    size = _size(smiles)
    rings = [name for name, smarts in library.rings.items() if occurrences(smiles, smarts)][:1]
    groups = [name for name, smarts in library.groups.items() if occurrences(smiles, smarts)][:2]
    compound = f"a compound of {size} heavy atom{'' if size == 1 else 's'}"
    return f"{compound} ({', '.join([*rings, *groups])})" if rings or groups else compound


def _size(smiles: str) -> int:
    return occurrences(smiles, "[!#1]")


def _listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


_REMEMBERED = 512
"""Molecules whose disconnections are kept, so that a session takes its molecule apart once."""


class Retrosynthesis:
    """Predicts the reactants of a molecule's last step, and explains the step.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. x is the product's SMILES, y
    the reactants as canonical SMILES, sorted and joined with dots. It learns weights of templates,
    reaction classes and leaving groups, never an answer to a molecule: what it cannot propose
    itself it cannot be taught, and two places for one reaction it cannot be taught to tell apart.
    """

    def __init__(self, library: Library | None = None, weights: Weights | None = None) -> None:
        self._library = library or builtin()
        self._weights = weights or Weights()
        self._vocabulary = vocabulary(self._library.templates)

    @property
    def name(self) -> str:
        return "retrosynthesis"

    @property
    def weights(self) -> Mapping[str, float]:
        """What has been learned, by name: `template:...`, `class:...`, `leaving:...`."""
        return self._weights.all()

    def untouched(self) -> Retrosynthesis:
        """The same predictor as it was before it learned anything."""
        return Retrosynthesis(self._library)

    def copy(self) -> Retrosynthesis:
        """The same predictor with what it has learned, to learn on from apart."""
        return Retrosynthesis(self._library, self._weights.copy())

    async def answer(self, question: Question) -> Answer:
        best = self.rank(question.instance.x, 1)[0]
        return Answer(best.reactants, explained(best, self._library))

    def rank(self, smiles: str, limit: int = 10) -> tuple[Candidate, ...]:
        """The `limit` best candidates for the product `smiles`, best first; at least one.

        Raises `NoAnswer` where RDKit cannot read `smiles`, where the molecule is too large, or
        where no template applies to it.
        """
        return distinct(self._steps(smiles))[:limit]

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn from `message` about the product `instance.x`; REJECT and TERM teach nothing."""
        if message.tag in (Tag.REJECT, Tag.TERM):
            return
        try:
            steps = self._steps(instance.x)
        except NoAnswer:
            return
        received = ".".join(canonical_set(message.answer.prediction) or ())
        same = [step for step in steps if step.reactants == received]
        if message.tag == Tag.RATIFY:
            if same:
                self._weights.reinforce(same[0])
            return
        possible = {step.template.id: step.template for step in same or steps}
        heard = self._vocabulary.heard(message.answer.explanation, possible.values())
        if same:
            # Of several reactions between the same reactants, the one that the other talks about;
            # `same` is sorted, and where none is heard its first stays.
            target = max(same, key=lambda step: heard.get(step.template.id, 0.0))
            self._weights.prefer(target, steps[0])
        else:
            self._weights.hint(heard)

    def _steps(self, smiles: str) -> tuple[Candidate, ...]:
        steps = ranked(_taken_apart(smiles, self._library), self._weights.of)
        if not steps:
            raise NoAnswer(f"no reaction template applies to {smiles[:80]!r}")
        return steps


@lru_cache(maxsize=_REMEMBERED)
def _taken_apart(smiles: str, library: Library) -> tuple[tuple[Disconnection, float], ...]:
    """Every disconnection of `smiles` with its unlearned score."""
    from rdkit import Chem

    product = product_of(smiles)
    written = Chem.MolToSmiles(product)
    return tuple(
        (step, unlearned(step, written, library)) for step in disconnections(product, library)
    )
