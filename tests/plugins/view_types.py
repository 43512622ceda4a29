"""The types of what pages are sent, as TypeScript, made from the views themselves.

`python -m tests.plugins.view_types` writes them to the sources of the pages; a test compares them.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import TypeAdapter

from proofs.sessions.answers import Answers
from proofs.systems.coloring import FormulaPart
from pxp_fsm.plugins.easylan.studio.views import ExamplesView, NetworkView
from pxp_fsm.plugins.studies.pages.research import ArmsView, SessionOf, SessionTranscript, StudyView
from pxp_fsm.web.experts.pages import Me, Pairing
from pxp_fsm.web.experts.research import Differences, NewLink, Revoked, RunView
from pxp_fsm.web.experts.views import CaseView, QueueLine, WritingView
from pxp_fsm.web.explorer import Edited, Event, Opened
from pxp_fsm.web.views import GraphView, StateView
from tests.web.browsers import FRONTEND

VIEWS = FRONTEND / "views.d.ts"

SENT: dict[str, Any] = {
    "Answers": Answers,
    "ArmsView": ArmsView,
    "CaseView": CaseView,
    "Differences": Differences,
    "Edited": Edited,
    "ExamplesView": ExamplesView,
    "ExplorerEvent": Event,
    "FormulaPart": FormulaPart,
    "GraphView": GraphView,
    "Me": Me,
    "NetworkView": NetworkView,
    "NewLink": NewLink,
    "Opened": Opened,
    "Pairing": Pairing,
    "QueueLine": QueueLine,
    "Revoked": Revoked,
    "RunView": RunView,
    "SessionOf": SessionOf,
    "SessionTranscript": SessionTranscript,
    "StateView": StateView,
    "StudyView": StudyView,
    "WritingView": WritingView,
}
"""What is sent, by the name of its type."""

_HEAD = (
    "// Made from the views of the server by `python -m tests.plugins.view_types`; leave it so.\n"
)


def written() -> str:
    """The types, one for each view and for what is in it."""
    inputs: list[Any] = [(name, "serialization", TypeAdapter(kind)) for name, kind in SENT.items()]
    keyed, definitions = TypeAdapter.json_schemas(inputs)
    found = dict(definitions.get("$defs", {}))
    for (name, _mode), schema in keyed.items():
        if schema.get("$ref", "").rpartition("/")[2] != name:
            found[str(name)] = schema
    lines = [f"export type {name} = {_type(found[name])};" for name in sorted(found)]
    return _HEAD + "\n".join(lines) + "\n"


_KINDS = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return " | ".join(map(_literal, schema["enum"]))
    either = schema.get("anyOf", schema.get("oneOf"))
    if either is not None:
        return " | ".join(map(_type, either))
    kind = str(schema.get("type", ""))
    if kind in ("array", "object"):
        return _array(schema) if kind == "array" else _object(schema)
    return _KINDS.get(kind, "any")


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    items = _type(schema.get("items", {}))
    return f"({items})[]" if re.search(r"[ |]", items) else f"{items}[]"


def _object(schema: dict[str, Any]) -> str:
    if "properties" not in schema:
        return f"Record<string, {_type(schema.get('additionalProperties', {}) or {})}>"
    return "{ " + " ".join(f"{k}: {_type(v)};" for k, v in schema["properties"].items()) + " }"


if __name__ == "__main__":
    VIEWS.write_text(written(), "utf-8")
