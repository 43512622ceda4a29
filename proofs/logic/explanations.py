"""Formulas in words, for readers who do not know the letters."""

from __future__ import annotations

from collections.abc import Callable

from proofs.logic.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    negated,
)


def explain(formula: Formula, proposition: Callable[[str], str] = str) -> str:  # noqa: PLR0912 - a case for each kind of formula
    """What a formula says; `proposition` words its atoms. What is made of parts is in brackets.

    >>> from proofs.logic import parse
    >>> explain(parse("G (ended -> F a)"))
    'in every state from here on: if ended, then at some time from here on: a'
    >>> explain(parse("AG EF ended"))
    'on every run, in every state from here on: on some run, at some time from here on: ended'
    >>> explain(parse("!(a | b) W c"))
    '[not [a or b]] until [c], or for ever'
    """

    def bracketed(part: Formula) -> str:
        return f"[{explain(part, proposition)}]"

    def inner(part: Formula) -> str:
        return explain(part, proposition) if isinstance(part, Atom | Truth) else bracketed(part)

    match formula:
        case Truth(value):
            words = "true" if value else "false"
        case Atom(name):
            words = proposition(name)
        case Not(Exists(path)):
            words = f"on every run, {explain(negated(path), proposition)}"
        case Exists(path):
            words = f"on some run, {explain(path, proposition)}"
        case Not(Until(left, right)) if left == TRUE:
            words = f"in every state from here on: {explain(negated(right), proposition)}"
        case Not(of):
            words = f"not {inner(of)}"
        case And(left, right):
            words = f"{inner(left)} and {inner(right)}"
        case Or(Not(left), right) if not isinstance(left, Exists | Until):
            words = f"if {inner(left)}, then {explain(right, proposition)}"
        case Or(left, right):
            words = f"{inner(left)} or {inner(right)}"
        case Until(left, right) if left == TRUE:
            words = f"at some time from here on: {explain(right, proposition)}"
        case Until(left, right):
            words = f"{bracketed(left)} until {bracketed(right)}, which comes"
        case Release(left, right) if left == FALSE:
            words = f"in every state from here on: {explain(right, proposition)}"
        case Release(end, Or(left, right)) if end == right:
            words = f"{bracketed(left)} until {bracketed(end)}, or for ever"
        case Release(left, right):
            words = f"{inner(right)} up to where also {inner(left)}, or for ever"
        case Next(of):
            words = f"there is a next state, and there {inner(of)}"
        case WeakNext(of):
            words = f"if there is a next state, there {inner(of)}"
        case Yesterday(of):
            words = f"there was a state before, and there {inner(of)}"
        case WeakYesterday(of):
            words = f"if there was a state before, there {inner(of)}"
        case Since(left, right) if left == TRUE:
            words = f"at some time up to here: {explain(right, proposition)}"
        case Since(left, right):
            words = f"{inner(left)} ever since {inner(right)}, which has been"
        case Triggered(left, right) if left == FALSE:
            words = f"in every state up to here: {explain(right, proposition)}"
        case Triggered(left, right):
            words = f"{inner(right)} ever since also {inner(left)}, or always up to here"
    return words
