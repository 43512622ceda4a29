"""A recorded session as one JSON document, for the logs of other tools, and back.

A blackboard that keeps the parts of a document while the session runs is a `Transcript`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from backends.databases import chain
from backends.databases.blackboard import SqlBlackboard
from backends.databases.records import SessionRecord
from pxp_fsm.documents import faults
from pxp_fsm.errors import BlackboardError, DataError
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import update_context
from pxp_fsm.sessions.session import Session, Store

FORMAT, VERSION = "pxp-fsm session", 1
STORED_AS = "pxp_session"
"""Under this name the store of a sample of Inspect has a document."""

_WITHHELD = "withheld"


class Withholding:
    """Replaces texts by salted digests, which tell equal texts apart from others and nothing else.

    One instance serves one session; its salt is random and stored nowhere.
    """

    def __init__(self) -> None:
        self._salt = chain.new_salt()

    def text(self, text: str) -> str:
        """What stands for `text`."""
        return self._of_digest(chain.text_digest(text))

    def digest(self, digest: str) -> str:
        """The SHA-256 of what stands for the text whose SHA-256 is `digest`."""
        return chain.text_digest(self._of_digest(digest))

    def _of_digest(self, digest: str) -> str:
        return f"{_WITHHELD} {chain.salted(digest, self._salt)}"


def session_document(
    session: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    closing: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The document with these parts; `closing` is None while the session is not over."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "session": session,
        "messages": list(messages),
        "closing": closing,
    }


def session_part(record: SessionRecord, withholding: Withholding | None = None) -> dict[str, Any]:
    """What is known of a session before its first message."""
    x = record.instance.x
    return {
        "name": record.session,
        "repetition": record.repetition,
        "position": record.position,
        "instance": {"key": record.instance.key, "x": withholding.text(x) if withholding else x},
        "protocol": record.protocol,
        "n": record.n,
        "k": record.k,
        "automaton": record.automaton,
        "fingerprint": record.fingerprint,
        "memo": record.memo,
        "assumptions": list(record.assumptions),
        "agents": [list(one) for one in record.agents],
    }


def message_part(event: Event, withholding: Withholding | None = None) -> dict[str, Any]:
    """A message with what it adds to the context and what was judged to arrive at it."""
    message = event.carried
    texts = message.answer.prediction, message.answer.explanation
    prediction, explanation = map(withholding.text, texts) if withholding else texts
    part = {
        "number": message.number,
        "sender": message.sender,
        "receiver": message.receiver,
        "tag": message.tag,
        "prediction": prediction,
        "explanation": explanation,
        "judgements": _judgements(event.judgements, withholding),
    }
    if event.guard:
        part["guard"] = event.guard
    if event.addition != update_context(message) and withholding is None:
        part["context"] = event.addition
    return part


def closing_part(
    ending: str,
    cause: str,
    judgements: Sequence[Judgement],
    withholding: Withholding | None = None,
) -> dict[str, Any]:
    """How a session ended; a cause may quote what somebody wrote, so it can be withheld."""
    return {
        "ending": ending,
        "cause": _WITHHELD if withholding and cause else cause,
        "judgements": _judgements(judgements, withholding),
    }


def _judgements(
    judgements: Sequence[Judgement], withholding: Withholding | None
) -> list[dict[str, Any]]:
    parts = []
    for one in judgements:
        pair = one.left, one.right
        left, right = map(withholding.digest, pair) if withholding else pair
        part = {
            "relation": one.relation,
            "left": left,
            "right": right,
            "outcome": one.outcome.value,
            "asked": one.asked,
            "seconds": one.seconds,
        }
        if one.detail and withholding is None:
            part["detail"] = one.detail
        parts.append(part)
    return parts


class Transcript:
    """A blackboard that keeps a session's parts in memory; `stored`, if given, stores them first.

    Fills `pxp_fsm.sessions.session.Store`; one instance serves one session.
    """

    def __init__(self, stored: Store | None = None) -> None:
        self._stored = stored
        self.messages: list[dict[str, Any]] = []
        self.closing: dict[str, Any] | None = None

    def open(self, session: Session) -> None:
        if self._stored is not None:
            self._stored.open(session)

    def append(self, session: str, event: Event) -> None:
        if self._stored is not None:
            self._stored.append(session, event)
        self.messages.append(message_part(event))

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        if self._stored is not None:
            self._stored.close(session, ending, cause, judgements)
        self.closing = closing_part(ending, cause, judgements)


@cache
def _schema() -> dict[str, Any]:
    path = Path(__file__).with_name("session.schema.json")
    schema: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return schema


def check_document(document: object, source: str) -> dict[str, Any]:
    """`document`, if it is one; raises `DataError` with `source` and the first faults."""
    if not isinstance(document, dict):
        raise DataError(f"{source}: a recorded session is a JSON object")
    found = faults(document, _schema())
    if found:
        raise DataError(f"{source}: {'; '.join(map(str, found[:3]))}")
    return document


def store_document(board: SqlBlackboard, document: object, run: str, source: str) -> str:
    """Store a document as a session of `run`, which must be there; the session's name.

    Raises `DataError`, which names `source`, where the document is not valid, a message is missing,
    or the session is there already.
    """
    checked = check_document(document, source)
    about, closing = checked["session"], checked["closing"]
    name = str(about["name"])
    numbers = [part["number"] for part in checked["messages"]]
    missing = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
    if missing or len(set(numbers)) != len(numbers):
        what = f"message {missing[0]} is missing" if missing else "a message is there twice"
        raise DataError(f"{source}: {what}")
    try:
        board.start_session(_record(about, run))
        for part in sorted(checked["messages"], key=lambda one: int(one["number"])):
            message = _message(part, name)
            context = part.get("context", update_context(message))
            judged = _read_judgements(part["judgements"])
            event = Event.of_message(message, context, judged)
            board.append(name, replace(event, guard=part.get("guard", "")))
        if closing is not None:
            judged = _read_judgements(closing["judgements"])
            board.close(name, closing["ending"], closing["cause"], judged)
    except BlackboardError as error:
        raise DataError(f"{source}: {error}") from error
    return name


def _record(about: Mapping[str, Any], run: str) -> SessionRecord:
    return SessionRecord(
        session=about["name"],
        run=run,
        repetition=about["repetition"],
        position=about["position"],
        instance=Instance(**about["instance"]),
        protocol=about["protocol"],
        n=about["n"],
        k=about["k"],
        automaton=about["automaton"],
        fingerprint=about["fingerprint"],
        memo=about["memo"],
        assumptions=tuple(about["assumptions"]),
        agents=tuple((name, description) for name, description in about["agents"]),
    )


def _message(part: Mapping[str, Any], session: str) -> Message:
    answer = Answer(part["prediction"], part["explanation"])
    return Message(session, part["number"], part["sender"], part["tag"], answer, part["receiver"])


def _read_judgements(parts: Sequence[Mapping[str, Any]]) -> tuple[Judgement, ...]:
    return tuple(Judgement(**{**part, "outcome": Outcome(part["outcome"])}) for part in parts)
