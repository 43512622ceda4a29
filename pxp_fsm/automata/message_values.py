"""What the messages of a system carry, as far as rules read it: every value that there can be.

Who explores follows a message with its values, so a tag of which rules read something is a tag for
each of them: `ADD[size=3]`. The values come from the JSON Schemas that sender and receiver have for
the tag. An id of endless many is one of as many as can be told apart: those that registers and
messages on their way hold, and new ones. Ids are compared for equality alone, and no rule sees
whether one was there before, so with more of them nothing else can happen (data independence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.expressions import ID, INT
from pxp_fsm.automata.payloads import value_fits
from pxp_fsm.automata.rules import MESSAGE, MessageField, Values, id_of
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

MOST_VALUES = 1_000
"""Values of a tag, of all that rules read of it together, beyond which it is not followed."""

Link = tuple[int, int]
"""The numbers of a sender and a receiver."""

_ENDLESS = frozenset({"string", "integer", "fraction", "object", "array"})
"""Types of which there are endless many values; `fraction` is a number that is not whole."""

_FEW: Mapping[str, tuple[object, ...]] = {"boolean": (False, True), "null": (None,)}

_COMPOSED = (
    *("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if"),
    *("dependentSchemas", "dependentRequired"),
)
"""Keywords by which the values of a property are said in another place."""

_LISTS = ("enum", "const")
"""Keywords with all values."""

_NARROWING = frozenset(
    (
        *("pattern", "minLength", "maxLength", "multipleOf", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    )
)
"""Keywords that refuse some values of a type, and may leave few."""


class UnknownValues(UsageError):
    """Rules read of the messages with this `tag` what has no bound, or cannot be found out."""

    def __init__(self, tag: str, problem: str) -> None:
        super().__init__(
            f"{tag}: {problem}, or state a claim, which is proved for all values (pxp help proofs)"
        )
        self.tag = tag


@dataclass(frozen=True, slots=True)
class SplitTag:
    """A tag with values: `ADD[size=3]`, and by the path of each field its value as JSON."""

    label: str
    values: tuple[tuple[str, str], ...]

    @property
    def told(self) -> str:
        """The values, as they stand in the label; "" where there are none."""
        return self.label.partition("[")[2].removesuffix("]")

    def read(self, fields: Sequence[MessageField]) -> Values:
        """The values of these fields."""
        held = dict(self.values)
        return tuple(
            int(held[field.path]) if field.type == INT else held[field.path] for field in fields
        )


@dataclass(frozen=True)
class MessageValues:
    """By tag its messages, of tags of which rules read something; and all `ids` that there are."""

    tags: tuple[tuple[str, tuple[SplitTag, ...]], ...] = ()
    ids: tuple[str, ...] = ()

    @cached_property
    def of(self) -> Mapping[str, tuple[SplitTag, ...]]:
        """`tags` as a mapping."""
        return dict(self.tags)

    def by(self, row: Transition) -> tuple[SplitTag, ...]:
        """The messages of a row: its label as it is, where nothing is read of it."""
        plain = (SplitTag(row.label, ()),)
        return plain if row.kind is Kind.EVENT else self.of.get(row.label, plain)


NO_VALUES = MessageValues()
"""Where nothing is read of messages."""


def message_values(
    tables: Sequence[Automaton],
    ruled: Collection[int],
    routes: Mapping[str, Sequence[Link]],
    room: Mapping[Link, int] | None,
) -> MessageValues:
    """The messages between members with these tables, of which those `ruled` follow their rules.

    `routes` has the links on which a tag may be sent, `room` how many messages may be on their way
    on a link (None is no bound).

    Raises `UnknownValues` with what to do, where a field has too many values or they are not known.
    """
    read = _read([tables[place] for place in ruled])
    shapes, known = dict[tuple[str, str], _Shape](), dict[str, object]()
    for tag, fields in read.items():
        if "" in fields and len(fields) > 1:
            parts = ", ".join(f"{MESSAGE}.{path}" for path in fields if path)
            message = f"{MESSAGE} and its part {parts} are read; read the one or the other"
            raise UnknownValues(tag, message)
        for path, some in fields.items():
            shape = shapes[tag, path] = _shape(tables, routes.get(tag, ()), tag, some)
            known |= shape.values if any(field.type == ID for field in some) else {}
    readers = [tables[place] for place in ruled if reads_ids(tables[place])]
    endless = {key: shape.types for key, shape in shapes.items() if shape.types}
    asked = max(
        (sum(oracle.type == ID for oracle in table.rules.oracles) for table in readers), default=0
    )
    if asked:
        endless["", ""] = _ENDLESS
    number = asked + _alive(tables, readers, routes, room, endless)
    fresh = _fresh(endless, number)
    split = dict[str, tuple[SplitTag, ...]]()
    for tag, fields in read.items():
        every = {path: [*shapes[tag, path].of(known, fresh)] for path in fields}
        if math.prod(map(len, every.values())) > MOST_VALUES:
            raise _too_many(tag, max(every, key=lambda path: len(every[path])))
        split[tag] = tuple(
            _split(tag, dict(zip(every, some, strict=True))) for some in product(*every.values())
        )
    return MessageValues(tuple(split.items()), (*known, *fresh))


def tags_read(table: Automaton) -> frozenset[str]:
    """The tags of which rules of a table read something."""
    return frozenset(_read([table]))


def loose_ids(tables: Sequence[Automaton], ruled: Collection[int]) -> Iterator[str]:
    """Which ids stand for endless many, of which schemas of `tables` refuse some: a note for each.

    `ruled` are the numbers of the tables that follow their rules. An id is followed whatever else
    than its type is said of it, so that what is found with it may need one that is refused.
    """
    for tag, fields in _read([tables[place] for place in ruled]).items():
        for path, some in fields.items():
            roots = [table.payloads.get(tag) for table in tables]
            own = [_own(root, path) for root in roots if isinstance(root, Mapping)]
            said = {key for schema in own for key in schema}
            refusing = sorted(said & _NARROWING)
            if some[0].type == ID and refusing and said.isdisjoint(_LISTS):
                yield (
                    f"{tag}: {some[0].name} may be shown as an id (#1) that {', '.join(refusing)} "
                    f"would refuse; write an enum where few values fit"
                )


def reads_ids(table: Automaton) -> bool:
    """Whether registers of a table become ids that messages carry, or are compared with them."""
    return any(field.type == ID for row in table.transitions for field in table.rules.reads(row))


@dataclass(frozen=True)
class _Shape:
    """The values of a field: those listed, by their JSON, and any that `fits` of endless types."""

    values: Mapping[str, object]
    types: frozenset[str]
    fits: Callable[[object], bool]

    def of(self, known: Mapping[str, object], fresh: Mapping[str, frozenset[str]]) -> Iterator[str]:
        """The values as they are followed, with those that are `known` of other fields."""
        yield from self.values
        if self.types:
            others = ((text, value) for text, value in known.items() if text not in self.values)
            yield from (text for text, value in others if self.fits(value))
            yield from (text for text, types in fresh.items() if types & self.types)


def _read(tables: Sequence[Automaton]) -> dict[str, dict[str, list[MessageField]]]:
    """By tag and path, what rules read: a table may read as a number what is an id for another."""
    by_tag = dict[str, dict[str, list[MessageField]]]()
    for table in tables:
        for row in table.transitions:
            for field in table.rules.reads(row):
                by_tag.setdefault(row.label, {}).setdefault(field.path, []).append(field)
    return by_tag


def _split(tag: str, values: Mapping[str, str]) -> SplitTag:
    told = ", ".join(f"{path or MESSAGE}={held}" for path, held in values.items())
    return SplitTag(f"{tag}[{told}]", tuple(values.items()))


def _shape(
    tables: Sequence[Automaton], links: Sequence[Link], tag: str, fields: Sequence[MessageField]
) -> _Shape:
    """The values of a field, which must be the same on all links on which the tag is sent."""
    numbers = [field for field in fields if field.type == INT]
    if not links:  # nobody sends it: what it would carry makes no difference
        none = max(field.minimum or 0 for field in numbers) if numbers else None
        return _Shape({id_of(none): none}, frozenset(), bool)
    field = numbers[0] if numbers else fields[0]
    shapes = [_shape_between([tables[place] for place in link], tag, field) for link in links]
    first = shapes[0]
    if any(
        (shape.values.keys(), shape.types) != (first.values.keys(), first.types) for shape in shapes
    ):
        message = f"{field.name} has other values between some members than between others"
        raise UnknownValues(tag, f"{message}; give it one schema")
    return first


def _shape_between(tables: Sequence[Automaton], tag: str, field: MessageField) -> _Shape:
    """The values of a field that fit the schemas of a sender and its receiver."""
    names = " or ".join(dict.fromkeys(table.name for table in tables))
    roots = [schema for table in tables if isinstance(schema := table.payloads.get(tag), Mapping)]
    own = [_own(root, field.path) for root in roots]
    behind = {key for schema in (*roots, *own) for key in schema if key in _COMPOSED}
    beyond = (*_LISTS, "patternProperties")
    behind |= {key for schema in roots for key in schema if key in beyond and field.path}
    if behind:
        message = f"the values of {field.name} do not follow from {min(behind)}"
        remedy = f"write type, enum or const at the property in [payloads] of {names}"
        raise UnknownValues(tag, f"{message}; {remedy}")
    listed = [schema.get("enum", [schema.get("const")]) for schema in own if {*schema} & {*_LISTS}]
    values, types = list[object](), frozenset[str]()
    if listed:
        values = min(listed, key=len)
        if len(values) > MOST_VALUES:
            raise _too_many(tag, field.path)
    else:
        typed = [_types(schema["type"]) for schema in own if "type" in schema]
        types = frozenset.intersection(*typed) if typed else _ENDLESS
        values = [value for kind in sorted(types) for value in _FEW.get(kind, ())]
        if types & {"integer", "fraction"} == {"integer"}:
            low, high = _bounds(own)
            if high - low >= MOST_VALUES and math.isfinite(high - low):
                raise _too_many(tag, field.path)
            if math.isfinite(high - low):
                values += range(math.ceil(low), math.floor(high) + 1)
                types -= {"integer"}
        types &= _ENDLESS
    if field.type == INT and "integer" in types:
        raise UnknownValues(
            tag,
            f"{field.name} is any whole number, and bounded ones are explored; give it a minimum "
            f"and a maximum in [payloads] of {names}",
        )
    fits = partial(_fit, roots, field.path)
    values = [value for value in values if fits(value) and (field.type == ID or type(value) is int)]
    if not values and not types:
        message = f"no value of {field.name} fits the schemas of {names}; correct one"
        raise UnknownValues(tag, message)
    return _Shape({id_of(value): value for value in values}, types, fits)


def _too_many(tag: str, path: str) -> UnknownValues:
    name = f"{MESSAGE}.{path}" if path else MESSAGE
    message = f"{name} has too many values, which make more than {MOST_VALUES:,} messages"
    return UnknownValues(tag, f"{message}; bound it more tightly in [payloads]")


def _own(root: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """What a schema says of a property, or of all, for the path "" ."""
    properties = root.get("properties", {}) if path else {path: root}
    schema = properties.get(path) if isinstance(properties, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


def _types(named: object) -> frozenset[str]:
    names = {named} if isinstance(named, str) else {*named} if isinstance(named, list) else set()
    return frozenset(names - {"number"} | ({"integer", "fraction"} if "number" in names else set()))


def _bounds(schemas: Sequence[Mapping[str, object]]) -> tuple[float, float]:
    """The least and the largest whole number that these schemas allow."""
    low, high = -math.inf, math.inf
    for schema in schemas:
        low = max(low, *(_number(schema, "minimum", low), _number(schema, "exclusiveMinimum", low)))
        high = min(
            high, *(_number(schema, "maximum", high), _number(schema, "exclusiveMaximum", high))
        )
    return low, high


def _number(schema: Mapping[str, object], keyword: str, otherwise: float) -> float:
    value = schema.get(keyword)
    return value if isinstance(value, int | float) else otherwise


def _fit(schemas: Sequence[Mapping[str, object]], path: str, value: object) -> bool:
    return all(value_fits(schema, path, value) for schema in schemas)


def _alive(
    tables: Sequence[Automaton],
    readers: Sequence[Automaton],
    routes: Mapping[str, Sequence[Link]],
    room: Mapping[Link, int] | None,
    endless: Collection[tuple[str, str]],
) -> int:
    """How many ids are there at once, at most: in registers, on their way, in messages that wait
    since nobody takes them, and new ones in a message.
    """
    carried = dict[str, int]()
    for tag, _ in endless:
        carried[tag] = carried.get(tag, 0) + 1
    on_way = dict[Link, int]()
    for tag, number in carried.items():
        for link in routes.get(tag, ()):
            if room is None:
                message = (
                    "there is no bound on how many ids are on their way; check a channel with one"
                )
                raise UnknownValues(tag, message)
            on_way[link] = max(on_way.get(link, 0), room.get(link, 0) * number)
    kept = sum(register.type == ID for table in readers for register in table.rules.registers)
    waiting = sum(
        max(
            (
                carried.get(row.label, 0)
                for row in table.transitions
                if row.kind is Kind.SEND and row.guard is not None
            ),
            default=0,
        )
        for table in tables
    )
    return kept + sum(on_way.values()) + waiting + max(carried.values(), default=0)


def _fresh(
    endless: Mapping[tuple[str, str], frozenset[str]], number: int
) -> dict[str, frozenset[str]]:
    """So many ids, `#1` and so on, of all types that the same fields can have."""
    classes = dict[frozenset[tuple[str, str]], set[str]]()
    for kind in sorted(_ENDLESS):
        fields = frozenset(key for key, types in endless.items() if kind in types)
        if fields:
            classes.setdefault(fields, set()).add(kind)
    every = (frozenset(types) for types in classes.values() for _ in range(number))
    return {f"#{place}": types for place, types in enumerate(every, 1)}
