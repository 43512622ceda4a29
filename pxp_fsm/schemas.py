"""Files and messages whose form is that of a dataclass: one declaration, read, described, written.

A field says once what may stand at its key: its type, its default, and with `option` its bounds and
what it means. From this follow the reader, with every fault and its place, and the JSON Schema. How
types stand in TOML and JSON:

| type | value |
|---|---|
| `str`, `int`, `float`, `bool`, `date` | the same; 1 is a `float` too, 1.0 no `int` |
| `Literal[...]`, an enum | one of its values |
| `tuple[T, ...]`, `frozenset[T]`, `tuple[A, B]` | a list |
| `Mapping[K, T]`, a dataclass | a table (an object); of a dataclass no other keys than its fields |
| `T` or None | left out where the field has a default, else null |
| a union of dataclasses | an object; a key says which of them (`Tagged`) |
| another union | whichever of its types the value has |
| `Any`, `object` | anything |

`Annotated[T, Option(...)]` bounds a type wherever it stands. What no type can say of a table, its
dataclass says in a method `problems`, once all of it is of the right form.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass, replace
from datetime import date
from enum import Enum
from functools import cache, cached_property
from math import isfinite
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pxp_fsm.documents import MOST_BYTES, located, read, text_of
from pxp_fsm.errors import (
    Fault,
    FileError,
    Place,
    UsageError,
    format_path,
    quoted,
    unknown_name,
)
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, given_options, is_outside, option_of

T = TypeVar("T")

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, eq=False)
class Tagged:
    """How a union of dataclasses is written: the value of `key` is the word of the class."""

    key: str
    words: Mapping[type, str]


At = tuple[Any, str | int] | None
"""The way to a value from the root, as pairs of the way to what holds it, and its key there.

It is made for every value that is read, and needed for faults alone.
"""

_Definitions = dict[str, Any]

NO_OPTION = Option("")


class _Shape(Protocol):
    """How values of a type stand in a file."""

    def fits(self, value: object) -> bool:
        """Whether the value is of the kind (text, list, ...) that the type has in a file."""

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        """The value of the type; what is returned where faults are added is of no meaning."""

    def write(self, value: Any) -> Any:
        """What is read as the value; what a field is anyway is left out."""

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        """Its JSON Schema; those of dataclasses are added to the definitions."""


def _place(at: At) -> Place:
    path: list[str | int] = []
    while at is not None:
        at, key = at
        path.append(key)
    return tuple(reversed(path))


def _fault(
    faults: list[Fault], at: At, kind: str, text: str, value: object = None, allowed: Any = ()
) -> None:
    """Add a fault; the text about a value begins with the way to it."""
    path = _place(at)
    where = f"{format_path(path)}: " if path else ""
    faults.append(Fault(path, where + text, kind, value, tuple(map(str, allowed))))


class _Anything:
    def fits(self, value: object) -> bool:
        return True

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        return value

    def write(self, value: Any) -> Any:
        return value

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        return {}


_BOUNDS = (
    ("above", operator.gt, "minimum", "is too small; it is more than"),
    ("least", operator.ge, "minimum", "is too small; it is at least"),
    ("most", operator.le, "maximum", "is too large; it is at most"),
)
_NUMBER_WORDS = {"least": "minimum", "above": "exclusiveMinimum", "most": "maximum"}
_TYPES: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    date: "date",
}


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A text, a number, a truth value or a date; with `as_float` a whole number becomes one."""

    kind: type
    option: Option
    as_float: bool = False

    def fits(self, value: object) -> bool:
        if self.kind is str:
            return isinstance(value, str)
        if self.kind is float:
            return type(value) in (int, float)
        return type(value) is self.kind  # True is no number, a time of a day no date

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        option = self.option
        if not self.fits(value):
            text = f"is not of the type {_TYPES[self.kind]}; write one that is"
            _fault(faults, at, "type", f"{quoted(value)} {option.problem or text}", value)
        elif self.kind is str:
            problem = self._text_problem(value)
            if problem is not None:
                kind, text = problem
                _fault(faults, at, kind, f"{quoted(value)} {option.problem or text}", value)
            elif option.parse is not None:
                try:
                    return option.parse(value)
                except UsageError as error:
                    _fault(faults, at, "parse", str(error), value)
        elif self.kind is int or self.kind is float:
            self._check_number(value, at, faults)
            return float(value) if self.as_float else value
        return value

    def _check_number(self, value: float, at: At, faults: list[Fault]) -> None:
        option = self.option
        if not isfinite(value):
            _fault(faults, at, "type", f"{quoted(value)} is not finite; write a number", value)
            return
        for name, allows, kind, says in _BOUNDS:
            bound = getattr(option, name)
            if bound is not None and not allows(value, bound):
                text = option.problem or f"{says} {bound}"
                _fault(faults, at, kind, f"{quoted(value)} {text}", value)

    def _text_problem(self, value: str) -> tuple[str, str] | None:
        option = self.option
        if option.least is not None and len(value) < option.least:
            return "minLength", "is empty; write a text"
        if option.most is not None and len(value) > option.most:
            return "maxLength", f"is too long; it has at most {option.most} characters"
        if option.pattern and re.search(option.pattern, value) is None:
            return "pattern", f"does not match {option.pattern}"
        return None

    def write(self, value: Any) -> Any:
        return value if self.option.parse is None else str(value)

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        option = self.option
        if self.kind is date:
            return {"type": "string", "format": "date"}
        words = _NUMBER_WORDS
        if self.kind is str:
            words = {"least": "minLength", "most": "maxLength"}
        bounds = {word: getattr(option, name) for name, word in words.items()}
        stated = {word: bound for word, bound in bounds.items() if bound is not None}
        if stated.get("minLength") == 0:
            del stated["minLength"]
        return {
            "type": _TYPES[self.kind],
            **stated,
            **({"pattern": option.pattern} if option.pattern else {}),
        }


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of some values, each with what it means: a member of an enum, or itself."""

    values: Mapping[Any, Any]

    def fits(self, value: object) -> bool:
        # 1.0 and True are equal to 1, and are no choice where 1 is one.
        same = (known for known in self.values if value == known)
        return any(isinstance(known, str) or type(value) is type(known) for known in same)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        if self.fits(value):
            return self.values[value]
        if len(self.values) == 1:
            (only,) = self.values
            text = f"{quoted(value)} is not one that this version reads; write {only}"
            _fault(faults, at, "const", text, value, self.values)
        else:
            text = f"{quoted(value)} is none of {', '.join(map(str, self.values))}"
            _fault(faults, at, "enum", text, value, self.values)
        return None

    def write(self, value: Any) -> Any:
        return value.value if isinstance(value, Enum) else value

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        if len(self.values) == 1:
            return {"const": next(iter(self.values))}
        return {"enum": list(self.values)}


def _is_list(value: Any, at: At, faults: list[Fault]) -> bool:
    """Whether a value is a list; adds the fault where it is none."""
    if isinstance(value, list):
        return True
    text = f"{quoted(value)} is not of the type array; write one that is"
    if isinstance(value, Mapping) and at is not None and isinstance(at[1], str):
        text = f"this is one table, not a list of tables; in TOML write [[{at[1]}]]"
    _fault(faults, at, "type", text, value)
    return False


@dataclass(frozen=True, slots=True)
class _List:
    inner: _Shape
    option: Option
    build: Callable[[Iterable[Any]], Any]

    def fits(self, value: object) -> bool:
        return isinstance(value, list)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        if not _is_list(value, at, faults):
            return None
        option, read, count = self.option, self.inner.read, len(value)
        faults_before = len(faults)
        if option.least is not None and count < option.least:
            text = f"{quoted(value)} has too few elements; write {option.least} at least"
            _fault(faults, at, "minItems", option.problem or text, value)
        if option.most is not None and count > option.most:
            text = f"there are {count} elements; write {option.most} at most"
            _fault(faults, at, "maxItems", option.problem or text)
        elements = [read(element, (at, index), faults) for index, element in enumerate(value)]
        if option.unique:
            for index, element in enumerate(elements):
                if element in elements[:index]:
                    text = f"{quoted(element)} stands there twice"
                    _fault(faults, (at, index), "unique", text, element)
        # Elements with faults need not be what `build` takes, such as elements of a set.
        return self.build(elements) if len(faults) == faults_before else None

    def write(self, value: Any) -> Any:
        elements = list(map(self.inner.write, value))
        return sorted(elements) if self.build is frozenset else elements

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        option = self.option
        bounds = {"minItems": option.least, "maxItems": option.most}
        return {
            "type": "array",
            **{word: bound for word, bound in bounds.items() if bound is not None},
            **({"uniqueItems": True} if option.unique else {}),
            "items": self.inner.schema(definitions),
        }


@dataclass(frozen=True, slots=True)
class _Pair:
    """A list of so many elements, each of its own type."""

    inner: tuple[_Shape, ...]

    def fits(self, value: object) -> bool:
        return isinstance(value, list)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        if not _is_list(value, at, faults):
            return None
        if len(value) != len(self.inner):
            text = f"{quoted(value)} has {len(value)} elements; write {len(self.inner)}"
            _fault(faults, at, "minItems", text, value)
        pairs = zip(self.inner, value, strict=False)
        return tuple(
            shape.read(element, (at, index), faults) for index, (shape, element) in enumerate(pairs)
        )

    def write(self, value: Any) -> Any:
        return [shape.write(element) for shape, element in zip(self.inner, value, strict=True)]

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        count = len(self.inner)
        schemas = [shape.schema(definitions) for shape in self.inner]
        return {"type": "array", "prefixItems": schemas, "minItems": count, "maxItems": count}


def _is_table(value: Any, at: At, faults: list[Fault]) -> bool:
    if isinstance(value, Mapping):
        return True
    text = f"{quoted(value)} is not of the type object; write one that is"
    _fault(faults, at, "type", text, value)
    return False


@dataclass(frozen=True, slots=True)
class _Mapping:
    key: _Shape
    inner: _Shape

    def fits(self, value: object) -> bool:
        return isinstance(value, Mapping)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        if not _is_table(value, at, faults):
            return None
        entries = {}
        for key, element in value.items():
            before = len(faults)
            name = self.key.read(key, (at, key), faults)
            if len(faults) == before:
                entries[name] = self.inner.read(element, (at, key), faults)
        return MappingProxyType(entries)

    def write(self, value: Any) -> Any:
        return {self.key.write(key): self.inner.write(element) for key, element in value.items()}

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        names = self.key.schema(definitions)
        return {
            "type": "object",
            **({} if names == {"type": "string"} else {"propertyNames": names}),
            "additionalProperties": self.inner.schema(definitions),
        }


@dataclass(frozen=True, slots=True)
class _Nullable:
    inner: _Shape

    def fits(self, value: object) -> bool:
        return value is None or self.inner.fits(value)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        return None if value is None else self.inner.read(value, at, faults)

    def write(self, value: Any) -> Any:
        return None if value is None else self.inner.write(value)

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        inner = self.inner.schema(definitions)
        if list(inner) == ["type"]:
            return {"type": [inner["type"], "null"]}
        return {"anyOf": [inner, {"type": "null"}]}


def _type_name(shape: _Shape) -> str:
    if isinstance(shape, _Scalar):
        return _TYPES[shape.kind]
    if isinstance(shape, _Choice):
        return " or ".join(map(str, shape.values))
    return "array" if isinstance(shape, _List | _Pair) else "object"


@dataclass(frozen=True, slots=True)
class _Union:
    """Whichever of some types a value has in a file."""

    inner: tuple[_Shape, ...]
    option: Option

    def fits(self, value: object) -> bool:
        return any(shape.fits(value) for shape in self.inner)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        for shape in self.inner:
            if shape.fits(value):
                return shape.read(value, at, faults)
        types = " or ".join(map(_type_name, self.inner))
        text = self.option.problem or f"is not of the type {types}; write one that is"
        words = [
            word for shape in self.inner if isinstance(shape, _Choice) for word in shape.values
        ]
        if isinstance(value, str) and words:
            from difflib import get_close_matches

            near = get_close_matches(value, map(str, words), n=1)
            text += f"; did you mean {quoted(near[0])}?" if near else ""
        _fault(faults, at, "anyOf", f"{quoted(value)} {text}", value)
        return None

    def write(self, value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        return {"anyOf": [shape.schema(definitions) for shape in self.inner]}


@dataclass(frozen=True, slots=True)
class _TaggedUnion:
    """A union of dataclasses; `key` is the one whose value says which of them it is."""

    key: str
    tables: Mapping[str, _Table]

    def fits(self, value: object) -> bool:
        return isinstance(value, Mapping)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        if not _is_table(value, at, faults):
            return None
        if self.key not in value:
            _fault(faults, at, "required", f"{self.key} is missing; add it")
            return None
        word = value[self.key]
        if not isinstance(word, str) or word not in self.tables:
            text = f"{quoted(word)} is none of {', '.join(self.tables)}"
            _fault(faults, (at, self.key), "enum", text, word, self.tables)
            return None
        return self.tables[word].read(value, at, faults)

    def write(self, value: Any) -> Any:
        written = (table for table in self.tables.values() if table.kind is type(value))
        return next(written).write(value)

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        return {"oneOf": [table.schema(definitions) for table in self.tables.values()]}


@dataclass(frozen=True, slots=True)
class _Slot:
    """A key of a table: the shape of what stands there, and the field that has it.

    `inside` is the field that holds what is set of the options of another dataclass. Without a
    `field` the value says what kind of table it is, and no more.
    """

    field: str
    shape: _Shape
    option: Option
    default: Any
    inside: str = ""


class _Table:
    """A dataclass: a table whose keys are its fields, or what their options say.

    A key with a dot is one of a table in it. `header` has the values that stand at further keys.
    """

    def __init__(self, kind: type[Any], header: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.kind = kind
        self._header = header

    @cached_property
    def slots(self) -> Mapping[str, _Slot]:
        """The keys, also of tables in it, as in `agents.machine`, with what stands there."""
        about = Option("The version of this format.")
        slots = {
            key: _Slot("", _Choice({value: value}), about if value == 1 else NO_OPTION, MISSING)
            for key, value in self._header.items()
        }
        return slots | dict(_slots(self.kind))

    @cached_property
    def keys(self) -> Mapping[str, Any]:
        """The keys, each with its slot, or with the keys of the table that stands there."""
        table: dict[str, Any] = {}
        for key, slot in self.slots.items():
            *outer, last = key.split(".")
            at = table
            for part in outer:
                at = at.setdefault(part, {})
            at[last] = slot
        return table

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(key for key, slot in self.slots.items() if slot.default is MISSING)

    @cached_property
    def alternatives(self) -> tuple[str, ...]:
        """The keys of which exactly one stands there."""
        return tuple(getattr(self.kind, "one_of", ()))

    @cached_property
    def _insides(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self.kind) if given_options(field) is not None)

    def fits(self, value: object) -> bool:
        return isinstance(value, Mapping)

    def read(self, value: Any, at: At, faults: list[Fault]) -> Any:
        if not _is_table(value, at, faults):
            return None
        before, values = len(faults), dict[str, Any]()
        for name in self._insides:
            values[name] = {}
        self._read_keys(self.keys, value, at, faults, values)
        missing = [key for key in self.required if key not in value]
        if missing:
            told = "is missing; add it" if len(missing) == 1 else "are missing; add them"
            _fault(faults, at, "required", f"{', '.join(missing)} {told}")
        there = [key for key in self.alternatives if key in value]
        if self.alternatives and len(there) != 1:
            *some, last = self.alternatives
            text = f"write exactly one of {', '.join(some)} and {last}; here "
            text += f"are {' and '.join(there)}" if there else "is none of them"
            _fault(faults, at, "oneOf", text)
        if len(faults) > before:
            return None
        built = self.kind(**values)
        for fault in built.problems() if hasattr(built, "problems") else ():
            faults.append(replace(fault, path=(*_place(at), *fault.path)))
        return built

    def _read_keys(
        self,
        keys: Mapping[str, Any],
        value: Mapping[str, Any],
        at: At,
        faults: list[Fault],
        values: dict[str, Any],
    ) -> None:
        unknown = []
        for key, inner in value.items():
            slot = keys.get(key)
            if slot is None:
                unknown.append(key)
            elif not isinstance(slot, _Slot):
                if _is_table(inner, (at, key), faults):
                    self._read_keys(slot, inner, (at, key), faults, values)
            else:
                value_there = slot.shape.read(inner, (at, key), faults)
                if slot.field:
                    into = values[slot.inside] if slot.inside else values
                    into[slot.field] = value_there
        if unknown:
            first, place = min(unknown), _place(at)
            where = f"{format_path(place)}: " if place else ""
            text = f"unknown key {', '.join(sorted(unknown))}; known here: {', '.join(keys)}"
            faults.append(
                Fault((*place, first), where + text, "additionalProperties", first, tuple(keys))
            )

    def write(self, value: Any) -> Any:
        table = dict(self._header)
        for key, slot in self.slots.items():
            if not slot.field:
                continue
            if slot.inside:
                entry = getattr(value, slot.inside).get(slot.field, slot.default)
            else:
                entry = getattr(value, slot.field)
            if slot.default is MISSING or entry != slot.default:
                *outer, last = key.split(".")
                at = table
                for part in outer:
                    at = at.setdefault(part, {})
                at[last] = slot.shape.write(entry)
        return table

    def schema(self, definitions: _Definitions) -> dict[str, Any]:
        name = ".".join([self.kind.__name__, *map(str, self._header.values())])
        if name not in definitions:
            definitions[name] = {}  # a dataclass may hold others of itself
            definitions[name] |= self.object_schema(definitions)
        return {"$ref": f"#/$defs/{name}"}

    def object_schema(self, definitions: _Definitions) -> dict[str, Any]:
        """The JSON Schema of it, where it stands."""
        kinds = (
            self.kind,
            *(inside[0] for inside in map(given_options, fields(self.kind)) if inside),
        )
        about = {key: told for kind in kinds for key, told in getattr(kind, "tables", {}).items()}
        schema = _object_schema(self.keys, definitions, about)
        if self.required:
            schema["required"] = list(self.required)
        if self.alternatives:
            schema["oneOf"] = [{"required": [key]} for key in self.alternatives]
        return schema


def _object_schema(
    keys: Mapping[str, Any], definitions: _Definitions, about: Mapping[str, str]
) -> dict[str, Any]:
    properties = {
        key: _described(slot, definitions)
        if isinstance(slot, _Slot)
        else _object_schema(slot, definitions, {}) | {"description": about.get(key, "")}
        for key, slot in keys.items()
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _described(slot: _Slot, definitions: _Definitions) -> dict[str, Any]:
    shown = slot.option.default or _shown(slot.default)
    sentences = (slot.option.help, f"Left out, {shown}." if shown else "")
    told = " ".join(filter(None, sentences))
    return slot.shape.schema(definitions) | ({"description": told} if told else {})


def _shown(default: Any) -> str:
    """A default in words; "" where there is none worth telling."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Enum):
        return str(default.value)
    return str(default) if isinstance(default, str | int | float) else ""


def _slots(kind: type[Any]) -> Iterator[tuple[str, _Slot]]:
    """The keys of a dataclass, with what stands there."""
    hints = get_type_hints(kind, include_extras=True)
    for field_ in fields(kind):
        inside = given_options(field_)
        if inside is not None:
            yield from _given_slots(field_.name, *inside)
        elif field_.init and not field_.name.startswith("_") and not is_outside(field_):
            option = option_of(field_) or NO_OPTION
            shape = _field_shape(hints[field_.name], field_, option)
            yield option.key or field_.name, _Slot(field_.name, shape, option, _default(field_))


def _given_slots(inside: str, kind: type[Any], names: tuple[str, ...]) -> Iterator[Any]:
    """The keys of the options of `kind`; of those that are named, each without its table."""
    hints = get_type_hints(kind, include_extras=True)
    for field_ in fields(kind):
        option = option_of(field_)
        if option is None or (names and field_.name not in names):
            continue
        key = option.key or field_.name
        shape = _field_shape(hints[field_.name], field_, option)
        default = None if names else _default(field_)
        yield (
            key.rpartition(".")[2] if names else key,
            _Slot(field_.name, shape, option, default, inside),
        )


def _default(field_: Field[Any]) -> Any:
    return field_.default if field_.default_factory is MISSING else field_.default_factory()


def _field_shape(kind: Any, field_: Field[Any], option: Option) -> _Shape:
    """The shape of what stands at a field's key: None is left out where the field has a default."""
    if option.written is not None:
        return _shape(option.written, option)
    inner, optional = _without_none(kind)
    if inner is str and option is not NO_OPTION and option.least is None and not option.pattern:
        option = replace(option, least=1)
    shape = _shape(inner if optional else kind, option)
    return _Nullable(shape) if optional and _default(field_) is MISSING else shape


def _without_none(kind: Any) -> tuple[Any, bool]:
    """A type without its None, and whether it had one."""
    if get_origin(kind) not in (Union, UnionType):
        return kind, False
    inner = tuple(part for part in get_args(kind) if part is not NoneType)
    return Union[inner], len(inner) < len(get_args(kind))  # noqa: UP007 - of types that are read


def _merged(outer: Option, inner: Option) -> Option:
    """The option of a field, with the bounds of its type where it has none of its own."""
    left = {
        about.name: getattr(inner, about.name)
        for about in fields(Option)
        if getattr(outer, about.name) == about.default
    }
    return replace(outer, **left)


def _shape(kind: Any, option: Option = NO_OPTION) -> _Shape:  # noqa: PLR0911 - a case each
    """How values of a type stand in a file."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(inner[0], inner[1:], option)
    if kind is Any or kind is object:
        return _Anything()
    if option.choices:
        return _Choice({choice: choice for choice in option.choices})
    if option.parse is not None:
        return _Scalar(str, option)
    if kind in _TYPES:
        return _Scalar(kind, option, as_float=kind is float)
    if origin is Literal:
        return _Choice({choice: choice for choice in inner})
    if origin in (Union, UnionType):
        return _union(kind, option)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _Choice({member.value: member for member in kind})
    if isinstance(kind, type) and is_dataclass(kind):
        return _table(kind)
    return _container(origin, inner, option)


def _annotated(kind: Any, notes: Iterable[Any], option: Option) -> _Shape:
    for note in notes:
        if isinstance(note, Option):
            option = _merged(option, note)
        elif isinstance(note, Tagged):
            words = {kind_: note.words[kind_] for kind_ in get_args(kind)}
            tables = {word: _Table(kind_, {note.key: word}) for kind_, word in words.items()}
            return _TaggedUnion(note.key, tables)
    return _shape(kind, option)


def _union(kind: Any, option: Option) -> _Shape:
    if set(get_args(kind)) == {float, int}:
        return _Scalar(float, option)
    without, optional = _without_none(kind)
    if optional:
        return _Nullable(_shape(without, option))
    return _Union(tuple(map(_shape, get_args(kind))), option)


def _container(origin: Any, inner: tuple[Any, ...], option: Option) -> _Shape:
    if origin is tuple and inner[-1] is not Ellipsis:
        return _Pair(tuple(map(_shape, inner)))
    if origin in (tuple, frozenset):
        return _List(_shape(inner[0]), option, tuple if origin is tuple else frozenset)
    if origin is not None and issubclass(origin, Mapping):
        return _Mapping(_shape(inner[0]), _shape(inner[1]))
    raise TypeError(f"no file can hold {origin} of {inner}")


@cache
def _table(kind: type[Any]) -> _Table:
    return _Table(kind)


@cache
def _shape_of(kind: Any) -> _Shape:
    return _shape(kind)


def read_value(kind: Any, raw: object) -> tuple[Any, tuple[Fault, ...]]:
    """What JSON or TOML of the form of the type `kind` means, and its faults.

    Where there are faults, the value is of no meaning.

    >>> read_value(tuple[int, ...], [1, 2])
    ((1, 2), ())
    >>> [fault.message for fault in read_value(tuple[int, ...], [1, "2"])[1]]
    ["[1]: '2' is not of the type integer; write one that is"]
    """
    faults: list[Fault] = []
    value = _shape_of(kind).read(raw, None, faults)
    return value, tuple(faults)


def read_assignments(
    kind: type[Any], assignments: Iterable[str], field: str | None = None
) -> dict[str, Any]:
    """The fields of the dataclass `kind` that texts KEY=VALUE set, as a file would set them.

    VALUE is as in TOML; what is none, or has not the form of the field, is read as text, or as a
    list between commas. Raises `UsageError`, with `field`, for a key that is none, for one that is
    set twice, and for a value that a file could not have.

    >>> @dataclass
    ... class Bounds:
    ...     n: int = 6
    ...     names: tuple[str, ...] = ()
    >>> read_assignments(Bounds, ["n=3", 'names=["a"]'])
    {'n': 3, 'names': ('a',)}
    """
    slots = {key: slot for key, slot in _slots(kind) if not slot.option.argument}
    values: dict[str, Any] = {}
    for text in assignments:
        key, sign, written = text.partition("=")
        if not sign:
            raise UsageError(f"{quoted(text)} sets nothing; write KEY=VALUE", field)
        if key not in slots:
            ends = [known for known in slots if known.endswith(f".{key}")]
            if ends:
                near = " or ".join(ends)
                raise UsageError(f"there is no key {quoted(key)}; did you mean {near}?", field)
            raise unknown_name("key", key, dict.fromkeys(slots, ""), field)
        slot = slots[key]
        if slot.field in values:
            raise UsageError(f"{key} is set twice; leave one of them out", field)
        values[slot.field] = _assigned(slot, key, written, field)
    return values


def _assigned(slot: _Slot, key: str, written: str, field: str | None) -> Any:
    """The value that a text gives to the key of a slot."""
    # As TOML has it; a text such as 2024, where TOML has a number; a list such as 1,2 or cat,dog.
    first: list[Fault] = []
    parts = written.split(",")
    for raw in (_as_toml(written), written, [*map(_as_toml, parts)], parts):
        faults: list[Fault] = []
        value = slot.shape.read(raw, (None, key), faults)
        if not faults:
            return value
        first = first or faults
    raise UsageError("; ".join(fault.message for fault in first), field)


def _as_toml(written: str) -> Any:
    """What a text means as a value of TOML; itself where it is none."""
    try:
        table = tomllib.loads(f"value = {written}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return written
    return table["value"] if len(table) == 1 else written


def write_value(kind: Any, value: object) -> Any:
    """JSON that `read_value` reads as `value`, which is of the type `kind`.

    >>> write_value(tuple[int, ...], (1, 2))
    [1, 2]
    """
    return _shape_of(kind).write(value)


def value_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of the form of the type `kind`.

    >>> value_schema(tuple[int, ...])
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    definitions: _Definitions = {}
    schema = _shape_of(kind).schema(definitions)
    return schema | ({"$defs": dict(sorted(definitions.items()))} if definitions else {})


@dataclass(frozen=True)
class FileContent(Generic[T]):
    """What a file says: its `value`, and how it is written."""

    value: T
    raw: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    filename: str

    error: type[FileError] = FileError

    def located(self, faults: Iterable[Fault]) -> tuple[Fault, ...]:
        """Faults at paths of the file, with its name and their lines."""
        return located(faults, self.text, self.filename)

    def refusal(self, *faults: Fault) -> FileError:
        """The error for faults at paths of the file."""
        return self.error(self.located(faults))


@dataclass(frozen=True)
class FileKind(Generic[T]):
    """A kind of file: its content is of the form of the dataclass `kind`, beside its `header`.

    `what` it is, and what else than its path could be given (`otherwise`), are for errors; `title`,
    `about` and `name` for its schema. `most` is how many bytes it may have.
    """

    kind: type[T]
    what: str
    title: str
    about: str = ""
    name: str = ""
    header: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({"format": 1}))
    otherwise: str = ""
    most: int = MOST_BYTES
    is_json: bool | None = None
    error: type[FileError] = FileError

    @cached_property
    def _table(self) -> _Table:
        return _Table(self.kind, self.header)

    def load(self, path: str | Path) -> FileContent[T]:
        """What the file at `path` says (TOML, or JSON by its name).

        Raises `error` with every fault: file, line and remedy each.
        """
        text = text_of(Path(path), self.what, self.otherwise, most=self.most, error=self.error)
        return self.parse(text, str(path))

    def parse(self, text: str, filename: str) -> FileContent[T]:
        """What the text of the file `filename` says; raises `error` with every fault."""
        raw = read(text, filename, is_json=self.is_json, error=self.error)
        value, faults = self.read(raw)
        if faults:
            raise self.error(located(faults, text, filename))
        return FileContent(value, raw, text, filename, self.error)

    def read(self, raw: Mapping[str, Any]) -> tuple[T, tuple[Fault, ...]]:
        """What a document means, and its faults; where there are any, the value has no meaning."""
        faults: list[Fault] = []
        value: T = self._table.read(raw, None, faults)
        return value, tuple(faults)

    def write(self, value: T) -> dict[str, Any]:
        """The document that means `value`."""
        table: dict[str, Any] = self._table.write(value)
        return table

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of such files."""
        definitions: _Definitions = {}
        schema = self._table.object_schema(definitions)
        about = {
            "$schema": DIALECT,
            **({"$id": f"urn:pxp-fsm:{self.name}:1"} if self.name else {}),
            "title": self.title,
            **({"description": self.about} if self.about else {}),
        }
        inner = {"$defs": dict(sorted(definitions.items()))} if definitions else {}
        return about | schema | inner
