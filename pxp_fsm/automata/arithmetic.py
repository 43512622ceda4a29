"""Linear arithmetic over whole numbers, and all cases of an expression: how rules are decided.

An atom is a linear form that is at most 0. Sets of atoms are refuted by Fourier and Motzkin's
elimination, which finds factors whose weighted sum is a positive constant: anybody can check them
by adding. `cases` runs an evaluation once for each way in which its questions can be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import gcd
from types import MappingProxyType
from typing import Any, TypeVar

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
        if not other.terms:
            return Linear(self.terms, self.constant + factor * other.constant)
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

    `options` are what the names that are no numbers, and were asked about, may still be; `atoms`
    are what is assumed of numbers.
    """

    def __init__(
        self,
        options: Mapping[str, tuple[Value, ...]],
        atoms: Mapping[Atom, None],
        answers: list[int],
        known: dict[tuple[Atom, ...], bool],
    ) -> None:
        self.options = dict(options)
        self.atoms = dict(atoms)
        self.others = list[list[int]]()
        self._answers = answers
        self._asked = 0
        self._refuted = known

    def value(self, name: str, type_: Type) -> Value:
        """The value of a name that is no number, the same each time it is asked for."""
        options = self.options.get(name) or _options(type_)
        if len(options) > 1:
            options = self.options[name] = (options[self._answer(len(options))],)
        return options[0]

    def is_in(self, name: str, type_: Type, members: Collection[Value]) -> bool:
        """Whether the value of a name that is no number is one of `members`."""
        options = self.options.get(name) or _options(type_)
        inside = tuple(option for option in options if option in members)
        if not inside or len(inside) == len(options):
            return bool(inside)
        least = options[0] in members  # the least is tried first, as by `value`
        is_inside = least is (self._answer(2) == 0)
        self.options[name] = (
            inside if is_inside else tuple(option for option in options if option not in members)
        )
        return is_inside

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
            is_true = self._answer(2) == 1
        self.atoms[true if is_true else false] = None
        return is_true

    def _refutes(self, assumed: Atom) -> bool:
        """Whether what is assumed excludes an atom; other cases ask the same again.

        It excludes none with a name that all of it bounds on one side at most: some numbers satisfy
        what is assumed, and still do with that name as far on the other side as one likes.
        """
        for name, times in assumed.terms:
            if not any(
                other == name and (factor > 0) is (times < 0)
                for known in self.atoms
                for other, factor in known.terms
            ):
                return False
        key = (*self.atoms, assumed)
        if key not in self._refuted:
            self._refuted[key] = refute(key) is not None
        return self._refuted[key]

    def _answer(self, count: int) -> int:
        """Which of `count` answers this case gives here; each other begins a case of its own."""
        if self._asked == len(self._answers):
            self.others += [[*self._answers, other] for other in range(1, count)]
            self._answers.append(0)
        self._asked += 1
        return self._answers[self._asked - 1]


@cache
def _options(type_: Type) -> tuple[Value, ...]:
    return (*sorted(type_.members),) or (False, True)


def cases(evaluation: Callable[[Case], T], bounds: Iterable[Atom] = ()) -> Iterator[tuple[Case, T]]:
    """What `evaluation` gives in each case of the names that it asks for.

    It is run anew for each case and asks the case, in a fixed order. `bounds` are assumed of the
    numbers, of which some satisfy them. The cases exclude each other and leave nothing out. Raises
    `TooManyCases`.
    """
    return ((case, result) for case, (result,) in cases_of_all((evaluation,), bounds))


def cases_of_all(
    evaluations: Sequence[Callable[[Case], T]], bounds: Iterable[Atom] = ()
) -> Iterator[tuple[Case, tuple[T, ...]]]:
    """What all `evaluations` give in each case of the names that they ask for, as in `cases`.

    An evaluation is run once for all cases that differ in what later ones ask.
    """
    known = dict[tuple[Atom, ...], bool]()
    # What is left: the results so far, what they assume, and the answers for the next evaluation.
    left: list[tuple[tuple[T, ...], dict[str, tuple[Value, ...]], dict[Atom, None], list[int]]]
    left, count = [((), {}, dict.fromkeys(bounds), [])], 0
    while left:
        count += 1
        if count > _MOST_CASES:
            raise TooManyCases
        results, options, atoms, answers = left.pop()
        case = Case(options, atoms, answers, known)
        for evaluation in evaluations[len(results) :]:
            result = evaluation(case)
            left += [(results, options, atoms, other) for other in case.others]
            results += (result,)
            options, atoms = case.options, case.atoms
            case = Case(options, atoms, [], known)
        yield case, results


Known = Mapping[str, Value]


def value_in(
    expression: Expression, case: Case, known: Known = MappingProxyType({})
) -> Value | Linear:
    """What an expression is worth in a case; numbers are linear forms, and so are ids.

    Ids are compared for equality alone, so any number may stand for one. `known` are names whose
    value is not asked of the case.
    """
    return _VALUES[type(expression)](expression, case, known)


def _of_constant(expression: Constant, _case: Case, _known: Known) -> Value | Linear:
    value = expression.value
    return Linear((), int(value)) if expression.type == INT else value


def _of_name(expression: Name, case: Case, known: Known) -> Value | Linear:
    name, type_ = expression.name, expression.type
    if name in known:
        return Linear((), int(known[name])) if type_ == INT else known[name]
    return linear(name) if type_ in (INT, ID) else case.value(name, type_)


def _of_let(expression: Let, case: Case, known: Known) -> Value | Linear:
    return value_in(expression.value, case, known)


def _of_negated(expression: Negated, case: Case, known: Known) -> bool:
    return value_in(expression.of, case, known) is not True


def _of_conjunction(expression: Conjunction, case: Case, known: Known) -> bool:
    return all(value_in(part, case, known) is True for part in expression.parts)


def _of_disjunction(expression: Disjunction, case: Case, known: Known) -> bool:
    return any(value_in(part, case, known) is True for part in expression.parts)


def _of_compare(expression: Compare, case: Case, known: Known) -> bool:
    operator, left, right = expression.operator, expression.left, expression.right
    if left.type.members:
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(right, Constant):
            return _is_in(left, (right.value,), case, known) is (operator == "==")
    value, other = value_in(left, case, known), value_in(right, case, known)
    if isinstance(value, Linear) or isinstance(other, Linear):
        return _compared(operator, _number(value).plus(_number(other), -1), case)
    return (value == other) is (operator == "==")


def _of_membership(expression: Membership, case: Case, known: Known) -> bool:
    return _is_in(expression.of, expression.members, case, known)


def _is_in(expression: Expression, members: Collection[Value], case: Case, known: Known) -> bool:
    """Whether what is of an enumeration is one of `members`: of a name no more is asked."""
    while isinstance(expression, Let):
        expression = expression.value
    if isinstance(expression, Name) and expression.name not in known:
        return case.is_in(expression.name, expression.type, members)
    return value_in(expression, case, known) in members


def _of_conditional(expression: Conditional, case: Case, known: Known) -> Value | Linear:
    is_true = value_in(expression.test, case, known) is True
    return value_in(expression.then if is_true else expression.otherwise, case, known)


def _of_multiple(expression: Multiple, case: Case, known: Known) -> Linear:
    return Linear().plus(_form(expression.of, case, known), expression.factor)


def _of_sum(expression: Sum, case: Case, known: Known) -> Linear:
    total = Linear()
    for part in expression.parts:
        total = total.plus(_form(part, case, known))
    return total


_VALUES: Mapping[type, Callable[[Any, Case, Known], Value | Linear]] = {
    Constant: _of_constant,
    Name: _of_name,
    Let: _of_let,
    Negated: _of_negated,
    Conjunction: _of_conjunction,
    Disjunction: _of_disjunction,
    Compare: _of_compare,
    Membership: _of_membership,
    Conditional: _of_conditional,
    Multiple: _of_multiple,
    Sum: _of_sum,
}


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
