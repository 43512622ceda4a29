"""MATCH of labels: two predictions are the same if they are the same set of labels.

Labels come from a closed list and are compared whole: a text that merely contains one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import EQUIVALENCE, Assumption, Outcome

NONE = "none"
"""How the empty set is written: a prediction that says nothing at all is refused."""

LONGEST = 1_000
"""Characters read in one prediction."""


class InvalidLabels(DataError):
    """A text that is no set of labels out of the list."""


@dataclass(frozen=True)
class LabelSets:
    """Two texts are the same if their labels, joined with ",", are the same set out of `labels`.

    Order, repetition, case and white space do not count. Anything else raises `InvalidLabels`.
    """

    labels: tuple[str, ...]
    name = "label sets"
    assumptions: frozenset[Assumption] = EQUIVALENCE

    async def holds(self, left: str, right: str) -> Outcome:
        same = label_set(left, self.labels) == label_set(right, self.labels)
        return Outcome.YES if same else Outcome.NO


def label_set(text: str, labels: Iterable[str]) -> frozenset[str]:
    """The set of labels that `text` is, spelled as in `labels`; raises `InvalidLabels`."""
    if len(text) > LONGEST:
        raise InvalidLabels(f"a prediction has at most {LONGEST} characters; this one {len(text)}")
    if not text.strip():
        raise InvalidLabels(f"the prediction is empty; where no label fits, write {NONE}")
    known = {_plain(label): label for label in labels}
    parts = text.split(",")
    if len(parts) == 1 and _plain(text) == NONE:
        return frozenset()
    return frozenset(_found(part, known) for part in parts)


def format_labels(labels: Iterable[str]) -> str:
    """A set of labels as a message carries it: sorted, joined with ", ", or `none`."""
    return ", ".join(sorted(set(labels))) or NONE


def _found(part: str, known: dict[str, str]) -> str:
    plain = _plain(part)
    if plain in known:
        return known[plain]
    if plain == NONE:
        raise InvalidLabels(f"{NONE} stands alone, or not at all")
    problem = f"{quoted(part.strip())} is not one" if plain else "there is an empty one"
    raise InvalidLabels(f"the labels are {', '.join(known.values())}; {problem}")


def _plain(label: str) -> str:
    return " ".join(label.split()).casefold()
