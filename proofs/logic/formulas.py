"""Formulas of CTL*, read over finite and infinite runs; CTL, LTL and LTLf are parts of it.

On a finite run X is strong (there is a next state, and there ...) and N is weak (if there is a next
state, there ...), as in De Giacomo and Vardi, Linear Temporal Logic on Finite Traces (IJCAI 2013).
A formula of every run may speak of the past too (Lichtenstein, Pnueli and Zuck, The glory of the
past, 1985): in the first state Y is false of everything and Z true.
"""

from __future__ import annotations

from collections.abc import Iterator

from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant."""

    value: bool


@dataclass(frozen=True, slots=True)
class Atom:
    """A proposition of the model."""

    name: str


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    of: Formula


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Next:
    """X: there is a next state, and it holds there."""

    of: Formula


@dataclass(frozen=True, slots=True)
class WeakNext:
    """N: if there is a next state, it holds there."""

    of: Formula


@dataclass(frozen=True, slots=True)
class Until:
    """U: `right` holds now or later, and `left` until then."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Release:
    """R, the dual of U: `right` holds up to and including when `left` does, or for ever."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Exists:
    """E: some run from here satisfies `path`."""

    path: Formula


@dataclass(frozen=True, slots=True)
class Yesterday:
    """Y: there is a state before, and it held there."""

    of: Formula


@dataclass(frozen=True, slots=True)
class WeakYesterday:
    """Z: if there is a state before, it held there."""

    of: Formula


@dataclass(frozen=True, slots=True)
class Since:
    """S: `right` holds now or held before, and `left` ever since."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Triggered:
    """T, the dual of S: `right` has held since and including when `left` did, or always."""

    left: Formula
    right: Formula


Past = Yesterday | WeakYesterday | Since | Triggered
Formula = Truth | Atom | Not | And | Or | Next | WeakNext | Until | Release | Exists | Past
Binary = And | Or | Until | Release | Since | Triggered
Unary = Next | WeakNext | Yesterday | WeakYesterday

TRUE, FALSE = Truth(True), Truth(False)


def negated(formula: Formula) -> Formula:
    """The negation, without a double one."""
    match formula:
        case Truth(value):
            return Truth(not value)
        case Not(of):
            return of
        case _:
            return Not(formula)


def implies(left: Formula, right: Formula) -> Formula:
    """If `left` then `right`."""
    return Or(negated(left), right)


def eventually(formula: Formula) -> Formula:
    """F."""
    return Until(TRUE, formula)


def globally(formula: Formula) -> Formula:
    """G."""
    return Release(FALSE, formula)


def once(formula: Formula) -> Formula:
    """O."""
    return Since(TRUE, formula)


def historically(formula: Formula) -> Formula:
    """H."""
    return Triggered(FALSE, formula)


def on_all(path: Formula) -> Formula:
    """A: every run from here satisfies `path`."""
    return Not(Exists(negated(path)))


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that it is made of."""
    match formula:
        case Truth() | Atom():
            return ()
        case Exists(of):
            return (of,)
        case Not(of) | Next(of) | WeakNext(of) | Yesterday(of) | WeakYesterday(of):
            return (of,)
        case And(left, right) | Or(left, right) | Until(left, right) | Release(left, right):
            return (left, right)
        case Since(left, right) | Triggered(left, right):
            return (left, right)


def parts(formula: Formula) -> tuple[Formula, ...]:
    """Every subformula once, each after those that it is made of; `formula` is the last."""
    collected: dict[Formula, None] = {}

    def visit(part: Formula) -> None:
        for child in children(part):
            visit(child)
        collected.setdefault(part)

    visit(formula)
    return tuple(collected)


def path_parts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a path formula, as `parts` gives them; what E quantifies is not looked into."""
    collected: dict[Formula, None] = {}

    def visit(part: Formula) -> None:
        if not isinstance(part, Exists):
            for child in children(part):
                visit(child)
        collected.setdefault(part)

    visit(formula)
    return tuple(collected)


def atoms(formula: Formula) -> Iterator[str]:
    """The propositions that it speaks of."""
    return (part.name for part in parts(formula) if isinstance(part, Atom))


def negation_normal(formula: Formula, *, positive: bool = True) -> Formula:
    """An equivalent path formula (or of the negation) in which only atoms are negated.

    What E quantifies counts as an atom here.
    """
    if isinstance(formula, (Atom, Exists)):
        return formula if positive else Not(formula)
    if isinstance(formula, Truth):
        return Truth(formula.value is positive)
    if isinstance(formula, Not):
        return negation_normal(formula.of, positive=not positive)
    if isinstance(formula, Unary):
        kind = type(formula) if positive else _DUAL_NEXT[type(formula)]
        return kind(negation_normal(formula.of, positive=positive))
    dual = type(formula) if positive else _DUAL[type(formula)]
    return dual(
        negation_normal(formula.left, positive=positive),
        negation_normal(formula.right, positive=positive),
    )


_DUAL: dict[type[Binary], type[Binary]] = {
    **{And: Or, Or: And, Until: Release, Release: Until},
    **{Since: Triggered, Triggered: Since},
}
_DUAL_NEXT: dict[type[Unary], type[Unary]] = {
    **{Next: WeakNext, WeakNext: Next},
    **{Yesterday: WeakYesterday, WeakYesterday: Yesterday},
}
