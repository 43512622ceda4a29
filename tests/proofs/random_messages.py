"""Random small systems whose rules read what messages carry."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from tests.oracles.message_systems import ANY_ID
from tests.proofs import random_rules
from tests.proofs.random_rules import KEYS, LABELS

IDS: tuple[tuple[dict[str, Any], list[Any]], ...] = (
    ({"enum": ["a", "b"]}, ['"a"', '"b"']),
    ({"const": "a"}, ['"a"']),
    ({"type": "boolean"}, ["false", "true"]),
    ({}, [ANY_ID]),
    ({}, [ANY_ID]),
    ({"type": "string"}, [ANY_ID]),
    ({"type": ["string", "null"]}, ["null", ANY_ID]),
)
"""Schemas of ids, each with the ids that fit it; ANY_ID of others."""

SIZES: tuple[tuple[dict[str, Any], list[Any]], ...] = (
    ({"type": "integer", "minimum": 0, "maximum": 2}, [0, 1, 2]),
    ({"type": "integer", "enum": [0, 2]}, [0, 2]),
    ({"type": "integer", "exclusiveMinimum": 0, "maximum": 1}, [1]),
)

Tables = dict[str, dict[str, Any]]


def random_system(
    seed: int, *, parts: bool = False, third: bool = False
) -> tuple[Tables, dict[str, dict[str, Any]]]:
    """Two tables, and by tag what its messages carry, of what some rule reads.

    With `parts` no rule reads all of a message; with `third` a third member does what the first
    does, and the second talks to both.
    """
    draw = random.Random(f"messages {seed}")
    tables = {
        "m": random_rules.table(draw, "A", "B", "h"),
        "h": random_rules.table(draw, "B", "A", "m"),
    }
    tables["h"]["parameters"] = tables["m"]["parameters"]
    carried, schemas = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    for label in LABELS:
        (x, ids), (size, sizes) = draw.choice(IDS), draw.choice(SIZES)
        carried[label] = {"msg.size": sizes, "msg.x": ids}
        properties = {"x": x, "size": size}
        schemas[label] = {"type": "object", "required": ["x", "size"], "properties": properties}
        if not parts and draw.random() < 0.2:
            schemas[label], carried[label] = x, {"msg": ids}
    for place, (name, raw) in enumerate(tables.items()):
        silent = draw.random() < 0.4
        tables[name] = _reading(draw, raw, schemas, carried, "" if not silent else LABELS[place])
    if third:
        tables["g"] = tables["m"] | {"name": "of_both"}
        for row in tables["h"]["rows"]:
            row.pop("partner", None)
    read = [*_read(tables)]
    carried = {
        label: {name: values for name, values in fields.items() if (label, name) in read}
        for label, fields in carried.items()
    }
    # An id that a message has in one place may be what another one carries of many.
    listed = {
        (label, name): [one for one in values if one is not ANY_ID]
        for label, fields in carried.items()
        for name, values in fields.items()
        if name != "msg.size"
    }
    for (label, name), own in listed.items():
        schema = schemas[label]["properties"]["x"] if name == "msg.x" else schemas[label]
        values = carried[label][name]
        if ANY_ID in values:
            strings = "type" in schema
            others = (one for some in listed.values() for one in some)
            fit = (one for one in others if not strings or one.startswith('"'))
            carried[label][name] = [*dict.fromkeys([*own, *fit]), ANY_ID]
    return tables, carried


def _reading(
    draw: random.Random,
    raw: dict[str, Any],
    schemas: Mapping[str, Any],
    carried: Mapping[str, Any],
    unread: str,
) -> dict[str, Any]:
    """A table with ids that it remembers and compares; of one label it may read nothing."""
    rows = list[dict[str, Any]]()
    taken = set[tuple[str, str]]()
    for row in raw["rows"]:
        label = row.get("send") or row.get("receive") or ""
        if "receive" in row and (row["from"], label) in taken:
            continue  # of two rows for one message there is no saying which is taken
        taken |= {(row["from"], label)} if "receive" in row else set()
        do, reads = dict(row.get("do", {})), label and label != unread
        whole = reads and "msg" in carried[label]
        one = "msg" if whole else "msg.x"
        for name in KEYS:
            if draw.random() < 0.5:
                do[name] = draw.choice(
                    (*KEYS, *((one, one, f"{one} if flag else key") if reads else ()))
                )
        if reads and draw.random() < 0.4:
            counted = (
                ("c + 1",) if whole else ("msg.size", "msg.size", "msg.size + c", "msg.size + 1")
            )
            do["c"] = draw.choice((*counted, f"c + 1 if {one} == key else c"))
        if "c" in do:
            do["c"] = _bounded(do["c"])
        # Most go on, and few rows wait for something.
        to = "S" if row["to"] == "END" and draw.random() < 0.5 else row["to"]
        rows.append(row | {"to": to} | ({"do": do} if do else {}))
        if "send" in row and draw.random() < 0.6:
            rows[-1].pop("when", None)
    when = draw.choice(
        ("key == seen", "file == key", "key == seen or asked", "file != seen and c < n")
    )
    found = raw | {
        "registers": raw["registers"] | {key: {"type": "id"} for key in KEYS},
        "oracles": raw["oracles"] | {"file": {"type": "id"}},
        "rows": rows,
        "guards": raw["guards"] | {"YES": {"when": when}},
        "payloads": {label: schema for label, schema in schemas.items() if label != unread},
    }
    if "each" in found:
        found["each"] = {"message": {"c": _bounded("c + 1")}}
    return found


def _bounded(update: str) -> str:
    return f"({update}) if ({update}) >= 0 and ({update}) <= 3 else 0"


def _read(tables: Tables) -> set[tuple[str, str]]:
    """What rules read of which label."""
    return {
        (row.get("send") or row["receive"], name)
        for raw in tables.values()
        for row in raw["rows"]
        if "event" not in row
        for update in row.get("do", {}).values()
        for name in re.findall(r"msg(?:\.\w+)?", update)
    }
