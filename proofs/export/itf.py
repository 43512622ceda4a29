"""Traces as ITF JSON, the Informal Trace Format that Apalache and its viewers read (ADR-015)."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from proofs.core.results import Verdict
from pxp_fsm.automata import documents
from pxp_fsm.automata.actions import ActionRecord, SystemAction, action_of, record_of
from pxp_fsm.errors import FileError, UsageError


def to_itf(property_name: str, model: str, verdict: Verdict) -> str:
    """The trace of `verdict` as ITF JSON text, with the property's name in its metadata.

    States that are named tuples become variables by their names, others one variable `state`;
    `action` is the label of the step that led to a state; in a system the state's `#meta` has the
    action itself (`record_of`), which `actions_of` reads. A trace in which no guard is settled
    ahead of its message has no variable `chosen`. Raises `ValueError` without a trace.
    """
    trace = verdict.trace
    if trace is None:
        raise ValueError(f"{property_name} has no trace")
    rows: list[tuple[Any, Any]] = [("", trace.start)]
    rows += [(step.action, step.target) for step in trace.steps]
    states = [
        {"#meta": _meta(index, action), "action": str(action), **_variables(state)}
        for index, (action, state) in enumerate(rows)
    ]
    if not any(getattr(state, "chosen", ()) for _, state in rows):
        for written in states:
            written.pop("chosen", None)
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "property": property_name,
            "source": model,
            "status": verdict.status.value,
        },
        "vars": [name for name in states[0] if name != "#meta"],
        "states": states,
    }
    if verdict.cycle:
        document["loop"] = len(states) - 1 - verdict.cycle
    return json.dumps(document, indent=1) + "\n"


def _meta(index: int, action: Any) -> dict[str, Any]:
    there = {"action": record_of(action)._asdict()} if isinstance(action, SystemAction) else {}
    return {"index": index, **there}


def actions_of(text: str, filename: str = "trace.itf.json") -> tuple[SystemAction, ...]:
    """The actions of a system's trace that `to_itf` wrote.

    Raises `FileError` where the text holds no such trace.
    """
    states = documents.read(text, filename, is_json=True).get("states")
    found = []
    for index, state in enumerate(states[1:] if isinstance(states, list) else (), start=1):
        meta = state.get("#meta", {}) if isinstance(state, dict) else {}
        written = meta.get("action") if isinstance(meta, dict) else None
        fields = ActionRecord._fields
        if not isinstance(written, dict) or not all(
            isinstance(written.get(field), str) for field in fields
        ):
            raise FileError(
                [f"{filename}: state {index} does not say by which action it is reached"]
            )
        try:
            found.append(action_of(ActionRecord(*(written[field] for field in fields))))
        except UsageError as error:
            raise FileError([f"{filename}: state {index}: {error}"]) from error
    if not found:
        raise FileError([f"{filename}: it holds no trace of a system"])
    return tuple(found)


def _variables(state: Any) -> dict[str, Any]:
    if hasattr(state, "_asdict"):
        return {name: _value(value) for name, value in state._asdict().items()}
    return {"state": _value(state)}


def _value(value: Any) -> Any:
    """An ITF value: tuples and sets are marked, integers kept exact, the rest as records."""
    match value:
        case bool() | str() | None:
            found: Any = value
        case int():
            found = {"#bigint": str(value)}
        case frozenset():
            found = {"#set": sorted(map(_value, value), key=json.dumps)}
        case tuple() if hasattr(value, "_asdict"):
            found = {name: _value(one) for name, one in value._asdict().items()}
        case tuple():
            found = {"#tup": [_value(one) for one in value]}
        case _:
            found = {one.name: _value(getattr(value, one.name)) for one in fields(value)}
    return found
