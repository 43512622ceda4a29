"""A model that replays a script from a file, for examples and tests without a server.

What is said depends on what is asked, not on when: a network asks many questions at once, and
some of them again. A line of a script is `reply`, what is said (JSON, or a text as it is), to a
request of that `purpose`; of its framed data each text of `when` stands in the value of that key,
and the values of `where` are the whole of theirs; `times` is how often, without it any number of
times. The first line that fits, and is not used up, answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pxp_fsm import documents
from pxp_fsm.errors import Fault, FileError, NoAnswer, quoted
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply

PREFIX = "script:"
"""What the name of such a model begins with; the path of its file follows."""

LINE: Mapping[str, Any] = {
    "type": "object",
    "required": ["purpose", "reply"],
    "additionalProperties": False,
    "properties": {
        "purpose": {"type": "string", "minLength": 1},
        "when": {"type": "object", "additionalProperties": {"type": "string"}},
        "where": {"type": "object"},
        "reply": {},
        "times": {"type": "integer", "minimum": 1},
    },
}
"""The JSON Schema of a line."""

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A script for a model",
    "type": "object",
    "required": ["format", "line"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": 1},
        "title": {"type": "string"},
        "line": {"type": "array", "minItems": 1, "items": LINE},
    },
}
"""The JSON Schema of a script in TOML or JSON."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """What is said to which requests, and how often (None: always)."""

    purpose: str
    reply: str
    when: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, object] = field(default_factory=dict)
    times: int | None = None

    def fits(self, purpose: str, told: Mapping[str, object]) -> bool:
        """Whether it answers a request of that purpose which holds these data."""
        return (
            self.purpose == purpose
            and all(_holds(told.get(key), text) for key, text in self.when.items())
            and all(key in told and told[key] == value for key, value in self.where.items())
        )


class Script:
    """Replies by the `lines` of a script; raises `NoAnswer` where none fits.

    `requests` keeps what it was asked.
    """

    capabilities = frozenset(Capability)

    def __init__(self, lines: Iterable[ScriptLine], name: str = "script") -> None:
        self._lines = tuple(lines)
        self._name = name
        self._used = [0] * len(self._lines)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    async def reply(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        told: dict[str, object] = {}
        for turn in request.turns:
            for frame in unframed(turn.text):
                told |= frame
        for place, line in enumerate(self._lines):
            left = line.times is None or self._used[place] < line.times
            if left and line.fits(request.purpose, told):
                self._used[place] += 1
                return Reply(line.reply)
        about = {key: told[key] for key in ("name", "input", "strategy") if key in told}
        raise NoAnswer(
            f"{self._name} has no reply left for a request of purpose {quoted(request.purpose)} "
            f"about {quoted(json.dumps(about, ensure_ascii=False), 200)}"
        )


def read_script(path: str | Path) -> Script:
    """The script in the file `path`: TOML or JSON by its name, else a JSON object a line.

    Raises `FileError`, with every fault and its line.
    """
    path = Path(path)
    text = documents.text_of(path, "a script")
    raw = documents.read(text, path.name) if path.suffix in (".toml", ".json") else None
    name = f"{PREFIX}{path.name}"
    if raw is None:
        written = enumerate(text.splitlines(), start=1)
        return Script((_line(path, at, said) for at, said in written if said.strip()), name)
    found = documents.faults(raw, SCHEMA)
    if found:
        raise FileError(documents.located(found, text, str(path)))
    return Script(map(_line_of, raw["line"]), name)


def _line(path: Path, number: int, text: str) -> ScriptLine:
    try:
        raw: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _at(path, number, f"this is not JSON: {error}") from error
    found = documents.faults(raw, LINE)
    if found:
        raise _at(path, number, "; ".join(fault.message for fault in found))
    return _line_of(raw)


def _line_of(raw: Mapping[str, Any]) -> ScriptLine:
    reply = raw["reply"]
    said = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    return ScriptLine(
        raw["purpose"], said, raw.get("when", {}), raw.get("where", {}), raw.get("times")
    )


def _holds(value: object, text: str) -> bool:
    """Whether a text is in a value: of a text, a stretch; of a list or an object, in some of it."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(one, text) for one in value.values())
    return isinstance(value, list) and any(_holds(one, text) for one in value)


def _at(path: Path, line: int, message: str) -> FileError:
    return FileError((Fault((), message, file=str(path), line=line),))


EVERYTHING = frozenset(Capability)


class ScriptedModel:
    """Gives `replies`, one a request, in their order; raises `NoAnswer` when they are used up.

    `requests` keeps what it was asked.
    """

    def __init__(
        self,
        replies: Iterable[str | Reply],
        *,
        name: str = "script",
        capabilities: frozenset[Capability] = EVERYTHING,
    ) -> None:
        self._replies = iter(tuple(replies))
        self._name = name
        self._capabilities = capabilities
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._capabilities

    async def reply(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        said = next(self._replies, None)
        if said is None:
            raise NoAnswer("the script has no reply left")
        return said if isinstance(said, Reply) else Reply(said)
