"""Changes of the source of one function, put in place of it while something is checked."""

from __future__ import annotations
import __future__

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

ROOMS = ("pxp_fsm", "proofs", "guards")


def functions(module: ModuleType) -> Iterator[tuple[str, Function]]:
    """Every function of a module and every method of its classes, by its qualified name."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, Function):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{f.name}", f) for f in node.body if isinstance(f, Function))


@contextmanager
def installed(module: ModuleType, name: str, function: Function) -> Iterator[None]:
    """`function` in place of the one called `name`, wherever that was imported."""
    owner = name.rpartition(".")[0]
    # a factory, since `super()` finds its class in the scope around the function
    scope = ast.parse(f"def made(__class__):\n    return {function.name}").body[0]
    assert isinstance(scope, ast.FunctionDef)
    scope.body.insert(0, function)
    tree = ast.fix_missing_locations(ast.Module([scope], []))
    flags = __future__.annotations.compiler_flag
    code = compile(tree, f"<changed {name}>", "exec", flags, dont_inherit=True)
    found: dict[str, Any] = {}
    exec(code, vars(module), found)  # noqa: S102 - our own source, changed
    made = found["made"](getattr(module, owner) if owner else None)
    places = list(_places(module, name))
    before = [(place, key, vars(place)[key]) for place, key in places]
    for place, key in places:
        setattr(place, key, made)
    try:
        yield
    finally:
        for place, key, value in before:
            setattr(place, key, value)


def _places(module: ModuleType, name: str) -> Iterator[tuple[Any, str]]:
    owner, _, method = name.rpartition(".")
    if owner:
        yield getattr(module, owner), method
        return
    original = getattr(module, name)
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").partition(".")[0] in ROOMS:
            yield from ((other, key) for key, value in vars(other).items() if value is original)


@contextmanager
def changed(module: ModuleType, name: str, old: str, new: str) -> Iterator[None]:
    """The function with the text `old`, which it has once, replaced by `new`."""
    (function,) = (node for found, node in functions(module) if found == name)
    text = ast.unparse(function)
    assert text.count(old) == 1, (name, old, text)
    (after,) = ast.parse(text.replace(old, new)).body
    assert isinstance(after, Function)
    with installed(module, name, after):
        yield
