"""Payloads: what the messages of a table carry, by the JSON Schema that the table has for a tag."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import ID
from pxp_fsm.automata.rules import id_of
from pxp_fsm.errors import UsageError, quoted


def payload_problem(automaton: Automaton, tag: str, text: str) -> str | None:
    """Why the payload `text`, as JSON, does not fit what `automaton` says of `tag`, or None.

    A tag of which the table says nothing carries any JSON value. What the rules of a table read of
    a message is there, and of their type: a whole number is no 2.0. What an `enum` or a `const`
    lists is carried as it is written: no 2.0 for a 2, which rules tell apart.
    """
    if tag not in automaton.payloads:
        return None
    value = json.loads(text)
    mismatch = next(_mismatches(automaton.payloads[tag], value), None)
    if mismatch is not None:
        return mismatch
    rows = (row for row in automaton.transitions if row.label == tag)
    fields = dict.fromkeys(field for row in rows for field in automaton.rules.reads(row))
    paths = {field.path for field in fields if field.type == ID}
    for path, ids in _written(json.dumps(automaton.payloads[tag])):
        part = value.get(path, _NONE) if path and isinstance(value, dict) else value
        where = f"$.{path}" if path else "$"
        if ids is None and path in paths and isinstance(part, float):
            return f"{where}: {part} is a whole number; write it without a point"
        if ids is not None and part is not _NONE and id_of(part) not in ids:
            return f"{where}: {quoted(part)} is written otherwise in the schema; write it as there"
    for field in fields:
        try:
            field.value(value)
        except UsageError as error:
            return str(error)
    return None


def value_fits(schema: Mapping[str, Any], path: str, value: Any) -> bool:
    """Whether `value` fits what a schema says of a property, or of all for the path ""."""
    try:
        errors = [*_errors(schema, {path: value} if path else value)]
    except _NoEnd:
        return False
    return not any(
        not path or path in error.absolute_path for error in errors
    )  # not of what is left out


def schema_problems(payloads: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each tag whose schema is none, or has an example that does not fit it, with the reason."""
    if not payloads:
        return  # most tables have none, and to load the library takes as long as to check one
    from jsonschema import Draft202012Validator, SchemaError

    for tag, schema in payloads.items():
        if problem := _written_problem(schema):
            yield tag, f"is no JSON Schema: {problem}"
            continue
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            yield tag, f"is no JSON Schema: {error.json_path}: {error.message}"
            continue
        for example in schema.get("examples", ()) if isinstance(schema, Mapping) else ():
            mismatch = next(_mismatches(schema, example), None)
            if mismatch is not None:
                message = f"{mismatch}; correct the example or the schema"
                yield tag, f"has an example that does not fit: {message}"


MOST_NESTED = 200
"""How deep a schema is, with whatever is in it."""


def _mismatches(schema: object, value: object) -> Iterator[str]:
    """Where and why `value` does not fit a schema."""
    try:
        for error in _errors(schema, value):
            yield f"{error.json_path}: {error.message}"
    except _NoEnd as no_end:
        yield f"$: {no_end}"


class _NoEnd(Exception):
    """A schema cannot be followed to its end, for the reason that is given."""


def _errors(schema: object, value: object) -> Iterator[Any]:
    """What of a value does not fit, as the validator says it. Raises `_NoEnd`."""
    from referencing.exceptions import Unresolvable

    try:
        yield from _validator(json.dumps(schema)).iter_errors(value)
    except RecursionError:
        reason = "it is nested too deeply, or its schema refers to itself without end"
        raise _NoEnd(reason) from None
    except Unresolvable as error:
        raise _NoEnd(f"its schema refers to {quoted(error.ref)}, which is not in it") from None


def _written_problem(schema: object) -> str | None:
    """What of a schema is no JSON, or is nested too deeply to be followed."""
    parts = [(schema, 0)]
    for part, depth in parts:
        if depth > MOST_NESTED:
            return f"it is nested more than {MOST_NESTED} deep"
        if isinstance(part, float) and not math.isfinite(part):
            return f"{part} is no number of JSON; leave it out, or write one that is"
        if isinstance(part, str) and any("\ud800" <= letter <= "\udfff" for letter in part):
            return f"{quoted(part)} has half of a character"
        if isinstance(part, Mapping | list):
            inner = part.values() if isinstance(part, Mapping) else part
            parts += ((value, depth + 1) for value in inner)
    return None


_NONE = object()
"""What is carried of a property that is left out."""


@lru_cache(maxsize=256)
def _written(schema: str) -> tuple[tuple[str, frozenset[str] | None], ...]:
    """The properties that are written in one way alone, "" for all of it: as the schema lists them,
    with the ids of these; or whole numbers (None), of which there is no 2.0."""
    root = json.loads(schema)
    parts = {"": root} | (root.get("properties", {}) if isinstance(root, dict) else {})
    ways = dict[str, frozenset[str] | None]()
    for path, part in parts.items():
        if not isinstance(part, dict):
            continue
        types = part.get("type", [])
        if not part.keys().isdisjoint(("enum", "const")):
            ways[path] = frozenset(map(id_of, part.get("enum", [part.get("const")])))
        elif "integer" in ([types] if isinstance(types, str) else types) and "number" not in types:
            ways[path] = None
    return tuple(ways.items())


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    registry: Registry[Any] = Registry()  # nothing is fetched: a schema refers to itself at most
    return Draft202012Validator(json.loads(schema), registry=registry)
