"""Recordings of the authors' published code: tags alone, by its own reading of INTERACT."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.audit.findings import Possible
from proofs.audit.tags import ASSUMED
from proofs.languages import Language, Word
from proofs.languages.published_code import ROUNDS, K, PublishedCode, published_started
from pxp_fsm.rules import Rules


@dataclass(frozen=True)
class AsPublished:
    """Sessions of the published code, of `rounds` rounds at most."""

    rounds: int = ROUNDS

    @property
    def rules(self) -> Rules | None:
        return None

    @property
    def longest(self) -> int | None:
        return PublishedCode(self.rounds, K).longest

    def begun(self, judges: Possible) -> Language:
        return published_started(PublishedCode(None, K, ASSUMED[judges]))

    def ending(self, word: Word) -> str | None:
        return PublishedCode(self.rounds, K).ending(word)
