"""Changes of the source of one function, put in place of it while something is checked."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(module: ModuleType) -> Iterator[tuple[str, Function]]:
    """Every function of a module and every method of its classes, by its qualified name."""
    for node in ast.parse(_source(module)).body:
        owner, body = (
            (f"{node.name}.", node.body) if isinstance(node, ast.ClassDef) else ("", [node])
        )
        for each in body:
            if isinstance(each, Function) and not _is_overload(each):
                yield owner + each.name, each


def _is_overload(function: Function) -> bool:
    return "overload" in map(ast.unparse, function.decorator_list)


@contextmanager
def installed(module: ModuleType, name: str, function: Function) -> Iterator[None]:
    """The code and the defaults of `function` in place of those of the function called `name`.

    The function object stays the same, so that whoever holds it runs the change: modules that
    imported it, properties, caches, closures. What it returned before is not computed anew.
    """
    found = function_of(module, name)
    before = found.__code__, found.__defaults__, found.__kwdefaults__
    original = dict(functions(module))[name]
    code = _code(module, name, original, function, keeps_class="__class__" in before[0].co_freevars)
    found.__code__ = code
    found.__defaults__ = _defaults(module, original, function, before[1])
    found.__kwdefaults__ = _keyword_defaults(module, original, function, before[2])
    try:
        yield
    finally:
        found.__code__, found.__defaults__, found.__kwdefaults__ = before


def function_of(module: ModuleType, name: str) -> FunctionType:
    """The function called `name` itself, without what decorators have put around it."""
    found: Any = module
    for part in name.split("."):
        found = vars(found)[part]
    while not isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
        for inside in ("__wrapped__", "fget", "func", "__func__"):
            if hasattr(found, inside):
                found = getattr(found, inside)
                break
        else:
            raise AssertionError(f"{name} of {module.__name__} is no function")
    return found


@cache
def _source(module: ModuleType) -> str:
    return inspect.getsource(module)


def _code(
    module: ModuleType, name: str, original: Function, function: Function, *, keeps_class: bool
) -> CodeType:
    """The code of `function` as the module's compiler makes it in the place of `original`."""
    owner, _, own = name.rpartition(".")
    tree = ast.parse(_source(module))
    body = tree.body
    if owner:
        (holder,) = (n for n in body if isinstance(n, ast.ClassDef) and n.name == owner)
        body = holder.body
    place = next(i for i, n in enumerate(body) if n.lineno == original.lineno)
    if keeps_class:  # code with another number of free variables fits no function
        mention = ast.If(ast.Constant(False), [ast.Expr(ast.Name("__class__", ast.Load()))], [])
        function = copy.copy(function)
        function.body = [*function.body, mention]
    body[place] = function
    code = compile(ast.fix_missing_locations(tree), str(module.__file__), "exec", dont_inherit=True)
    *_, found = (each for each in _codes(code) if each.co_qualname == name)
    assert found.co_name == own
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _defaults(
    module: ModuleType, original: Function, function: Function, before: tuple[Any, ...] | None
) -> tuple[Any, ...] | None:
    """The values of the positional parameters; only those that were changed are computed anew."""
    if before is None:
        return None
    pairs = zip(original.args.defaults, function.args.defaults, before, strict=True)
    return tuple(_value(module, *each) for each in pairs)


def _keyword_defaults(
    module: ModuleType, original: Function, function: Function, before: dict[str, Any] | None
) -> dict[str, Any] | None:
    if before is None:
        return None
    names = [one.arg for one in original.args.kwonlyargs]
    pairs = zip(names, original.args.kw_defaults, function.args.kw_defaults, strict=True)
    return {
        name: _value(module, old, new, before[name])
        for name, old, new in pairs
        if old is not None and new is not None
    }


def _value(module: ModuleType, old: ast.expr, new: ast.expr, before: Any) -> Any:
    if ast.unparse(old) == ast.unparse(new):
        return before
    code = compile(ast.fix_missing_locations(ast.Expression(new)), "<default>", "eval")
    return eval(code, vars(module))  # noqa: S307 - our own source, changed


@contextmanager
def changed(module: ModuleType, name: str, old: str, new: str) -> Iterator[None]:
    """The function with the text `old`, which it has once, replaced by `new`."""
    text = ast.unparse(dict(functions(module))[name])
    assert text.count(old) == 1, (name, old, text)
    (after,) = ast.parse(text.replace(old, new)).body
    assert isinstance(after, Function)
    with installed(module, name, after):
        yield
