"""Our packages beside `pxp_fsm`, where other people's files or distributions have their names.

`guards`, `backends` and `proofs` are top-level packages, so that a file `guards.py` beside a script
is found before ours. A program keeps what it has imported, and we still find our own.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

BESIDE = ("guards", "backends", "proofs")
"""Our packages beside this one."""

HOME = Path(__file__).parents[1]
"""The folder of our packages."""


def warn_of_shadows() -> None:
    """Warn once of each package that `shadowed` made importable, at the line of the user."""
    for line in shadowed():
        warnings.warn(line, stacklevel=5)


def shadowed() -> tuple[str, ...]:
    """Make our packages importable where others have their names; a sentence on each, once.

    What a program has imported keeps its names, and gets our modules as submodules. Where it has
    imported nothing yet, the name is ours from here on. Raises `ModuleNotFoundError` where their
    names are those of our modules.
    """
    return tuple(line for line in map(_make_ours, BESIDE) if line)


def _make_ours(package: str) -> str:
    there = sys.modules.get(package)
    if there is None:
        spec = find_spec(package)
        path = None if spec is None else spec.origin
        if spec is None or is_ours(package, path):
            return ""
        sys.modules[package] = loaded = _new(package)
        _run(loaded)
        return _sentence(package, path, f"`import {package}` now imports pxp-fsm's")
    known = [str(folder) for folder in getattr(there, "__path__", ())]
    if is_ours(package, there.__file__) or str(HOME / package) in known:
        return ""
    own = {path.stem for path in (HOME / package).iterdir() if not path.stem.startswith("_")}
    theirs = {
        path.stem for folder in known if Path(folder).is_dir() for path in Path(folder).iterdir()
    }
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
def ours(package: str) -> ModuleType:
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
