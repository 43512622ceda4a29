"""OpenTelemetry spans as OTLP JSON: sessions of ours, and conversations of other programs.

A file is one document or, as a collector's file exporter writes it, one document per line. Our own
sessions are spans with the attributes of `pxp_fsm.experiments.telemetry`. Of other programs, spans
of the conventions for generative AI count that name a conversation, an agent and what it put out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from backends.databases.session_documents import session_document
from pxp_fsm.analysis.recordings.conversations import (
    Convention,
    Found,
    RecordedConversation,
    document_of,
)
from pxp_fsm.analysis.recordings.forms import RecordingForm
from pxp_fsm.documents import LONGEST_LINE, lines_of, open_to_read, text_of
from pxp_fsm.errors import DataError, quoted
from pxp_fsm.experiments.telemetry import CLOSING, MESSAGE, SESSION
from pxp_fsm.lazy_dataclasses import dataclass

_ID, _AGENT = "gen_ai.conversation.id", "gen_ai.agent.name"
_OPERATION, _OUTPUT = "gen_ai.operation.name", "gen_ai.output.messages"
_DEEP = 50

Key = tuple[str, str]
"""The trace and the span."""


@dataclass(frozen=True, slots=True)
class Span:
    """What is needed of a span; times are nanoseconds."""

    key: Key
    parent: Key
    start: int
    end: int
    attributes: Mapping[str, Any]


@dataclass
class _Session:
    """A session of ours as it is being put together."""

    root: Span | None = None
    messages: list[Span] = field(default_factory=list)


def span_sessions(path: Path, convention: Convention | None) -> Iterator[Found]:
    """The sessions in the file, by name; with `convention`, the conversations of other programs.

    A session that was resumed has a span for each part that it ran; the last has all messages, and
    alone counts. Raises `DataError` where the file is not OTLP JSON.
    """
    own: dict[Key, _Session] = defaultdict(_Session)
    others: dict[str, list[Span]] = defaultdict(list)
    for span in _spans(path):
        if SESSION in span.attributes:
            own[span.key].root = span
        elif MESSAGE in span.attributes:
            own[span.parent].messages.append(span)
        elif _OUTPUT in span.attributes and _AGENT in span.attributes:
            others[str(span.attributes.get(_ID, span.key[0]))].append(span)
    yield from _own_sessions(own.values())
    if convention is not None:
        for position, name in enumerate(sorted(others), start=1):
            yield _conversation(name, position, others[name], convention)
    elif others and not own:
        yield (
            f"{len(others)} conversations",
            DataError("they are no sessions of pxp-fsm; name a --mapping to read their messages"),
        )


def _own_sessions(sessions: Iterable[_Session]) -> Iterator[Found]:
    whole: dict[str, _Session] = {}
    for session in sessions:
        if session.root is None:
            name = str(session.messages[0].attributes.get(_ID, "?"))
            if name not in whole:
                yield (
                    f"session {quoted(name)}",
                    DataError("the span of the session is missing: it had not ended, or was lost"),
                )
            continue
        name = str(session.root.attributes.get(_ID, "?"))
        if name not in whole or _ended(whole[name]) < session.root.end:
            whole[name] = session
    for name, session in whole.items():
        where = f"session {quoted(name)}"
        try:
            yield where, _document(session)
        except DataError as error:
            yield where, error


def _ended(session: _Session) -> int:
    return 0 if session.root is None else session.root.end


def _document(session: _Session) -> dict[str, Any]:
    attributes = {} if session.root is None else session.root.attributes
    closing = attributes.get(CLOSING)
    return session_document(
        _part(attributes.get(SESSION)),
        [_part(span.attributes[MESSAGE]) for span in session.messages],
        None if closing is None else _part(closing),
    )


def _part(text: object) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise DataError("an attribute was cut off; is a limit set on their length?") from error
    if not isinstance(value, dict):
        raise DataError("an attribute is not the JSON that pxp-fsm writes")
    return value


def _conversation(name: str, position: int, spans: list[Span], convention: Convention) -> Found:
    """The texts that agents put out; where agents are spans, their calls of models do not count."""
    agents = [span for span in spans if span.attributes.get(_OPERATION) == "invoke_agent"]
    where = f"conversation {quoted(name)}"
    try:
        messages = tuple(
            (str(span.attributes[_AGENT]), text)
            for span in sorted(agents or spans, key=lambda span: (span.end, span.start))
            if (text := _text(span.attributes[_OUTPUT]))
        )
        about = RecordedConversation(name, name, 1, position, messages)
        return where, document_of(about, convention, "spans")
    except DataError as error:
        return where, error


def _text(output: object) -> str:
    """The text of the messages that an agent put out: JSON, or the same as structured values."""
    try:
        value = json.loads(output) if isinstance(output, str) else output
    except (ValueError, RecursionError) as error:
        raise DataError(f"{_OUTPUT} is not JSON") from error
    texts = []
    for message in value if isinstance(value, list) else ():
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            content = part.get("content") if isinstance(part, dict) else None
            if isinstance(content, str) and part.get("type") == "text":
                texts.append(content)
    return "\n".join(texts)


def _spans(path: Path) -> Iterator[Span]:
    for number, document in _documents(path):
        where = f"{path}, line {number}"
        for resource in _items(document, ("resourceSpans", "resource_spans"), where):
            for scope in _items(resource, ("scopeSpans", "scope_spans"), where):
                for span in _items(scope, ("spans",), where):
                    yield _span(span, where)


def _documents(path: Path) -> Iterator[tuple[int, object]]:
    """Each document with its line: one per line, or one in the whole file."""
    try:
        with open_to_read(path) as file:
            for number, line in lines_of(path, file):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line.decode("utf-8-sig"))
                except ValueError:
                    if number > 1:
                        raise
                    whole = text_of(path, "a document of spans", most=LONGEST_LINE, error=DataError)
                    yield 1, json.loads(whole)
                    return
                yield number, value
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not OTLP JSON: {quoted(str(error), 200)}") from error


def _items(value: object, names: tuple[str, ...], where: str) -> list[Any]:
    items: Any = None
    if isinstance(value, dict):
        items = next((value[name] for name in names if name in value), [])
    if not isinstance(items, list):
        raise DataError(f"{where}: {names[0]} must be a list of an object")
    return items


def _span(span: object, where: str) -> Span:
    if not isinstance(span, dict):
        raise DataError(f"{where}: a span must be an object")
    trace = str(span.get("traceId", ""))
    attributes = {
        str(item.get("key")): _value(item.get("value"), where)
        for item in _items(span, ("attributes",), where)
        if isinstance(item, dict)
    }
    try:
        times = int(span.get("startTimeUnixNano", 0)), int(span.get("endTimeUnixNano", 0))
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: the times of a span are no numbers") from error
    key, parent = (trace, str(span.get("spanId", ""))), (trace, str(span.get("parentSpanId", "")))
    return Span(key, parent, *times, attributes)


def _value(value: object, where: str, depth: int = 0) -> Any:
    """An `AnyValue` of OTLP as plain data."""
    if depth > _DEEP:
        raise DataError(f"{where}: a value is nested too deeply")
    if not isinstance(value, dict) or not value:
        return None
    kind, held = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(item, where, depth + 1) for item in _items(held, ("values",), where)]
    if kind == "kvlistValue":
        return {
            str(item.get("key")): _value(item.get("value"), where, depth + 1)
            for item in _items(held, ("values",), where)
            if isinstance(item, dict)
        }
    return held


def _is_otlp(head: bytes) -> bool:
    keys = b'"resourceSpans"', b'"resource_spans"'
    return head.startswith(b"{") and any(key in head for key in keys)


SPANS = RecordingForm(
    "spans",
    "OpenTelemetry spans as OTLP JSON, in one document or one per line",
    _is_otlp,
    span_sessions,
)
