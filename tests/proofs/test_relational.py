"""What may be assumed of relations: the extensions of a structure, beside all that there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product

import pytest

from proofs.claims.catalogue import NAMED, assumptions_of
from proofs.sessions.relational import EMPTY, Pairs, Structure, Theory
from pxp_fsm.protocol.relations import Assumption


def subsets(points: int) -> Iterator[Pairs]:
    """Every relation on so many points."""
    every = [(p, q) for p in range(points) for q in range(points)]
    chosen = (combinations(every, size) for size in range(len(every) + 1))
    return map(frozenset, chain.from_iterable(chosen))


def is_allowed(pairs: Pairs, assumptions: frozenset[Assumption], points: int) -> bool:
    """Whether a relation is as is assumed, by the definitions."""
    every = range(points)
    laws = {
        Assumption.REFLEXIVE: all((p, p) in pairs for p in every),
        Assumption.SYMMETRIC: all(
            ((p, q) in pairs) == ((q, p) in pairs) for p in every for q in every
        ),
        Assumption.TRANSITIVE: all(
            (p, r) in pairs
            for p, q, r in product(every, repeat=3)
            if (p, q) in pairs and (q, r) in pairs
        ),
    }
    return all(laws[one] for one in laws if one in assumptions)


def relations(base: Pairs, assumptions: frozenset[Assumption], new: int) -> list[Pairs]:
    """All relations on one more point that are `base` without it."""
    old = [(p, q) for p in range(new) for q in range(new)]
    return [
        pairs
        for pairs in subsets(new + 1)
        if all((pair in pairs) == (pair in base) for pair in old)
        and is_allowed(pairs, assumptions, new + 1)
    ]


def extended(theory: Theory, base: Structure) -> set[Structure]:
    """Every extension of a structure by the definition; the relations are deterministic."""
    new = base.points
    left, right = (relations(base.of(agent), theory.assumptions, new) for agent in (0, 1))
    if theory.free is not None:
        left, right = ([frozenset()], right) if theory.free == 0 else (left, [frozenset()])
    both = product(left, right)
    return {
        Structure(new + 1, one, two)
        for one, two in both
        if theory.free is not None or Assumption.SHARED not in theory.assumptions or one == two
    }


DETERMINISTIC = [
    *(name for name in NAMED if Assumption.DETERMINISTIC in assumptions_of(name)),
    *(f"without {law}" for law in ("shared", "reflexive", "symmetric", "transitive")),
]


@pytest.mark.parametrize("free", [None, 0, 1])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_extensions_of_a_structure_are_all_that_there_are(name: str, free: int | None) -> None:
    theory = Theory(assumptions_of(name), free)
    level = {EMPTY}
    for _ in range(2):
        after = set[Structure]()
        for base in level:
            found = theory.extensions(base)
            assert len(set(found)) == len(found)
            assert set(found) == extended(theory, base)
            after |= set(found)
        level = after
    for base in sorted(level, key=repr)[:: max(1, len(level) // 3)]:
        found = theory.extensions(base)
        assert set(found) == extended(theory, base)
        assert all(more.keep(0, 1) == base for more in found)


FORGETFUL = [
    *(name for name in NAMED if Assumption.DETERMINISTIC not in assumptions_of(name)),
    "without deterministic",
]


@pytest.mark.parametrize("name", FORGETFUL)
def test_where_nothing_is_remembered_only_equality_is_extended(name: str) -> None:
    theory = Theory(assumptions_of(name))
    level = {EMPTY}
    for _ in range(3):
        level = {more for base in level for more in theory.extensions(base)}
    assert all(not one.left and not one.right for one in level)
    if Assumption.REFLEXIVE in theory.assumptions:  # the partitions of three points
        assert len(level) == 5
        for one in level:
            assert is_allowed(one.equal, frozenset({Assumption.SYMMETRIC}), 3)
            again = {(p, p) for p in range(3)} | one.equal
            assert is_allowed(frozenset(again), frozenset({Assumption.TRANSITIVE}), 3)
    else:
        assert level == {Structure(3)}


def test_equality_matters_only_where_a_relation_is_reflexive() -> None:
    theory = Theory(frozenset({Assumption.SYMMETRIC}))
    (one,) = theory.extensions(EMPTY)
    assert theory.extensions(one) == (Structure(2),)
