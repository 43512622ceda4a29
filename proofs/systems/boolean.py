"""Formulas without temporal operators: whether one is, and its truth."""

from __future__ import annotations

from collections.abc import Mapping

from proofs.logic.formulas import And, Atom, Formula, Not, Or, Truth


def is_propositional(formula: Formula) -> bool:
    """Whether there is no temporal operator and no quantifier in it."""
    match formula:
        case Truth() | Atom():
            return True
        case Not(of):
            return is_propositional(of)
        case And(left, right) | Or(left, right):
            return is_propositional(left) and is_propositional(right)
        case _:
            return False


def value(formula: Formula, true: Mapping[str, bool]) -> bool:
    """The truth of a propositional formula."""
    match formula:
        case Truth(constant):
            return constant
        case Atom(name):
            return true[name]
        case Not(of):
            return not value(of, true)
        case And(left, right):
            return value(left, true) and value(right, true)
        case Or(left, right):
            return value(left, true) or value(right, true)
        case _:
            raise AssertionError(f"not propositional: {formula}")
