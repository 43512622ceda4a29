"""Learning from the other agent: weights of templates, reaction classes, leaving groups.

A lesson moves weight from the step that is presently preferred to the step that leads to the
other's reactants: the perceptron rule (Rosenblatt 1958) on names that many molecules share, so
that nothing about a single molecule is kept. Words of an explanation may raise templates too, but
never by more than `HINT_LIMIT` in all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backends.models.local.retrosynthesis.ranking import Candidate
from backends.models.local.retrosynthesis.templates import Template

STEPS = {"template": 0.5, "class": 0.25, "leaving": 0.25}
"""How far one lesson moves a weight, by the kind of its name."""
RATIFIED = 0.05
"""How far one RATIFY raises each weight of the ratified step."""
LIMIT = 6.0
"""No learned weight goes beyond this, up or down."""
HINT = 0.3
"""How far one explanation raises a template whose whole name it contains."""
HINT_LIMIT = 1.0
"""How far all explanations together raise one template."""
HINTED_TEMPLATES = 3
HEARD = 0.5
"""The part of a template's name, weighted by rarity, that must be heard to count."""
READ = 4_000
"""How much of an explanation is read, in characters."""

_WORD = re.compile(r"[a-z]{3,}")
_NO_CONTENT = frozenset({"and", "the", "with", "from", "for", "two", "onto", "into", "its"})


class Weights:
    """The learned weights; they live as long as the predictor and start at nothing.

    Lessons and hints are kept apart, because they are bounded apart.
    """

    def __init__(
        self, taught: Mapping[str, float] | None = None, hinted: Mapping[str, float] | None = None
    ) -> None:
        self._taught = dict(taught or {})
        self._hinted = dict(hinted or {})

    def copy(self) -> Weights:
        """The same weights, to learn on from apart."""
        return Weights(self._taught, self._hinted)

    def of(self, features: Iterable[str]) -> float:
        """The sum of the weights of `features`."""
        return math.fsum(
            self._taught.get(name, 0.0) + self._hinted.get(name, 0.0) for name in features
        )

    def all(self) -> dict[str, float]:
        """Every weight that is not nothing, by its name (`template:suzuki`, `leaving:bromide`)."""
        names = sorted(self._taught.keys() | self._hinted.keys())
        return {name: weight for name in names if (weight := self.of((name,)))}

    def prefer(self, target: Candidate, other: Candidate) -> None:
        """Move weight from the features of `other` to those of `target`; shared ones stay."""
        for name in target.features - other.features:
            self._teach(name, STEPS[name.partition(":")[0]])
        for name in other.features - target.features:
            self._teach(name, -STEPS[name.partition(":")[0]])

    def reinforce(self, candidate: Candidate) -> None:
        """Raise the features of a ratified `candidate` a little."""
        for name in candidate.features:
            self._teach(name, RATIFIED)

    def hint(self, heard: Mapping[str, float]) -> None:
        """Raise the templates most `heard`: their ids, and how much of each was heard, up to 1."""
        loudest = sorted(heard.items(), key=lambda item: (-item[1], item[0]))[:HINTED_TEMPLATES]
        for template, part in loudest:
            name = f"template:{template}"
            self._hinted[name] = min(HINT_LIMIT, self._hinted.get(name, 0.0) + HINT * part)

    def _teach(self, name: str, step: float) -> None:
        self._taught[name] = max(-LIMIT, min(LIMIT, self._taught.get(name, 0.0) + step))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What each template is called: the words of its name and of its other names, by rarity."""

    names: Mapping[str, tuple[frozenset[str], ...]]
    rarity: Mapping[str, float]

    def heard(self, text: str, templates: Iterable[Template]) -> dict[str, float]:
        """The templates that `text` talks about: how much of one of their names, up to 1."""
        spoken = _words(text[:READ])
        parts = {
            template.id: max(self._part(name, spoken) for name in self.names[template.id])
            for template in templates
        }
        return {template: part for template, part in parts.items() if part >= HEARD}

    def _part(self, name: frozenset[str], spoken: frozenset[str]) -> float:
        whole = math.fsum(self.rarity[word] for word in sorted(name))
        return math.fsum(self.rarity[word] for word in sorted(name & spoken)) / whole


def vocabulary(templates: Sequence[Template]) -> Vocabulary:
    """The vocabulary of `templates`; a word that many of them share weighs little."""
    names = {
        template.id: tuple(
            words
            for phrase in (template.name, template.bond, *template.aka)
            if (words := _words(phrase))
        )
        for template in templates
    }
    used = Counter(word for phrases in names.values() for word in frozenset().union(*phrases))
    rarity = {word: math.log(1 + len(templates) / count) for word, count in used.items()}
    return Vocabulary(names, rarity)


def _words(text: str) -> frozenset[str]:
    """The content words of `text`, in lower case and without a plural's s."""
    found = _WORD.findall(text.lower())
    return frozenset(word.removesuffix("s") for word in found if word not in _NO_CONTENT)
