"""Formulas that say that something is true in every state: decided on the reached states alone."""

from __future__ import annotations

from proofs.core.results import Status, Verdict
from proofs.logic.formulas import FALSE, Exists, Formula, Not, Release, Truth, Until, atoms
from proofs.systems.product import Composition
from proofs.systems.propositions import OfStep, bits_of, is_propositional, named, test_of, value
from proofs.systems.reachability import Reached
from proofs.systems.replay import shown


def invariant(composition: Composition, formula: Formula) -> Formula | None:
    """What `formula` says of every state (G p or AG p, where p speaks of states); else None."""
    match formula:
        case Release(left, right) if left == FALSE:
            found: Formula = right
        case Not(Exists(Not(Release(left, right)))) if left == FALSE:
            found = right
        case Not(Exists(Until(Truth(True), of))):
            found = of.of if isinstance(of, Not) else Not(of)
        case _:
            return None
    known = named(composition)
    plain = not any(isinstance(known[name], OfStep) for name in atoms(found))
    return found if is_propositional(found) and plain else None


def always(reached: Reached, formula: Formula) -> Verdict:
    """Whether a propositional formula holds in every state; UNKNOWN where not all were reached."""
    composition, known = reached.composition, named(reached.composition)
    meant = {name: known[name] for name in sorted(set(atoms(formula)))}
    about = {name: one for name, one in meant.items() if not isinstance(one, OfStep)}
    tests, mask = {name: test_of(composition, one) for name, one in about.items()}, 0
    for one in about.values():
        mask |= bits_of(composition, one)

    def broken(state: int) -> bool:
        return not value(formula, {name: holds(state) for name, holds in tests.items()})

    number = reached.marks(mask, broken).find(1)
    if number >= 0:
        return Verdict(Status.FAILS, trace=shown(composition, reached.trace_to(number)))
    return Verdict(Status.UNKNOWN, reached.cut) if reached.cut else Verdict(Status.HOLDS)
