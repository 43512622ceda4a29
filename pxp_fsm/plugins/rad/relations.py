"""AGREE of the RAD task: two reports agree if they affirm a same finding."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files

from guards.lexicon import Lexicon, PatternMatch
from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import Assumption, Outcome

_FILES = ("findings.toml", "relations.py")

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
        matches = lexicon().find(sentence)
        sides = [pattern_match for pattern_match in matches if pattern_match.pattern.name in _SIDES]
        for pattern_match in matches:
            if pattern_match.pattern.name not in _SIDES:
                told.setdefault(pattern_match.pattern.name, set()).update(
                    _side_of(pattern_match, sides)
                )
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


def _apart(match: PatternMatch, other: PatternMatch) -> int:
    return max(other.first - match.last, match.first - other.last, 0)


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


def _compatible(sides: frozenset[str], other: frozenset[str]) -> bool:
    return not sides or not other or bool(sides & other)
