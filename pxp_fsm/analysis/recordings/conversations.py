"""Conversations that other programs recorded, read as sessions of PXP or INTERACT by a mapping.

A mapping is a TOML file that says which protocol two agents followed and where a message has its
tag, prediction and explanation. Judgements are never in such a recording, so that an audit knows
the tags alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from backends.databases.session_documents import session_document
from pxp_fsm import defaults
from pxp_fsm.errors import DataError, Fault, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option
from pxp_fsm.prompting.replies import unfenced
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.schemas import FileKind

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


Word = Annotated[str, Option(least=1, most=100)]


@dataclass(frozen=True)
class MappingFile:
    """A mapping as its file says it."""

    protocol: str = option("What the agents followed.", choices=("interact", "pxp"))
    n: int | None = option(
        "INTERACT's bound n.", None, default=str(defaults.N), least=1, most=2**31 - 1
    )
    k: int | None = option(
        "INTERACT's k, or PXP's bound.",
        None,
        default=f"{defaults.K}, or for PXP no bound",
        least=1,
        most=2**31 - 1,
    )
    agents: tuple[Word, ...] = option(
        "The initiator and the responder, as the recording has them.",
        (),
        default="whoever sends first begins",
        least=2,
        most=2,
    )
    form: str = option(
        "What a message is: one JSON object (json), or text with three lines that begin with the "
        "keys and a colon.",
        "json",
        choices=("json", "lines"),
    )
    tag: Word = option("The key of the tag.", "tag")
    prediction: Word = option("The key of the prediction.", "prediction")
    explanation: Word = option("The key of the explanation.", "explanation")
    tags: Mapping[str, Word] | None = option(
        "Words of the recording, and the tag that each stands for.", None
    )

    @property
    def rules(self) -> Rules:
        """The protocol's rules; raises `UsageError`."""
        if self.protocol == "pxp":
            return Pxp(self.k)
        return Interact(
            defaults.N if self.n is None else self.n, defaults.K if self.k is None else self.k
        )

    def problems(self) -> Iterator[Fault]:
        """Bounds that the protocol does not have."""
        if self.protocol == "pxp" and self.n is not None:
            yield Fault(("n",), "n is INTERACT's bound; PXP is bounded by k")
            return
        try:
            _ = self.rules
        except UsageError as error:
            yield Fault(("k",), str(error))


MAPPING = FileKind(
    MappingFile,
    "a mapping",
    "A mapping of a recording",
    "How the messages of other programs are those of a protocol.",
)


def read_mapping(path: Path) -> Convention:
    """The mapping in a file; raises `FileError` with every fault and its line."""
    convention = MAPPING.load(path).value
    keys = convention.tag, convention.prediction, convention.explanation
    return Convention(convention.rules, convention.agents, convention.form, keys, convention.tags)


def document_of(
    conversation: RecordedConversation, convention: Convention, run: str
) -> dict[str, Any]:
    """The session that a conversation is by `convention`.

    What stands before its first message of that form (instructions, a question) is no part of the
    session; every later text must be such a message. Raises `DataError`.
    """
    read = list(_read(conversation.messages, convention))
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
        "name": f"{run}/{conversation.name}",
        "repetition": conversation.repetition,
        "position": conversation.position,
        "instance": {"key": conversation.about, "x": conversation.about},
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
    values = (value[key] for key in keys)
    return tuple(part if isinstance(part, str) else json.dumps(part) for part in values)


def _of_lines(text: str, keys: tuple[str, str, str]) -> tuple[str, ...]:
    words = "|".join(map(re.escape, keys))
    begins = re.compile(rf"^[ \t]*({words})[ \t]*:", re.IGNORECASE | re.MULTILINE)
    headings = list(begins.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)][1:]
    parts = {
        heading[1].lower(): text[heading.end() : end].strip()
        for heading, end in zip(headings, ends, strict=False)
    }
    if len(parts) != len(headings) or set(parts) != {key.lower() for key in keys}:
        raise DataError(f"it lacks lines that begin with {', '.join(f'{key}:' for key in keys)}")
    return tuple(parts[key.lower()] for key in keys)
