"""Where states and transitions stand in the user's source, as far as it can be found.

Source is parsed, never run. What is written in a way that is not recognised has no place.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pxp_fsm.plugins.machines.machines import SourcePlace


def place_of(definition: Any) -> SourcePlace | None:
    """Where a function or a class is defined."""
    try:
        plain = inspect.unwrap(definition)
        file = inspect.getsourcefile(plain)
        _, line = inspect.getsourcelines(plain)
    except (TypeError, OSError, ValueError):
        return None
    return None if file is None else SourcePlace(_shown(file), line)


def file_of(definition: Any) -> str | None:
    """The source file of a class or a module."""
    try:
        return inspect.getsourcefile(definition)
    except (TypeError, OSError):
        return None


def _shown(file: str) -> str:
    """The file as the user would name it: below the current folder, by its path from there."""
    path = Path(file)
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@cache
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def class_attributes(of: type[Any], library: str) -> dict[str, SourcePlace]:
    """Where the attributes of a class are assigned, or its methods defined, by name.

    Its own place is that of "". Classes of `library` itself are left out.
    """
    places: dict[str, SourcePlace] = {}
    for kind in reversed(of.__mro__[:-1]):
        file = file_of(kind) if kind.__module__.partition(".")[0] != library else None
        if file is not None:
            shown, lines = _shown(file), _classes(file).get(kind.__name__, {})
            places |= {name: SourcePlace(shown, line) for name, line in lines.items()}
    return places


@cache
def _classes(file: str) -> dict[str, dict[str, int]]:
    """The lines of the attributes of each class in a file."""
    tree = _tree(file)
    return {
        node.name: {"": node.lineno, **dict(_assigned(node))}
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.ClassDef)
    }


def _assigned(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    for part in node.body:
        if isinstance(part, ast.Assign):
            for target in part.targets:
                if isinstance(target, ast.Name):
                    yield target.id, part.lineno
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id, part.lineno
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield part.name, part.lineno


class TransitionPlaces:
    """Where the states and transitions of a machine of `transitions` are written in a file."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        tree = None if file is None else _tree(file)
        self._rows: list[tuple[Any, Any, Any, int]] = []
        self._states: dict[str, int] = {}
        for node in ast.walk(tree) if tree is not None else ():
            self._rows += _rows(node)
            for name, line in _state_names(node):
                self._states.setdefault(name, line)

    def state(self, name: str) -> SourcePlace | None:
        """Where a state is named in a list of states."""
        line = self._states.get(name)
        return None if line is None or self._file is None else SourcePlace(_shown(self._file), line)

    def transition(self, trigger: str, source: str, target: str | None) -> SourcePlace | None:
        """Where a transition is written; `target` is None where the state does not change."""
        for name, sources, to, line in self._rows:
            from_here = sources == "*" or source in (sources if _is_list(sources) else (sources,))
            same = to == target or (to == "=" and target == source)
            if name == trigger and from_here and same and self._file is not None:
                return SourcePlace(_shown(self._file), line)
        return None


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | set)


def _rows(node: ast.AST) -> Iterator[tuple[Any, Any, Any, int]]:
    """Trigger, source and destination where a node writes a transition."""
    values: list[Any] = []
    if isinstance(node, ast.Dict):
        named = dict(zip(map(_value, node.keys), map(_value, node.values), strict=True))
        if "trigger" in named and "source" in named:
            values = [named["trigger"], named["source"], named.get("dest")]
    elif isinstance(node, ast.List | ast.Tuple) and len(node.elts) >= 3:
        values = [_value(part) for part in node.elts[:3]]
    elif isinstance(node, ast.Call) and _called(node) in ("add_transition", "dict"):
        named = {part.arg: _value(part.value) for part in node.keywords}
        positional = dict(zip(("trigger", "source", "dest"), map(_value, node.args), strict=False))
        named = {**positional, **named}
        values = [named.get("trigger"), named.get("source"), named.get("dest")]
    if values and isinstance(values[0], str) and isinstance(node, ast.expr):
        yield values[0], values[1], values[2], node.lineno


def _state_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    listed: ast.expr | None = None
    match node:
        case ast.keyword(arg="states") | ast.Assign() if _names_states(node):
            listed = node.value
        case ast.Call(args=[first, *_]) if _called(node) in ("add_state", "add_states"):
            listed = first
    for part in ast.walk(listed) if listed is not None else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value, part.lineno


def _names_states(node: ast.keyword | ast.Assign) -> bool:
    if isinstance(node, ast.keyword):
        return True
    names = (target.id for target in node.targets if isinstance(target, ast.Name))
    return any("states" in name.lower() for name in names)


def _called(node: ast.Call) -> str:
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _value(node: ast.expr | None) -> Any:
    """A literal, or the last part of a name such as an enumeration's; else something unequal."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(part) for part in node.elts]
    return node.value if isinstance(node, ast.Constant) else object()
