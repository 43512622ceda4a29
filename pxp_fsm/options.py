"""Options: fields of a dataclass that users set, each described once.

The command line, the schema of files and the check of a value are all made from what `option`
attaches to a field.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import reduce
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pxp_fsm.errors import UsageError, quoted

_KEY = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """What is said of a field: for people, and of its values.

    A value is one of `choices`, at least `least` (or more than `above`) and at most `most`.
    `default` is shown in place of the field's own. On the command line it is called `name` (and
    `short`), or is an `argument`; a `path` is that of a file or a folder. In a file it stands at
    `key` (`learning.keep`), and `schema` is put in place of what follows from its type.
    """

    help: str
    default: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: int | None = None
    above: int | None = None
    most: int | None = None
    name: str = ""
    short: str = ""
    argument: bool = False
    path: Literal["file", "folder", "any"] = "file"
    key: str = ""
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A field with its option: its name, its type without None, what it is where nothing is set."""

    field: str
    kind: Any
    optional: bool
    default: Any
    option: Option

    @property
    def key(self) -> str:
        """Where it stands in a file."""
        return self.option.key or self.field


def option(help: str = "", value: Any = MISSING, **described: Any) -> Any:  # noqa: A002 - as in click
    """A field of a dataclass that is an option (`Option`); without `value` it must be given."""
    return field(default=value, metadata={_KEY: Option(help, **described)})


def settings(kind: type[Any]) -> Iterator[Setting]:
    """The options of a dataclass, in the order of its fields."""
    kinds = get_type_hints(kind)
    for one in fields(kind):
        if _KEY in one.metadata:
            inner, optional = _without_none(kinds[one.name])
            yield Setting(one.name, inner, optional, one.default, one.metadata[_KEY])


def check_types(given: Any) -> None:
    """Raise `UsageError`, with its field, for the first value that is not of its field's type."""
    for setting, value in _values(given):
        is_bool = isinstance(value, bool)
        if not isinstance(value, setting.kind) or is_bool is not (setting.kind is bool):
            wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
            told = wanted.get(setting.kind, setting.kind.__name__)
            raise UsageError(
                f"{setting.field} cannot be {quoted(value)}: it is {told}", setting.field
            )


def check_ranges(given: Any) -> None:
    """Raise `UsageError`, with its field, for the first value that its option does not allow."""
    for setting, value in _values(given):
        _check_range(setting, value)


def _values(given: Any) -> Iterator[tuple[Setting, Any]]:
    """The options of a dataclass with their values, but for those that are left out (None)."""
    for setting in settings(type(given)):
        value = getattr(given, setting.field)
        if value is not None or not setting.optional:
            yield setting, value


def _check_range(setting: Setting, value: Any) -> None:
    name, one = setting.field, setting.option
    if one.choices and value not in one.choices:
        there = ", ".join(one.choices)
        raise UsageError(f"there is no {name} {quoted(value)}; there are: {there}", name)
    for bound, allows, words in (
        (one.above, operator.gt, "more than"),
        (one.least, operator.ge, "at least"),
        (one.most, operator.le, "at most"),
    ):
        if bound is not None and not allows(value, bound):
            raise UsageError(f"{name} is {words} {bound}; it was {value}", name)


def schema(kind: type[Any], tables: Mapping[str, str]) -> dict[str, Any]:
    """The properties of a JSON Schema for files that set the options of `kind`.

    A key `table.key` is a property of the object `table`, which `tables` describes.
    """
    found: dict[str, Any] = {}
    for setting in settings(kind):
        table, _, key = setting.key.rpartition(".")
        at = found
        if table:
            new = {"type": "object", "additionalProperties": False, "description": tables[table]}
            at = at.setdefault(table, new | {"properties": {}})["properties"]
        at[key] = _property(setting)
    return found


_TYPES = {bool: "boolean", int: "integer", str: "string", float: "number", float | int: "number"}
_RANGE = (("least", "minimum"), ("above", "exclusiveMinimum"), ("most", "maximum"))


def _property(setting: Setting) -> dict[str, Any]:
    one = setting.option
    shown = one.default or _shown(setting.default)
    told = {"description": one.help + (f" Left out, {shown}." if shown else "")}
    if one.schema is not None:
        return told | dict(one.schema)
    if one.choices:
        return {"enum": list(one.choices)} | told
    ranges = {word: getattr(one, name) for name, word in _RANGE if getattr(one, name) is not None}
    least = {"minLength": 1} if setting.kind is str else {}
    return {"type": _TYPES[setting.kind]} | least | ranges | told


def _shown(default: Any) -> str:
    if default is None or default is MISSING:
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _without_none(kind: Any) -> tuple[Any, bool]:
    """A type without its None, and whether it had one."""
    if get_origin(kind) not in (Union, UnionType):
        return kind, False
    inner = [one for one in get_args(kind) if one is not NoneType]
    return reduce(operator.or_, inner), len(inner) < len(get_args(kind))


def values_of(kind: type[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """What a file sets of the options of `kind`, by their fields."""
    found: dict[str, Any] = {}
    for setting in settings(kind):
        table, _, key = setting.key.rpartition(".")
        at = raw.get(table, {}) if table else raw
        if key in at:
            found[setting.field] = at[key]
    return found
