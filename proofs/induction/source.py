"""The source of decision functions: what of Python it may use, its normal form and its digest.

A proof for all numbers runs the functions on symbols. That is faithful for exact integer arithmetic
and comparisons, and for nothing else. So the functions, and the functions that they call, are read:
they consist of `return`, `if`, assignments, `raise`, comparisons, arithmetic, truth values, members
of enumerations and calls of one another; there are no loops and no recursion, and nothing is
remembered. What is read has a normal form, which no change of what the functions do leaves as it
is, and which comments, layout, annotations and the version of Python do not change.
"""

from __future__ import annotations
import __future__

import ast
import hashlib
import json
import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property
from inspect import CO_VARARGS, CO_VARKEYWORDS, getattr_static
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from proofs.induction.numbers import Unknown
from pxp_fsm.protocol.interfaces import Decisions

DECISIONS = tuple(name for name in vars(Decisions) if not name.startswith("_"))
"""The names of the decision functions."""

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Mod: "%"}
_SIGNS = {ast.Not: "not", ast.USub: "-", ast.UAdd: "+"}
_ORDERS = {
    **{ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="},
    **{ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"},
}
_BUILTINS = {"min": min, "max": max, "bool": bool}
_TYPES = (bool, int, float, str, type(None))
_ENUMS = (object, str, Enum, StrEnum)
_OPERATED = tuple(
    f"__{name}__"
    for name in (
        *("bool", "len", "class", "getattribute", "getattr", "eq", "ne", "lt", "le", "gt", "ge"),
        *("neg", "pos", "add", "radd", "sub", "rsub", "mul", "rmul", "mod", "rmod"),
    )
)
"""What operators, conditions and `isinstance` call of a value."""
_READING = [one.__getattribute__ for one in (object, SimpleNamespace, ModuleType, type)]

Form = list[Any]
"""A part of a normal form: its kind, then what it consists of."""


@dataclass(frozen=True)
class Source:
    """What was read: the normal form, the whole numbers in it, and where messages are written.

    `messages` has the exception that is raised in a line, by file and number of the line.
    """

    form: Form
    constants: frozenset[int]
    messages: Mapping[tuple[str, int], type[Exception]]

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the normal form as JSON in ASCII, without spaces."""
        text = json.dumps(self.form, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def read(functions: Decisions) -> Source:
    """The source of decision functions and of all that they call.

    Raises `Unknown`, with file, line and construct, for what is beyond exact integer arithmetic,
    and for functions whose source is not there or not the one that runs.
    """
    reader = _Reader()
    first = {name: reader.function(_member(functions, name), name) for name in DECISIONS}
    form = ["decisions", *([name, number] for name, number in first.items()), *reader.forms]
    return Source(form, frozenset(reader.constants), reader.messages)


def _member(functions: Decisions, name: str) -> object:
    """A decision function, where `functions` always gives the same one by this name."""
    stored, found = getattr_static(functions, name, None), getattr(functions, name)
    kept = stored.__func__ if isinstance(stored, staticmethod) else stored
    if kept is not found or getattr_static(functions, "__getattribute__", None) not in _READING:
        kind = type(functions).__name__
        raise Unknown(f"{name} is computed by {kind}, so nothing is proved of it")
    return found


class _Reader:
    """Functions read so far, each once; in `forms` a call names its function by its place there."""

    def __init__(self) -> None:
        self.forms: list[Form | None] = []
        self.constants: set[int] = set()
        self.messages: dict[tuple[str, int], type[Exception]] = {}
        self._known: dict[FunctionType, int] = {}
        self._files: dict[str, ast.Module] = {}

    def function(self, function: object, name: str) -> int:
        """The place of a function, which is read where it is new."""
        if not isinstance(function, FunctionType) or type(function) is not FunctionType:
            raise Unknown(
                f"{name} is no plain Python function but {type(function).__name__}: whether it "
                f"remembers something cannot be seen, so nothing is proved of it"
            )
        if function in self._known:
            if self.forms[self._known[function]] is None:
                raise Unknown(f"{_place(function)}: {name} calls itself, so it may not end")
            return self._known[function]
        plain = type(function.__globals__) is dict and not function.__closure__
        if not plain or function.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
            raise Unknown(f"{_place(function)}: {name} has values that are not seen")
        number = self._known[function] = len(self.forms)
        self.forms.append(None)
        self.forms[number] = _Body(self, function, self._parsed(function)).form
        return number

    def _parsed(self, function: FunctionType) -> ast.FunctionDef | ast.Lambda:
        """The part of the source that compiles to the very code that runs."""
        code = function.__code__
        if code.co_filename not in self._files:
            linecache.checkcache(code.co_filename)
            lines = linecache.getlines(code.co_filename, function.__globals__)
            try:
                self._files[code.co_filename] = _tree("".join(lines))
            except (SyntaxError, ValueError):
                self._files[code.co_filename] = ast.Module([], [])
        for node in ast.walk(self._files[code.co_filename]):
            if isinstance(node, ast.FunctionDef | ast.Lambda) and _is_source(node, code):
                return node
        raise Unknown(
            f"{_place(function)}: there is no source of {code.co_name} that is the code that "
            f"runs, so nothing is proved of it"
        )


def _place(function: FunctionType) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def _tree(text: str) -> ast.Module:
    """A source, parsed; again where CPython 3.11 has miscounted its depth (its issue 106905)."""
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


def _is_source(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> bool:
    """Whether `node`, by itself, compiles to `code`."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    if (name, node.lineno) != (code.co_name, code.co_firstlineno):
        return False
    alone = ast.copy_location(ast.Expr(node), node) if isinstance(node, ast.Lambda) else node
    whole = ast.Module([alone], [])
    flags = code.co_flags & _FUTURE
    compiled = compile(whole, code.co_filename, "exec", flags, dont_inherit=True)
    found = (one for one in compiled.co_consts if isinstance(one, CodeType))
    return any(one.replace(co_flags=code.co_flags) == code for one in found)


class _Body:
    """One function, read: `form` is its normal form."""

    def __init__(
        self, reader: _Reader, function: FunctionType, node: ast.FunctionDef | ast.Lambda
    ) -> None:
        self._reader, self._function = reader, function
        given = node.args
        names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        body = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
        self._local = {*names, *_assigned(body)}
        absent = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
        defaults = [self._value(one, node) for one in absent]
        self.form = ["function", names, defaults, self._block(body)]

    def _refused(self, node: ast.AST) -> Unknown:
        code, line = self._function.__code__, getattr(node, "lineno", 0)
        text = ast.unparse(node).partition("\n")[0]
        return Unknown(
            f"{code.co_filename}:{line}: {code.co_name}: '{text}' is not exact arithmetic, a "
            f"comparison or a call of the same kind, so nothing is proved of it"
        )

    def _block(self, body: Sequence[ast.stmt]) -> Form:
        found = (self._statement(one) for one in body)
        return [form for form in found if form]

    def _statement(self, node: ast.stmt) -> Form:  # noqa: PLR0911 - one for each construct
        match node:
            case ast.Pass() | ast.Expr(ast.Constant(str())):
                return []
            case ast.Return(value):
                return ["return", self._of(value or ast.Constant(None))]
            case ast.Expr(ast.Call() as call):
                return ["do", self._of(call)]
            case ast.If(test, body, orelse):
                return ["if", self._of(test), self._block(body), self._block(orelse)]
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), value=ast.expr() as value
            ):
                return ["set", name, self._of(value)]
            case ast.AugAssign(ast.Name(name) as target, operator, value):
                total = ast.copy_location(ast.BinOp(target, operator, value), node)
                return ["set", name, self._of(total)]
            case ast.Raise(ast.expr() as raised, None | ast.Constant(None)):
                return ["raise", self._raised(node, raised)]
        raise self._refused(node)

    def _of(self, node: ast.expr) -> Form:  # noqa: PLR0911 - one for each construct
        """The normal form of an expression."""
        match node:
            case ast.Constant(value):
                return self._value(value, node)
            case ast.Name(name) if name in self._local:
                return ["local", name]
            case ast.Name() | ast.Attribute():
                return self._value(self._resolved(node), node)
            case ast.BoolOp(operator, values):
                return ["and" if isinstance(operator, ast.And) else "or", *map(self._of, values)]
            case ast.UnaryOp(operator, operand) if type(operator) in _SIGNS:
                return [_SIGNS[type(operator)], self._of(operand)]
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                forms = [self._of(left), self._of(right)]
                if not any(form[0] in ("str", "member", "tuple") for form in forms):
                    return [_OPERATORS[type(operator)], *forms]
            case ast.IfExp(test, body, orelse):
                return ["choose", self._of(test), self._of(body), self._of(orelse)]
            case ast.Compare(left, operators, others):
                return self._compared(node, [left, *others], operators)
            case ast.Call(called, given, named) if not any(
                isinstance(one, ast.Starred) for one in given
            ):
                return self._called(node, called, given, named)
        raise self._refused(node)

    def _compared(
        self, node: ast.expr, operands: Sequence[ast.expr], operators: Sequence[ast.cmpop]
    ) -> Form:
        forms = [
            ["tuple", *map(self._of, one.elts)]
            if isinstance(one, ast.Tuple | ast.List)
            else self._of(one)
            for one in operands
        ]
        signs = [_ORDERS[type(operator)] for operator in operators]
        for place, sign in enumerate(signs):
            kinds = forms[place][0], forms[place + 1][0]
            if sign.endswith("in") and kinds[1] != "tuple":
                raise self._refused(node)
            if sign.startswith("is") and not {"member", "bool", "NoneType"} & {*kinds}:
                raise self._refused(node)
        return ["compare", forms, signs]

    def _called(
        self,
        node: ast.expr,
        called: ast.expr,
        given: Sequence[ast.expr],
        named: Sequence[ast.keyword],
    ) -> Form:
        if isinstance(called, ast.Name) and called.id in self._local:
            raise self._refused(node)
        function = self._resolved(called)
        if function is isinstance and len(given) == 2:
            kinds = self._types(given[1])
            return ["isinstance", self._of(given[0]), kinds]
        forms = [self._of(one) for one in given]
        for name, builtin in _BUILTINS.items():
            if function is builtin and not named and len(given) == (1 if name == "bool" else 2):
                return ["builtin", name, *forms]
        if type(function) is not FunctionType or any(one.arg is None for one in named):
            raise self._refused(node)
        keywords = [[one.arg, self._of(one.value)] for one in named]
        return ["call", self._reader.function(function, ast.unparse(called)), forms, keywords]

    def _types(self, node: ast.expr) -> list[str]:
        """The built-in types that `isinstance` compares with, by name."""
        match node:
            case ast.BinOp(left, ast.BitOr(), right):
                return [*self._types(left), *self._types(right)]
            case ast.Tuple(elements):
                return [name for one in elements for name in self._types(one)]
            case ast.Name(name) if any(self._resolved(node) is one for one in _TYPES):
                return [name]
        raise self._refused(node)

    def _raised(self, node: ast.Raise, raised: ast.expr) -> str:
        """The name of the exception; its message is no part of what is decided."""
        called, given = (raised.func, raised.args) if isinstance(raised, ast.Call) else (raised, [])
        kind = self._resolved(called)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise self._refused(node)
        if isinstance(raised, ast.Call) and raised.keywords:
            raise self._refused(node)
        for one in given:
            parts = one.values if isinstance(one, ast.JoinedStr) else [one]
            for part in parts:
                match part:
                    case ast.Constant(str()):
                        continue
                    case ast.Name(name) | ast.FormattedValue(ast.Name(name), _, None):
                        if name in self._local:
                            continue
                raise self._refused(node)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            self._reader.messages[self._function.__code__.co_filename, line] = kind
        return kind.__name__

    def _resolved(self, node: ast.expr) -> Any:
        """What a global name means now, or a name in a module or an enumeration."""
        known = self._function.__globals__
        match node:
            case ast.Name(name) if name not in self._local:
                own: Any = getattr(self._function, "__builtins__", {})
                for names in (known, own):
                    if name in names:
                        return names[name]
            case ast.Attribute(ast.Name() | ast.Attribute() as owner, name):
                of = self._resolved(owner)
                if type(of) is ModuleType and name in vars(of):
                    return vars(of)[name]
                if type(of) is type(Enum) and name in of.__members__:
                    return of[name]
        raise self._refused(node)

    def _value(self, value: object, node: ast.AST) -> Form:
        """A constant: a whole number, a truth value, a text, None, a member, or a tuple of them."""
        if isinstance(value, Enum) and _is_plain(type(value)):
            return ["member", type(value).__name__, value.name, self._value(value.value, node)]
        if type(value) is tuple:
            return ["tuple", *(self._value(one, node) for one in value)]
        if type(value) is int:
            self._reader.constants.add(value)
        if value is None or type(value) in (int, bool, str):
            return [type(value).__name__, value]
        raise self._refused(node)


def _is_plain(kind: type[Enum]) -> bool:
    """Whether the members of an enumeration are compared and tested as Python does it."""
    return all(
        getattr_static(kind, name, None) in [getattr_static(one, name, None) for one in _ENUMS]
        for name in _OPERATED
    )


def _assigned(body: Sequence[ast.stmt]) -> set[str]:
    nodes = (node for statement in body for node in ast.walk(statement))
    return {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
