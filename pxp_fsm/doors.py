"""Doors: packages whose public names are loaded when they are first used.

A door's names stand once, in its `__init__.py`, as imports under `TYPE_CHECKING`: type checkers and
completion read them there, and so does the door.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_HOME = Path(__file__).parents[1]
_BESIDE = ("guards", "backends", "proofs")
"""Packages beside this one, in whose place a file of somebody else's may stand."""


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are imported under `TYPE_CHECKING`.

    `__all__` is such a name too. A name that is a package is loaded as that package.

    >>> import pxp_fsm as pxp
    >>> pxp.guards.Reactants.__module__
    'guards.relations.chemistry'

    Raises `AttributeError` for another name, and `ModuleNotFoundError`, with the file, where
    something else stands in the place of one of our packages.
    """

    @cache
    def sources() -> dict[str, tuple[str, str]]:
        return _typed_imports(Path(str(sys.modules[package].__file__)))

    def load(name: str) -> Any:
        if name == "__all__":
            return list(sources())
        if name not in sources():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _imported(*sources()[name])
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *sources()})

    return load, names


def _typed_imports(path: Path) -> dict[str, tuple[str, str]]:
    """The names that a file imports for type checkers alone: module and name there, or ""."""
    import ast

    found: dict[str, tuple[str, str]] = {}
    for block in ast.parse(path.read_text("utf-8")).body:
        for node in block.body if isinstance(block, ast.If) else ():
            if isinstance(node, ast.Import):
                found |= {one.asname or one.name: (one.name, "") for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {one.asname or one.name: (node.module, one.name) for one in node.names}
    return found


def _imported(module: str, name: str) -> Any:
    root = module.partition(".")[0]
    if root in _BESIDE:
        _check_ours(root)
    if not name:
        return import_module(module)
    inner = f"{module}.{name}"
    try:
        return import_module(inner)
    except ModuleNotFoundError as error:
        if error.name != inner:
            raise
    return getattr(import_module(module), name)


def _check_ours(package: str) -> None:
    there = getattr(import_module(package), "__file__", None)
    if there is None or Path(there).parent != _HOME / package:
        raise ModuleNotFoundError(
            f"{there or f'a folder {package}'} stands in the place of pxp-fsm's package "
            f"{package!r}; call that file or folder otherwise, or run from another folder",
            name=package,
        )
