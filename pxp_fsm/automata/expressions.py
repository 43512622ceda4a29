"""The expressions of rules: syntax tree, grammar, types, evaluation, compilation.

An expression is what a table writes as `when`, as an update or under `[let]`. It is linear by
construction (no product of two names), total, and without effects, so that what it means can be
proved for all numbers. One syntax tree is compiled for sessions, evaluated by explorers and read by
the proof. No text of a file is ever compiled: the code is built from the checked tree alone.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import CodeType, FunctionType
from typing import Any, Literal, NamedTuple

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

Value = int | bool | str
"""What an expression is worth: a number, a truth value, a member of an enumeration or an id."""


@dataclass(frozen=True, slots=True)
class Type:
    """`int` (mathematical), `bool`, `id` (opaque: equality only) or an enumeration of `members`.

    Enumerations are sets: two with the same members are the same type, and a value fits every
    enumeration that has it.
    """

    name: Literal["int", "bool", "id", "enum"]
    members: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"one of {', '.join(sorted(self.members))}" if self.members else _TYPES[self.name]

    def fits(self, other: Type) -> bool:
        """Whether every value of this type is one of `other`."""
        return self.name == other.name and self.members <= other.members


_TYPES = {"int": "a whole number", "bool": "a truth value", "id": "an id", "enum": "a member"}

INT, BOOL, ID = Type("int"), Type("bool"), Type("id")


def enumeration(members: Collection[str]) -> Type:
    """The type whose values are `members`."""
    return Type("enum", frozenset(members))


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, `true`, `false`, or a member of an enumeration."""

    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Name:
    """The value of a parameter, register or oracle, or of `tag`."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Let:
    """A name of `[let]`: it means `value`."""

    name: str
    value: Expression

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True, slots=True)
class Negated:
    """True where `of` is false."""

    of: Expression
    type: Type = field(default=BOOL, init=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """True where all `parts` are."""

    parts: tuple[Expression, ...]
    type: Type = field(default=BOOL, init=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """True where any of `parts` is."""

    parts: tuple[Expression, ...]
    type: Type = field(default=BOOL, init=False)


Operator = Literal["==", "!=", "<=", ">=", "<", ">"]


@dataclass(frozen=True, slots=True)
class Compare:
    """How two numbers compare, or whether two values of another type are equal."""

    operator: Operator
    left: Expression
    right: Expression
    type: Type = field(default=BOOL, init=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """Whether `of` is one of `members`."""

    of: Expression
    members: tuple[str, ...]
    type: Type = field(default=BOOL, init=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of `parts`."""

    parts: tuple[Expression, ...]
    type: Type = field(default=INT, init=False)


@dataclass(frozen=True, slots=True)
class Multiple:
    """`of`, multiplied by a literal."""

    factor: int
    of: Expression
    type: Type = field(default=INT, init=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then` where `test` is true, else `otherwise`."""

    test: Expression
    then: Expression
    otherwise: Expression
    type: Type


Expression = (
    Constant
    | Name
    | Let
    | Negated
    | Conjunction
    | Disjunction
    | Compare
    | Membership
    | Sum
    | Multiple
    | Conditional
)
"""A checked expression; its type is `expression.type`."""

TRUE, FALSE = Constant(True, BOOL), Constant(False, BOOL)


class ExpressionError(UsageError):
    """An expression that cannot be read or has no type; `position` is where, from 0."""

    def __init__(self, problem: str, position: int = 0) -> None:
        self.position = position
        super().__init__(problem)


LONGEST = 2_000
"""Characters of an expression that are read."""

DEEPEST = 100
"""Levels of an expression, those of the names that it uses included."""

LARGEST = 5_000
"""Parts of an expression, once the names of `[let]` are replaced by what they mean."""

WORDS = frozenset({"or", "and", "not", "in", "if", "else", "true", "false"})
"""What no name may be."""

_EXPECTED = {
    "NAME": "a name",
    "INT": "a whole number",
    "OPERATOR": "a comparison (== != <= >= < >)",
    "+": "+ or -",
    "": "the end",
}

_OTHERS = {
    "&&": "write and",
    "&": "write and",
    "||": "write or",
    "|": "write or",
    "!": "write not",
    "=": "write == to compare",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "∧": "write and",
    "∨": "write or",
    "¬": "write not",
    "/": "there is no division; multiply the other side by a number",
    "%": "there are no remainders",
    "*": "a product is of a literal with a name, as in 2*k",
    "'": "a member of an enumeration is written without quotes",
    '"': "a member of an enumeration is written without quotes",
    "(": "there are no calls; define a name under [let]",
    "[": "there are no lists; write {A, B} after in",
    ".": "there are no fractions",
}


def parse_expression(
    text: object,
    names: Mapping[str, Type],
    members: Collection[str] = (),
    definitions: Mapping[str, Expression] | None = None,
) -> Expression:
    """The expression that `text` means, with its types.

    `names` are the variables that may stand in it, `members` those of all enumerations, and
    `definitions` what the names of `[let]` mean. Names with dots (`m.j`) are read where `names` has
    them. Raises `ExpressionError`: the problem, what to do, and where in `text`.

    >>> str_of(parse_expression("j + 1 > 2*k", {"j": INT, "k": INT}))
    'j + 1 > 2*k'
    """
    if not isinstance(text, str):
        raise ExpressionError(f"an expression is a text, not {quoted(text)}; put it in quotes")
    if len(text) > LONGEST:
        message = f"an expression has at most {LONGEST:,} characters, not {len(text):,}"
        raise ExpressionError(message)
    part, short = _Parser(text).read(), len(text) < DEEPEST  # each level has a character
    if not short and _levels(part) > DEEPEST:
        raise ExpressionError(f"nested too deeply: at most {DEEPEST} levels; name a part in [let]")
    expression = _Reader(names, frozenset(members), definitions or {}).read(part)
    if short and not definitions:
        return expression
    depth, size = _measure(expression)
    if depth > DEEPEST or size > LARGEST:
        raise ExpressionError(
            f"too large once the names of [let] are replaced by what they mean: at most {DEEPEST} "
            f"levels and {LARGEST:,} parts"
        )
    return expression


def name_problem(name: str) -> str | None:
    """Why `name` cannot be that of a parameter, register or oracle; None where it can."""
    if name in WORDS:
        return f"{name} is a word of the expressions; choose another name"
    if not name.isidentifier() or len(name) > 64:
        return f"{quoted(name)} is no name; use at most 64 letters, digits and _, a letter first"
    if unicodedata.normalize("NFC", name) != name:
        return f"{quoted(name)} is not in Unicode's form NFC; type it anew"
    return None


class _Part(NamedTuple):
    """What a rule of the grammar reads, from the character `at` on; a text is a name or sign."""

    rule: str
    at: int
    items: list[_Part | str]


_WORD = re.compile(
    r"""[ \t\r\n]*(?:
    ((?:or|and|not|in|if|else|true|false)\b | [-+*(){},])
    | (?P<NAME>(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w.]|[^\x00-\x7f])*)
    | (?P<INT>(?:0|[1-9][0-9]{0,17})(?![A-Za-z0-9_]|[^\x00-\x7f]))
    | (?P<OPERATOR>[=!<>]=|[<>])
    | (?P<END>$)
    )""",
    re.VERBOSE,
)

_BRACKET, _CONDITIONAL, _OR, _AND, _NOT, _COMPARISON, _SUM, _TERM, _ATOM = range(9)
"""How tightly parts bind, from the loosest; nothing is closed beyond a bracket."""


class _Open(NamedTuple):
    """A part that is being read; `items` grows."""

    level: int
    rule: str
    at: int
    items: list[_Part | str]


class _Parser:
    """Reads one expression by the precedence of its operators:

        expression = either | either "if" either "else" expression
        either     = both {"or" both}
        both       = negation {"and" negation}
        negation   = "not" negation | sum | sum OPERATOR sum | sum ["not"] "in" members
        sum        = term {("+" | "-") term}
        term       = "-" term | INT "*" atom | atom
        atom       = INT | "true" | "false" | NAME | "(" expression ")"
        members    = "{" NAME {"," NAME} "}"

    Parts that are open are a list, not Python's stack: parentheses may be nested as the length of
    the text allows. The latest part that is complete is `part`, and `tight` how tightly it binds.
    `if ... else` is a bracket around its condition, for `else` ends that as `)` would.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._end = 0
        self._open = [_Open(_BRACKET, "", 0, [])]
        self._part, self._begin, self._tight = _Part("", 0, []), 0, _ATOM

    def read(self) -> _Part:
        """The whole of it. Raises `ExpressionError` where it cannot be read."""
        while True:
            self._operand()
            word = self._operator()
            if word == "":
                return self._part

    def _next(self) -> tuple[str, str]:
        """The next word: its kind, and its text; ("?", "") where there is none of ours."""
        match = _WORD.match(self._text, self._end)
        if match is None:
            rest = self._text[self._end :]
            self._at = self._end + len(rest) - len(rest.lstrip(" \t\r\n"))
            return "?", ""
        kind, text = match.lastgroup or match[1], match[match.lastindex or 0]
        self._at, self._end = match.end() - len(text), match.end()
        return "" if kind == "END" else kind, text

    def _must(self, *kinds: str) -> tuple[str, str]:
        """The next word, which is one of these."""
        kind, text = self._next()
        if kind not in kinds:
            raise ExpressionError(_explained(self._text, self._at, kinds), self._at)
        return kind, text

    def _operand(self) -> None:
        """Read what may stand before an operand, and the operand."""
        while True:
            top = self._open[-1]
            kinds = ["NAME", "INT", "true", "false", "("]
            kinds += ["-"] if top.rule != "times" else []
            kinds += ["not"] if top.level <= _NOT else []
            kind, text = self._must(*kinds)
            if kind in ("NAME", "INT"):
                rule = "name" if kind == "NAME" else "number"
                self._complete(_Part(rule, self._at, [text]))
            elif kind in ("true", "false"):
                self._complete(_Part(kind, self._at, []))
            else:
                level = {"(": _BRACKET, "-": _TERM, "not": _NOT}[kind]
                rule = {"-": "minus"}.get(kind, kind)
                self._open.append(_Open(level, rule, self._at, []))
                continue
            return

    def _complete(self, part: _Part, tight: int = _ATOM) -> None:
        self._part, self._begin, self._tight = part, part.at, tight

    def _close(self, level: int) -> _Open:
        """Complete what binds as tightly as `level`, or more so; gives what is open around it."""
        while self._open[-1].level >= level:
            _, rule, at, items = self._open.pop()
            items.append(self._part)
            self._part, self._begin = _Part(rule, at, items), at
        return self._open[-1]

    def _operator(self) -> str:
        """Read what may stand behind an operand, up to an operator or the end; gives which."""
        while True:
            kind, text = self._must(*self._operators())
            if kind == ")":
                self._close(_CONDITIONAL)
                self._begin = self._open.pop().at  # what is in parentheses keeps its own place
                self._tight = _ATOM
            elif kind in ("in", "not"):
                self._members(denied=kind == "not")
            else:
                break
        if kind == "":
            self._close(_CONDITIONAL)
        elif kind == "if":
            self._close(_OR)
            self._open.append(_Open(_BRACKET, "if", self._begin, [self._part]))
        elif kind == "else":
            self._close(_OR)
            _, _, at, items = self._open.pop()
            self._open.append(_Open(_CONDITIONAL, "conditional", at, [*items, self._part]))
        else:
            level, rule = _BINARY[kind]
            top = self._close(level + 1)
            signs = [text] if kind in ("+", "-", "OPERATOR") else []
            if top.rule == rule and rule in ("either", "both", "sum"):
                top.items.extend([self._part, *signs])
            elif kind == "*":
                self._open.append(_Open(level, rule, self._begin, [*self._part.items]))
            else:
                self._open.append(_Open(level, rule, self._begin, [self._part, *signs]))
        return kind

    def _operators(self) -> list[str]:
        """What may stand behind the part that is complete."""
        around = next(open_ for open_ in reversed(self._open) if open_.level < _SUM)
        bracket = next(open_ for open_ in reversed(self._open) if open_.level == _BRACKET)
        kinds = ["and", "or"]
        plain = self._part.rule == "number" and self._part.at == self._begin
        if plain and self._tight == _ATOM and self._open[-1].rule != "times":
            kinds.append("*")
        if self._tight >= _SUM:
            kinds += ["+", "-"]
            kinds += ["OPERATOR", "in", "not"] if around.level != _COMPARISON else []
        return [*kinds, *({"if": ("else",), "(": ("if", ")"), "": ("if", "")}[bracket.rule])]

    def _members(self, *, denied: bool) -> None:
        if denied:
            self._must("in")
        self._close(_SUM)
        self._must("{")
        at, names, kind = self._at, list[_Part | str](), ","
        while kind == ",":
            _, text = self._must("NAME")
            names.append(_Part("name", self._at, [text]))
            kind, _ = self._must(",", "}")
        rule = "outside" if denied else "in"
        part = _Part(rule, self._begin, [self._part, _Part("members", at, names)])
        self._complete(part, _COMPARISON)


_BINARY = {
    "or": (_OR, "either"),
    "and": (_AND, "both"),
    "OPERATOR": (_COMPARISON, "compare"),
    "+": (_SUM, "sum"),
    "-": (_SUM, "sum"),
    "*": (_TERM, "times"),
}


def _explained(text: str, at: int, expected: Collection[str]) -> str:
    """What is wrong at `at`, and what to write in place of another language's notation."""
    rest = text[at:].strip()
    if not rest:
        message = "the expression ends too early" if text.strip() else "the expression is empty"
    else:
        message = f"cannot be read from {quoted(rest, 30)} on"
    hints = [hint for other, hint in _OTHERS.items() if rest.startswith(other)]
    if rest[:1].isdigit():
        hints = ["a whole number has at most 18 digits, no leading 0, and no letter behind it"]
    elif rest[:2] in ("==", "!=", "<=", ">=") or rest[:1] in ("<", ">"):
        hints = ["comparisons are not chained; write a < b and b < c"]
    if hints:
        return f"{message}; {hints[0]}"
    kinds = {kind for kind in expected if kind != "-" or "+" not in expected}
    listed = sorted(_EXPECTED.get(kind, kind) for kind in kinds)
    return f"{message}; expected there: {', '.join(listed)}"


def _levels(part: _Part) -> int:
    """The levels of what was read, found without recursion: it has not been bounded yet."""
    depth, level = 0, list[_Part | str]([part])
    while level:
        depth += 1
        level = [item for part in level if isinstance(part, _Part) for item in part.items]
    return depth


@dataclass(frozen=True, slots=True)
class _Reader:
    """Gives each part its type, from the leaves up."""

    names: Mapping[str, Type]
    members: frozenset[str]
    definitions: Mapping[str, Expression]

    def read(self, part: _Part) -> Expression:  # noqa: PLR0911, PLR0912 - a case a rule
        items: list[Any] = part.items
        match part.rule:
            case "number":
                return Constant(int(items[0]), INT)
            case "true":
                return TRUE
            case "false":
                return FALSE
            case "name":
                return self._named(items[0], part.at)
            case "not":
                return Negated(self._typed(items[0], BOOL))
            case "both":
                return Conjunction(tuple(self._typed(item, BOOL) for item in items))
            case "either":
                return Disjunction(tuple(self._typed(item, BOOL) for item in items))
            case "minus":
                return Multiple(-1, self._typed(items[0], INT))
            case "times":
                return Multiple(int(items[0]), self._typed(items[1], INT))
            case "sum":
                return self._sum(items)
            case "compare":
                return self._compare(part, *items)
            case "in":
                return self._in(*items)
            case "outside":
                return Negated(self._in(*items))
        return self._conditional(part, *items)

    def _named(self, name: str, at: int) -> Expression:
        if name in self.definitions:
            return Let(name, self.definitions[name])
        if name in self.names:
            return Name(name, self.names[name])
        if name in self.members:
            return Constant(name, enumeration({name}))
        from difflib import get_close_matches

        known = [*self.names, *self.definitions, *sorted(self.members)]
        near = get_close_matches(name, known, n=2)
        remedy = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
        others = [hint for other, hint in _OTHERS.items() if other in name and other != "."]
        raise ExpressionError(f"unknown name {quoted(name)}; {others[0] if others else remedy}", at)

    def _typed(self, part: _Part, wanted: Type) -> Expression:
        typed = self.read(part)
        if typed.type != wanted:
            message = f"{_shown(typed)} is {typed.type}, and {wanted} belongs here"
            raise ExpressionError(message, part.at)
        return typed

    def _sum(self, items: Sequence[Any]) -> Sum:
        parts = [self._typed(items[0], INT)]
        for sign, item in zip(items[1::2], items[2::2], strict=True):
            part = self._typed(item, INT)
            parts.append(part if sign == "+" else Multiple(-1, part))
        return Sum(tuple(parts))

    def _compare(self, part: _Part, left: _Part, sign: Operator, right: _Part) -> Compare:
        first, other = self.read(left), self.read(right)
        if first.type.name != other.type.name:
            raise ExpressionError(
                f"{_shown(first)} is {first.type} and {_shown(other)} is {other.type}; values of "
                "one type alone can be compared",
                part.at,
            )
        if sign not in ("==", "!=") and first.type != INT:
            raise ExpressionError(
                f"{sign} compares whole numbers, and {_shown(first)} is {first.type}; "
                "write == or !=",
                part.at,
            )
        if first.type.members and not first.type.members & other.type.members:
            raise ExpressionError(
                f"{_shown(first)} ({first.type}) is never {_shown(other)} ({other.type}); they "
                "have no member in common",
                part.at,
            )
        return Compare(sign, first, other)

    def _in(self, of: _Part, listed: _Part) -> Membership:
        subject = self.read(of)
        if not subject.type.members:
            message = (
                f"{_shown(subject)} is {subject.type}; in {{...}} asks of an enumeration's members"
            )
            raise ExpressionError(message, of.at)
        names: list[Any] = listed.items
        for _, at, (member,) in names:
            if member not in subject.type.members:
                message = (
                    f"{member} is none of the members of {_shown(subject)}: it is {subject.type}"
                )
                raise ExpressionError(message, at)
        return Membership(subject, tuple(dict.fromkeys(member for _, _, (member,) in names)))

    def _conditional(self, part: _Part, then: _Part, test: _Part, otherwise: _Part) -> Conditional:
        first, condition, other = self.read(then), self._typed(test, BOOL), self.read(otherwise)
        if first.type.name != other.type.name:
            raise ExpressionError(
                f"{_shown(first)} is {first.type} and {_shown(other)} is {other.type}; both ways "
                "of if ... else have one type",
                part.at,
            )
        members = first.type.members | other.type.members
        return Conditional(condition, first, other, Type(first.type.name, members))


def _shown(expression: Expression) -> str:
    text = str_of(expression)
    return text if len(text) <= 40 else f"{text[:40]}…"


def children(expression: Expression) -> tuple[Expression, ...]:
    """The parts of an expression, one level down."""
    match expression:
        case Let(_, value):
            return (value,)
        case Negated(of) | Membership(of) | Multiple(_, of):
            return (of,)
        case Conjunction(parts) | Disjunction(parts) | Sum(parts):
            return parts
        case Compare(_, left, right):
            return left, right
        case Conditional(test, then, otherwise):
            return test, then, otherwise
    return ()


def substituted(  # noqa: PLR0911 - one a form
    expression: Expression, values: Mapping[str, Expression]
) -> Expression:
    """An expression in which variables are replaced by `values`."""

    def new(part: Expression) -> Expression:
        return substituted(part, values)

    match expression:
        case Name(name) if name in values:
            return values[name]
        case Let(name, value) if names_in(value) & values.keys():
            return new(value)
        case Negated() | Membership() | Multiple():
            return replace(expression, of=new(expression.of))
        case Conjunction() | Disjunction() | Sum():
            return replace(expression, parts=tuple(map(new, expression.parts)))
        case Compare(operator, left, right):
            return Compare(operator, new(left), new(right))
        case Conditional(test, then, otherwise):
            then, otherwise = new(then), new(otherwise)
            members = then.type.members | otherwise.type.members
            return Conditional(new(test), then, otherwise, Type(then.type.name, members))
    return expression


def _measure(expression: Expression) -> tuple[int, int]:
    """Levels and parts, once definitions are replaced by what they mean.

    A definition that is used twice is measured once: the work is that of the written text.
    """
    known = dict[int, tuple[int, int]]()

    def measure(part: Expression) -> tuple[int, int]:
        if id(part) not in known:
            measures = [measure(child) for child in children(part)]
            known[id(part)] = (
                1 + max((depth for depth, _ in measures), default=0),
                1 + sum(size for _, size in measures),
            )
        return known[id(part)]

    return measure(expression)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """The expression and all its parts, those of definitions included."""
    left = [expression]
    while left:
        part = left.pop()
        yield part
        left += children(part)


def names_in(expression: Expression) -> frozenset[str]:
    """The variables on which an expression may depend."""
    return frozenset(part.name for part in parts_of(expression) if isinstance(part, Name))


def str_of(expression: Expression, *, expanded: bool = False) -> str:
    """The expression as a table writes it; `parse_expression` reads it back.

    With `expanded` the names of `[let]` are replaced by what they mean.
    """
    return _written(expression, 0, expanded)


def _written(expression: Expression, tightest: int, expanded: bool) -> str:
    """The text, in parentheses where it binds less tightly than `tightest` demands."""
    level, text = _form(expression, expanded)
    return f"({text})" if level < tightest else text


def _form(expression: Expression, expanded: bool) -> tuple[int, str]:  # noqa: PLR0911, PLR0912
    """How tightly the text of an expression binds, and the text."""

    def at(part: Expression, level: int) -> str:
        return _written(part, level, expanded)

    match expression:
        case Constant(value):
            return 7, str(value).lower() if isinstance(value, bool) else str(value)
        case Name(name):
            return 7, name
        case Let(name, value):
            return _form(value, expanded) if expanded else (7, name)
        case Conditional(test, then, otherwise):
            return 0, f"{at(then, 1)} if {at(test, 1)} else {at(otherwise, 0)}"
        case Disjunction(parts):
            return 1, " or ".join(at(part, 2) for part in parts)
        case Conjunction(parts):
            return 2, " and ".join(at(part, 3) for part in parts)
        case Negated(Membership(of, members)):
            return 4, f"{at(of, 5)} not in {{{', '.join(members)}}}"
        case Negated(of):
            return 3, f"not {at(of, 3)}"
        case Compare(operator, left, right):
            return 4, f"{at(left, 5)} {operator} {at(right, 5)}"
        case Membership(of, members):
            return 4, f"{at(of, 5)} in {{{', '.join(members)}}}"
        case Sum(parts):
            first, *rest = parts
            signed = (
                f" - {at(part.of, 6)}"
                if isinstance(part, Multiple) and part.factor == -1
                else f" + {at(part, 6)}"
                for part in rest
            )
            return 5, at(first, 6) + "".join(signed)
        case Multiple(-1, of):
            return 6, f"-{at(of, 6)}"
        case Multiple(factor, of):
            return 6, f"{factor}*{at(of, 7)}"


def evaluate(expression: Expression, values: Mapping[str, Value]) -> Value:  # noqa: PLR0911
    """What an expression is worth: the definition that the compiled code is compared with."""
    match expression:
        case Constant(value):
            return value
        case Name(name):
            return values[name]
        case Let(_, value):
            return evaluate(value, values)
        case Negated(of):
            return not evaluate(of, values)
        case Conjunction(parts):
            return all(evaluate(part, values) for part in parts)
        case Disjunction(parts):
            return any(evaluate(part, values) for part in parts)
        case Membership(of, members):
            return evaluate(of, values) in members
        case Sum(parts):
            return sum(int(evaluate(part, values)) for part in parts)
        case Multiple(factor, of):
            return factor * int(evaluate(of, values))
        case Conditional(test, then, otherwise):
            return evaluate(then if evaluate(test, values) else otherwise, values)
        case Compare(operator, left, right):
            return _compared(operator, evaluate(left, values), evaluate(right, values))


def _compared(operator: Operator, left: Value, right: Value) -> bool:
    if operator in ("==", "!="):
        return (left == right) is (operator == "==")
    first, other = int(left), int(right)  # the types allow numbers alone
    return {"<=": first <= other, ">=": first >= other, "<": first < other, ">": first > other}[
        operator
    ]


_SIGNS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<=": ast.LtE,
    ">=": ast.GtE,
    "<": ast.Lt,
    ">": ast.Gt,
}


def compiled(expression: Expression, names: Sequence[str]) -> Callable[..., Any]:
    """A function of the values of `names`, in this order, that is worth `expression`.

    The code is built from the syntax tree, with numbered arguments and no built-in names: no text
    of a file reaches the compiler.

    >>> later = parse_expression("j + 1 > 2*k", {"j": INT, "k": INT})
    >>> compiled(later, ["j", "k"])(2, 1)
    True
    """
    return _function(names, lambda code: code(expression))


def compiled_update(expressions: Sequence[Expression], names: Sequence[str]) -> Callable[..., Any]:
    """A function, as in `compiled`, that is worth the tuple of all `expressions`."""
    return _function(
        names, lambda code: ast.Tuple([code(expression) for expression in expressions], ast.Load())
    )


def compiled_choice(
    choices: Sequence[tuple[str, Expression]], otherwise: str, names: Sequence[str]
) -> Callable[..., str]:
    """A function, as in `compiled`: the name of the first true choice, or `otherwise`."""

    def body(code: _Coder) -> ast.expr:
        choice: ast.expr = ast.Constant(otherwise)
        for name, expression in reversed(choices):
            choice = ast.IfExp(code(expression), ast.Constant(name), choice)
        return choice

    return _function(names, body)


_Coder = Callable[[Expression], ast.expr]


def _function(names: Sequence[str], body: Callable[[_Coder], ast.expr]) -> Callable[..., Any]:
    places = {name: f"v{place}" for place, name in enumerate(names)}
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(place) for place in places.values()],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    function = ast.Lambda(arguments, body(lambda expression: _code(expression, places)))
    tree = ast.fix_missing_locations(ast.Expression(function))
    outer = compile(tree, "<rules>", "eval")
    inner = next(const for const in outer.co_consts if isinstance(const, CodeType))
    return FunctionType(inner, {"__builtins__": {}})


def _code(expression: Expression, places: Mapping[str, str]) -> ast.expr:  # noqa: PLR0911
    def code(part: Expression) -> ast.expr:
        return _code(part, places)

    match expression:
        case Constant(value):
            return ast.Constant(value)
        case Name(name):
            return ast.Name(places[name], ast.Load())
        case Let(_, value):
            return code(value)
        case Negated(of):
            return ast.UnaryOp(ast.Not(), code(of))
        case Conjunction(parts):
            return ast.BoolOp(ast.And(), [code(part) for part in parts])
        case Disjunction(parts):
            return ast.BoolOp(ast.Or(), [code(part) for part in parts])
        case Membership(of, members):
            listed = ast.Tuple([ast.Constant(member) for member in members], ast.Load())
            return ast.Compare(code(of), [ast.In()], [listed])
        case Multiple(factor, of):
            return ast.BinOp(ast.Constant(factor), ast.Mult(), code(of))
        case Conditional(test, then, otherwise):
            return ast.IfExp(code(test), code(then), code(otherwise))
        case Compare(operator, left, right):
            return ast.Compare(code(left), [_SIGNS[operator]()], [code(right)])
        case Sum(parts):
            return _sum_code([code(part) for part in parts])


def _sum_code(parts: Sequence[ast.expr]) -> ast.expr:
    """The sum of `parts` as a tree that is no deeper than it must be."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return ast.BinOp(_sum_code(parts[:middle]), ast.Add(), _sum_code(parts[middle:]))
