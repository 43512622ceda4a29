"""Loops over arrays of integers as WebAssembly: a strict subset of Python, translated from source.

A kernel is a plain function; Python runs it as it is. Its parameters are `int`, or arrays by the
names below. What is translated does what the interpreter does, as long as every number fits into 64
bits, every index is inside its array (none is negative), every shift is by 0 to 63, and what is
stored fits into the array's entries; a `checked` module traps where the first three do not hold.
Whatever else could differ is not translated, but refused (`NotTranslated`):

- a name that may be read before it has a value, or a loop's variable after its loop, or one that
  its loop changes;
- comparisons and `and`, `or`, `not` anywhere but in a condition, since their values are no numbers;
- every statement, operator or call that is not in the lists below.

`//` and `%` round down, as Python's do. A called kernel without a loop is written in place.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, MutableSequence
from typing import Any

I64 = MutableSequence[int]
"""An array of signed integers of 64 bits (`array`'s "q")."""
I32 = MutableSequence[int]
"""An array of signed integers of 32 bits ("i")."""
U16 = MutableSequence[int]
"""An array of integers of 16 bits without a sign ("H")."""
U8 = MutableSequence[int]
"""An array of bytes ("B")."""

KINDS = {"I64": "q", "I32": "i", "U16": "H", "U8": "B"}
"""The typecode of each name of an array."""

Kernel = Callable[..., Any]


class NotTranslated(Exception):
    """A kernel has something that is not translated, since it could mean something else."""


def wrapping_product(left: int, right: int) -> int:
    """The product of two integers, of which the low 64 bits are kept, with their sign."""
    product = left * right & (1 << 64) - 1
    return product - (1 << 64) if product >> 63 else product


def prefetch(_table: Any, _place: int) -> None:
    """Have an entry of a table fetched from memory, where this is compiled; else do nothing."""


def module(kernel: Kernel, *, checked: bool = False) -> bytes:
    """A module with `kernel` as the function `run`, on the memory `import.memory`.

    An array is two parameters, its address and its length; the result of `run` is an integer.
    Raises `NotTranslated`.
    """
    functions = {kernel: 0}
    types, codes = list[bytes](), list[bytes]()
    for queued in (order := [kernel]):  # grows while it is read
        written = _Function(queued, functions, order, checked=checked)
        codes.append(written.code())
        types.append(b"\x60" + _listed(written.parameters) + _listed([_I64]))
    memory = _name("import") + _name("memory") + b"\x02\x00" + _number(1)
    export = _name("run") + b"\x00" + _number(0)
    indices = [_number(index) for index in range(len(types))]
    sections = ((1, types), (2, [memory]), (3, indices), (7, [export]), (10, codes))
    return b"\0asm\1\0\0\0" + b"".join(
        bytes([number]) + _sized(_listed(parts)) for number, parts in sections
    )


MOST_PAGES = 1 << 16
"""How many pages of 64 kB a memory may have."""

_I32, _I64, _NOTHING = b"\x7f", b"\x7e", b"\x40"
_BLOCK, _LOOP, _IF, _ELSE, _END, _BR, _BR_IF = (bytes([code]) for code in (2, 3, 4, 5, 11, 12, 13))
_UNREACHABLE, _RETURN, _CALL, _DROP, _SELECT = b"\x00", b"\x0f", b"\x10", b"\x1a", b"\x1b"
_GET, _SET, _TEE, _SMALL, _LARGE = b"\x20", b"\x21", b"\x22", b"\x41", b"\x42"
_NOT, _NOT_EQUAL, _NOT_LESS_UNSIGNED, _WRAP = b"\x45", b"\x52", b"\x5a", b"\xa7"
_SHIFT_SMALL, _ADD_SMALL, _AND_SMALL = b"\x74", b"\x6a", b"\x71"
_LOAD_BYTE, _PRODUCT = b"\x2d\0\0", b"\x7e"
_BINARY = {
    ast.Add: b"\x7c",
    ast.Sub: b"\x7d",
    ast.Mult: _PRODUCT,
    ast.BitAnd: b"\x83",
    ast.BitOr: b"\x84",
    ast.BitXor: b"\x85",
    ast.LShift: b"\x86",
    ast.RShift: b"\x87",
}
_QUOTIENT, _REST = b"\x7f", b"\x81"
_COMPARE = {
    ast.Eq: b"\x51",
    ast.NotEq: _NOT_EQUAL,
    ast.Lt: b"\x53",
    ast.LtE: b"\x57",
    ast.Gt: b"\x55",
    ast.GtE: b"\x59",
}
_SIZES = {"q": 3, "i": 2, "H": 1, "B": 0}
_LOADS = {"q": b"\x29\0\0", "i": b"\x34\0\0", "H": b"\x33\0\0", "B": b"\x31\0\0"}
_STORES = {"q": b"\x37\0\0", "i": b"\x3e\0\0", "H": b"\x3d\0\0", "B": b"\x3c\0\0"}


class _Function:
    """One function: `parameters` are the types of its own, of which an array's are two.

    `_valued` are the names that have a value wherever the next statement is reached; None where it
    is not reached. `_loops` says for each loop around it the depths of what `break` and `continue`
    leave.
    """

    def __init__(
        self, kernel: Kernel, functions: dict[Kernel, int], order: list[Kernel], *, checked: bool
    ) -> None:
        self._known: dict[str, Any] = kernel.__globals__
        self._functions, self._order, self._checked = functions, order, checked
        self._tree = _tree(kernel)
        self._own = _names(self._tree)
        self._arrays, self._places = dict[str, str](), dict[str, int]()
        self.parameters = list[bytes]()
        self._valued: set[str] | None = set()
        self._prefix, self._depth = "", 0
        self._loops = list[tuple[int, int]]()
        for argument in _parameters(self._tree):
            kind = ast.unparse(argument.annotation) if argument.annotation else ""
            self._places[argument.arg] = len(self.parameters)
            if kind in KINDS:
                self._arrays[argument.arg] = KINDS[kind]
                self.parameters += (_I32, _I64)
            elif kind == "int":
                self._valued.add(argument.arg)
                self.parameters.append(_I64)
            else:
                raise _refused(argument, f"a parameter is int or one of {', '.join(KINDS)}")
        self._locals = len(self.parameters)

    def code(self) -> bytes:
        """The function's locals and instructions."""
        body = self._block(self._tree.body)
        own = self._locals - len(self.parameters)
        return _sized(_number(1) + _number(own) + _I64 + body + _constant(0) + _END)

    def _fresh(self) -> bytes:
        """The number of a local that no name has."""
        self._locals += 1
        return _number(self._locals - 1)

    def _assigned(self, node: ast.Name) -> bytes:
        """The number of the local of a name, which has a value from now on."""
        name = self._prefix + node.id
        if node.id in self._arrays or self._valued is None:
            raise _refused(node, "an array is not assigned")
        self._valued.add(name)
        if name not in self._places:
            self._places[name] = self._locals
            self._locals += 1
        return _number(self._places[name])

    # statements

    def _block(self, statements: Iterable[ast.stmt]) -> bytes:
        return b"".join(map(self._statement, statements))

    def _statement(self, node: ast.stmt) -> bytes:  # noqa: PLR0911 - one case for each
        if self._valued is None:
            raise _refused(node, "this is never reached")
        match node:
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                return b""
            case ast.Expr(ast.Call(ast.Name("prefetch"), [ast.Name() as table, index], [])):
                return self._address(table, index) + _LOAD_BYTE + _DROP
            case ast.Expr(ast.Call() as call):
                return self._value(call) + _DROP
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                # All values, then what they are put into, from the left: as Python does it.
                room = [self._fresh() for _ in values]
                code = [self._value(v) + _SET + own for v, own in zip(values, room, strict=True)]
                code += [
                    self._stored(target, _GET + own)
                    for target, own in zip(targets, room, strict=True)
                ]
                return b"".join(code)
            case ast.Assign([target], value):
                return self._stored(target, self._value(value))
            case ast.AugAssign(target, operator, value):
                return self._stored(target, self._binary(operator, _read(target), value))
            case ast.If():
                return self._if(node)
            case ast.While(orelse=[]):
                return self._while(node)
            case ast.For(ast.Name() as own, ast.Call(ast.Name("range"), bounds, []), orelse=[]):
                return self._for(node, own, bounds)
            case ast.Break() | ast.Continue() if self._loops:
                left = self._loops[-1][isinstance(node, ast.Continue)]
                self._valued = None
                return _BR + _number(self._depth - left)
            case ast.Return(ast.expr() as value):
                found_value = self._value(value)
                self._valued = None
                return found_value + _RETURN
        raise _refused(node, "this statement is not translated")

    def _stored(self, target: ast.expr, value: bytes) -> bytes:
        match target:
            case ast.Name():
                return value + _SET + self._assigned(target)
            case ast.Subscript(ast.Name() as table, index):
                # The value comes first, as in Python: a call in it may change what the index reads.
                own = self._fresh()
                address = self._address(table, index)
                return value + _SET + own + address + _GET + own + _STORES[self._kind(table)]
        raise _refused(target, "only names and entries of arrays are assigned")

    def _if(self, node: ast.If) -> bytes:
        code, before = self._test(node.test) + _IF + _NOTHING, self._valued
        self._depth += 1
        self._valued = before and before.copy()
        code += self._block(node.body)
        after, self._valued = self._valued, before
        if node.orelse:
            code += _ELSE + self._block(node.orelse)
        if after is not None:
            self._valued = after if self._valued is None else after & self._valued
        self._depth -= 1
        return code + _END

    def _while(self, node: ast.While) -> bytes:
        """A block that `break` leaves, around a loop to whose beginning `continue` goes."""
        before = self._valued
        self._depth += 2
        self._loops.append((self._depth - 1, self._depth))
        code = _BLOCK + _NOTHING + _LOOP + _NOTHING + self._test(node.test) + _NOT
        code += _BR_IF + _number(1)
        self._valued = before and before.copy()
        code += self._block(node.body) + _BR + _number(0) + _END + _END
        self._loops.pop()
        self._depth -= 2
        self._valued = before
        return code

    def _for(self, node: ast.For, own: ast.Name, bounds: list[ast.expr]) -> bytes:
        """The same with one more block inside, which `continue` leaves for the next number.

        The loop's variable counts, so nothing else in the loop may change it. After the loop it is
        not what Python's is: it has no value there.
        """
        begin, end, step = _bounds(node, bounds)
        for inner in ast.walk(ast.Module(node.body, [])):
            if isinstance(inner, ast.Name) and (inner.id, type(inner.ctx)) == (own.id, ast.Store):
                raise _refused(inner, "a loop's variable is not changed inside of it")
        last, compare = self._fresh(), _COMPARE[ast.Lt if step > 0 else ast.Gt]
        code = self._value(end) + _SET + last + self._value(begin)
        before = self._valued
        self._valued = before and before.copy()
        number = self._assigned(own)
        code += _SET + number + _BLOCK + _NOTHING + _LOOP + _NOTHING
        code += _GET + number + _GET + last + compare + _NOT + _BR_IF + _number(1)
        self._depth += 3
        self._loops.append((self._depth - 2, self._depth))
        code += _BLOCK + _NOTHING + self._block(node.body) + _END
        self._loops.pop()
        self._depth -= 3
        code += _GET + number + _constant(step) + _BINARY[ast.Add] + _SET + number
        self._valued = before and before - {self._prefix + own.id}
        return code + _BR + _number(0) + _END + _END

    # expressions

    def _kind(self, table: ast.Name) -> str:
        if table.id not in self._arrays:
            raise _refused(table, "this is no array")
        return self._arrays[table.id]

    def _address(self, table: ast.Name, index: ast.expr) -> bytes:
        """Where an entry of an array is."""
        kind, place = self._kind(table), self._places[table.id]
        code = self._value(index)
        if self._checked:
            own = self._fresh()
            code += _TEE + own + _GET + _number(place + 1) + _NOT_LESS_UNSIGNED
            code += _IF + _NOTHING + _UNREACHABLE + _END + _GET + own
        code += _WRAP
        if _SIZES[kind]:
            code += _SMALL + _number(_SIZES[kind]) + _SHIFT_SMALL
        return code + _GET + _number(place) + _ADD_SMALL

    def _value(self, node: ast.expr) -> bytes:  # noqa: PLR0911 - one case for each expression
        match node:
            case ast.Constant(int() as value) if not isinstance(value, bool):
                return self._number(node, value)
            case ast.Name(name):
                if name in self._arrays:
                    raise _refused(node, "an array is no number")
                if name in self._own:
                    if self._valued is None or self._prefix + name not in self._valued:
                        raise _refused(node, f"{name} may be without a value here")
                    return _GET + _number(self._places[self._prefix + name])
                return self._number(node, self._known.get(name))
            case ast.Subscript(ast.Name() as table, index):
                return self._address(table, index) + _LOADS[self._kind(table)]
            case ast.BinOp(left, operator, right):
                return self._binary(operator, left, right)
            case ast.UnaryOp(ast.USub(), operand):
                return self._binary(ast.Sub(), ast.Constant(0), operand)
            case ast.IfExp(test, then, other):
                code = self._test(test) + _IF + _I64 + self._value(then)
                return code + _ELSE + self._value(other) + _END
            case ast.Call(ast.Name() as called, arguments, []):
                return self._call(called, arguments)
        raise _refused(node, "this expression is not translated as a number")

    def _number(self, node: ast.AST, value: object) -> bytes:
        if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
            raise _refused(node, "this is no integer of 64 bits")
        return _constant(value)

    def _binary(self, operator: ast.operator, left: ast.expr, right: ast.expr) -> bytes:
        both = self._value(left) + self._value(right)
        if isinstance(operator, (ast.FloorDiv, ast.Mod)):
            return self._rounded_down(operator, both)
        if type(operator) not in _BINARY:
            raise _refused(left, f"{type(operator).__name__} is not translated")
        if self._checked and isinstance(operator, (ast.LShift, ast.RShift)):
            own = self._fresh()
            both += _TEE + own + _constant(64) + _NOT_LESS_UNSIGNED
            both += _IF + _NOTHING + _UNREACHABLE + _END + _GET + own
        if self._checked and isinstance(operator, (ast.Add, ast.Sub)):
            return self._without_overflow(operator, both)
        return both + _BINARY[type(operator)]

    def _rounded_down(self, operator: ast.operator, both: bytes) -> bytes:
        """Quotient or rest as in Python, where the rest has the sign of the divisor.

        WebAssembly's rest has the dividend's. Where they differ and the rest is not 0, Python's
        quotient is one less, and its rest is more by the divisor.
        """
        left, right, rest = (self._fresh() for _ in range(3))
        code = both + _SET + right + _SET + left
        code += _GET + left + _GET + right + _REST + _TEE + rest + _constant(0) + _NOT_EQUAL
        code += _GET + rest + _GET + right + _BINARY[ast.BitXor] + _constant(0) + _COMPARE[ast.Lt]
        code += _AND_SMALL + _IF + _I64
        if isinstance(operator, ast.Mod):
            code += _GET + rest + _GET + right + _BINARY[ast.Add] + _ELSE + _GET + rest
        else:
            quotient = _GET + left + _GET + right + _QUOTIENT
            code += quotient + _constant(1) + _BINARY[ast.Sub] + _ELSE + quotient
        return code + _END

    def _without_overflow(self, operator: ast.operator, both: bytes) -> bytes:
        """The sum, or a trap where its sign is that of neither summand; so with a difference."""
        left, right, result = (self._fresh() for _ in range(3))
        code = both + _SET + right + _TEE + left + _GET + right + _BINARY[type(operator)]
        code += _SET + result + _GET + left + _GET + result + _BINARY[ast.BitXor]
        other = result if isinstance(operator, ast.Add) else left
        code += _GET + right + _GET + other + _BINARY[ast.BitXor] + _BINARY[ast.BitAnd]
        code += _constant(0) + _COMPARE[ast.Lt] + _IF + _NOTHING + _UNREACHABLE + _END
        return code + _GET + result

    def _call(self, called: ast.Name, arguments: list[ast.expr]) -> bytes:
        match called.id, arguments:
            case "len", [ast.Name() as table]:
                self._kind(table)
                return _GET + _number(self._places[table.id] + 1)
            case (("min" | "max"), [left, right]):
                own, other = self._fresh(), self._fresh()
                code = self._value(left) + _TEE + own + self._value(right) + _TEE + other
                code += _GET + own + _GET + other
                return code + _COMPARE[ast.Lt if called.id == "min" else ast.Gt] + _SELECT
            case "wrapping_product", [left, right]:
                return self._value(left) + self._value(right) + _PRODUCT
        kernel = self._known.get(called.id)
        if not inspect.isfunction(kernel) or called.id in self._own:
            raise _refused(called, f"{called.id} is not translated")
        tree = _tree(kernel)
        if len(_parameters(tree)) != len(arguments):
            raise _refused(called, "every parameter is given by its place")
        if _is_plain(tree):
            return self._in_place(kernel, tree, arguments)
        if kernel not in self._functions:
            self._functions[kernel] = len(self._order)
            self._order.append(kernel)
        code = b""
        for argument, parameter in zip(arguments, _parameters(tree), strict=True):
            kind = KINDS.get(ast.unparse(parameter.annotation) if parameter.annotation else "")
            if kind is None:
                code += self._value(argument)
            elif isinstance(argument, ast.Name) and self._kind(argument) == kind:
                place = self._places[argument.id]
                code += _GET + _number(place) + _GET + _number(place + 1)
            else:
                raise _refused(argument, "this is no array of the kind that is wanted")
        return code + _CALL + _number(self._functions[kernel])

    def _in_place(self, kernel: Kernel, tree: ast.FunctionDef, arguments: list[ast.expr]) -> bytes:
        """The instructions of a called kernel without arrays and loops; its names are its own."""
        values = [self._value(argument) for argument in arguments]
        before = self._prefix, self._known, self._own, self._arrays
        self._prefix += f"{tree.name}."
        self._known, self._own, self._arrays = kernel.__globals__, _names(tree), {}
        code = b"".join(values)
        for parameter in reversed(_parameters(tree)):
            code += _SET + self._assigned(ast.Name(parameter.arg))
        *body, last = tree.body
        code += self._block(body)
        if not isinstance(last, ast.Return) or last.value is None:
            raise _refused(last, "what is written in place ends with its value")
        code += self._value(last.value)
        self._prefix, self._known, self._own, self._arrays = before
        return code

    def _test(self, node: ast.expr) -> bytes:
        """A condition, as 0 or 1 of 32 bits."""
        match node:
            case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARE:
                return self._value(left) + self._value(right) + _COMPARE[type(operator)]
            case ast.BoolOp(operator, values):
                *rest, result = map(self._test, values)
                for test in reversed(rest):
                    if isinstance(operator, ast.And):
                        result = test + _IF + _I32 + result + _ELSE + _SMALL + _number(0) + _END
                    else:
                        result = test + _IF + _I32 + _SMALL + _number(1) + _ELSE + result + _END
                return result
            case ast.UnaryOp(ast.Not(), operand):
                return self._test(operand) + _NOT
        return self._value(node) + _constant(0) + _NOT_EQUAL


def _tree(kernel: Kernel) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel))).body[0]
    if not isinstance(tree, ast.FunctionDef) or tree.decorator_list:
        raise _refused(tree, "a kernel is a plain function")
    return tree


def _parameters(tree: ast.FunctionDef) -> list[ast.arg]:
    given = tree.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
        raise _refused(tree, "parameters are given by their places, and have no default")
    return given.args


def _names(tree: ast.FunctionDef) -> set[str]:
    """The names that are a function's own, wherever they are assigned."""
    stored = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    own = {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    return own | {parameter.arg for parameter in _parameters(tree)}


def _is_plain(tree: ast.FunctionDef) -> bool:
    """Whether a function is without arrays, loops and ways out but its end."""
    numbers = all(
        argument.annotation is not None and ast.unparse(argument.annotation) == "int"
        for argument in _parameters(tree)
    )
    return numbers and not any(
        isinstance(node, (ast.While, ast.For))
        or (isinstance(node, ast.Return) and node is not last)
        for last in tree.body[-1:]
        for node in ast.walk(tree)
    )


def _bounds(node: ast.For, bounds: list[ast.expr]) -> tuple[ast.expr, ast.expr, int]:
    """Where a loop begins, where it ends, and its step."""
    match bounds:
        case [end]:
            return ast.Constant(0), end, 1
        case [begin, end]:
            return begin, end, 1
        case [begin, end, step]:
            by: object = None
            match step:
                case ast.Constant(by):
                    pass
                case ast.UnaryOp(ast.USub(), ast.Constant(int() as size)):
                    by = -size
            if type(by) is int and by:
                return begin, end, by
    raise _refused(node, "the step of a loop is a number that is written there, and not 0")


def _read(target: ast.expr) -> ast.expr:
    """The value that is in what is assigned."""
    match target:
        case ast.Name(name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case ast.Subscript(table, index):
            return ast.copy_location(ast.Subscript(table, index, ast.Load()), target)
    return target


def _refused(node: ast.AST, why: str) -> NotTranslated:
    line = getattr(node, "lineno", 0)
    return NotTranslated(f"line {line} of the kernel: {why}: {ast.unparse(node)}")


# the binary format (WebAssembly Core Specification 2.0, section 5)


def _number(value: int) -> bytes:
    """An integer without a sign, seven bits a byte (LEB128)."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value))


def _constant(value: int) -> bytes:
    """The instruction that gives a signed integer."""
    encoded = bytearray(_LARGE)
    while not -64 <= value < 64:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value & 127))


def _listed(parts: list[bytes]) -> bytes:
    return _number(len(parts)) + b"".join(parts)


def _sized(part: bytes) -> bytes:
    return _number(len(part)) + part


def _name(text: str) -> bytes:
    return _sized(text.encode())
