"""MATCH or AGREE as an unknown relation: every answer that its assumptions allow.

A session compares at most three values at a time: the latest of each agent, and a fresh one. Under
every set of assumptions in question the finite structures that satisfy it can be amalgamated over
what they share, so whatever is possible for the values in play is possible whatever was said
before. A state therefore keeps how the latest two values are related and nothing of their
identity, and the result is that for any number of values.

Without *deterministic* a relation is no set of pairs: each answer is free, but for a value that is
compared with itself where *reflexive* holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

from pxp_fsm.protocol.relations import Assumption

Pairs = frozenset[tuple[int, int]]


class Structure(NamedTuple):
    """How some values are related, for each of the two agents' relations, and which are equal.

    Points are numbered from 0; `left` and `right` are the relations of the first and the second
    agent. `equal` is kept only where it matters: *reflexive* without *deterministic*.
    """

    points: int
    left: Pairs = frozenset()
    right: Pairs = frozenset()
    equal: Pairs = frozenset()

    def of(self, agent: int) -> Pairs:
        """The relation of agent 0 or 1."""
        return self.right if agent else self.left

    def keep(self, *points: int) -> Structure:
        """The structure on the given points alone, renumbered in that order."""
        return Structure(
            len(points), *(_restricted(r, points) for r in (self.left, self.right, self.equal))
        )


def _restricted(pairs: Pairs, points: tuple[int, ...]) -> Pairs:
    numbered = list(enumerate(points))
    return frozenset((i, j) for i, p in numbered for j, q in numbered if (p, q) in pairs)


EMPTY = Structure(0)


@dataclass(frozen=True)
class Theory:
    """What may be assumed of a relation; `extensions` and `answers` are its consequences.

    Of the agent `free` nothing is assumed: its answers are free, and the assumptions are about the
    other's relation.
    """

    assumptions: frozenset[Assumption]
    free: int | None = None

    @property
    def deterministic(self) -> bool:
        return Assumption.DETERMINISTIC in self.assumptions

    def extensions(self, base: Structure) -> tuple[Structure, ...]:
        """Every structure with one more point (the last) that is `base` without it."""
        if base not in self._extensions:
            self._extensions[base] = tuple(self._extend(base))
        return self._extensions[base]

    @cached_property
    def _extensions(self) -> dict[Structure, tuple[Structure, ...]]:
        return {}

    def answers(self, structure: Structure, agent: int, left: int, right: int) -> tuple[bool, ...]:
        """What the agent's relation may say of the ordered pair, now."""
        if agent == self.free:
            return (False, True)
        if self.deterministic:
            return ((left, right) in structure.of(agent),)
        same = left == right or (left, right) in structure.equal
        if same and Assumption.REFLEXIVE in self.assumptions:
            return (True,)
        return (False, True)

    def _extend(self, base: Structure) -> Iterator[Structure]:
        new = base.points
        if not self.deterministic:
            if Assumption.REFLEXIVE in self.assumptions:
                yield from _with_identity(base)
            else:
                yield Structure(new + 1)
            return
        fresh = [(new, new), *((p, new) for p in range(new)), *((new, p) for p in range(new))]
        if self.free is not None:
            known = self._relations(base.of(1 - self.free), fresh, new + 1)
            yield from (
                Structure(new + 1, r) if self.free else Structure(new + 1, right=r) for r in known
            )
            return
        lefts = list(self._relations(base.left, fresh, new + 1))
        if Assumption.SHARED in self.assumptions:
            yield from (Structure(new + 1, pairs, pairs) for pairs in lefts)
            return
        rights = list(self._relations(base.right, fresh, new + 1))
        yield from (Structure(new + 1, one, two) for one, two in product(lefts, rights))

    def _relations(self, base: Pairs, fresh: list[tuple[int, int]], points: int) -> Iterator[Pairs]:
        for chosen in product((False, True), repeat=len(fresh)):
            pairs = base | {pair for pair, held in zip(fresh, chosen, strict=True) if held}
            if self._allows(pairs, points):
                yield pairs

    def _allows(self, pairs: Pairs, points: int) -> bool:
        a = self.assumptions
        if Assumption.REFLEXIVE in a and any((p, p) not in pairs for p in range(points)):
            return False
        if Assumption.SYMMETRIC in a and any((q, p) not in pairs for p, q in pairs):
            return False
        return Assumption.TRANSITIVE not in a or all(
            (p, s) in pairs for p, q in pairs for r, s in pairs if q == r
        )


def _with_identity(base: Structure) -> Iterator[Structure]:
    """One more point, equal to none or to one class of the points that are there."""
    new = base.points
    yield Structure(new + 1, equal=base.equal)
    classes = dict.fromkeys(
        frozenset(q for q in range(new) if p == q or (p, q) in base.equal) for p in range(new)
    )
    for members in classes:
        both = {(p, new) for p in members} | {(new, p) for p in members}
        yield Structure(new + 1, equal=base.equal | both)
