"""What a number that stands for all numbers refuses: everything but exact integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any


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
