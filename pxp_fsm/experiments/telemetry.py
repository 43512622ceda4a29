"""Sessions as OpenTelemetry spans, by its conventions for agents: one span per session and message.

Nothing happens unless the program has loaded OpenTelemetry (extra `telemetry`) and set up a tracer.
`pxp audit` reads the spans back. The texts of messages are replaced by digests with a random salt
for each session, unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from backends.databases import SessionRecord
from backends.databases.session_documents import (
    Withholding,
    closing_part,
    message_part,
    session_part,
)
from pxp_fsm import __version__
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session, Store

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

SCOPE = "pxp_fsm"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SESSION, MESSAGE, CLOSING = "pxp.session", "pxp.message", "pxp.closing"
"""The attributes that hold the parts of a session's document, as JSON."""

_IN_SPANS = frozenset({"true", "span_only", "span_and_event"})


class TracedBoard:
    """Stores a session's messages on `board`, where there is one, then makes spans of them.

    Fills `pxp_fsm.sessions.session.Store`; one instance serves one session.
    """

    def __init__(self, board: Store | None) -> None:
        self._board = board
        self._span: Span | None = None
        self._tracer: Tracer | None = None
        self._withholding: Withholding | None = None
        self._since = 0
        self._earlier: Callable[[], Iterable[Event]] = tuple

    @contextmanager
    def session(
        self, record: SessionRecord, earlier: Callable[[], Iterable[Event]] = tuple
    ) -> Iterator[None]:
        """A span around the session; the calls of models within become spans below it.

        `earlier` gives the messages of a session that is resumed, once it has come to where it
        was: its new span has them too.
        """
        api = sys.modules.get("opentelemetry.trace")
        if api is None:
            yield
            return
        self._tracer = api.get_tracer(SCOPE, __version__)
        with self._tracer.start_as_current_span(
            f"invoke_workflow {record.protocol}",
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            if span.is_recording():
                self._open(record, span)
                self._earlier = earlier
            try:
                yield
            finally:
                self._catch_up()

    def _catch_up(self) -> None:
        """Make spans of the messages from before the session was resumed, once."""
        earlier, self._earlier = self._earlier, tuple
        for event in earlier():
            self._show(event)

    def _open(self, record: SessionRecord, span: Span) -> None:
        self._span, self._since = span, time.time_ns()
        if os.environ.get(CAPTURE, "").lower() not in _IN_SPANS:
            self._withholding = Withholding()
        span.set_attributes(
            {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": record.protocol,
                "gen_ai.conversation.id": record.session,
                SESSION: _json(session_part(record, self._withholding)),
            }
        )

    def open(self, session: Session) -> None:
        self._catch_up()
        if self._board is not None:
            self._board.open(session)

    def append(self, session: str, event: Event) -> None:
        self._catch_up()
        if self._board is not None:
            self._board.append(session, event)
        if self._span is not None:
            self._show(event)

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        self._catch_up()
        if self._board is not None:
            self._board.end(session, ending, cause, judgements)
        if self._span is not None:
            part = closing_part(ending, cause, judgements, self._withholding)
            self._span.set_attributes({"pxp.ending": ending, CLOSING: _json(part)})

    def _show(self, event: Event) -> None:
        """Make a span of a message; it begins where the one before ended."""
        from opentelemetry.trace import set_span_in_context

        if self._tracer is None or self._span is None:
            return

        message, part = event.carried, message_part(event, self._withholding)
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": message.sender,
            "gen_ai.conversation.id": message.session,
            "pxp.number": message.number,
            "pxp.tag": message.tag,
            MESSAGE: _json(part),
        }
        if self._withholding is None:
            attributes["gen_ai.output.messages"] = _json(_output(part))
        span = self._tracer.start_span(
            f"invoke_agent {message.sender}",
            context=set_span_in_context(self._span),
            attributes=attributes,
            start_time=self._since,
        )
        self._since = time.time_ns()
        span.end(self._since)


def _output(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A message as the conventions have what an agent puts out."""
    text = _json({key: part[key] for key in ("tag", "prediction", "explanation")})
    parts = [{"type": "text", "content": text}]
    return [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
