"""Relations on plain text: exact, and up to case, spacing and Unicode form."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable

from pxp_fsm.errors import GuardError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, Assumption, Outcome


@dataclass(frozen=True)
class Exact:
    """Two texts are the same if every character is; ready as `exact`.

    >>> import pxp_fsm as pxp
    >>> pxp.exact.name
    'exact'
    """

    name = "exact"
    assumptions: frozenset[Assumption] = EQUIVALENCE

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if left == right else Outcome.NO


@dataclass(frozen=True)
class NormalisedText:
    """Two texts are the same up to case, white space, final full stops, Unicode form (NFKC).

    Ready as `normalised_text`.

    >>> import pxp_fsm as pxp
    >>> pxp.normalised_text.name
    'normalised text'
    """

    name = "normalised text"
    assumptions: frozenset[Assumption] = EQUIVALENCE

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if normalised(left) == normalised(right) else Outcome.NO


exact = Exact()
normalised_text = NormalisedText()


def normalised(text: str) -> str:
    """The normal form that `NormalisedText` compares."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split()).rstrip(".")


class ScriptedRelation:
    """Replays a list of outcomes, one a question; raises `GuardError` when it is used up."""

    name = "script"
    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = iter(tuple(outcomes))

    async def holds(self, left: str, right: str) -> Outcome:
        outcome = next(self._outcomes, None)
        if outcome is None:
            raise GuardError("the script has no outcome left")
        return outcome


class ChanceRelation:
    """Holds with probability `rate`, by a seed; says something new each time it is asked."""

    name = "chance"
    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, seed: int, rate: float = 0.5) -> None:
        self._random = random.Random(seed)
        self._rate = rate

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if self._random.random() < self._rate else Outcome.NO
