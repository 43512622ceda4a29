"""A model that replays a script by cue: what it says depends on what it is asked, not on when.

For networks of agents, which ask many questions at once and some of them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends.models.scripted import EVERYTHING
from pxp_fsm import forms
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.framing import encoded, unframed
from pxp_fsm.messages import quoted
from pxp_fsm.models import Capability, Reply, Request

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A script for a model",
    "type": "object",
    "required": ["format", "cue"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": 1},
        "title": {"type": "string"},
        "cue": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["purpose", "reply"],
                "additionalProperties": False,
                "properties": {
                    "purpose": {"type": "string", "minLength": 1},
                    "when": {"type": "object", "additionalProperties": {"type": "string"}},
                    "reply": {"type": ["object", "string"]},
                },
            },
        },
    },
}
"""The JSON Schema of a script's file."""


@dataclass(frozen=True, slots=True)
class Cue:
    """`reply` is for requests of a `purpose` whose data hold each text of `when` under its key."""

    purpose: str
    reply: str
    when: Mapping[str, str] = field(default_factory=dict)

    def fits(self, request: Request, data: Mapping[str, object]) -> bool:
        """Whether it is this cue that a request, which frames those `data`, gives."""
        return request.purpose == self.purpose and all(
            _holds(data.get(key), text) for key, text in self.when.items()
        )


class CuedModel:
    """Gives to each request the reply of the first of the `cues` that fits it, however often.

    Raises `NoAnswer` where none fits. `requests` keeps what it was asked.
    """

    def __init__(
        self,
        cues: Iterable[Cue],
        *,
        name: str = "script",
        capabilities: frozenset[Capability] = EVERYTHING,
    ) -> None:
        self._cues = tuple(cues)
        self._name = name
        self._capabilities = capabilities
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._capabilities

    async def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        data: dict[str, object] = {}
        for turn in request.turns:
            for frame in unframed(turn.text):
                data |= frame
        for cue in self._cues:
            if cue.fits(request, data):
                return Reply(cue.reply)
        raise NoAnswer(
            f"the script has no cue for a request of the purpose {quoted(request.purpose)} about "
            f"{quoted(encoded(data), 200)}"
        )


def read_cues(path: Path) -> tuple[Cue, ...]:
    """The cues in a script's file (TOML, or JSON by its name); raises `DataError`."""
    try:
        text = forms.text_of(path, "a script")
        raw = forms.read(text, path.name)
    except forms.Unreadable as error:
        raise DataError(str(error)) from error
    found = forms.faults(raw, SCHEMA)
    if found:
        raise DataError("\n".join(forms.located(found, text, str(path))))
    return tuple(
        Cue(
            row["purpose"],
            row["reply"] if isinstance(row["reply"], str) else json.dumps(row["reply"]),
            row.get("when", {}),
        )
        for row in raw["cue"]
    )


def _holds(value: object, text: str) -> bool:
    """Whether a text is in a value: of a text, a stretch; of a list or an object, in some of it."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(one, text) for one in value.values())
    return isinstance(value, list) and any(_holds(one, text) for one in value)
