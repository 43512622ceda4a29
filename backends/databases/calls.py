"""Calls to models as rows, and back: the record that costs and replays are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select, text

from backends.databases import direct as sql
from backends.databases import rows, schema
from pxp_fsm.errors import BlackboardError, quoted
from pxp_fsm.prompting.model import Call, Reply, Served, Stop, Usage, fingerprint
from pxp_fsm.protocol.messages import storable

if TYPE_CHECKING:
    from backends.databases.blackboard import SqlBlackboard

_WHOLE = {
    "epoch",
    "sent",
    "received",
    "cache_read",
    "cache_written",
    "retries",
    "batched",
    "cached",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run's calls for one purpose to one model took; `dollars` is None if not known.

    Tokens and dollars are those that were billed: calls that the call cache answered cost nothing.
    """

    purpose: str
    model: str
    calls: int
    cached: int
    failed: int
    retries: int
    usage: Usage
    dollars: float | None
    seconds: float


@dataclass(frozen=True)
class CallsOf:
    """The record of a run's calls on a blackboard; fills `pxp_fsm.prompting.model.CallLog`."""

    board: SqlBlackboard
    run: str

    def keep(self, call: Call) -> None:
        self.board.keep_call(self.run, call)


def row(call: Call) -> rows.Made:
    """The row of a call, but for its run and number; raises `BlackboardError` for what is none.

    What a database cannot keep exactly in a reply is written as an escape: no such reply becomes
    an answer.
    """
    reply, request = call.reply, call.request
    usage = reply.usage if reply is not None else Usage()
    served = reply.served if reply is not None else Served()
    made: rows.Made = {
        "session": request.session or None,
        "purpose": storable(request.purpose),
        "model": storable(call.model),
        "prompt": fingerprint(request),
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
        "created": rows.now(),
    }
    what = f"a call of {quoted(call.model)}"
    rows.check(what, made, _WHOLE, optional=frozenset({"session", "stop"}))
    said = None if reply is None else rows.text_rows([storable(reply.text)])[0]
    return {
        **made,
        "dollars": call.dollars,
        "seconds": float(call.seconds),
        "reply_digest": None if said is None else said["digest"],
    }


def store(connection: Connection, run: str, call: Call) -> None:
    """Store a call as the next one of `run`."""
    made = row(call)
    if connection.scalar(sql.RUN_OPENING, {"named": run}) is None:
        raise BlackboardError(f"a call was refused: there is no run {quoted(run)}")
    if call.reply is not None:
        connection.execute(sql.KEEP_TEXT, rows.text_rows([storable(call.reply.text)]))
    number = (connection.scalar(sql.LATEST_CALL, {"named": run}) or 0) + 1
    connection.execute(sql.ADD_CALL, {**made, "run": run, "number": number})


def costs(connection: Connection, run: str) -> tuple[Cost, ...]:
    """What a run's calls took, by purpose and model."""
    query = text(
        "SELECT purpose, model, calls, cached, failed, retries, sent, received, cache_read, "
        "cache_written, dollars, seconds FROM costs WHERE run = :run ORDER BY purpose, model"
    )
    return tuple(
        Cost(
            one.purpose,
            one.model,
            int(one.calls),
            int(one.cached),
            int(one.failed),
            int(one.retries),
            Usage(*map(int, (one.sent, one.received, one.cache_read, one.cache_written))),
            one.dollars,
            one.seconds,
        )
        for one in connection.execute(query, {"run": run})
    )


def replies(connection: Connection, run: str) -> Iterator[tuple[tuple[str, str, int], Reply]]:
    """What each model replied to what: the first reply to each (model, prompt, epoch)."""
    c, t = schema.calls.c, schema.texts.c
    columns = [c.model, c.prompt, c.epoch, t.text, c.stop, c.sent, c.received]
    more = [c.cache_read, c.cache_written, c.request_id]
    query = (
        select(*columns, *more)
        .join(schema.texts, t.digest == c.reply_digest)
        .where(c.run == run)
        .order_by(c.number)
    )
    known = set[tuple[str, str, int]]()
    for found in connection.execute(query):
        asked = (found.model, found.prompt, found.epoch)
        if asked not in known:
            known.add(asked)
            usage = Usage(found.sent, found.received, found.cache_read, found.cache_written)
            yield asked, Reply(found.text, Stop(found.stop), usage, Served(found.request_id))
