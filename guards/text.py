"""Relations on plain text: exact, and up to case, spacing and Unicode form."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from pxp_fsm.relations import EQUIVALENCE, Assumption, Outcome


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
