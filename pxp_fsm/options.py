"""Options: fields of a dataclass that users set, each described once.

The command line, the schema of files and the check of a value are all made from what `option`
attaches to a field.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import reduce
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

_KEY, _GIVEN, _OUTSIDE = "option", "given", "outside"

PROTOCOL, WHO, DATA, LIMITS = "Protocol", "Who takes part", "Data", "Limits"
OUTPUT, SERVER, FORK = "Output", "Server", "Another continuation"
"""Groups of options that several commands have."""


@dataclass(frozen=True, slots=True)
class Option:
    """What is said of a field: for people, and of its values.

    A value is one of `choices`, at least `least` (or more than `above`) and at most `most`.
    `default` is shown in place of the field's own. On the command line it is called `name` (and
    `short`), or is an `argument`; a `path` is that of a file or a folder. Help shows it below the
    heading `group`; a `common` option is one of those that many commands share, and one that has
    no place on the command line says in `only_in` how its {key} is set. Its values are completed
    from what `pxp list LISTED` shows.
    In a file it stands at `key` (`learning.keep`), and is of the type `written` where that is not
    the field's own.

    Bounds of a text are those of its length, bounds of a list those of its elements, which are
    `unique` where they must be; a text has the `pattern`, and is not empty unless `least` is 0.
    `problem` is said, after the value, in place of what is said of any other. `parse` makes the
    value of a text, and raises `UsageError` where it is none; as text it is what `str` makes of it.
    """

    help: str = ""
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
    group: str = ""
    common: bool = False
    only_in: str = ""
    listed: str = ""
    key: str = ""
    written: Any = None
    pattern: str = ""
    unique: bool = False
    problem: str = ""
    parse: Callable[[str], Any] | None = None


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
    about = {_KEY: Option(help, **described)}
    if isinstance(value, Mapping):  # a dataclass takes no default that may be changed
        return field(default_factory=lambda: MappingProxyType(value), metadata=about)
    return field(default=value, metadata=about)


def given(kind: type[Any], *names: str) -> Any:
    """A field for what was set of the options of `kind` (of those that are named): a dictionary."""
    return field(default_factory=dict, metadata={_GIVEN: (kind, names)})


def outside(value: Any = None) -> Any:
    """A field that no file sets."""
    return field(default=value, repr=False, metadata={_OUTSIDE: True})


def option_of(field: Field[Any]) -> Option | None:
    """The option of a field, where it is one."""
    declared: Option | None = field.metadata.get(_KEY)
    return declared


def given_options(field: Field[Any]) -> tuple[type[Any], tuple[str, ...]] | None:
    """Of which dataclass, and of which of its options, a field has what was set, where it does."""
    declared: tuple[type[Any], tuple[str, ...]] | None = field.metadata.get(_GIVEN)
    return declared


def is_outside(field: Field[Any]) -> bool:
    """Whether no file sets a field."""
    return _OUTSIDE in field.metadata


_types: dict[type[Any], Mapping[str, Any]] = {}
"""What `types_of` has read, which takes long."""

_settings: dict[type[Any], tuple[Setting, ...]] = {}
"""What `settings` has found."""


def types_of(kind: type[Any]) -> Mapping[str, Any]:
    """The types of the fields of a dataclass, by name."""
    if kind not in _types:
        _types[kind] = MappingProxyType(get_type_hints(kind))
    return _types[kind]


def settings(kind: type[Any]) -> tuple[Setting, ...]:
    """The options of a dataclass, in the order of its fields."""
    if kind not in _settings:
        kinds = types_of(kind)
        _settings[kind] = tuple(
            Setting(
                field.name, *_without_none(kinds[field.name]), field.default, field.metadata[_KEY]
            )
            for field in fields(kind)
            if _KEY in field.metadata
        )
    return _settings[kind]


def check_types(options: Any) -> None:
    """Raise `UsageError`, with its field, for the first value that is not of its field's type."""
    for setting, value in _values(options):
        is_bool = isinstance(value, bool)
        if not isinstance(value, setting.kind) or is_bool is not (setting.kind is bool):
            wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
            told = wanted.get(setting.kind, setting.kind.__name__)
            raise UsageError(
                f"{setting.field} cannot be {quoted(value)}: it is {told}", setting.field
            )


def check_ranges(options: Any) -> None:
    """Raise `UsageError`, with its field, for the first value that its option does not allow."""
    for setting, value in _values(options):
        _check_range(setting, value)


def _values(options: Any) -> Iterator[tuple[Setting, Any]]:
    """The options of a dataclass with their values, but for those that are left out (None)."""
    for setting in settings(type(options)):
        value = getattr(options, setting.field)
        if value is not None or not setting.optional:
            yield setting, value


def _check_range(setting: Setting, value: Any) -> None:
    name, allowed = setting.field, setting.option
    if allowed.choices and value not in allowed.choices:
        there = ", ".join(allowed.choices)
        raise UsageError(f"there is no {name} {quoted(value)}; there are: {there}", name)
    for bound, allows, words in (
        (allowed.above, operator.gt, "more than"),
        (allowed.least, operator.ge, "at least"),
        (allowed.most, operator.le, "at most"),
    ):
        if bound is not None and not allows(value, bound):
            raise UsageError(f"{name} is {words} {bound}; it was {value}", name)


def _without_none(kind: Any) -> tuple[Any, bool]:
    """A type without its None, and whether it had one."""
    if get_origin(kind) not in (Union, UnionType):
        return kind, False
    inner = [argument for argument in get_args(kind) if argument is not NoneType]
    return reduce(operator.or_, inner), len(inner) < len(get_args(kind))
