"""A recorded session as one JSON document, for the logs of other tools, and back.

A blackboard that keeps the parts of a document while the session runs is a `Transcript`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from backends.databases import chain
from backends.databases.blackboard import SqlBlackboard
from backends.databases.records import SessionRecord
from pxp_fsm.errors import BlackboardError, DataError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.schemas import FileKind
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
        "agents": [list(agent) for agent in record.agents],
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
    for judgement in judgements:
        pair = judgement.left, judgement.right
        left, right = map(withholding.digest, pair) if withholding else pair
        part = {
            "relation": judgement.relation,
            "left": left,
            "right": right,
            "outcome": judgement.outcome.value,
            "asked": judgement.asked,
            "seconds": judgement.seconds,
        }
        if judgement.detail and withholding is None:
            part["detail"] = judgement.detail
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

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        if self._stored is not None:
            self._stored.end(session, ending, cause, judgements)
        self.closing = closing_part(ending, cause, judgements)


_MOST = 2**31 - 1
Name = Annotated[str, Option(least=1, most=300)]
Word = Annotated[str, Option(pattern="^[a-z]{1,40}$")]
Digest = Annotated[str, Option(pattern="^[0-9a-f]{64}$")]
Number = Annotated[int, Option(least=1, most=_MOST)]
Description = tuple[Name, str]


@dataclass(frozen=True)
class InstancePart:
    """What a recorded session is about."""

    key: str
    x: str


@dataclass(frozen=True)
class JudgementPart:
    """A question that was put to a relation; `left` and `right` are SHA-256 digests, in hex."""

    relation: Name
    left: Digest
    right: Digest
    outcome: Outcome
    asked: bool
    seconds: Annotated[float, Option(least=0)]
    detail: str = ""

    @property
    def judgement(self) -> Judgement:
        """It as sessions have it."""
        return Judgement(
            self.relation,
            self.left,
            self.right,
            self.outcome,
            self.asked,
            self.seconds,
            self.detail,
        )


@dataclass(frozen=True)
class SessionPart:
    """What is known of a recorded session before its first message.

    In `position` 0 it is the next one of its run; `agents` are the names and the descriptions of
    initiator and responder.
    """

    name: Name
    repetition: Number
    position: Annotated[int, Option(least=0, most=_MOST)]
    instance: InstancePart
    protocol: Word
    n: Number | None
    k: Number | None
    automaton: Name
    fingerprint: Digest
    memo: bool
    assumptions: tuple[Word, ...]
    agents: tuple[Description, Description]


@dataclass(frozen=True)
class MessagePart:
    """A message; `context` is what it adds to the context, if that is more than the message."""

    number: Number
    sender: Name
    receiver: str
    tag: Name
    prediction: str
    explanation: str
    judgements: tuple[JudgementPart, ...]
    context: str | None = None
    guard: str = option("The guard that was true for the message, where one decided it.", "")


@dataclass(frozen=True)
class ClosingPart:
    """How a session ended; the judgements are those of a message that was never sent."""

    ending: Name
    cause: str
    judgements: tuple[JudgementPart, ...]


@dataclass(frozen=True)
class SessionDocument:
    """A recorded session; it is not over where `closing` is null."""

    session: SessionPart
    messages: tuple[MessagePart, ...]
    closing: ClosingPart | None


RECORDED_SESSION = FileKind(
    SessionDocument,
    "a recorded session",
    "A recorded session of PXP or INTERACT",
    header={"format": FORMAT, "version": VERSION},
)


def read_document(document: object, source: str) -> SessionDocument:
    """What a document says; raises `DataError` with `source` and the first faults."""
    if not isinstance(document, dict):
        raise DataError(f"{source}: a recorded session is a JSON object")
    read, faults = RECORDED_SESSION.read(document)
    if faults:
        raise DataError(f"{source}: {'; '.join(map(str, faults[:3]))}")
    return read


def store_document(board: SqlBlackboard, document: SessionDocument, run: str, source: str) -> str:
    """Store a document as a session of `run`, which must be there; the session's name.

    Raises `DataError`, which names `source`, where a message is missing, a text cannot be stored,
    or the session is there already.
    """
    about, closing = document.session, document.closing
    numbers = [message.number for message in document.messages]
    missing = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
    if missing or len(set(numbers)) != len(numbers):
        fault = f"message {missing[0]} is missing" if missing else "a message is there twice"
        raise DataError(f"{source}: {fault}")
    try:
        board.start_session(_record(about, run))
        for recorded in sorted(document.messages, key=lambda part: part.number):
            answer = Answer(recorded.prediction, recorded.explanation)
            message = Message(
                about.name,
                recorded.number,
                recorded.sender,
                recorded.tag,
                answer,
                recorded.receiver,
            )
            context = update_context(message) if recorded.context is None else recorded.context
            event = Event.of_message(message, context, _read_judgements(recorded.judgements))
            board.append(about.name, replace(event, guard=recorded.guard))
        if closing is not None:
            judged = _read_judgements(closing.judgements)
            board.end(about.name, closing.ending, closing.cause, judged)
    except BlackboardError as error:
        raise DataError(f"{source}: {error}") from error
    return about.name


def _record(about: SessionPart, run: str) -> SessionRecord:
    return SessionRecord(
        session=about.name,
        run=run,
        repetition=about.repetition,
        position=about.position,
        instance=Instance(about.instance.key, about.instance.x),
        protocol=about.protocol,
        n=about.n,
        k=about.k,
        automaton=about.automaton,
        fingerprint=about.fingerprint,
        memo=about.memo,
        assumptions=about.assumptions,
        agents=about.agents,
    )


def _read_judgements(recorded: Iterable[JudgementPart]) -> tuple[Judgement, ...]:
    return tuple(part.judgement for part in recorded)
