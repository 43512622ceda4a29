"""What a training tells and is told, as JSON with a published schema: for a page, another device.

Events, questions and answers are objects whose `kind` is the name of their class; the rest of their
fields is that of the class. The schema is `pxp_fsm/plugins/easylan/training.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any, get_args

from pxp_fsm.documents import faults
from pxp_fsm.errors import DataError
from pxp_fsm.plugins.easylan.distance.lmd import Distance
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    DeveloperQuestion,
    Judged,
    RegressionChoice,
    Response,
    View,
)
from pxp_fsm.plugins.easylan.training.events import Told
from pxp_fsm.plugins.easylan.training.steps import UpdateStep

_KINDS: frozenset[type] = frozenset((*get_args(View), *get_args(Response), *get_args(Told)))
_CHOICES: Mapping[str, type[Enum]] = {
    "RegressionChoice": RegressionChoice,
    "Continuation": Continuation,
}


def to_json(value: object) -> Any:
    """An event, a question, an answer, a run, a regression or a distance as JSON."""
    if isinstance(value, RegressionChoice | Continuation):
        return {"kind": type(value).__name__, "choice": value.value}
    return _plain(value)


def _plain(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        plain = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, **plain} if type(value) in _KINDS else plain
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, tuple | list):
        return list(map(_plain, value))
    return value


def response_from_json(raw: object) -> Response:
    """The answer that JSON of the schema's `Response` means. Raises `DataError`."""
    kinds = sorted(kind.__name__ for kind in get_args(Response))
    if not isinstance(raw, dict) or raw.get("kind") not in kinds:
        raise DataError(f"an answer is an object whose kind is one of {', '.join(kinds)}")
    defs = schema()["$defs"]
    mismatches = faults(raw, {**defs[raw["kind"]], "$defs": defs})
    if mismatches:
        raise DataError("; ".join(fault.message for fault in mismatches))
    fields = {key: value for key, value in raw.items() if key != "kind"}
    if raw["kind"] in _CHOICES:
        chosen: Response = _CHOICES[raw["kind"]](fields["choice"])  # type: ignore[assignment] # one of the two
        return chosen
    if raw["kind"] == "Judged":
        return Judged(**fields)
    to = fields.pop("to", None)
    choice = DeveloperChoice(fields.pop("choice"))
    return Act(choice, **fields, to=None if to is None else UpdateStep(to))


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema, as published with the package: each class is one of its `$defs`."""
    text = resources.files(__package__).joinpath("training.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def described() -> dict[str, Any]:
    """The JSON Schema as it follows from the classes; the published one is this."""
    from pydantic import TypeAdapter

    told: TypeAdapter[Any] = TypeAdapter(DeveloperQuestion | Distance | Response | Told)
    defs: dict[str, Any] = told.json_schema()["$defs"]
    for kind in _KINDS:
        name = kind.__name__
        if name in _CHOICES:
            choice = {**defs[name], "title": "DeveloperChoice"}
            defs[name] = {
                "type": "object",
                "title": name,
                "properties": {"choice": choice},
                "required": ["choice"],
            }
        definition = defs[name]
        definition["properties"] = {"kind": {"const": name}, **definition.get("properties", {})}
        definition["required"] = ["kind", *definition.get("required", [])]
    for definition in defs.values():
        if definition.get("type") == "object" and "properties" in definition:
            definition["additionalProperties"] = False
    for title, union_of in (("View", View), ("Response", Response), ("Event", Told)):
        members = sorted(kind.__name__ for kind in get_args(union_of))
        defs[title] = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in members]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What a training of a network tells, asks and is answered",
        "anyOf": [
            {"$ref": f"#/$defs/{name}"} for name in ("Event", "DeveloperQuestion", "Response")
        ],
        "$defs": dict(sorted(defs.items())),
    }
