"""The calls of a run to models: reserved before they are sent, recorded after, and read again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Select

from backends.databases import chain, records, schema
from backends.databases import statements as sql
from backends.databases.blackboard import SqlBlackboard
from backends.databases.records import Row, check_values
from backends.databases.reservations import RESERVATION, reservation_row
from pxp_fsm.errors import BlackboardError, Halted, quoted
from pxp_fsm.prompting.model import (
    Call,
    Rendered,
    Request,
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

ANSWER = "answer"
"""The purpose of a call that an agent's answer comes from."""

Prompts = dict[tuple[str, str], tuple[str, str]]
"""By session and fingerprint of the request, the digest and the salt of a prompt that is stored."""


class _Prepared(NamedTuple):
    """The statements that every call takes, as the driver takes them."""

    add_prompt: str
    keep_text: str
    add_call: str
    add_reservation: str
    settle: str
    lock_run: str


def _prepared(dialect: Dialect) -> _Prepared:
    return _Prepared(
        sql.prepared(dialect, sql.ADD_PROMPT),
        sql.prepared(dialect, sql.KEEP_TEXT),
        sql.prepared(dialect, sql.NEXT_CALL, [column.name for column in schema.calls.c]),
        sql.prepared(dialect, sql.NEXT_RESERVATION, RESERVATION),
        sql.prepared(dialect, sql.SETTLE),
        sql.prepared(dialect, sql.RUN_HEAD),
    )


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
    _sql: _Prepared = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._sql = _prepared(self.board.engine.dialect)

    def keep(self, call: Call) -> None:
        run, session = self.run, call.request.session
        asked = session, fingerprint(call.request)
        if run not in self._prompts:
            self._prompts[run] = self.board.read(lambda connection: _prompts_of(connection, run))
        known = self._prompts[run]
        new = None if asked in known else prompt_row(call.request)
        prompt, salt = known[asked] if new is None else (new["digest"], new["salt"])
        row, said = call_row(call, prompt, salt)
        texts = records.text_rows(said, salt)
        tried: list[int] = []

        def store(connection: Connection) -> None:
            _check_run(connection, run, sql.RUN_HEAD)
            if session and connection.scalar(sql.ERASURE, {"named": session}) is not None:
                raise BlackboardError(f"session {quoted(session)} was erased: no call is kept")
            if _is_stored(connection, sql.CALL, run, tried, row):
                return
            if new is not None:
                connection.execute(sql.ADD_PROMPT, new)
            if texts:
                connection.execute(sql.KEEP_TEXT, texts)
            tried.append(
                connection.execute(sql.NEXT_CALL, {**_in(run, row), "of": session}).scalar_one()
            )

        steps = [(self._sql.add_prompt, [new] if new else []), (self._sql.keep_text, texts)]
        if not self._commit(
            [*steps, (self._sql.add_call, [{**_in(run, row), "of": session}])], tried, run
        ):
            self.board.write(store)
        known[asked] = prompt, salt

    def reserve(self, model: str, request: Request, dollars: float | None) -> Reservation:
        run, row = self.run, reservation_row(model, request, dollars)
        self.board.check_lock(run)
        tried: list[int] = []

        def store(connection: Connection) -> int:
            _check_run(connection, run, sql.RUN_HEAD)
            if not _is_stored(connection, sql.RESERVATION, run, tried, row):
                tried.append(connection.execute(sql.NEXT_RESERVATION, _in(run, row)).scalar_one())
            return tried[-1]

        if not self._commit([(self._sql.add_reservation, [_in(run, row)])], tried, run):
            self.board.write(store)
        number, before = tried[-1], self._reserved.get(run)
        self._reserved[run] = number
        if before is not None and number != before + 1 and not self.board.holds(run, shared=True):
            self.settle((run, number), None if dollars is None else 0.0)
            raise Halted(
                f"another process has asked the models of run {run} since this one did, so that "
                f"its caps cannot be kept here: resume it"
            )
        return run, number

    def settle(self, reservation: Reservation, dollars: float | None) -> None:
        run, number = reservation
        at = {"named": run, "at": number}

        def store(connection: Connection) -> None:
            found = connection.execute(sql.RESERVATION, at).one_or_none()
            if found is None:
                raise BlackboardError(f"run {quoted(run)} has no reserved call {number}")
            if not found.settled:
                connection.execute(sql.SETTLE, {**at, "dollars": dollars})

        settled: list[int] = []
        if not self._commit([(self._sql.settle, [{**at, "dollars": dollars}])], settled):
            self.board.write(store)

    def _commit(self, steps: sql.Steps, numbers: list[int], numbered: str = "") -> bool:
        """Whether `steps` are done; the number that the last one returns is added to `numbers`.

        Who shares the run `numbered` gets numbers one after the other.
        """
        returned: list[Any] = []
        if self.board.holds(numbered, shared=True):
            steps = [(self._sql.lock_run, [{"named": numbered}]), *steps]
        done = self.board.commit(steps, returned)
        numbers += [row[0] for row in returned[-1:]]
        return done and bool(numbers)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was made in a session: what was asked, and what was replied.

    `message` is the number of the message that it led to; None where it led to none. `prompt` is
    None where none was stored (before version 5 of the schema), `reply` where the call failed.
    """

    message: int | None
    purpose: str
    model: str
    prompt: Rendered | None
    reply: str | None
    failure: str
    cached: bool


def calls_of_session(board: SqlBlackboard, session: str) -> tuple[RecordedCall, ...]:
    """The calls that were made in `session`, in their order."""

    def read(connection: Connection) -> tuple[RecordedCall, ...]:
        times = connection.execute(sql.TIMES, {"named": session}).all()
        found, place, answered = [], 0, False
        for row in connection.execute(sql.CALLS_OF_SESSION, {"named": session}):
            # a call is stored before the message that it leads to; within a millisecond, the next
            # message begins with another answer
            while place < len(times) and (
                row.created > times[place].created
                or (row.created == times[place].created and answered and row.purpose == ANSWER)
            ):
                place, answered = place + 1, False
            answered = answered or row.purpose == ANSWER
            number = times[place].number if place < len(times) else None
            found.append(
                RecordedCall(
                    number,
                    row.purpose,
                    row.model,
                    None if row.prompt is None else _prompt(row.prompt),
                    row.reply,
                    row.failure,
                    bool(row.cached),
                )
            )
        return tuple(found)

    return board.read(read)


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
        rows = connection.execute(sql.USAGE_OF_SESSIONS, {"named": run, "test": TEST})
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
    """The row of a call, but for its run and number, and the text that it refers to, if any.

    `prompt` is the digest of the prompt, `salt` the salt of both. What a database cannot keep
    exactly in a reply is written as an escape: no such reply becomes an answer. Raises
    `BlackboardError` for what is no call.
    """
    reply, request = call.reply, call.request
    usage = reply.usage if reply is not None else Usage()
    served = reply.served if reply is not None else Served()
    made: Row = {
        "session": request.session or None,
        "purpose": storable(request.purpose),
        "model": storable(call.model),
        "prompt": prompt,
        "epoch": request.epoch,
        "stop": None if reply is None else str(reply.stop),
        "failure": storable(call.failure),
        "sent": usage.sent,
        "received": usage.received,
        "cache_read": usage.cache_read,
        "cache_written": usage.cache_written,
        "retries": served.retries,
        "request_id": storable(served.request_id),
        "batched": int(served.batched),
        "cached": int(served.cached),
        "created": records.now(),
    }
    what = f"a call of {quoted(call.model)}"
    check_values(what, made, _CALL_NUMBERS, optional=frozenset({"session", "stop"}))
    said = [] if reply is None else [storable(reply.text)]
    row = {
        **made,
        "dollars": call.dollars,
        "seconds": float(call.seconds),
        "reply_digest": chain.text_digest(said[0], salt) if said else None,
    }
    return row, said


def prompt_row(request: Request) -> dict[str, str]:
    """The row of what a model is asked, under a digest that says nothing once its salt is gone."""
    salt, said = chain.new_salt(), rendered(request)
    return {"digest": chain.salted_digest(salt, said), "salt": salt, "text": said}


def _prompt(text: str) -> Rendered:
    try:
        return read_rendered(text)
    except ValueError as error:
        raise BlackboardError(f"a stored prompt cannot be read: {error}") from error


def _in(run: str, row: Row) -> Row:
    """`row` as one of `run`, whose number the database gives."""
    return {**row, "run": run, "named": run}


def _is_stored(
    connection: Connection, query: Select[Any], run: str, tried: list[int], row: Row
) -> bool:
    """Whether `row` stands where it was last stored: an answer may have been lost, not a commit."""
    if not tried:
        return False
    at = {"named": run, "at": tried[-1]}
    stored = connection.execute(query, at).mappings().one_or_none()
    return stored is not None and all(stored[name] == row[name] for name in row)


def _prompts_of(connection: Connection, run: str) -> Prompts:
    """The prompts of `run` that are stored."""
    _check_run(connection, run)
    found = connection.execute(sql.PROMPTS, {"named": run})
    return {(of or "", chain.text_digest(said)): (digest, salt) for of, digest, salt, said in found}


def _check_run(connection: Connection, run: str, query: Select[Any] = sql.RUN_OPENING) -> None:
    """Raise where there is no run; `RUN_HEAD` lets nobody else number its calls meanwhile."""
    if connection.scalar(query, {"named": run}) is None:
        raise BlackboardError(f"a call was refused: there is no run {quoted(run)}")
