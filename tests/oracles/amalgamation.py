"""Amalgamation, decided by Z3: why the model of sessions is that of any number of values.

A state keeps the relation on the latest two values. A step adds a value c that is related to these
two in any way that the assumptions allow, whatever values came earlier. That is no more than
sessions can do if such a c can always be joined with all the earlier values: if B are the values so
far, A in B the ones kept (two at most), and C is A with c, there is a relation on B and c together
that satisfies the assumptions, and is B's on B and C's on C. It is the union of the two; where the
relation is transitive, with b related to c, or c to b, as soon as some a in A links them.

Z3 decides this for B of any size: without functions, and with universal axioms, the question is in
the effectively propositional fragment. `proofs.recheck` tries all B that could go wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from pxp_fsm.protocol.relations import Assumption

KEPT = 2
"""How many values a state keeps at most."""

_EQUALITY = frozenset({Assumption.REFLEXIVE, Assumption.SYMMETRIC, Assumption.TRANSITIVE})


def amalgamates(assumptions: frozenset[Assumption]) -> bool:
    """Whether a new value can be joined with any earlier ones, under these assumptions.

    Both agents' relations, shared or not, are joined each by itself. Where relations are not
    deterministic they are no sets of pairs; it is then equality that is joined.
    """
    given = assumptions if Assumption.DETERMINISTIC in assumptions else _EQUALITY
    return all(_joined(kept, given) for kept in range(KEPT + 1))


def _joined(kept: int, given: frozenset[Assumption]) -> bool:
    import z3

    value = z3.DeclareSort("value")
    earlier = z3.Function("earlier", value, value, z3.BoolSort())
    x, y, z = z3.Consts("x y z", value)
    named = [z3.Const(f"a{place}", value) for place in range(kept)]
    new = {pair: z3.Bool(f"new{pair}") for pair in product(range(kept + 1), repeat=2)}
    known = [
        *(z3.ForAll([x, y, z], law) for law in _laws(earlier, (x, y, z), given)),
        *(law for law in _laws(lambda a, b: new[a, b], None, given, range(kept + 1))),
        *([z3.Distinct(*named)] if kept > 1 else []),
        *(new[a, b] == earlier(named[a], named[b]) for a, b in product(range(kept), repeat=2)),
    ]

    def joined(one: Any, other: Any) -> Any:
        """The joint relation; None is the new value."""
        if one is None and other is None:
            return new[kept, kept]
        if one is not None and other is not None:
            return earlier(one, other)
        ways = []
        for a, name in enumerate(named):
            old = one if other is None else other
            linked = new[a, kept] if other is None else new[kept, a]
            near = earlier(one, name) if other is None else earlier(name, other)
            through = z3.Or(old == name, near) if Assumption.TRANSITIVE in given else old == name
            ways.append(z3.And(through, linked))
        return z3.Or(*ways)

    wrong = [
        z3.Not(law)
        for three in product((x, None), (y, None), (z, None))
        for law in _laws(joined, three, given)
    ]
    wrong += [joined(name, None) != new[a, kept] for a, name in enumerate(named)]
    wrong += [joined(None, name) != new[kept, a] for a, name in enumerate(named)]
    solver = z3.Solver()
    solver.add(*known, z3.Or(*wrong))
    answer = solver.check()
    if answer == z3.unknown:
        raise AssertionError(f"Z3 gave up on joining values under {', '.join(sorted(given))}")
    return bool(answer == z3.unsat)


def _laws(
    related: Any, three: Any, given: frozenset[Assumption], points: Any = None
) -> Iterator[Any]:
    """What `given` says of three elements, or of any three `points`."""
    import z3

    for x, y, z in [three] if points is None else product(points, repeat=3):
        if Assumption.REFLEXIVE in given:
            yield related(x, x)
        if Assumption.SYMMETRIC in given:
            yield z3.Implies(related(x, y), related(y, x))
        if Assumption.TRANSITIVE in given:
            yield z3.Implies(z3.And(related(x, y), related(y, z)), related(x, z))
