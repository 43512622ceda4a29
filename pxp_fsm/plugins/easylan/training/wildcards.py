"""MATCH and AGREE of the update's steps: JSON with holes, and a rationale against a hint.

Source: EasyLAN (Pan, Yu, Li, Shi), section 4.2.1: `<??>` stands for whatever the system fills in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.protocol.relations import (
    TOLERANCE,
    Assumption,
    Outcome,
    Relation,
    RelationReply,
    in_session,
)

HOLE = "<??>"


def holes(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of a JSON value at which a text has a hole in it, or is one."""
    if isinstance(value, str):
        if HOLE in value:
            yield path
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from holes(one, (*path, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from holes(one, (*path, index))


def fits(pattern: object, value: object) -> bool:
    """Whether `value` is `pattern` with its holes filled in."""
    if isinstance(pattern, str) and HOLE in pattern:
        if pattern == HOLE:
            return True
        parts = map(re.escape, pattern.split(HOLE))
        return isinstance(value, str) and bool(re.fullmatch(".*".join(parts), value, re.DOTALL))
    if isinstance(pattern, dict) and isinstance(value, dict):
        return pattern.keys() == value.keys() and all(fits(pattern[k], value[k]) for k in pattern)
    if isinstance(pattern, list) and isinstance(value, list):
        pairs = zip(pattern, value, strict=False)
        return len(pattern) == len(value) and all(fits(*pair) for pair in pairs)
    return type(pattern) is type(value) and pattern == value


def written(value: object) -> str:
    """A step's result as the text that a message carries."""
    return json.dumps(value, ensure_ascii=False)


def value_of(text: str) -> object:
    """The JSON value of a message's text; raises `DataError`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"a step's result must be JSON, not {quoted(text)}: {error}") from error


@dataclass(frozen=True)
class SameJson:
    """MATCH: two JSON values are equal, or one is the other with its holes filled in."""

    name = "JSON with holes"
    assumptions: frozenset[Assumption] = TOLERANCE

    async def holds(self, left: str, right: str) -> Outcome:
        one, other = value_of(left), value_of(right)
        return Outcome.YES if fits(one, other) or fits(other, one) else Outcome.NO


@dataclass(frozen=True)
class HintFollowed:
    """AGREE: there is no hint, or `judge` finds that the rationale follows it.

    A hint stands where a developer's explanation is. Without a judge only the same text follows it.
    """

    judge: Relation | None = None

    @property
    def name(self) -> str:
        return "no hint" if self.judge is None else f"no hint, or {self.judge.name}"

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """As the judge's; but what agrees with no hint at all is not transitive."""
        given = TOLERANCE if self.judge is None else self.judge.assumptions
        return given - {Assumption.TRANSITIVE}

    def for_session(self, session: str) -> HintFollowed:
        """The same, its judge asked in `session`."""
        return HintFollowed(None if self.judge is None else in_session(self.judge, session))

    async def holds(self, left: str, right: str) -> Outcome | RelationReply:
        if not left.strip() or not right.strip() or left == right:
            return Outcome.YES
        return Outcome.NO if self.judge is None else await self.judge.holds(left, right)
