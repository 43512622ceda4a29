"""Symbolic whole numbers: Z3 decides their comparisons, or both cases are explored.

Ordinary Python code computes with the `Whole`s of a `NumberCase` as with ints (sums, differences,
remainders) and compares them. A comparison that follows from what the case gives, or whose contrary
does, has that answer. One that does not stops the code, and `Numbers.cases` runs it again in two
cases, with the comparison given and with its contrary given. The cases together are all that was
given at first, so what the code does in some of them it does for all numbers, and nothing else.

Decision functions compute with `Argument`s. Whatever they do with one that is not exact integer
arithmetic or a comparison raises `Inexact`: a hash, a float or a text says nothing of all numbers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, TypeVar

from pxp_fsm.errors import PXPError


class Inexact(BaseException):
    """What code did with a number that is not exact integer arithmetic; no such code may catch it.

    A hash, a float or a text of a symbol says nothing of the numbers that it stands for.
    """


class Opaque:
    """A number of which nothing but exact arithmetic and comparisons can be had.

    Subclasses that come first in the order of methods say what is exact; all else is refused.
    """

    __slots__ = ()

    @property  # type: ignore[misc] # to isinstance it is what it stands for
    def __class__(self) -> Any:
        return int

    def __getattr__(self, name: str) -> Any:
        raise Inexact(f"attribute {name}")


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*_: object, **__: object) -> Any:
        raise Inexact(name)

    return refuse


_BINARY = (
    *("add", "sub", "mul", "mod", "floordiv", "truediv", "divmod", "pow", "matmul"),
    *("lshift", "rshift", "and", "or", "xor"),
)
_OTHER = (
    *("hash", "repr", "str", "format", "bytes", "float", "int", "index", "complex"),
    *("abs", "neg", "pos", "invert", "round", "trunc", "floor", "ceil"),
    *("len", "iter", "contains", "getitem", "call", "copy", "deepcopy", "reduce", "reduce_ex"),
)
for _name in (*_OTHER, *_BINARY, *(f"r{name}" for name in _BINARY)):
    setattr(Opaque, f"__{_name}__", _refusing(f"__{_name}__"))


AS_TEXT = frozenset({"__str__", "__repr__", "__format__"})
"""What is refused where a number is written into a text."""


def plain(operand: object) -> int:
    """`operand`, where it is exactly an int or a bool; raises `Inexact` for anything else."""
    if type(operand) is int or type(operand) is bool:
        return operand
    raise Inexact(f"arithmetic or a comparison with {type(operand).__name__}")


def is_other(value: object) -> bool:
    """Whether `value` equals no number: None, a text, a member of an enumeration of texts."""
    return value is None or (isinstance(value, str | Enum) and not isinstance(value, int | float))


LARGEST_MODULUS = 1000
"""Comparing a remainder takes as many cases as the modulus."""

T = TypeVar("T")
Terms = tuple[tuple[str, int], ...]


class LinearAtom(NamedTuple):
    """A comparison of a linear expression with 0: at most, equal, different.

    With a `modulus` it is the expression's remainder that is compared.
    """

    terms: Terms
    constant: int
    relation: Literal["<=", "==", "!="]
    modulus: int = 0

    def __str__(self) -> str:
        if self.terms and self.terms[0][1] < 0 and not self.modulus:
            flipped = self._replace(terms=_scaled(self.terms, -1), constant=-self.constant)
            return flipped._text(self.relation.replace("<", ">"))
        return self._text(self.relation)

    def _text(self, relation: str) -> str:
        parts = (
            f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else abs(c)}{x}" for x, c in self.terms
        )
        text = " ".join(parts).removeprefix("+ ")
        if self.modulus:
            return f"({text} {self.constant:+d}) mod {self.modulus} {relation} 0"
        return f"{text} {relation} {-self.constant}"

    def holds(self, numbers: Mapping[str, int]) -> bool:
        """Whether the comparison is true of `numbers`."""
        value = self.constant
        for name, factor in self.terms:
            value += factor * numbers[name]
        if self.modulus:
            value %= self.modulus
        return value <= 0 if self.relation == "<=" else (value == 0) is (self.relation == "==")

    def contrary(self) -> LinearAtom:
        """What holds exactly where this does not."""
        if self.relation == "<=":
            return LinearAtom(_scaled(self.terms, -1), 1 - self.constant, "<=")
        return self._replace(relation="!=" if self.relation == "==" else "==")

    def after(self, values: Mapping[str, Whole | int]) -> LinearAtom:
        """The same comparison with the names' `values` put for them."""
        terms: Terms = ()
        constant = self.constant
        for name, factor in self.terms:
            value = values.get(name)
            if value is None:
                terms = _sum(terms, ((name, factor),))
            elif isinstance(value, int):
                constant += factor * value
            else:
                terms = _sum(terms, _scaled(value.terms, factor))
                constant += factor * value.constant
        return self._replace(terms=terms, constant=constant)


Given = tuple[LinearAtom, ...]
"""What is given, all of it together."""


class Undecided(BaseException):
    """A comparison follows neither way from what is given; no code but `cases` may catch it."""

    def __init__(self, atom: LinearAtom) -> None:
        self.atom = atom


class Unknown(PXPError):
    """Z3 could not say whether some numbers exist, so nothing is proved."""


class Numbers:
    """What follows from what is given of the numbers; what Z3 has answered is remembered."""

    def __init__(self) -> None:
        import z3

        self._z3: Final[Any] = z3
        self._solver: Final[Any] = z3.SimpleSolver()
        self._possible: dict[frozenset[LinearAtom], bool] = {}
        self._witnesses: deque[dict[str, int]] = deque(maxlen=40)
        self._decided: dict[tuple[Given, LinearAtom], bool] = {}
        self._translated: dict[LinearAtom, Any] = {}
        self.anything: Final = NumberCase(self, ())
        """Nothing is given: a comparison is decided only where it holds for all numbers."""

    def named(self, name: str) -> Whole:
        """The number of that name, of which nothing is given."""
        return self.anything.named(name)

    def cases(
        self, given: Given, run: Callable[[NumberCase], T], known: dict[Given, tuple[Given, ...]]
    ) -> Iterator[tuple[Given, T]]:
        """Run a pure function under `given`, in as many cases as it needs; they cover `given`.

        It is given each case, and computes with that case's numbers. `known` remembers into which
        cases earlier runs have split.
        """
        left = list(known.get(given, (given,)))
        done = []
        while left:
            case = left.pop()
            try:
                result = run(NumberCase(self, case))
            except Undecided as undecided:
                left += [(*case, undecided.atom), (*case, undecided.atom.contrary())]
            else:
                done.append(case)
                yield case, result
        known[given] = tuple(reversed(done))

    def decide(self, given: Given, atom: LinearAtom) -> bool:
        """Whether `atom` holds under `given`; raises `Undecided` where it may or may not."""
        if not atom.terms:
            return atom.holds({})
        key = (given, atom)
        if key not in self._decided:
            if self.follows(given, atom):
                self._decided[key] = True
            elif self.follows(given, atom.contrary()):
                self._decided[key] = False
            else:
                raise Undecided(atom)
        return self._decided[key]

    def follows(self, given: Given, atom: LinearAtom) -> bool:
        """Whether `atom` holds wherever all of `given` does."""
        if atom in given or not atom.terms:
            return bool(atom.terms) or atom.holds({})
        contrary = atom.contrary()
        names = {name for name, _ in atom.terms}
        near = (*(a for a in given if names.issuperset(name for name, _ in a.terms)), contrary)
        return not self.possible(near) or not self.possible((*given, contrary))

    def possible(self, atoms: Given) -> bool:
        """Whether some whole numbers satisfy all of `atoms`. Raises `Unknown` if Z3 gives up."""
        key = frozenset(atoms)
        if key not in self._possible:
            self._possible[key] = self._witness(atoms) is not None or self._check(
                [self._formula(atom) for atom in key]
            )
        return self._possible[key]

    def example(self, atoms: Given) -> Mapping[str, int]:
        """Some numbers that satisfy `atoms`, which must be possible."""
        found = self._witness(atoms)
        if found is None:
            self._check([self._formula(atom) for atom in atoms])
            found = self._witnesses[0]
        return found

    def covers(self, alternatives: Iterable[Given]) -> bool:
        """Whether all numbers there are satisfy all of some alternative."""
        z3 = self._z3
        return not self._check([z3.Not(z3.And(*map(self._formula, a))) for a in alternatives])

    def _witness(self, atoms: Given) -> dict[str, int] | None:
        """A known example of `atoms`: cheaper than asking Z3 for another."""
        for witness in self._witnesses:
            if all(atom.holds(witness) for atom in atoms):
                return witness
        return None

    def _check(self, formulas: list[Any]) -> bool:
        self._solver.push()
        self._solver.add(*formulas)
        answer = self._solver.check()
        if answer == self._z3.sat:
            model = self._solver.model()
            known = {str(name): model[name].as_long() for name in model.decls()}
            self._witnesses.appendleft(defaultdict(int, known))
        self._solver.pop()
        if answer == self._z3.unknown:
            raise Unknown(f"Z3 gave up on {formulas}")
        return bool(answer == self._z3.sat)

    def _formula(self, atom: LinearAtom) -> Any:
        if atom not in self._translated:
            z3 = self._z3
            left: Any = atom.constant
            for name, factor in atom.terms:
                left = left + factor * z3.Int(name)
            left = left % atom.modulus if atom.modulus else left
            self._translated[atom] = {"<=": left <= 0, "==": left == 0, "!=": left != 0}[
                atom.relation
            ]
        return self._translated[atom]


class NumberCase:
    """The numbers where something is `given` of them."""

    __slots__ = ("_named", "given", "numbers")

    def __init__(self, numbers: Numbers, given: Given) -> None:
        self.numbers = numbers
        self.given = given
        self._named: dict[str, Whole] = {}

    def named(self, name: str) -> Whole:
        """The number of that name."""
        if name not in self._named:
            self._named[name] = Whole(self, ((name, 1),), 0)
        return self._named[name]

    def decide(self, atom: LinearAtom) -> bool:
        """Whether `atom` holds in this case; raises `Undecided` where it may or may not."""
        return self.numbers.decide(self.given, atom)


class Whole:
    """A linear expression over named whole numbers; to the code that computes with it, an int.

    Comparisons are decided in its `case`. Raises `Inexact` for operands that are no whole numbers.
    """

    __slots__ = ("case", "constant", "terms")

    def __init__(self, case: NumberCase, terms: Terms, constant: int) -> None:
        self.case = case
        self.terms = terms
        self.constant = constant

    def __hash__(self) -> int:
        return hash((self.terms, self.constant))

    def __repr__(self) -> str:
        return f"{self.terms}+{self.constant}"

    def _with(self, terms: Terms, constant: int) -> Whole:
        return type(self)(self.case, terms, constant)

    def __add__(self, other: Whole | int) -> Whole:
        if isinstance(other, Whole):
            return self._with(_sum(self.terms, other.terms), self.constant + other.constant)
        return self._with(self.terms, self.constant + plain(other))

    __radd__ = __add__

    def __mul__(self, factor: int) -> Whole:
        return self._with(_scaled(self.terms, plain(factor)), self.constant * factor)

    __rmul__ = __mul__

    def __pos__(self) -> Whole:
        return self

    def __neg__(self) -> Whole:
        return self * -1

    def __sub__(self, other: Whole | int) -> Whole:
        return self + (-other if isinstance(other, Whole) else -plain(other))

    def __rsub__(self, other: int) -> Whole:
        return -self + other

    def __mod__(self, modulus: int) -> Remainder:
        return Remainder(self, modulus)

    def at_most(self, other: Whole | int) -> LinearAtom:
        """The comparison self <= other, undecided as yet."""
        difference = self - other
        return LinearAtom(difference.terms, difference.constant, "<=")

    def equals(self, other: Whole | int) -> LinearAtom:
        """The comparison self == other, undecided as yet."""
        difference = self - other
        return LinearAtom(difference.terms, difference.constant, "==")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Whole):
            if self.terms == other.terms:
                return self.constant == other.constant
            return self.case.decide(self.equals(other))
        return not is_other(other) and self.case.decide(self.equals(plain(other)))

    def __le__(self, other: Whole | int) -> bool:
        return self.case.decide(self.at_most(other))

    def __lt__(self, other: Whole | int) -> bool:
        return self.case.decide((self + 1).at_most(other))

    def __ge__(self, other: Whole | int) -> bool:
        return not self < other

    def __gt__(self, other: Whole | int) -> bool:
        return not self <= other

    def __bool__(self) -> bool:
        return self != 0


class Argument(Whole, Opaque):
    """A `Whole` as decision functions are given it: they may only compute with it exactly."""

    __slots__ = ()
    __hash__ = Opaque.__hash__
    __repr__ = Opaque.__repr__


class Remainder(Opaque):
    """What is left of a `Whole` when divided; it can be compared with an int."""

    __slots__ = ("modulus", "whole")

    def __init__(self, whole: Whole, modulus: int) -> None:
        if type(modulus) is not int or not 0 < modulus <= LARGEST_MODULUS:
            raise Inexact(f"a remainder but by a number from 1 to {LARGEST_MODULUS}")
        self.whole = whole
        self.modulus = modulus

    __hash__ = Opaque.__hash__

    def equals(self, other: int) -> LinearAtom:
        """The comparison self == other, undecided as yet."""
        less = self.whole - other
        return LinearAtom(less.terms, less.constant, "==", self.modulus)

    def __eq__(self, other: object) -> bool:
        if is_other(other):
            return False
        within = 0 <= plain(other) < self.modulus
        return within and self.whole.case.decide(self.equals(plain(other)))

    def __lt__(self, other: int) -> bool:
        return any(self == value for value in range(min(plain(other), self.modulus)))

    def __le__(self, other: int) -> bool:
        return self < plain(other) + 1

    def __gt__(self, other: int) -> bool:
        return not self <= other

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0


def _sum(one: Terms, two: Terms) -> Terms:
    factors = dict(one)
    for name, factor in two:
        factors[name] = factors.get(name, 0) + factor
    return tuple(sorted((name, factor) for name, factor in factors.items() if factor))


def _scaled(terms: Terms, factor: int) -> Terms:
    return tuple((name, c * factor) for name, c in terms) if factor else ()
