"""The calls of a run to models: reserved before they are sent, recorded after, and read again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, bindparam, case, func, select

from backends.databases import chain, rows, schema
from backends.databases.blackboard import SqlBlackboard
from backends.databases.rows import Row, check_values
from pxp_fsm.errors import BlackboardError, Halted, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import (
    Call,
    ModelRequest,
    Rendered,
    Reservation,
    Served,
    Usage,
    fingerprint,
    read_rendered,
    rendered,
)
from pxp_fsm.protocol.messages import storable

_CALL_NUMBERS = {
    "epoch",
    "sent",
    "received",
    "cache_read",
    "cache_written",
    "retries",
    "batched",
    "cached",
}

_CALL_OPTIONAL = frozenset({"session", "reply_digest", "stop", "failure_digest"})

ANSWER = "answer"
"""The purpose of a call that an agent's answer comes from."""

Prompts = dict[tuple[str, str], tuple[str, str]]
"""By session and fingerprint of the request, the digest and the salt of a prompt that is stored."""


@dataclass
class CallsOf:
    """The record of a run's calls on a blackboard.

    Fills `CallLog` and `Ledger` of `pxp_fsm.prompting.model`; `run` may change between calls.
    Raises `BlackboardError` where there is no such run, or the database refuses, and `Halted` where
    another process has reserved calls of a run that this one should have alone.
    """

    board: SqlBlackboard
    run: str = ""
    _prompts: dict[str, Prompts] = field(default_factory=dict, repr=False)
    _reserved: dict[str, int] = field(default_factory=dict, repr=False)
    _overtaken: dict[str, int] = field(default_factory=dict, repr=False)

    def keep(self, call: Call) -> None:
        run, session = self.run, call.request.session
        asked = session, fingerprint(call.request)
        if run not in self._prompts:
            self._prompts[run] = self.board.read(lambda connection: _prompts_of(connection, run))
        known = self._prompts[run]
        new = None if asked in known else prompt_row(call.request)
        prompt, salt = known[asked] if new is None else (new["digest"], new["salt"])
        row, texts = call_row(call, prompt, salt)

        def stored(connection: Connection) -> bool:
            if session and connection.scalar(rows.ERASURE, {"named": session}) is not None:
                raise BlackboardError(f"session {quoted(session)} was erased: no call is kept")
            return False

        steps = [
            (self.board.sql.add["prompts"], [new] if new else []),
            (self.board.sql.keep_text, rows.text_rows(texts, salt)),
        ]
        self.board.hold("calls", run, row, steps, stored)
        known[asked] = prompt, salt

    def reserve(self, model: str, request: ModelRequest, dollars: float | None) -> Reservation:
        run = self.run
        self.board.check_lock(run)
        row: Row = {
            "session": request.session or None,
            "purpose": storable(request.purpose),
            "model": storable(model),
            "reserved": dollars,
            "created": rows.now(),
        }
        number, overtaken = self.board.record("reservations", run, row), self.board.overtaken(run)
        before, known = self._reserved.get(run), self._overtaken.get(run, 0)
        self._reserved[run], self._overtaken[run] = number, overtaken
        alone = overtaken == known or self.board.holds(run, shared=True)
        if before is not None and not alone:
            r = schema.reservations.c
            query = select(r.number).where(r.run == run, r.number > before, r.number < number)
            if self.board.read(lambda connection: connection.scalar(query.limit(1))) is not None:
                self.settle((run, number), None if dollars is None else 0.0)
                raise Halted(
                    f"another process has asked the models of run {run} since this one did, so "
                    f"that its caps cannot be kept here: resume it"
                )
        return run, number

    def settle(self, reservation: Reservation, dollars: float | None) -> None:
        run, number = reservation
        r, p = schema.reservations.c, schema.settlements.c

        def stored(connection: Connection) -> bool:
            reserved = select(r.number).where(r.run == run, r.number == number)
            if connection.scalar(reserved) is None:
                raise BlackboardError(f"run {quoted(run)} has no reserved call {number}")
            settled = select(p.number).where(p.run == run, p.reservation == number)
            return connection.scalar(settled) is not None

        row: Row = {"reservation": number, "dollars": dollars, "created": rows.now()}
        self.board.hold("settlements", run, row, (), stored)


calls, events, prompts, sessions, texts = (
    schema.calls,
    schema.events,
    schema.prompts,
    schema.sessions,
    schema.texts,
)
failures = texts.alias("failures")
_NAMES: BindParameter[str] = bindparam("names", expanding=True)
_TIMES = (
    select(events.c.session, events.c.number, events.c.created)
    .where(events.c.session.in_(_NAMES))
    .order_by(events.c.session, events.c.number)
)
_CALLS = (
    select(
        calls.c.session,
        calls.c.purpose,
        calls.c.model,
        case(
            (calls.c.failure_digest.is_(None), ""),
            else_=func.coalesce(failures.c.text, schema.ERASED),
        ).label("failure"),
        calls.c.cached,
        calls.c.created,
        prompts.c.text.label("prompt"),
        texts.c.text.label("reply"),
    )
    .join(prompts, prompts.c.digest == calls.c.prompt, isouter=True)
    .join(texts, texts.c.digest == calls.c.reply_digest, isouter=True)
    .join(failures, failures.c.digest == calls.c.failure_digest, isouter=True)
    .where(
        calls.c.run.in_(select(sessions.c.run).where(sessions.c.session.in_(_NAMES))),
        calls.c.session.in_(_NAMES),
    )
    .order_by(calls.c.number)
)


def _of_sessions(number: ColumnElement[int]) -> ColumnElement[int]:
    """The sum over a session's calls; nothing where it has none."""
    return func.coalesce(func.sum(number), 0)


_USAGE = (
    select(
        sessions.c.repetition,
        sessions.c.position,
        func.count(calls.c.number).label("calls"),
        _of_sessions(calls.c.cached).label("cached"),
        _of_sessions(
            (calls.c.sent + calls.c.cache_read + calls.c.cache_written) * (1 - calls.c.cached)
        ).label("sent"),
        _of_sessions(calls.c.received * (1 - calls.c.cached)).label("received"),
        case(
            (func.count(calls.c.dollars) == func.count(calls.c.number), func.sum(calls.c.dollars))
        ).label("dollars"),
    )
    .join_from(
        sessions,
        calls,
        (calls.c.session == sessions.c.session) & (calls.c.purpose != bindparam("test")),
        isouter=True,
    )
    .where(sessions.c.run == bindparam("named"), sessions.c.ending.is_not(None))
    .group_by(sessions.c.repetition, sessions.c.position)
    .order_by(sessions.c.repetition, sessions.c.position)
)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was made in a session: what was asked, and what was replied.

    `message` is the number of the event that it led to; None where it led to none. `prompt` is
    None where it was erased, `reply` where the call failed too.
    """

    message: int | None
    purpose: str
    model: str
    prompt: Rendered | None
    reply: str | None
    failure: str
    cached: bool


def times_of_session(board: SqlBlackboard, session: str) -> dict[int, datetime]:
    """When each event of `session` was stored, by its number."""

    def read(connection: Connection) -> dict[int, datetime]:
        times = connection.execute(_TIMES, {"names": [session]})
        return {row.number: datetime.fromisoformat(row.created) for row in times}

    return board.read(read)


def calls_of_session(board: SqlBlackboard, session: str) -> tuple[RecordedCall, ...]:
    """The calls that were made in `session`, in their order."""
    return calls_of_sessions(board, [session])[session]


def calls_of_sessions(
    board: SqlBlackboard, sessions: Sequence[str]
) -> Mapping[str, tuple[RecordedCall, ...]]:
    """The calls that were made in each of `sessions`, in their order, read together."""

    def read(connection: Connection) -> Mapping[str, tuple[RecordedCall, ...]]:
        made, stored = defaultdict[str, list[Any]](list), defaultdict[str, list[Any]](list)
        for call in connection.execute(_CALLS, {"names": list(sessions)}):
            made[call.session].append(call)
        for event in connection.execute(_TIMES, {"names": list(made)}) if made else ():
            stored[event.session].append(event)
        return {name: tuple(_recorded(made[name], stored[name])) for name in sessions}

    return board.read(read)


def _recorded(made: Sequence[Any], stored: Sequence[Any]) -> Iterator[RecordedCall]:
    """The calls of a session, each with the number of the event that it led to."""
    place, answered = 0, False
    for row in made:
        # a call is stored before the message that it leads to; within a millisecond, the next
        # message begins with another answer
        while place < len(stored) and (
            row.created > stored[place].created
            or (row.created == stored[place].created and answered and row.purpose == ANSWER)
        ):
            place, answered = place + 1, False
        answered = answered or row.purpose == ANSWER
        yield RecordedCall(
            stored[place].number if place < len(stored) else None,
            row.purpose,
            row.model,
            None if row.prompt is None else _prompt(row.prompt),
            row.reply,
            row.failure,
            bool(row.cached),
        )


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """What the models of a session that is over took: its place in its run, calls, billed tokens.

    `cached` of the calls were answered by a call cache. `dollars` is None where a price was not
    known.
    """

    repetition: int
    position: int
    calls: int
    cached: int
    sent: int
    received: int
    dollars: float | None


TEST = "test"
"""The purpose of a call about a test row, which is no part of a session."""


def usage_of_sessions(board: SqlBlackboard, run: str) -> tuple[SessionUsage, ...]:
    """What each session of `run` that is over took, in their order."""

    def read(connection: Connection) -> tuple[SessionUsage, ...]:
        rows = connection.execute(_USAGE, {"named": run, "test": TEST})
        return tuple(
            SessionUsage(
                row.repetition,
                row.position,
                int(row.calls),
                int(row.cached),
                int(row.sent),
                int(row.received),
                row.dollars,
            )
            for row in rows
        )

    return board.read(read)


def call_row(call: Call, prompt: str, salt: str) -> tuple[Row, list[str]]:
    """The row of a call, but for its run and number, and the texts that it refers to.

    `prompt` is the digest of the prompt, `salt` the salt of both. What a database cannot keep
    exactly in a reply is written as an escape: no such reply becomes an answer. Raises
    `BlackboardError` for what is no call.
    """
    reply, request = call.reply, call.request
    usage = reply.usage if reply is not None else Usage()
    served = reply.served if reply is not None else Served()
    answer = None if reply is None else storable(reply.text)
    failure = storable(call.failure) or None
    made: Row = {
        "session": request.session or None,
        "purpose": storable(request.purpose),
        "model": storable(call.model),
        "prompt": prompt,
        "epoch": request.epoch,
        "reply_digest": None if answer is None else chain.text_digest(answer, salt),
        "stop": None if reply is None else str(reply.stop),
        "failure_digest": None if failure is None else chain.text_digest(failure, salt),
        "sent": usage.sent,
        "received": usage.received,
        "cache_read": usage.cache_read,
        "cache_written": usage.cache_written,
        "retries": served.retries,
        "request_id": storable(served.request_id),
        "batched": int(served.batched),
        "cached": int(served.cached),
        "created": rows.now(),
    }
    check_values(f"a call of {quoted(call.model)}", made, _CALL_NUMBERS, optional=_CALL_OPTIONAL)
    row = {**made, "dollars": call.dollars, "seconds": float(call.seconds)}
    return row, [text for text in (answer, failure) if text is not None]


def prompt_row(request: ModelRequest) -> dict[str, str]:
    """The row of what a model is asked, under a digest that says nothing once its salt is gone."""
    salt, text = chain.new_salt(), rendered(request)
    return {"digest": chain.salted_digest(salt, text), "salt": salt, "text": text}


def _prompt(text: str) -> Rendered:
    try:
        return read_rendered(text)
    except ValueError as error:
        raise BlackboardError(f"a stored prompt cannot be read: {error}") from error


def _prompts_of(connection: Connection, run: str) -> Prompts:
    """The prompts of `run` that are stored."""
    query = (
        select(calls.c.session, prompts.c.digest, prompts.c.salt, prompts.c.text)
        .join(calls, calls.c.prompt == prompts.c.digest)
        .where(calls.c.run == run, prompts.c.text.is_not(None))
        .distinct()
    )
    stored = connection.execute(query)
    return {
        (of or "", chain.text_digest(text)): (digest, salt) for of, digest, salt, text in stored
    }
