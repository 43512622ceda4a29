"""AGREE of the DRUG task without a model: do two explanations name the same class of reaction?

An approximation of the judge of arXiv 2410.20600, by a lexicon (`reactions.toml`) of reaction
names and of functional groups that change; it never looks at a SMILES or at a prediction.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain

from guards.lexicon import WEIGHTS, Found, Lexicon
from pxp_fsm.relations import Assumption, Outcome


@dataclass(frozen=True, slots=True)
class Reading:
    """A class of reaction read in a text, and the words that it was read from."""

    name: str
    score: int
    evidence: tuple[str, ...]


@cache
def lexicon() -> Lexicon:
    """The lexicon that comes with this package."""
    return Lexicon(tomllib.loads(files("guards").joinpath("reactions.toml").read_text("utf-8")))


@lru_cache(maxsize=256)
def read_classes(text: str) -> tuple[Reading, ...]:
    """The classes of reaction that `text` tells of, highest score first.

    A class scores the weights of its patterns that do not overlap. What speaks for a general
    class speaks for each narrower one that is read as well, and the general one is left out.
    """
    found: dict[str, list[Found]] = defaultdict(list)
    for one in sorted(lexicon().find(text), key=_order):
        taken = found[one.pattern.name]
        if not any(one.overlaps(other) for other in taken):
            taken.append(one)
    general = set(chain.from_iterable(map(lexicon().ancestors, found)))
    narrow = [one for name in found.keys() - general for one in found[name]]
    readings = []
    for name in found.keys() - general:
        wider = chain.from_iterable(found.get(one, ()) for one in lexicon().ancestors(name))
        mine = found[name] + [one for one in wider if not any(map(one.overlaps, narrow))]
        score = sum(one.pattern.weight for one in mine)
        readings.append(Reading(name, score, tuple(one.evidence for one in mine)))
    return tuple(sorted(readings, key=lambda one: (-one.score, one.name)))


def best_classes(text: str) -> frozenset[str]:
    """The classes that `read_classes` scores highest; none where it reads none.

    A general class (one that others lie within) counts only where no narrow one is named or
    described.
    """
    readings = read_classes(text)
    general = set(lexicon().parents.values())
    sure = [one for one in readings if one.name not in general and one.score > WEIGHTS["hinted"]]
    rivals = sure or readings
    return frozenset(one.name for one in rivals if one.score == rivals[0].score)


def _order(found: Found) -> tuple[int, int, int, int]:
    return -found.pattern.weight, found.sentence, found.first, found.last


@dataclass(frozen=True)
class SameReaction:
    """Two explanations agree if their best readings share a class, or one's lies within another's.

    Unsure where a text names no class, so a text may be unsure of itself; and not transitive: a
    "nucleophilic substitution" agrees with an SNAr and with an N-alkylation.

    An approximation: it takes the words for what they say, knows one sentence at a time, and
    denies coarsely. Measured on 60 explanations by a language model, against classes that one
    reader had noted before: 59 have a class, 54 of them a noted one, and the last rightly none.
    Of the 210 pairs that agree by the notes it finds 169; 10 of the 179 that it finds are wrong.
    The lexicon was revised once after seeing its faults there, so expect less of other texts
    (before: 51 of 59; 146 of 210, and 16 wrong of 162). Compared with no model judge so far.
    """

    name = "same reaction class (approximation)"
    assumptions = frozenset({Assumption.DETERMINISTIC, Assumption.SYMMETRIC})

    async def holds(self, left: str, right: str) -> Outcome:
        first, second = best_classes(left), best_classes(right)
        if not first or not second:
            return Outcome.UNSURE
        known = lexicon()
        first_wide = first.union(*map(known.ancestors, first))
        second_wide = second.union(*map(known.ancestors, second))
        return Outcome.YES if first & second_wide or second & first_wide else Outcome.NO
