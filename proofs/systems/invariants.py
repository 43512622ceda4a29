"""Formulas that say that something is true in every state: decided on the reached states alone."""

from __future__ import annotations

from proofs.logic.formulas import FALSE, Exists, Formula, Not, Release, Truth, Until, atoms
from proofs.systems.boolean import is_propositional, value
from proofs.systems.product import Composition
from proofs.systems.propositions import bits_of, of_steps, test_of
from proofs.systems.reaching import Reached
from proofs.systems.replaying import shown
from proofs.verdicts import Status, Verdict


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
    plain = is_propositional(found) and not of_steps(composition) & set(atoms(found))
    return found if plain else None


def always(reached: Reached, formula: Formula) -> Verdict:
    """Whether a propositional formula holds in every state; UNKNOWN where not all were reached."""
    composition, names = reached.composition, sorted(set(atoms(formula)))
    tests, mask = {name: test_of(composition, name) for name in names}, 0
    for name in names:
        mask |= bits_of(composition, name)

    def broken(state: int) -> bool:
        return not value(formula, {name: holds(state) for name, holds in tests.items()})

    number = reached.marks(mask, broken).find(1)
    if number >= 0:
        return Verdict(Status.FAILS, trace=shown(composition, reached.trace_to(number)))
    return Verdict(Status.UNKNOWN, reached.cut) if reached.cut else Verdict(Status.HOLDS)
