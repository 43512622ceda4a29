"""What is loaded when it is first used: public names of packages (PEP 562), and `asyncio`."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes longer to load than all else here
if TYPE_CHECKING:
    import asyncio as asyncio  # noqa: PLC0414 - for whoever imports it from here
    from collections.abc import Callable, Mapping
    from typing import Any
else:

    class _Later:
        """A module that is loaded when something of it is first used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    asyncio = _Later("asyncio")  # 20 ms, and most commands that know sessions run none

_NEEDS_OURS = (
    *("guards", "backends", "proofs"),
    *("pxp_fsm.tasks", "pxp_fsm.experiments", "pxp_fsm.analysis", "pxp_fsm.plugins.studies"),
)
"""What imports a package that others may shadow."""


def attach(
    package: dict[str, Any],
    names: Mapping[str, str],
    modules: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package with these `globals()`.

    `names` are its public names, as words of one text by the module that has them; `modules` are
    those that stand for a module. A package imports the same names under `TYPE_CHECKING`, for type
    checkers and editors; a test compares the two. `__all__` is such a name too.

    >>> import pxp_fsm as pxp
    >>> pxp.drug.Reactants.__module__
    'pxp_fsm.plugins.drug.relations'

    Raises `AttributeError` for another name, and what `shadowing.shadowed` raises.
    """
    places = {name: (module, name) for module, held in names.items() for name in held.split()}
    places |= {name: (module, "") for name, module in (modules or {}).items()}

    def load(name: str) -> Any:
        if name == "__all__":
            return [*places]
        if name not in places:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        value = package[name] = _imported(*places[name])
        return value

    return load, lambda: sorted({*package, *places})


def _imported(module: str, name: str) -> Any:
    if module.startswith(_NEEDS_OURS):
        shadowing = import_module("pxp_fsm.shadowing")  # imports more than all else here
        shadowing.warn_of_shadows()
        if module in shadowing.BESIDE:
            return shadowing.ours(module)
    there = import_module(module)
    return getattr(there, name) if name else there
