"""From records and messages to the rows that are stored, checked on the way, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from backends.databases import chain
from backends.databases.records import RunRecord, SessionRecord
from pxp_fsm.errors import BlackboardError, quoted
from pxp_fsm.protocol.messages import Message, answer_problem, text_problem
from pxp_fsm.protocol.relations import Judgement, Outcome

GREATEST = 2**31 - 1
"""The greatest number that both databases keep in an integer column."""
GREATEST_SEED = 2**63 - 1

Made = dict[str, Any]


def now() -> str:
    """The time, UTC, ISO 8601; for people to read: nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def run_row(record: RunRecord) -> Made:
    """The row of a new run, without sessions yet."""
    row: Made = {
        "run": record.run,
        "task": record.task,
        "plan": record.plan,
        "seed": record.seed,
        "version": record.version,
        "data_fingerprint": record.data_fingerprint,
        "created": record.created or now(),
    }
    check(f"run {quoted(record.run)}", row, {"seed"}, greatest=GREATEST_SEED)
    opening = chain.of_run(row)
    return {**row, "opening": opening, "opened": 0, "head": opening}


def session_row(record: SessionRecord) -> Made:
    """The row of a new session, but for its ordinal and opening, which its run gives it."""
    (initiator, initiator_is), (responder, responder_is) = record.agents
    row: Made = {
        "session": record.session,
        "run": record.run,
        "repetition": record.repetition,
        "position": record.position,
        "instance": record.instance.key,
        "x_digest": _digest(record.instance.x, f"session {quoted(record.session)}"),
        "protocol": record.protocol,
        "n": record.n,
        "k": record.k,
        "automaton": record.automaton,
        "fingerprint": record.fingerprint,
        "memo": int(record.memo),
        "assumptions": " ".join(record.assumptions),
        "initiator": initiator,
        "initiator_description": initiator_is,
        "responder": responder,
        "responder_description": responder_is,
        "created": now(),
    }
    numbers = {"repetition", "position", "memo", "n", "k"}
    check(f"session {quoted(record.session)}", row, numbers, optional={"n", "k"})
    return row


def entry_row(message: Message, addition: str) -> Made:
    """The row of a message, but for its link."""
    what = f"message {quoted(message.number)} of session {quoted(message.session)}"
    problem = answer_problem(message.answer)
    if problem is not None:
        raise BlackboardError(f"{what} was refused: {problem}")
    row: Made = {
        "session": message.session,
        "number": message.number,
        "sender": message.sender,
        "tag": message.tag,
        "receiver": message.receiver,
        "addition": addition,
        "created": now(),
        "prediction_digest": chain.text_digest(message.answer.prediction),
        "explanation_digest": chain.text_digest(message.answer.explanation),
    }
    check(what, row, {"number"})
    return row


def judgement_rows(session: str, number: int, judgements: Sequence[Judgement]) -> list[Made]:
    """The rows of what was judged to arrive at message `number`."""
    return [_judgement_row(session, number, place, j) for place, j in enumerate(judgements, 1)]


def _judgement_row(session: str, number: int, place: int, judgement: Judgement) -> Made:
    what = f"judgement {place} at message {quoted(number)} of session {quoted(session)}"
    row: Made = {
        "session": session,
        "number": number,
        "place": place,
        "relation": judgement.relation,
        "left_digest": judgement.left,
        "right_digest": judgement.right,
        "outcome": judgement.outcome.value if isinstance(judgement.outcome, Outcome) else "",
        "asked": int(judgement.asked),
        "detail": judgement.detail,
    }
    check(what, row, {"number", "place", "asked"})
    seconds = judgement.seconds
    if type(seconds) not in (int, float) or not math.isfinite(seconds):
        raise BlackboardError(f"{what} was refused: its seconds are {quoted(seconds)}, no time")
    return {**row, "seconds": float(seconds)}


def judgement_of(row: Any) -> Judgement:
    """The judgement that a row of `judgements` holds."""
    return Judgement(
        row.relation,
        row.left_digest,
        row.right_digest,
        Outcome(row.outcome),
        bool(row.asked),
        row.seconds,
        row.detail,
    )


def text_rows(texts: Iterable[str]) -> list[dict[str, str]]:
    """The rows of `texts`, each once; those of one statement in one order, whoever writes them."""
    found = {chain.text_digest(text): text for text in texts}
    return [{"digest": digest, "text": found[digest]} for digest in sorted(found)]


def check(
    what: str,
    row: Made,
    numbers: set[str],
    *,
    optional: Iterable[str] = (),
    greatest: int = GREATEST,
) -> None:
    """`BlackboardError` where a value is none that every database keeps exactly."""
    for name, value in row.items():
        if value is None and name in optional:
            continue
        if name in numbers:
            if type(value) is not int or not -greatest - 1 <= value <= greatest:
                raise BlackboardError(f"{what} was refused: {name} is {quoted(value)}, no number")
        elif not isinstance(value, str):
            raise BlackboardError(
                f"{what} was refused: {name} is {quoted(value)}, which no text is"
            )
        else:
            problem = text_problem(value)
            if problem is not None:
                raise BlackboardError(f"{what} was refused: {name}: {problem}")


def _digest(text: str, what: str) -> str:
    check(what, {"x": text}, set())
    return chain.text_digest(text)
