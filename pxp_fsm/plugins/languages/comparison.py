"""Counts of tag languages by class, and comparisons of two languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from proofs.claims.catalogue import NAMED
from proofs.languages import CLASSES, Language, Word, class_language
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.languages.operands import LanguageSettings, Operand, has_relations, operand

LENGTHS = 12
"""Up to which length the sequences of an infinite language are counted."""


@dataclass(frozen=True)
class Count:
    """A language in numbers: all its sequences, those of each class, those of each length.

    None counts infinitely many; `lengths` are counted up to `LENGTHS` then, else to the longest.
    """

    title: str
    states: int
    total: int | None
    classes: tuple[tuple[str, int | None], ...]
    lengths: tuple[int, ...]
    shortest: Word | None

    def record(self) -> dict[str, Any]:
        """As JSON; numbers of any size are text, null is infinitely many."""
        return {
            "language": self.title,
            "states": self.states,
            "count": _text(self.total),
            "classes": {name: _text(count) for name, count in self.classes},
            "lengths": [str(count) for count in self.lengths],
            "shortest": None if self.shortest is None else list(self.shortest),
        }


@dataclass(frozen=True)
class LanguageComparison:
    """What each of two languages has that the other has not, with a shortest witness."""

    left: str
    right: str
    only_left: LanguageDifference
    only_right: LanguageDifference

    @property
    def verdict(self) -> str:
        """How they lie to each other, in words."""
        if self.only_left.witness is None:
            return "equal" if self.only_right.witness is None else "included, and not equal"
        return "includes it" if self.only_right.witness is None else "neither includes the other"

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "left": self.left,
            "right": self.right,
            "verdict": self.verdict,
            "only_left": self.only_left.record(),
            "only_right": self.only_right.record(),
        }


@dataclass(frozen=True)
class LanguageDifference:
    """The sequences of one language that are not in another: how many, and the first of them.

    `replayed` says that two running agents have sent the witness.
    """

    count: int | None
    witness: Word | None
    replayed: bool

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "count": _text(self.count),
            "witness": None if self.witness is None else list(self.witness),
            "replayed": self.replayed,
        }


def _text(count: int | None) -> str | None:
    return None if count is None else str(count)


def counted(language: Language) -> Count:
    """The language in numbers."""
    bounds = language.lengths()
    longest = 0 if bounds is None else LENGTHS if bounds[1] is None else bounds[1]
    return Count(
        language.title,
        language.states,
        language.count(),
        tuple((name, (language & class_language(name)).count()) for name in CLASSES),
        language.counts(longest),
        language.shortest(),
    )


def compared(left: Operand, other: Operand) -> LanguageComparison:
    """How two languages lie to each other; witnesses of protocols are sent by real machines."""
    return LanguageComparison(
        left.language.title, other.language.title, _beyond(left, other), _beyond(other, left)
    )


def _beyond(left: Operand, other: Operand) -> LanguageDifference:
    rest = left.language - other.language
    witness = rest.shortest()
    return LanguageDifference(
        rest.count(), witness, witness is not None and left.witnessed(witness)
    )


def chosen(
    text: str, settings: LanguageSettings, within: Sequence[str], without: Sequence[str]
) -> Operand:
    """The language `text`, what is common to it and `within`, less what is in `without`."""
    base = operand(text, settings)
    left = base.language
    for name in within:
        left = left & operand(name, settings, beside=base.reading).language
    for name in without:
        left = left - operand(name, settings, beside=base.reading).language
    return Operand(left, base.reading)


def by_relations(
    text: str, settings: LanguageSettings, within: Sequence[str], without: Sequence[str]
) -> tuple[Count, ...]:
    """The language `text` for equivalence, tolerance and noisy; once where that means nothing."""
    if not has_relations(text):
        return (counted(chosen(text, settings, within, without).language),)
    readings = (replace(settings, relations=name) for name in NAMED)
    return tuple(counted(chosen(text, reading, within, without).language) for reading in readings)


def count_lines(counted: Sequence[Count]) -> Iterator[str]:
    """Counts for a terminal, a column a language."""
    rows = [
        ("sequences", [_shown(count.total) for count in counted]),
        ("states", [f"{count.states:,}" for count in counted]),
    ]
    for place, name in enumerate(CLASSES):
        rows.append((name, [_shown(count.classes[place][1]) for count in counted]))
    longest = max(len(count.lengths) for count in counted)
    for length in range(1, longest):
        counts = [count.lengths[length] if length < len(count.lengths) else 0 for count in counted]
        if longest <= LENGTHS + 1 and any(counts):
            rows.append(
                (f"of {length} message{'s'[: length > 1]}", [f"{count:,}" for count in counts])
            )
    numbered = [f"({number})" for number in range(1, len(counted) + 1)]
    for number, count in zip(numbered, counted, strict=True):
        yield count.title if len(counted) == 1 else f"{number} {count.title}"
    if len(counted) > 1:
        rows.insert(0, ("", numbered))
    first = max(len(name) for name, _ in rows)
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(len(counted))]
    for name, cells in rows:
        padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"{name:<{first}}  {'  '.join(padded)}"


def comparison_lines(comparison: LanguageComparison) -> Iterator[str]:
    """A comparison for a terminal."""
    yield f"{comparison.left}"
    yield f"{comparison.right}"
    yield f"The first and the second: {comparison.verdict}."
    for where, rest in (("first", comparison.only_left), ("second", comparison.only_right)):
        if rest.witness is not None:
            sent = " (sent by the real machines)" if rest.replayed else ""
            yield f"Only in the {where}: {_shown(rest.count)}; the shortest{sent}:"
            yield f"  {format_word(rest.witness)}"


def listed(language: Language, limit: int) -> Iterator[str]:
    """The first `limit` sequences, the shortest first."""
    yield from map(format_word, islice(language.words(), limit))


def format_word(word: Word) -> str:
    """A sequence for a person."""
    return " ".join(word) or "(no message)"


def _shown(count: int | None) -> str:
    return "infinitely many" if count is None else f"{count:,}"
