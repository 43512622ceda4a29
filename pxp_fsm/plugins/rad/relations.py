"""MATCH of the RAD task: two predictions are the same if they are the same set of labels.

Labels come from a closed list and are compared whole: a text that merely contains one is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from guards.lexicon import Lexicon, PatternMatch
from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, quoted
from pxp_fsm.protocol.relations import EQUIVALENCE, Assumption, Outcome

NONE = "none"
"""How the empty set is written: a prediction that says nothing at all is refused."""

_FILES = ("findings.toml", "relations.py")

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
        raise InvalidLabels(f"the prediction is empty; where there is no finding, write {NONE}")
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
    what = f"{quoted(part.strip())} is not one" if plain else "there is an empty one"
    raise InvalidLabels(f"the labels are {', '.join(known.values())}; {what}")


def _plain(label: str) -> str:
    return " ".join(label.split()).casefold()


_SIDES = frozenset({"right", "left", "both"})
_NOTHING = "nothing"
_UNSIDED = frozenset({_NOTHING, "Cardiomegaly"})
_NEAR = 10
"""Words between a finding and its side, at most."""

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")
_READ = 20_000
"""Characters of a report that are read."""

Findings = dict[str, frozenset[str]]
"""Each finding with its sides, `right` and `left`; none where the report does not say."""


@cache
def lexicon() -> Lexicon:
    """The lexicon that comes with this package."""
    return Lexicon(
        tomllib.loads(files("pxp_fsm.plugins.rad").joinpath("findings.toml").read_text("utf-8"))
    )


@lru_cache(maxsize=256)
def _read(report: str) -> tuple[tuple[str, frozenset[str]], ...]:
    told: dict[str, set[str]] = {}
    for sentence in _SENTENCE.split(report[:_READ]):
        found = lexicon().find(sentence)
        sides = [one for one in found if one.pattern.name in _SIDES]
        for one in found:
            if one.pattern.name not in _SIDES:
                told.setdefault(one.pattern.name, set()).update(_side_of(one, sides))
    if len(told) > 1:
        told.pop(_NOTHING, None)
    return tuple((name, frozenset(told[name])) for name in sorted(told))


def read_findings(report: str) -> Findings:
    """The findings that `report` affirms; `nothing` alone where it says that all is normal."""
    return dict(_read(report))


def _side_of(finding: PatternMatch, sides: list[PatternMatch]) -> frozenset[str]:
    """The side named nearest to `finding` in its sentence, if near enough; both where it is said.

    Sides as near as each other are both taken.
    """
    if finding.pattern.name in _UNSIDED:
        return frozenset()
    distances = [(_apart(finding, side), side.pattern.name) for side in sides]
    near = min((distance for distance, _ in distances), default=_NEAR + 1)
    if near > _NEAR:
        return frozenset()
    named = {name for distance, name in distances if distance == near}
    return frozenset({"right", "left"}) if "both" in named else frozenset(named)


def _apart(one: PatternMatch, other: PatternMatch) -> int:
    return max(other.first - one.last, one.first - other.last, 0)


@dataclass(frozen=True)
class SameFindings:
    """Two reports agree if they affirm a same finding, and not on opposite sides.

    Unsure where a report affirms nothing that the lexicon knows, not even that all is normal; so
    a text may be unsure of itself. Not transitive: of two findings, each may be shared with
    another report. What a report denies ("no pneumothorax") is not affirmed; that is read
    coarsely, one sentence at a time. An approximation, compared with no model judge so far.
    """

    assumptions = frozenset({Assumption.DETERMINISTIC, Assumption.SYMMETRIC})

    @property
    def name(self) -> str:
        """With a fingerprint of what the answers depend on: the lexicon and the code."""
        files = package_fingerprint(
            __package__, _FILES, package_fingerprint("guards", ("lexicon.py",))
        )
        return f"same findings (approximation {files})"

    async def holds(self, left: str, right: str) -> Outcome:
        first, second = read_findings(left), read_findings(right)
        if not first or not second:
            return Outcome.UNSURE
        shared = first.keys() & second.keys()
        same = any(_compatible(first[name], second[name]) for name in shared)
        return Outcome.YES if same else Outcome.NO


def _compatible(one: frozenset[str], other: frozenset[str]) -> bool:
    return not one or not other or bool(one & other)
