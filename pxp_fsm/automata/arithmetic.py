"""Linear arithmetic over whole numbers, and all cases of an expression: how rules are decided.

An atom is a linear form that is at most 0. Sets of atoms are refuted by Fourier and Motzkin's
elimination, which finds factors whose weighted sum is a positive constant: anybody can check them
by adding. `cases` runs an evaluation once for each way in which its questions can be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import gcd
from types import MappingProxyType
from typing import TypeVar

from pxp_fsm.automata.expressions import (
    ID,
    INT,
    Compare,
    Conditional,
    Conjunction,
    Constant,
    Disjunction,
    Expression,
    Let,
    Membership,
    Multiple,
    Name,
    Negated,
    Sum,
    Type,
    Value,
)
from pxp_fsm.lazy_dataclasses import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of multiples of names, and a constant; the terms are sorted and none is 0."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This and `factor` times `other`."""
        factors = dict(self.terms)
        for name, times in other.terms:
            factors[name] = factors.get(name, 0) + factor * times
        terms = tuple(sorted((name, times) for name, times in factors.items() if times))
        return Linear(terms, self.constant + factor * other.constant)

    def at(self, values: Mapping[str, int]) -> int:
        """What it is where the names have these values."""
        return self.constant + sum(times * values[name] for name, times in self.terms)


def linear(name: str) -> Linear:
    """The form that is the name alone."""
    return Linear(((name, 1),))


Atom = Linear
"""A form that is at most 0."""


def atom(form: Linear) -> Atom:
    """`form <= 0` with coefficients that have no common factor.

    The constant is rounded up: between whole numbers `2*x - 1 <= 0` says the same as `x <= 0`.
    """
    divisor = gcd(*(times for _, times in form.terms)) if form.terms else 0
    if divisor in (0, 1):
        return form
    terms = tuple((name, times // divisor) for name, times in form.terms)
    return Linear(terms, -(-form.constant // divisor))


def negation(assumed: Atom) -> Atom:
    """The atom that holds where `assumed` does not: `1 - form <= 0`."""
    return atom(Linear((), 1).plus(assumed, -1))


_MOST_ROWS = 4_000
"""Rows of an elimination after which it is given up."""


@dataclass(slots=True)
class _Row:
    """A consequence of atoms: terms and constant, and the factor with which each atom enters."""

    terms: dict[str, int]
    constant: int
    factors: dict[Atom, int]


def refute(atoms: Iterable[Atom], most: int = _MOST_ROWS) -> dict[Atom, int] | None:
    """Positive factors by which the sum of some `atoms` is a constant above 0; else None.

    Then no numbers satisfy them all. None says that rational numbers do, or that the elimination
    was given up with more than `most` rows; whole numbers may be missing all the same.
    """
    eliminated = _eliminate(atoms, most)
    if not isinstance(eliminated, dict):
        return None
    divisor = gcd(*eliminated.values())
    return {summand: factor // divisor for summand, factor in eliminated.items()}


def _eliminate(
    atoms: Iterable[Atom], most: int = _MOST_ROWS
) -> dict[Atom, int] | list[tuple[str, list[_Row]]] | None:
    """The factors of a contradiction; or the names in the order of elimination, each with the rows
    that bound it; None where there were too many.

    Each new row is a sum, with positive factors, of a row in which the name is positive and one in
    which it is negative, so that the name is gone. What is left without names decides.
    """
    rows = [_Row(dict(atom.terms), atom.constant, {atom: 1}) for atom in dict.fromkeys(atoms)]
    done: list[tuple[str, list[_Row]]] = []
    while True:
        for row in rows:
            if not row.terms and row.constant > 0:
                return row.factors
        rows = [row for row in rows if row.terms]
        names = {name for row in rows for name in row.terms}
        if not names:
            return done
        name = min(names, key=lambda candidate: (_products(rows, candidate), candidate))
        above = [row for row in rows if row.terms.get(name, 0) > 0]
        below = [row for row in rows if row.terms.get(name, 0) < 0]
        done.append((name, above + below))
        rows = [row for row in rows if name not in row.terms]
        if len(rows) + len(above) * len(below) > most:
            return None
        rows += [_without(name, upper, other) for upper in above for other in below]


def _products(rows: Iterable[_Row], name: str) -> int:
    """How many rows the elimination of `name` makes."""
    signs = [row.terms[name] > 0 for row in rows if name in row.terms]
    return signs.count(True) * signs.count(False)


def _without(name: str, above: _Row, below: _Row) -> _Row:
    left_factor, other = -below.terms[name], above.terms[name]
    terms = {
        variable: times
        for variable in {**above.terms, **below.terms}
        if (
            times := left_factor * above.terms.get(variable, 0)
            + other * below.terms.get(variable, 0)
        )
    }
    factors = {
        variable: left_factor * above.factors.get(variable, 0)
        + other * below.factors.get(variable, 0)
        for variable in {**above.factors, **below.factors}
    }
    return _Row(terms, left_factor * above.constant + other * below.constant, factors)


_TRIED, _SEARCHED = 16, 5_000
"""Values of a name that are tried in the search for whole numbers, and in all."""


def whole_numbers(atoms: Iterable[Atom], names: Iterable[str] = ()) -> dict[str, int] | None:
    """Whole numbers that satisfy all `atoms`, near 0; None where none were found.

    `names` are given a number in any case.
    """
    atoms = list(atoms)
    eliminated = _eliminate(atoms)
    if eliminated is None or isinstance(eliminated, dict):
        return None
    every = dict.fromkeys([*names, *(name for bound in atoms for name, _ in bound.terms)], 0)
    return _numbers(eliminated[::-1], every, iter(range(_SEARCHED)))


def _numbers(
    left: list[tuple[str, list[_Row]]], values: dict[str, int], tries: Iterator[int]
) -> dict[str, int] | None:
    """Numbers for the names that are `left`: what was eliminated last is bounded by no other name.

    Between the bounds, which hold of rational numbers, there may be no whole one: then the names
    before it are given other values.
    """
    if not left:
        return values
    (name, rows), *rest = left
    low, high = _bounds(name, rows, values)
    nearest = 0 if low is None else max(low, 0)
    nearest = nearest if high is None else min(high, nearest)
    for distance in range(_TRIED):
        for value in dict.fromkeys((nearest + distance, nearest - distance)):
            above, below = low is None or value >= low, high is None or value <= high
            if above and below and next(tries, None) is not None:
                solution = _numbers(rest, {**values, name: value}, tries)
                if solution is not None:
                    return solution
    return None


def _bounds(
    name: str, rows: Iterable[_Row], values: Mapping[str, int]
) -> tuple[int | None, int | None]:
    """The least and the largest whole number that `rows` leave for `name`; None is no bound."""
    lows, highs = list[int](), list[int]()
    for row in rows:
        times = row.terms[name]
        others = (
            (variable, coefficient)
            for variable, coefficient in row.terms.items()
            if variable != name
        )
        constant = row.constant + sum(
            coefficient * values[variable] for variable, coefficient in others
        )
        if times > 0:  # times * name <= -constant
            highs.append(-constant // times)
        else:
            lows.append(-(constant // times))
    return max(lows, default=None), min(highs, default=None)


_MOST_CASES = 20_000
"""Cases after which an expression counts as too large to be decided."""


class TooManyCases(Exception):
    """What is asked has more cases than are looked at."""


class Case:
    """One way in which the questions of an evaluation are answered.

    `values` are the answers for names that are no numbers, `atoms` what is then assumed of numbers.
    """

    def __init__(
        self,
        atoms: Iterable[Atom],
        answers: list[Value],
        known: dict[tuple[Atom, ...], bool] | None = None,
    ) -> None:
        self._refuted: dict[tuple[Atom, ...], bool] = {} if known is None else known
        self.values: dict[str, Value] = {}
        self.atoms = dict.fromkeys(atoms)
        self.others = list[list[Value]]()
        self._answers = answers
        self._asked = 0

    def value(self, name: str, type_: Type) -> Value:
        """The value of a name that is no number, the same each time it is asked for."""
        if name not in self.values:
            options: list[Value] = [*sorted(type_.members)] or [False, True]
            self.values[name] = self._answer(options)
        return self.values[name]

    def holds(self, form: Linear) -> bool:
        """Whether `form` is at most 0: as what is assumed says, or else either way."""
        true = atom(form)
        if not true.terms:
            return true.constant <= 0
        false = negation(true)
        if true in self.atoms or false in self.atoms:
            return true in self.atoms
        if self._refutes(false):
            is_true = True
        elif self._refutes(true):
            is_true = False
        else:
            is_true = bool(self._answer([False, True]))
        self.atoms[true if is_true else false] = None
        return is_true

    def _refutes(self, assumed: Atom) -> bool:
        """Whether what is assumed excludes an atom; other cases ask the same again."""
        key = (*self.atoms, assumed)
        if key not in self._refuted:
            self._refuted[key] = refute(key) is not None
        return self._refuted[key]

    def _answer(self, options: list[Value]) -> Value:
        """The answer that this case gives here; the other ones begin cases of their own."""
        if self._asked == len(self._answers):
            self.others += [[*self._answers, option] for option in options[1:]]
            self._answers.append(options[0])
        self._asked += 1
        return self._answers[self._asked - 1]


def cases(evaluation: Callable[[Case], T], bounds: Iterable[Atom] = ()) -> Iterator[tuple[Case, T]]:
    """What `evaluation` gives in each case of the names that it asks for.

    It is run anew for each case and asks the case, in a fixed order. `bounds` are assumed of the
    numbers. The cases exclude each other and leave nothing out. Raises `TooManyCases`.
    """
    bounds, left, count = list(bounds), list[list[Value]]([[]]), 0
    known = dict[tuple[Atom, ...], bool]()
    while left:
        count += 1
        if count > _MOST_CASES:
            raise TooManyCases
        case = Case(bounds, left.pop(), known)
        result = evaluation(case)
        left += case.others
        yield case, result


def value_in(  # noqa: PLR0911, PLR0912 - one a form
    expression: Expression, case: Case, known: Mapping[str, Value] = MappingProxyType({})
) -> Value | Linear:
    """What an expression is worth in a case; numbers are linear forms, and so are ids.

    Ids are compared for equality alone, so any number may stand for one. `known` are names whose
    value is not asked of the case.
    """

    match expression:
        case Name(name):
            if name in known:
                value = known[name]
                return Linear((), int(value)) if expression.type == INT else value
            is_number = expression.type in (INT, ID)
            return linear(name) if is_number else case.value(name, expression.type)
        case Conjunction(parts):
            return all(value_in(part, case, known) is True for part in parts)
        case Negated(of):
            return value_in(of, case, known) is not True
        case Compare(operator, left, right):
            left_value, other = value_in(left, case, known), value_in(right, case, known)
            if isinstance(left_value, Linear) or isinstance(other, Linear):
                return _compared(operator, _number(left_value).plus(_number(other), -1), case)
            return (left_value == other) is (operator == "==")
        case Constant(value):
            return Linear((), int(value)) if expression.type == INT else value
        case Let(_, value):
            return value_in(value, case, known)
        case Disjunction(parts):
            return any(value_in(part, case, known) is True for part in parts)
        case Membership(of, members):
            return value_in(of, case, known) in members
        case Conditional(test, then, otherwise):
            return value_in(then if value_in(test, case, known) is True else otherwise, case, known)
        case Multiple(factor, of):
            return Linear().plus(_form(of, case, known), factor)
        case Sum(parts):
            total = Linear()
            for part in parts:
                total = total.plus(_form(part, case, known))
            return total


def _form(expression: Expression, case: Case, known: Mapping[str, Value]) -> Linear:
    form = value_in(expression, case, known)
    assert isinstance(form, Linear)  # noqa: S101 - the types say so
    return form


def _number(value: Value | Linear) -> Linear:
    """A form; for an id that is known, beside one that is not, a name that stands for it."""
    return value if isinstance(value, Linear) else linear(f"'{value}'")


def _compared(operator: str, difference: Linear, case: Case) -> bool:
    unit = Linear((), 1)
    match operator:
        case "<=":
            return case.holds(difference)
        case "<":
            return case.holds(difference.plus(unit))
        case ">=":
            return case.holds(Linear().plus(difference, -1))
        case ">":
            return case.holds(unit.plus(difference, -1))
    equal = case.holds(difference) and case.holds(Linear().plus(difference, -1))
    return equal is (operator == "==")
