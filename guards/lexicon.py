"""A lexicon of phrases that name classes, and their occurrences in a text.

Time is linear in the text, whatever it holds: phrases are looked up word by word in a tree.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import chain, product
from typing import Any

from pxp_fsm.errors import DataError
from pxp_fsm.lazy_dataclasses import dataclass

WEIGHTS = {"named": 4, "described": 3, "hinted": 1}
GAPS = {"..": 4, "...": 12}
DENIED = 6
"""Words that a negation denies, if the table has no `denied_words` of its own."""

DENIAL_ENDS = (",", "but")
"""What ends a denial sooner, if the table has no `denial_ends` of its own."""

SHOWN = 160
"""Characters of one piece of evidence."""

_TOKEN = re.compile(r"[^\W_]+|(?<!\W\w)[.!?;](?=\s|$)|,")
_CHUNK = re.compile(r"[^\s'\"`,]{5,}")
_SMILES = re.compile(r"(?:Cl|Br|Na|Li|Si|Se|[BCNOFPSIHKcnosp\d=#@+\-/\\()\[\]%.:])++")


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Phrases, by number, that follow one another with at most `gaps` words between."""

    name: str
    weight: int
    phrases: tuple[int, ...]
    gaps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A pattern in a text: which words of which sentence, counted from 0."""

    pattern: Pattern
    sentence: int
    first: int
    last: int
    evidence: str

    def overlaps(self, other: PatternMatch) -> bool:
        apart = self.last < other.first or other.last < self.first
        return self.sentence == other.sentence and not apart


@dataclass(slots=True)
class _Node:
    """One word deeper in the tree of phrases; the phrases numbered `ends` end here."""

    then: dict[str, _Node] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)


class Lexicon:
    """Patterns that tell of classes, from a table like `reactions.toml`, which explains them.

    Raises `DataError` for an unknown group or class.
    """

    def __init__(self, table: dict[str, Any]) -> None:
        self._groups: dict[str, list[str]] = table["groups"]
        self._tree = _Node()
        self._numbers: dict[str, int] = {}
        self._starred: dict[str, list[str]] = defaultdict(list)
        self._denied_words: int = table.get("denied_words", DENIED)
        self._denial_ends = frozenset(table.get("denial_ends", DENIAL_ENDS))
        self._denials = {self._number(phrase) for phrase in table["denials"]}
        self.parents: dict[str, str | None] = {}
        patterns = []
        for label_class in table["classes"]:
            self.parents[label_class["name"]] = label_class.get("within")
            for kind, weight in WEIGHTS.items():
                patterns += [
                    self._pattern(label_class["name"], weight, text)
                    for text in label_class.get(kind, ())
                ]
        uses = Counter(phrase for pattern in patterns for phrase in pattern.phrases)
        self._by_rarest: dict[int, list[Pattern]] = defaultdict(list)
        for pattern in patterns:
            self._by_rarest[min(pattern.phrases, key=lambda phrase: uses[phrase])].append(pattern)
        for name, parent in self.parents.items():
            if parent is not None and parent not in self.parents:
                raise DataError(f"class {name!r} is within {parent!r}, which is not a class")

    def find(self, text: str) -> list[PatternMatch]:
        """Where each pattern that `text` holds is first met; linear in the text's length."""
        matches: dict[Pattern, PatternMatch] = {}
        known: dict[str, tuple[list[str], list[_Node]]] = {}
        for number, sentence in enumerate(_sentences(text)):
            hits = self._hits([token[0].lower() for token in sentence], known)
            for pattern in chain.from_iterable(
                self._by_rarest.get(phrase, ()) for phrase in [*hits]
            ):
                if pattern in matches or not hits.keys() >= {*pattern.phrases}:
                    continue
                if (span := _chained(pattern, hits)) is not None:
                    first, last = span
                    shown = text[sentence[first].start() : sentence[last].end()]
                    matches[pattern] = PatternMatch(pattern, number, first, last, _printable(shown))
        return [*matches.values()]

    def ancestors(self, name: str) -> Iterator[str]:
        """The more general classes that `name` lies within, nearest first."""
        while (parent := self.parents[name]) is not None:
            yield parent
            name = parent

    def _pattern(self, name: str, weight: int, text: str) -> Pattern:
        parts = re.split(r"\s+(\.{2,3})\s+", text)
        numbers = tuple(self._number(part) for part in parts[::2])
        gaps = tuple(GAPS[gap] for gap in parts[1::2])
        return Pattern(name, weight, numbers, gaps)

    def _number(self, phrase: str) -> int:
        """The number of `phrase`, which is put into the tree in all its wordings."""
        if phrase in self._numbers:
            return self._numbers[phrase]
        number = self._numbers[phrase] = len(self._numbers)
        for words in self._wordings(phrase):
            node = self._tree
            for word in words:
                if "*" in word:
                    starred = self._starred[_index(word)]
                    starred += [] if word in starred else [word]
                node = node.then.setdefault(word, _Node())
            node.ends.append(number)
        return number

    def _wordings(self, phrase: str) -> Iterator[tuple[str, ...]]:
        choices: list[list[str]] = []
        for word in phrase.split():
            group = word.strip("{}") if word.startswith("{") else None
            if group is not None and group not in self._groups:
                raise DataError(f"{phrase!r}: there is no group {group!r}")
            choices.append([word] if group is None else self._groups[group])
        for chosen in product(*choices):
            yield tuple(" ".join(chosen).split())

    def _symbols(self, word: str) -> list[str]:
        """`word` and every starred word of the lexicon that it fits."""
        plain = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
        plain = plain.replace("sulph", "sulf")
        fits = [plain]
        ends = self._starred.get("*" + plain[-3:], [])
        for starred in self._starred.get(plain[:3], []) + ends:
            start, end = starred.split("*")
            if plain.startswith(start) and plain[len(start) :].endswith(end):
                fits.append(starred)
        return fits

    def _hits(
        self, words: Sequence[str], known: dict[str, tuple[list[str], list[_Node]]]
    ) -> dict[int, list[tuple[int, int]]]:
        """Where each phrase stands (first word, word after the last), those denied left out.

        `known` keeps what each word fits, and where in the tree a phrase that starts with it is.
        """
        hits: dict[int, list[tuple[int, int]]] = defaultdict(list)
        denied_to = 0
        for word in words:
            if word not in known:
                fits = self._symbols(word)
                known[word] = fits, [self._tree.then[fit] for fit in fits if fit in self._tree.then]
        for first, word in enumerate(words):
            nodes, place = known[word][1], first + 1
            if word in self._denial_ends:
                denied_to = 0
            while nodes:
                fits = known[words[place]][0] if place < len(words) else []
                deeper = []
                for node in nodes:
                    for number in node.ends:
                        if number in self._denials and words[place : place + 1] != ["only"]:
                            denied_to = place + self._denied_words
                        elif first >= denied_to:
                            hits[number].append((first, place))
                    if node.then:
                        deeper += [node.then[fit] for fit in fits if fit in node.then]
                nodes, place = deeper, place + 1
        return hits


def _index(starred: str) -> str:
    """The three letters by which a starred word is looked up."""
    start, star, end = starred.partition("*")
    index = start[:3] if start else star + end[-3:]
    if len(index) - (not start) < 3 or "*" in end:
        raise DataError(f"{starred!r}: a word with a * has one *, and three letters to go by")
    return index


def _chained(pattern: Pattern, hits: dict[int, list[tuple[int, int]]]) -> tuple[int, int] | None:
    """The first and last word of the pattern's first occurrence in a sentence, if any."""
    reached = [(end, start) for start, end in hits[pattern.phrases[0]]]
    for phrase, gap in zip(pattern.phrases[1:], pattern.gaps, strict=True):
        reached.sort()
        further = []
        for start, end in hits[phrase]:
            before = bisect_right(reached, (start, start + 1)) - 1
            if before >= 0 and start - reached[before][0] <= gap:
                further.append((end, reached[before][1]))
        reached = further
    return (reached[0][1], reached[0][0] - 1) if reached else None


def _sentences(text: str) -> Iterator[list[re.Match[str]]]:
    """The words and commas of each sentence; what looks like a SMILES counts as one odd word."""
    sentence: list[re.Match[str]] = []
    for token in _TOKEN.finditer(_CHUNK.sub(_without_smiles, text)):
        if token[0] in ".!?;":
            yield sentence
            sentence = []
        else:
            sentence.append(token)
    yield sentence


def smiles_like(text: str) -> Iterator[str]:
    """What looks like a SMILES in `text`; it need not be one."""
    for chunk in _CHUNK.finditer(text):
        if core := _smiles_like(chunk[0]):
            yield core


def _smiles_like(chunk: str) -> str:
    core = chunk.rstrip(".;:")
    telling = any(character in "=#([" or character.isdigit() for character in core)
    return core if telling and _SMILES.fullmatch(core) else ""


def _without_smiles(chunk: re.Match[str]) -> str:
    core = _smiles_like(chunk[0])
    return "0" * len(core) + chunk[0][len(core) :]


def _printable(text: str) -> str:
    words = "".join(c if c.isprintable() else " " for c in text).split()
    shown = " ".join(words)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
