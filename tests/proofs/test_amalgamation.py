"""Whatever values came earlier, a new one can be joined to them: three ways to say so agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations
from typing import Any

import pytest

from proofs import recheck
from proofs.claims.catalogue import LIKE, REFLEXIVE
from proofs.claims.theorems import ASSUMED
from proofs.core.explore import explore
from proofs.sessions.model import SessionModel
from proofs.sessions.relational import Structure, Theory
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp
from tests.oracles import amalgamation

LAWS = (Assumption.REFLEXIVE, Assumption.SYMMETRIC, Assumption.TRANSITIVE)
SETS = [frozenset(c) for size in range(4) for c in combinations(LAWS, size)]
Relation = frozenset[tuple[int, int]]
Law = Callable[[Relation, Iterable[int]], bool]

each_set = pytest.mark.parametrize("laws", SETS, ids=lambda laws: "+".join(sorted(laws)) or "none")


def follows(laws: frozenset[Assumption]) -> Law:
    def law(relation: Relation, points: Iterable[int]) -> bool:
        return (
            (Assumption.REFLEXIVE not in laws or all((p, p) in relation for p in points))
            and (Assumption.SYMMETRIC not in laws or all((b, a) in relation for a, b in relation))
            and (
                Assumption.TRANSITIVE not in laws
                or all((a, d) in relation for a, b in relation for c, d in relation if b == c)
            )
        )

    return law


def relations(points: int, law: Law) -> Iterator[Relation]:
    pairs = [(a, b) for a in range(points) for b in range(points)]
    for size in range(len(pairs) + 1):
        for chosen in combinations(pairs, size):
            if law(frozenset(chosen), range(points)):
                yield frozenset(chosen)


def within(relation: Relation, points: Iterable[int]) -> Relation:
    kept = set(points)
    return frozenset((a, b) for a, b in relation if {a, b} <= kept)


def can_be_joined(earlier: Relation, new: Relation, kept: int, law: Law) -> bool:
    """By trying all relations on both: points 0.. are kept, 2 is earlier, 3 is new."""
    whole = (*range(kept), 2, 3)
    across = [(2, 3), (3, 2)]
    return any(
        law(earlier | new | frozenset(chosen), whole)
        for chosen in chain.from_iterable(combinations(across, size) for size in range(3))
    )


def joins(law: Law) -> bool:
    """Whether every two structures on one more point than the kept ones can be joined."""
    for kept in range(3):
        ones = [r for r in relations(4, always) if within(r, (*range(kept), 2)) == r]
        ones = [r for r in ones if law(r, (*range(kept), 2))]
        for one in ones:
            for other in ones:
                new = frozenset((3 if a == 2 else a, 3 if b == 2 else b) for a, b in other)
                if within(one, range(kept)) != within(new, range(kept)):
                    continue
                if not can_be_joined(one, new, kept, law):
                    return False
    return True


def always(relation: Relation, points: Iterable[int]) -> bool:
    return True


def letters(laws: frozenset[Assumption]) -> frozenset[str]:
    return frozenset(letter for letter, one in ASSUMED.items() if one in laws)


@each_set
def test_every_set_of_assumptions_amalgamates(laws: frozenset[Assumption]) -> None:
    assert amalgamation.amalgamates(laws | {Assumption.DETERMINISTIC})
    assert laws == {Assumption.TRANSITIVE} or recheck.amalgamates(letters(laws))


@pytest.mark.deep
@each_set
def test_so_does_trying_every_joint_relation(laws: frozenset[Assumption]) -> None:
    assert recheck.amalgamates(letters(laws))
    assert joins(follows(laws))


@pytest.mark.deep
def test_that_there_is_a_law_under_which_values_cannot_be_joined() -> None:
    """Each value is related to one value at most: two that are related to the same kept one."""

    def once(relation: Relation, points: Iterable[int]) -> bool:
        return all(sum(a == p for a, _ in relation) <= 1 for p in points) and all(
            sum(b == p for _, b in relation) <= 1 for p in points
        )

    assert not joins(once)


def test_a_transitive_relation_needs_the_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain union of two transitive relations is not transitive: the question is not empty."""
    laws = frozenset({Assumption.TRANSITIVE})
    asked = amalgamation._laws

    def with_transitivity(
        related: Any, three: Any, given: Any, points: Any = None
    ) -> Iterator[Any]:
        return asked(related, three, laws, points)

    monkeypatch.setattr(amalgamation, "_laws", with_transitivity)
    assert not amalgamation.amalgamates(frozenset({Assumption.DETERMINISTIC}))


def test_pxp_compares_no_value_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """So its relations may be taken for reflexive: the same sessions come of it."""
    asked = Theory.answers

    def answers(
        self: Theory, structure: Structure, agent: int, left: int, right: int
    ) -> tuple[bool, ...]:
        assert left != right
        return asked(self, structure, agent, left, right)

    monkeypatch.setattr(Theory, "answers", answers)
    for assumed in (NOISY, REFLEXIVE, LIKE, LIKE | {Assumption.TRANSITIVE}, TOLERANCE, EQUIVALENCE):
        explore(SessionModel(Pxp(1), Theory(assumed), observes=False))
    with pytest.raises(AssertionError):
        explore(SessionModel(Interact(3, 1), Theory(EQUIVALENCE)))
