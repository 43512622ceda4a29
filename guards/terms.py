"""AGREE by key terms: two explanations agree if they name a same term, or are the same text.

The terms are a list that somebody wrote, or words that are typical of one prediction in rows whose
answers are known. Nothing here depends on a language.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from guards.text import normalised
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.relations import TOLERANCE, Assumption, Outcome

Term = tuple[str, ...]
"""The wordings of one term; an asterisk at the end of a word stands for any ending."""

_WORD = re.compile(r"\w+")
_WRITTEN = re.compile(r"\w+\*?")
_READ = 20_000
"""Characters of a text that are read."""

SHORTEST = 3
"""Letters of a word that may be a key term without being written down as one."""

LEAST = 2
"""Explanations that have such a word."""

TYPICAL = 0.75
"""Of the explanations that have it, the share whose rows have one prediction."""


@dataclass(frozen=True)
class KeyTerms:
    """Two texts agree if they share a term, or are the same up to case and spacing.

    Unsure where one of them has no term. An approximation: it does not see what a text denies.
    """

    terms: tuple[Term, ...]
    assumptions: frozenset[Assumption] = TOLERANCE

    @property
    def name(self) -> str:
        """With a fingerprint of the terms."""
        digest = hashlib.sha256(repr(self.terms).encode()).hexdigest()[:12]
        return f"key terms (approximation {digest})"

    async def holds(self, left: str, right: str) -> Outcome:
        if normalised(left) == normalised(right):
            return Outcome.YES
        first, second = (found_terms(text, self.terms) for text in (left, right))
        if not first or not second:
            return Outcome.UNSURE
        return Outcome.YES if first & second else Outcome.NO


@lru_cache(maxsize=1024)
def found_terms(text: str, terms: tuple[Term, ...]) -> frozenset[Term]:
    """Those of `terms` that `text` has, in any of their wordings, as whole words."""
    words = " ".join(_WORD.findall(normalised(text[:_READ])))
    return frozenset(
        term for term in terms if any(_pattern(wording).search(words) for wording in term)
    )


@lru_cache(maxsize=4096)
def _pattern(wording: str) -> re.Pattern[str]:
    parts = (
        re.escape(word.rstrip("*")) + (r"\w*" if word.endswith("*") else "")
        for word in _WRITTEN.findall(normalised(wording))
    )
    return re.compile(rf"\b{' '.join(parts)}\b")


def has_words(wording: str) -> bool:
    """Whether there is anything in `wording` that could be found in a text."""
    return bool(_WRITTEN.search(normalised(wording)))


def typical_terms(answers: Iterable[Answer]) -> tuple[Term, ...]:
    """The words that are typical of one prediction in the explanations of `answers`, sorted."""
    told: Mapping[str, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        for word in set(_WORD.findall(normalised(answer.explanation[:_READ]))):
            told[word][answer.prediction] += 1
    return tuple((word,) for word in sorted(told) if _is_typical(word, list(told[word].values())))


def _is_typical(word: str, counts: Sequence[int]) -> bool:
    many = sum(counts)
    return len(word) >= SHORTEST and many >= LEAST and max(counts) >= TYPICAL * many
