"""Conversations that other programs recorded, read as sessions of PXP or INTERACT by a mapping.

A mapping is a TOML file that says which protocol two agents followed and where a message has its
tag, prediction and explanation. Judgements are never in such a recording, so that an audit knows
the tags alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.databases.session_documents import session_document
from pxp_fsm import defaults, documents
from pxp_fsm.errors import DataError, Fault, FileError, UsageError, quoted
from pxp_fsm.prompting.replies import unfenced
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

_BOUND = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}


def _word(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": 100, "description": description}


def schema() -> dict[str, Any]:
    """The JSON Schema of mappings."""
    properties = {
        "format": {"const": 1, "description": "The version of this format."},
        "protocol": {"enum": ["interact", "pxp"], "description": "What the agents followed."},
        "n": {**_BOUND, "description": f"INTERACT's bound n; left out, {defaults.N}."},
        "k": {**_BOUND, "description": f"INTERACT's k, left out {defaults.K}, or PXP's bound."},
        "agents": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "items": _word("A name as the recording has it."),
            "description": "The initiator and the responder; left out: whoever sends first begins.",
        },
        "form": {
            "enum": ["json", "lines"],
            "description": "What a message is: one JSON object (json, the default), or text with "
            "three lines that begin with the keys and a colon.",
        },
        "tag": _word("The key of the tag; left out, tag."),
        "prediction": _word("The key of the prediction; left out, prediction."),
        "explanation": _word("The key of the explanation; left out, explanation."),
        "tags": {
            "type": "object",
            "additionalProperties": _word("The tag."),
            "description": "Words of the recording, and the tag that each stands for.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A mapping of a recording",
        "description": "How the messages of other programs are those of a protocol.",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "protocol"],
        "properties": properties,
    }


Found = tuple[str, dict[str, Any] | DataError]
"""Where a session stands in its file, and its document, or why there is none."""


@dataclass(frozen=True)
class RecordedConversation:
    """What two agents wrote, in order: each text with the name of its sender."""

    name: str
    about: str
    repetition: int
    position: int
    messages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Convention:
    """How messages carry tags, predictions and explanations, and which rules they followed.

    `agents` are the initiator and the responder; empty: whoever sends first begins. In the form
    `json` a message is one JSON object with three keys; in the form `lines` it is text with three
    lines that begin with these words and a colon. `tags` maps the words of the recording to tags.
    """

    rules: Rules
    agents: tuple[str, ...] = ()
    form: str = "json"
    keys: tuple[str, str, str] = ("tag", "prediction", "explanation")
    tags: Mapping[str, str] | None = None


def read_mapping(path: Path) -> Convention:
    """The mapping in a file; raises `FileError` with every fault and its line."""
    text = documents.text_of(path, "a mapping")
    raw = documents.read(text, path.name)
    found = documents.faults(raw, schema())
    if not found and raw["protocol"] == "pxp" and "n" in raw:
        found = [Fault(("n",), "n is INTERACT's bound; PXP is bounded by k")]
    if found:
        raise FileError(documents.located(found, text, str(path)))
    try:
        rules: Rules = Pxp(raw.get("k"))
        if raw["protocol"] == "interact":
            rules = Interact(raw.get("n", defaults.N), raw.get("k", defaults.K))
    except UsageError as error:
        raise FileError(documents.located([Fault(("k",), str(error))], text, str(path))) from error
    names = "tag", "prediction", "explanation"
    tag, prediction, explanation = (raw.get(name, name) for name in names)
    return Convention(
        rules,
        tuple(raw.get("agents", ())),
        raw.get("form", "json"),
        (tag, prediction, explanation),
        raw.get("tags"),
    )


def document_of(found: RecordedConversation, convention: Convention, run: str) -> dict[str, Any]:
    """The session that a conversation is by `convention`.

    What stands before its first message of that form (instructions, a question) is no part of the
    session; every later text must be such a message. Raises `DataError`.
    """
    read = list(_read(found.messages, convention))
    agents = convention.agents or tuple(dict.fromkeys(sender for sender, *_ in read))
    if len(agents) != 2:
        names = quoted(", ".join(agents))
        raise DataError(f"it has messages of {len(agents)} agents ({names}); a session has two")
    messages = []
    for number, (sender, tag, prediction, explanation) in enumerate(read, start=1):
        if sender not in agents:
            raise DataError(
                f"message {number} is of {quoted(sender)}, not of {' or '.join(agents)}"
            )
        messages.append(
            {
                "number": number,
                "sender": sender,
                "receiver": agents[1] if sender == agents[0] else agents[0],
                "tag": tag,
                "prediction": prediction,
                "explanation": explanation,
                "judgements": [],
            }
        )
    rules = convention.rules
    about = {
        "name": f"{run}/{found.name}",
        "repetition": found.repetition,
        "position": found.position,
        "instance": {"key": found.about, "x": found.about},
        "protocol": rules.name,
        "n": rules.n,
        "k": rules.k,
        "automaton": rules.automaton.name,
        "fingerprint": rules.automaton.fingerprint,
        "memo": False,
        "assumptions": [],
        "agents": [[agent, "an agent of another program"] for agent in agents],
    }
    return session_document(about, messages, None)


def _read(
    messages: Sequence[tuple[str, str]], convention: Convention
) -> Iterable[tuple[str, str, str, str]]:
    begun = False
    for place, (sender, text) in enumerate(messages, start=1):
        try:
            parts = _parts(text, convention)
        except DataError as error:
            if begun:
                raise DataError(f"its text {place}, of {quoted(sender)}: {error}") from error
            continue
        begun = True
        yield sender, *parts
    if not begun:
        keys = ", ".join(convention.keys)
        raise DataError(f"no text of it has {keys} in the form {convention.form}")


def _parts(text: str, convention: Convention) -> tuple[str, str, str]:
    reads = _of_json if convention.form == "json" else _of_lines
    tag, prediction, explanation = reads(text.strip(), convention.keys)
    tag = tag.strip()
    return (convention.tags or {}).get(tag, tag), prediction, explanation


def _of_json(text: str, keys: tuple[str, str, str]) -> tuple[str, ...]:
    try:
        value = json.loads(unfenced(text))
    except (ValueError, RecursionError) as error:
        raise DataError("it is not JSON") from error
    if not isinstance(value, dict):
        raise DataError("it is not a JSON object")
    missing = [key for key in keys if key not in value]
    if missing:
        raise DataError(f"it lacks {', '.join(missing)}")
    found = (value[key] for key in keys)
    return tuple(one if isinstance(one, str) else json.dumps(one) for one in found)


def _of_lines(text: str, keys: tuple[str, str, str]) -> tuple[str, ...]:
    words = "|".join(map(re.escape, keys))
    begins = re.compile(rf"^[ \t]*({words})[ \t]*:", re.IGNORECASE | re.MULTILINE)
    found = list(begins.finditer(text))
    ends = [*(one.start() for one in found), len(text)][1:]
    parts = {
        one[1].lower(): text[one.end() : end].strip() for one, end in zip(found, ends, strict=False)
    }
    if len(parts) != len(found) or set(parts) != {key.lower() for key in keys}:
        raise DataError(f"it lacks lines that begin with {', '.join(f'{key}:' for key in keys)}")
    return tuple(parts[key.lower()] for key in keys)
