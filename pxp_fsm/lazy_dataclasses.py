"""Dataclasses whose methods are compiled when they are first used.

`dataclasses` compiles six methods where a frozen class is defined, which takes two thirds of a
millisecond. A short command defines hundreds of such classes and makes instances of a few.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options: bool) -> Any:
        """`dataclasses.dataclass`, but for when methods are compiled; `InitVar` is not supported.

        A class that inherits from a dataclass has its methods from the beginning, as has one with
        another option than init, repr, eq, frozen, slots and kw_only.
        """

        def decorated(cls: type) -> type:
            inherits = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
            if inherits or not options.keys() <= _OPTIONS.keys():
                return dataclasses.dataclass(**options)(cls)
            return _without_code(cls, _OPTIONS | options)

        return decorated if cls is None else decorated(cls)


_METHODS = {"init": True, "repr": True, "eq": True}
_OPTIONS = {**_METHODS, "frozen": False, "slots": False, "kw_only": False}


def _without_code(cls: type, options: dict[str, bool]) -> type[Any]:
    """The class with its fields and slots; what would be compiled is `_Uncompiled`, or shared."""
    own, frozen = dict(cls.__dict__), options["frozen"]
    if own.get("__hash__", own) is None and "__eq__" in own:
        del own["__hash__"]  # Python has put None there, not the class
    cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is looked for
    fields_alone = options | dict.fromkeys((*_METHODS, "frozen"), False)
    made: type[Any] = dataclasses.dataclass(**fields_alone)(cls)
    made.__dataclass_params__.frozen = frozen  # as a class that inherits from this one must be
    wanted = {f"__{name}__" for name in _METHODS if options[name]}
    if options["eq"]:
        wanted.add("__hash__")
    for name in wanted - own.keys():
        setattr(made, name, _Uncompiled(made, name, options))
    if options["eq"] and not frozen and "__hash__" not in own:
        made.__hash__ = None  # type: ignore[assignment]
    shared = {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
    if options["slots"]:  # a copy is not made by assigning
        shared |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, function in shared.items() if frozen else ():
        setattr(made, name, function)
    return made


class _Uncompiled:
    """A method of a dataclass; at its first use the function that `dataclasses` compiles."""

    def __init__(self, cls: type[Any], name: str, options: dict[str, bool]) -> None:
        self._cls, self._name, self._options = cls, name, options

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        cls, name, chosen = self._cls, self._name, self._options
        options: dict[str, Any] = dict.fromkeys(_METHODS, False)
        match name:
            case "__init__":
                options |= {"init": True, "frozen": chosen["frozen"], "slots": chosen["slots"]}
            case "__repr__":
                options |= {"repr": True}
            case _:
                options |= {"eq": True, "unsafe_hash": name == "__hash__"}
        fields = {field.name: field for field in dataclasses.fields(cls)}
        namespace: dict[str, Any] = {
            **fields,
            "__annotations__": {name: field.type for name, field in fields.items()},
            "__module__": cls.__module__,
            "__doc__": "",
        }
        if hasattr(cls, "__post_init__"):  # it is called where there is one
            namespace["__post_init__"] = ""
        compiled: type[Any] = dataclasses.dataclass(**options)(type(cls.__name__, (), namespace))
        function = compiled.__dict__[name]
        function.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, function)
        return function.__get__(instance, owner)


def _refuse_assignment(instance: Any, name: str, value: object) -> None:
    if _is_frozen(instance, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(instance, name, value)


def _refuse_deletion(instance: Any, name: str) -> None:
    if _is_frozen(instance, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(instance, name)


def _is_frozen(instance: Any, name: str) -> bool:
    """A class that inherits and is no dataclass may have attributes of its own."""
    cls = type(instance)
    return "__dataclass_fields__" in cls.__dict__ or name in cls.__dataclass_fields__


def _state(instance: Any) -> list[Any]:
    return [getattr(instance, field.name) for field in dataclasses.fields(instance)]


def _set_state(instance: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(instance), state, strict=True):
        object.__setattr__(instance, field.name, value)
