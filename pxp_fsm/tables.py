"""Reading automaton tables: from a TOML (or JSON) file to a validated `Automaton`.

The structure of the file is what `automata/schema.json` says, and this loader uses that very
schema. What a schema cannot say is in `pxp_fsm.soundness`. Nothing in a file is ever imported or
run.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm.automaton import Automaton, Kind, State, Transition
from pxp_fsm.errors import TableError
from pxp_fsm.positions import line_of
from pxp_fsm.soundness import Problem, problems_of

BUILTIN = ("interact", "pxp", "pxp_hang_up")
"""The automata that come with the package."""

_MAX_BYTES = 1_000_000


def schema() -> dict[str, Any]:
    """The JSON Schema of the table format, as published with the package."""
    text = resources.files("pxp_fsm.automata").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def builtin(name: str) -> Automaton:
    """A built-in automaton by its name (`interact`, `pxp`, `pxp_hang_up`)."""
    if name not in BUILTIN:
        raise TableError(
            (f"there is no built-in automaton {name!r}; there are {_listed(BUILTIN)}",)
        )
    path = resources.files("pxp_fsm.automata").joinpath(f"{name}.toml")
    return parse_automaton(path.read_text("utf-8"), f"{name}.toml")


def load_automaton(name_or_path: str | Path) -> Automaton:
    """A built-in automaton by name, or a table from a `.toml` or `.json` file.

    Raises `TableError` with every fault found: file, line and a remedy each.
    """
    if isinstance(name_or_path, str) and name_or_path in BUILTIN:
        return builtin(name_or_path)
    path = Path(name_or_path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TableError(
            (
                f"{path}: cannot be read ({error.strerror}); give the path of a table, "
                f"or one of {_listed(BUILTIN)}",
            )
        ) from error
    if len(data) > _MAX_BYTES:
        raise TableError((f"{path}: {len(data)} bytes; a table has at most {_MAX_BYTES}",))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError((f"{path}, line {line}: not UTF-8; save the file as UTF-8",)) from error
    return parse_automaton(text, str(path))


def parse_automaton(text: str, filename: str = "table.toml") -> Automaton:
    """The automaton that a TOML text (JSON, if `filename` ends so) describes."""
    is_json = filename.endswith(".json")
    raw = _read(text, filename, is_json)
    found = _structure_problems(raw)
    if not found:
        automaton = _build(raw)
        found = problems_of(automaton, raw)
        if not found:
            return automaton
    places = (f"at {_place(p.path)}" if is_json else f"line {line_of(text, p.path)}" for p in found)
    raise TableError(
        tuple(f"{filename}, {at}: {p.text}" for at, p in zip(places, found, strict=True))
    )


def _read(text: str, filename: str, is_json: bool) -> dict[str, Any]:
    try:
        raw = json.loads(text) if is_json else tomllib.loads(text)
    except ValueError as error:  # also a number with more digits than Python converts
        kind = "JSON" if is_json else "TOML"
        found = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        where = f"{filename}, line {found[1]}" if found else filename
        said = str(error)[: found.start()] if found else str(error)
        raise TableError((f"{where}: this is not {kind}: {said}; mend the syntax",)) from error
    except RecursionError as error:
        raise TableError((f"{filename}: nested too deeply; a table needs three levels",)) from error
    if not isinstance(raw, dict):
        raise TableError((f"{filename}, line 1: a table is an object, not a list or a value",))
    return raw


def _structure_problems(raw: Mapping[str, Any]) -> list[Problem]:
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema()).iter_errors(raw)
    problems = [
        _structure_problem(error) for error in sorted(errors, key=lambda e: list(map(str, e.path)))
    ]
    return list(dict.fromkeys(problems))


def _structure_problem(error: Any) -> Problem:
    """One schema violation in the words of somebody who edits a table."""
    path = tuple(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        path = (*path, error.instance)
    where = f"{_place(path)}: " if path else ""
    properties = error.schema.get("properties", {})
    if error.validator == "additionalProperties":
        unknown = sorted(set(error.instance) - set(properties))
        text = f"unknown key {_listed(unknown)}; known here: {_listed(properties)}"
        path = (*path, unknown[0])
    elif error.validator == "oneOf" and "required" in error.validator_value[0]:
        row = error.instance if isinstance(error.instance, dict) else {}
        there = [key for key in ("send", "receive", "event") if key in row]
        text = (
            f"a row has exactly one of send, receive and event; this one has "
            f"{_listed(there) or 'none of them'}"
        )
    elif error.validator == "oneOf":
        text = f"{error.instance!r} is neither a name nor a list of names"
    elif error.validator == "const":
        text = f"format {error.instance!r} is not one that this version reads; write format = 1"
    elif error.validator == "pattern":
        text = f"{error.instance!r} is no name here; use letters, digits and _, a letter first"
    elif error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        text = f"{_listed(missing)} is missing; add it"
    elif error.validator == "type":
        text = f"{error.instance!r} is not of the type {error.validator_value}; write one that is"
    else:
        text = error.message
    return Problem(path, where + text)


def _place(path: tuple[str | int, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".") or "the top"


def _build(raw: Mapping[str, Any]) -> Automaton:
    states = tuple(
        State(item["name"], item.get("about", ""), tuple(item.get("guards", ())))
        for item in raw["states"]
    )
    transitions = tuple(
        Transition(row.get("number", place), source, row["to"], row.get("guard"), kind, label)
        for place, row in enumerate(raw["rows"], start=1)
        for source in _many(row["from"])
        for kind, key in ((Kind.SEND, "send"), (Kind.RECEIVE, "receive"), (Kind.EVENT, "event"))
        for label in _many(row.get(key, ()))
    )
    return Automaton(
        name=raw["name"],
        title=raw["title"],
        states=states,
        initial=raw["initial"],
        final=frozenset(raw["final"]),
        guards=MappingProxyType(dict(raw.get("guards", {}))),
        transitions=transitions,
        source=raw.get("source", ""),
        note=raw.get("note", ""),
        peer=raw.get("peer", ""),
    )


def _many(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _listed(names: Any) -> str:
    return ", ".join(names)
