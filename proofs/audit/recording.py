"""A session as it was recorded: tags, which texts, and what the judges said of them.

Texts are known by their digests alone: an audit asks which are the same, never what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from proofs.languages import Word, symbol
from pxp_fsm.relations import Outcome

_HELD: dict[str, bool] = {Outcome.YES: True, Outcome.NO: False, Outcome.UNSURE: False}


class Judged(NamedTuple):
    """An answer of MATCH or AGREE about an ordered pair of texts; unsure counts as no.

    `held` is None where there was no answer: the judge was late or broken.
    """

    relation: str
    left: str
    right: str
    held: bool | None


def held(outcome: str) -> bool | None:
    """Whether a relation held, by its recorded outcome."""
    return _HELD.get(outcome)


class Said(NamedTuple):
    """A message: who sent it, its tag, its two texts, and what was judged to arrive at it."""

    initiator: bool
    tag: str
    prediction: str
    explanation: str
    judged: tuple[Judged, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded session.

    `ending` is None where it is not over; `closing` was judged for a message that was never sent.
    `derived` says of initiator and responder whether their tags follow from their relations.
    `assumptions` are those under which it is said to have run; `classes` the stored classes, by
    name (`strong:h`, `two_way`), as far as any are stored.
    """

    name: str
    said: tuple[Said, ...]
    ending: str | None
    closing: tuple[Judged, ...] = ()
    derived: tuple[bool, bool] = (False, False)
    assumptions: frozenset[str] = frozenset()
    classes: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def word(self) -> Word:
        """Its tag sequence; the initiator is m."""
        return tuple(symbol("m" if one.initiator else "h", one.tag) for one in self.said)
