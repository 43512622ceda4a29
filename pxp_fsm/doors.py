"""Doors: packages whose public names are loaded when they are first used.

A door's names stand once, in its `__init__.py`, as imports under `TYPE_CHECKING`: type checkers and
completion read them there, and so does the door.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

BESIDE = ("guards", "backends", "proofs")
"""Our packages beside this one: other people's files and distributions may have their names."""

_PLUGINS = "pxp_fsm.plugins"

HOME = Path(__file__).parents[1]
"""The folder of our packages."""

_IMPORT_THEM = (
    *BESIDE,
    "pxp_fsm.tasks",
    "pxp_fsm.experiments",
    "pxp_fsm.plugins.studies",
    "pxp_fsm.analysis",
)


def door(package: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package with these `globals()`.

    Its names are imported under `TYPE_CHECKING`; `__all__` is such a name too. A name that is a
    package is loaded as that package.

    >>> import pxp_fsm as pxp
    >>> pxp.drug.Reactants.__module__
    'pxp_fsm.plugins.drug.relations'

    Raises `AttributeError` for another name, and what `shadowed` raises.
    """

    @cache
    def sources() -> dict[str, tuple[str, str]]:
        found = _typed_imports(Path(package["__file__"]))
        if package["__name__"].startswith(_PLUGINS):
            return found
        # The face names our plug-ins for type checkers alone: the registry loads them.
        return {name: where for name, where in found.items() if not where[0].startswith(_PLUGINS)}

    def load(name: str) -> Any:
        if name == "__all__":
            return list(sources())
        if name not in sources():
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        value = package[name] = _imported(*sources()[name])
        return value

    def names() -> list[str]:
        return sorted({*package, *sources()})

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
    if module.startswith(_IMPORT_THEM):
        for line in shadowed():
            warnings.warn(line, stacklevel=4)
    if not name:
        return _ours(module) if module in BESIDE else import_module(module)
    inner = f"{module}.{name}"
    try:
        return import_module(inner)
    except ModuleNotFoundError as error:
        if error.name != inner:
            raise
    return getattr(import_module(module), name)


def shadowed() -> tuple[str, ...]:
    """Make our packages importable where others have their names; a sentence on each, once.

    What a program has imported keeps its names, and gets our modules as submodules. Where it has
    imported nothing yet, the name is ours from here on. Raises `ModuleNotFoundError` where their
    names are those of our modules.
    """
    return tuple(line for line in map(_made_ours, BESIDE) if line)


def _made_ours(package: str) -> str:
    there = sys.modules.get(package)
    if there is None:
        spec = find_spec(package)
        path = None if spec is None else spec.origin
        if spec is None or is_ours(package, path):
            return ""
        sys.modules[package] = loaded = _new(package)
        _run(loaded)
        return _sentence(package, path, f"`import {package}` now imports pxp-fsm's")
    known = [str(one) for one in getattr(there, "__path__", ())]
    if is_ours(package, there.__file__) or str(HOME / package) in known:
        return ""
    own = {path.stem for path in (HOME / package).iterdir() if not path.stem.startswith("_")}
    theirs = {path.stem for one in known if Path(one).is_dir() for path in Path(one).iterdir()}
    if both := sorted(own & (theirs | vars(there).keys())):
        line = _sentence(package, there.__file__, f"pxp-fsm cannot use its own {', '.join(both)}")
        raise ModuleNotFoundError(line, name=package)
    there.__path__ = [*known, str(HOME / package)]
    return _sentence(package, there.__file__, f"pxp-fsm's names are in `pxp.{package}` alone")


def is_ours(package: str, path: str | None) -> bool:
    """Whether the package of that name is ours, if `path` is its `__init__.py`."""
    return path is not None and Path(path).resolve().parent == (HOME / package).resolve()


def _sentence(package: str, path: str | None, effect: str) -> str:
    return (
        f"{path or f'a folder {package}'} shadows pxp-fsm's package {package!r}, so {effect}; "
        f"rename that file or folder, or uninstall its distribution"
    )


def _new(package: str) -> ModuleType:
    folder = HOME / package
    spec = spec_from_file_location(
        package, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None:
        raise ModuleNotFoundError(f"{folder} cannot be imported", name=package)
    return module_from_spec(spec)


def _run(package: ModuleType) -> None:
    if package.__spec__ is not None and package.__spec__.loader is not None:
        package.__spec__.loader.exec_module(package)


@cache
def _ours(package: str) -> ModuleType:
    """Our package of that name, which is not in `sys.modules` where another one is."""
    there = import_module(package)
    if not is_ours(package, there.__file__):
        there = _new(package)
        _run(there)
    if getattr(there, "__distribution__", "") != "pxp-fsm":
        raise ModuleNotFoundError(
            f"{there.__file__} was replaced by another distribution's; uninstall that one, and "
            f"install pxp-fsm again: pip install --force-reinstall --no-deps pxp-fsm",
            name=package,
        )
    return there
