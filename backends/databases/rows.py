"""The rows of the blackboard: how each is made, the statements that store it, and how it is read.

Statements are prepared once: building one costs more than executing it, and SQLAlchemy's own
execution of one costs more than the database. `named` is the name of the run or session that a
statement is about.
"""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple, Protocol

from sqlalchemy import (
    BindParameter,
    ClauseElement,
    Connection,
    Engine,
    Integer,
    Text,
    bindparam,
    case,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from backends.databases import chain, schema
from backends.databases.records import FAULTS, MemberRecord, RunRecord, SessionRecord
from pxp_fsm.automata.actions import ActionRecord, Deliver, action_of, record_of
from pxp_fsm.errors import BlackboardError, quoted
from pxp_fsm.protocol.messages import Answer, Json, Message, answer_problem, text_problem
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import update_context

GREATEST = 2**31 - 1
"""The greatest number that both databases keep in an integer column."""
GREATEST_SEED = 2**63 - 1
Row = dict[str, Any]
Steps = Sequence[tuple[str, Sequence[Row]]]
"""Statements that are `prepared`, each with its rows."""


def now() -> str:
    """The time, UTC, ISO 8601; for people to read: nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def run_row(record: RunRecord) -> Row:
    """The row of a new run."""
    row: Row = {
        "run": record.run,
        "task": record.task,
        "plan": record.plan,
        "seed": record.seed,
        "version": record.version,
        "data_fingerprint": record.data_fingerprint,
        "subject": record.subject,
        "created": record.created or now(),
    }
    check_values(f"run {quoted(record.run)}", row, {"seed"}, greatest=GREATEST_SEED)
    return {**row, "chain": chain.of_run(row)}


def session_row(record: SessionRecord, salt: str) -> Row:
    """The row of a new session, but for its ordinal and link, which its run gives it.

    `salt` is that of its texts.
    """
    # A system may have one member alone, to which things happen.
    (initiator, initiator_is), (responder, responder_is) = (*record.agents, ("", ""))[:2]
    row: Row = {
        "session": record.session,
        "run": record.run,
        "repetition": record.repetition,
        "position": record.position,
        "instance": record.instance.key,
        "x_digest": chain.text_digest(record.instance.x, salt),
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
        "subject": record.subject,
        "channel": record.channel,
        "faults": record.faults,
        "created": now(),
    }
    numbers = {"repetition", "position", "memo", "n", "k"}
    described = f"session {quoted(record.session)}"
    check_values(described, row, numbers, optional={"n", "k"})
    check_values(described, {"x": record.instance.x}, set())
    return row


def member_rows(session: str, members: Iterable[MemberRecord]) -> list[Row]:
    """The rows of a session's members, in their order; their tables are nobody's words."""
    rows = [
        {
            "session": session,
            "place": place,
            "name": member.name,
            "automaton": member.automaton,
            "fingerprint": member.fingerprint,
            "table_digest": chain.text_digest(member.table),
            "description": member.description,
        }
        for place, member in enumerate(members, 1)
    ]
    for row in rows:
        check_values(f"member {quoted(row['name'])} of {quoted(session)}", row, {"place"})
    return rows


def event_row(session: str, event: Event, salt: str) -> tuple[Row, list[str]]:
    """The row of an event, but for its link, and the texts that it refers to.

    Of an answer the prediction is the payload, and the explanation a text beside it. An addition
    that is derived from the message alone holds no text: it stands in the row.
    """
    described = f"event {quoted(event.number)} of session {quoted(session)}"
    kind, member, partner, label, guard = record_of(event.action)
    message, delivers = event.message, isinstance(event.action, Deliver)
    row: Row = {
        "session": session,
        "number": event.number,
        "kind": kind,
        "member": member,
        "label": label,
        "partner": partner or ("" if message is None else message.receiver),
        "guard": guard or event.guard,
        "message": message.number if message is not None and delivers else None,
        "addition": event.addition,
        "memory": event.memory,
        "created": now(),
    }
    texts: dict[str, str | None] = {"memory": row["memory"] or None}
    if message is not None and not delivers:
        if isinstance(message.payload, Json):
            texts["payload"] = str(message.payload)
        else:
            problem = answer_problem(message.payload)
            if problem is not None:
                raise BlackboardError(f"{described} was refused: {problem}")
            texts["payload"] = message.payload.prediction
            texts["explanation"] = message.payload.explanation
    words = row if message is None else {_WORDS.get(name, name): row[name] for name in row}
    check_values(described, words, {"number", "message"}, optional=("message",))
    del row["memory"]
    is_derived = "explanation" in texts and event.addition == update_context(event.carried)
    if row["addition"] and not is_derived:
        texts["addition"], row["addition"] = row["addition"], ""
    for name in ("payload", "explanation", "memory", "addition"):
        text = texts.get(name)
        row[f"{name}_digest"] = None if text is None else chain.text_digest(text, salt)
    return row, [text for text in texts.values() if text is not None]


_WORDS = {"member": "sender", "partner": "receiver", "label": "tag"}
"""What the columns are called of a message."""


def _digest(value: str | None, salt: str) -> str | None:
    return None if value is None else chain.text_digest(value, salt)


def judgement_rows(
    session: str, number: int, judgements: Sequence[Judgement], salt: str
) -> tuple[list[Row], list[str]]:
    """The rows of what was judged to arrive at event `number`, and the texts they refer to."""
    rows = [
        _judgement_row(session, number, place, judgement, salt)
        for place, judgement in enumerate(judgements, 1)
    ]
    return rows, [judgement.detail for judgement in judgements if judgement.detail]


def _judgement_row(session: str, number: int, place: int, judgement: Judgement, salt: str) -> Row:
    described = f"judgement {place} at event {quoted(number)} of session {quoted(session)}"
    row: Row = {
        "session": session,
        "number": number,
        "place": place,
        "relation": judgement.relation,
        "left_digest": judgement.left,
        "right_digest": judgement.right,
        "outcome": judgement.outcome.value if isinstance(judgement.outcome, Outcome) else "",
        "asked": int(judgement.asked),
        "detail_digest": judgement.detail,
    }
    check_values(described, row, {"number", "place", "asked"})
    seconds = judgement.seconds
    if type(seconds) not in (int, float) or not math.isfinite(seconds):
        raise BlackboardError(
            f"{described} was refused: its seconds are {quoted(seconds)}, not a duration"
        )
    row |= {side: chain.salted(row[side], salt) for side in ("left_digest", "right_digest")}
    return {
        **row,
        "seconds": float(seconds),
        "detail_digest": _digest(judgement.detail or None, salt),
    }


def closing_row(ending: str, cause: str, length: int, salt: str) -> tuple[Row, list[str]]:
    """What is recorded of a session's end, and the texts that it refers to.

    The cause of a fault may quote what somebody said.
    """
    apart = cause if ending in FAULTS and cause else None
    row: Row = {
        "ending": ending,
        "cause": "" if apart else cause,
        "cause_digest": _digest(apart, salt),
        "length": length,
    }
    return row, [apart] if apart else []


def text_rows(texts: Iterable[str], salt: str) -> list[dict[str, str]]:
    """The rows of `texts`, each once; those of one statement in one order, whoever writes them."""
    by_digest = {chain.text_digest(text, salt): text for text in texts}
    return [
        {"digest": digest, "text": by_digest[digest], "salt": salt} for digest in sorted(by_digest)
    ]


def check_values(
    described: str,
    row: Row,
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
                raise BlackboardError(
                    f"{described} was refused: {name} is {quoted(value)}, not a number"
                )
        elif not isinstance(value, str):
            raise BlackboardError(
                f"{described} was refused: {name} is {quoted(value)}, which is not valid text"
            )
        else:
            problem = text_problem(value)
            if problem is not None:
                raise BlackboardError(f"{described} was refused: {name}: {problem}")


# How rows are read.

_NAMED: BindParameter[str] = bindparam("named", type_=Text())
SALT = (
    select(schema.texts.c.salt)
    .join(schema.sessions, schema.sessions.c.x_digest == schema.texts.c.digest)
    .where(schema.sessions.c.session == _NAMED)
)
_NAMES: BindParameter[str] = bindparam("names", expanding=True)
_e, _j = schema.events.c, schema.judgements.c
_TEXTS = {
    name: schema.texts.alias(name) for name in ("payload", "explanation", "memory", "addition")
}


def _events() -> Any:
    """Events with their texts; what was erased is shown as that."""
    query = select(
        _e.session,
        _e.number,
        _e.kind,
        _e.member,
        _e.partner,
        _e.label,
        _e.guard,
        _e.message,
        _e.addition.label("derived"),
        *(
            case(
                (_e[f"{name}_digest"].is_(None), None),
                else_=func.coalesce(table.c.text, schema.ERASED),
            ).label(name)
            for name, table in _TEXTS.items()
        ),
    )
    joined: Any = schema.events
    for name, table in _TEXTS.items():
        joined = joined.outerjoin(table, table.c.digest == _e[f"{name}_digest"])
    return query.select_from(joined).order_by(_e.session, _e.number)


_JUDGED = (
    select(
        schema.judgements,
        case(
            (_j.detail_digest.is_(None), ""),
            else_=func.coalesce(schema.texts.c.text, schema.ERASED),
        ).label("text"),
    )
    .join(schema.texts, schema.texts.c.digest == _j.detail_digest, isouter=True)
    .order_by(_j.session, _j.number, _j.place)
)
EVENTS, JUDGED = _events().where(_e.session == _NAMED), _JUDGED.where(_j.session == _NAMED)
_EVENTS_OF, _JUDGED_OF = (
    _events().where(_e.session.in_(_NAMES)),
    _JUDGED.where(_j.session.in_(_NAMES)),
)
_SALTS_OF = (
    select(schema.sessions.c.session, schema.texts.c.salt)
    .join(schema.texts, schema.sessions.c.x_digest == schema.texts.c.digest)
    .where(schema.sessions.c.session.in_(_NAMES))
)
MEMBERS = (
    select(
        schema.members.c.name,
        schema.members.c.automaton,
        schema.members.c.fingerprint,
        schema.texts.c.text,
        schema.members.c.description,
    )
    .join(schema.texts, schema.texts.c.digest == schema.members.c.table_digest)
    .where(schema.members.c.session == _NAMED)
    .order_by(schema.members.c.place)
)


def members_of(connection: Connection, session: str) -> tuple[MemberRecord, ...]:
    """The members of a system's session, in their order."""
    return tuple(MemberRecord(*row) for row in connection.execute(MEMBERS, {"named": session}))


def events(connection: Connection, session: str) -> tuple[tuple[Event, ...], tuple[Judgement, ...]]:
    """The events of a session, in order, each with what it carried and what was judged.

    Then what was judged and led to no event.
    """
    stored = connection.execute(EVENTS, {"named": session}).all()
    judged = connection.execute(JUDGED, {"named": session}).all()
    salt = connection.scalar(SALT, {"named": session}) if judged else ""
    return _read(session, stored, judged, salt or "")


def events_of(
    connection: Connection, sessions: Sequence[str]
) -> Iterator[tuple[str, tuple[Event, ...]]]:
    """The events of each of some sessions, read together, in the order of `sessions`."""
    about = {"names": list(sessions)}
    stored, judged = defaultdict[str, list[Any]](list), defaultdict[str, list[Any]](list)
    for row in connection.execute(_EVENTS_OF, about):
        stored[row.session].append(row)
    for row in connection.execute(_JUDGED_OF, about):
        judged[row.session].append(row)
    salts = dict(map(tuple, connection.execute(_SALTS_OF, about))) if judged else {}
    for session in sessions:
        yield session, _read(session, stored[session], judged[session], salts.get(session, ""))[0]


def _read(
    session: str, stored: Sequence[Any], judgements: Sequence[Any], salt: str
) -> tuple[tuple[Event, ...], tuple[Judgement, ...]]:
    judged = _judged(stored, judgements, salt)
    sent: dict[int, Message] = {}
    events = []
    for row in stored:
        message = None
        if row.message is not None:
            message = sent.get(row.message)
            if message is None:
                raise BlackboardError(
                    f"event {row.number} of session {quoted(session)} delivers what event "
                    f"{row.message} has not sent"
                )
        elif row.payload is not None:
            payload = (
                Json(row.payload)
                if row.explanation is None
                else Answer(row.payload, row.explanation)
            )
            message = Message(session, row.number, row.member, row.label, payload, row.partner)
            sent[row.number] = message
        partner = "" if row.kind == "choose" else row.partner
        guard = row.guard if row.kind in ("choose", "decide") else ""
        events.append(
            Event(
                row.number,
                action_of(ActionRecord(row.kind, row.member, partner, row.label, guard)),
                row.guard,
                message,
                row.derived if row.addition is None else row.addition,
                row.memory or "",
                tuple(judged.pop(row.number, ())),
            )
        )
    return tuple(events), tuple(judgement for left in judged.values() for judgement in left)


def _judged(
    events: Sequence[Any], judgements: Sequence[Any], salt: str
) -> dict[int, list[Judgement]]:
    """The judgements of a session in order, by the number of the event that they led to.

    Their texts are known by SHA-256 in memory, and by that and the session's salt where stored.
    """
    if not judgements:
        return {}
    known = chain.plain_digests(
        salt, (text for row in events for text in (row.payload, row.explanation, row.memory))
    )
    judged: dict[int, list[Judgement]] = {}
    for row in judgements:
        judgement = Judgement(
            row.relation,
            known.get(row.left_digest, row.left_digest),
            known.get(row.right_digest, row.right_digest),
            Outcome(row.outcome),
            bool(row.asked),
            row.seconds,
            row.text,
        )
        judged.setdefault(row.number, []).append(judgement)
    return judged


# The statements that store them.

Head = tuple[int, str]
"""How many links a chain has, and the latest."""

_h, _r, _s, _x = schema.heads.c, schema.runs.c, schema.sessions.c, schema.erasures.c

LATEST = select(_h.number, _h.chain).where(
    _h.kind == bindparam("of", type_=Text()), _h.name == _NAMED
)
HEAD = LATEST.with_for_update()
MOVE_HEAD = (
    update(schema.heads)
    .where(
        _h.kind == bindparam("of", type_=Text()),
        _h.name == _NAMED,
        _h.number == bindparam("before", type_=Integer()),
        _h.chain == bindparam("previous", type_=Text()),
    )
    .values(number=bindparam("number"), chain=bindparam("chain"))
)


def moved(kind: str, name: str, before: Head, after: Head) -> Row:
    """The parameters of `MOVE_HEAD`, by which a chain's head moves from `before` to `after`."""
    number, link = after
    place = {"of": kind, "named": name, "before": before[0], "previous": before[1]}
    return {**place, "number": number, "chain": link}


RUN = select(_r.chain).where(_r.run == _NAMED)
RUN_NAMES = select(_r.run)
ENDING = select(_s.ending).where(_s.session == _NAMED)
CLOSE = (
    update(schema.sessions)
    .where(_s.session == _NAMED)
    .values({name: bindparam(name) for name in schema.CLOSING})
)
KEEP_TEXT = text(
    "INSERT INTO texts (digest, text, salt) VALUES (:digest, :text, :salt) ON CONFLICT DO NOTHING"
)
ADD = {table.name: insert(table) for table in schema.EXCHANGED}
"""The statement that stores a row, by its table."""
ERASURE = select(_x.session, _x.created, _x.texts, _x.prompts).where(_x.session == _NAMED)


class Prepared(NamedTuple):
    """The statements that each event and call take, as the driver takes them."""

    head: str
    move_head: str
    keep_text: str
    close: str
    add: Mapping[str, str]


@cache
def prepared(dialect: str) -> Prepared:
    """The statements as the driver of `dialect` takes them, with parameters by name."""
    sqlite = dialect == "sqlite"
    drivers: Any = make_url("sqlite://" if sqlite else "postgresql+psycopg://").get_dialect()
    named = drivers(paramstyle="named" if sqlite else "pyformat")

    def written(statement: ClauseElement, columns: Sequence[str] | None = None) -> str:
        return str(statement.compile(dialect=named, column_keys=columns))

    adding = {
        name: written(
            statement,
            [column for column in schema.SHAPES[name].columns if column not in schema.CLOSING],
        )
        for name, statement in ADD.items()
    }
    return Prepared(written(HEAD), written(MOVE_HEAD), written(KEEP_TEXT), written(CLOSE), adding)


def lock_runs(connection: Connection) -> None:
    """Let no other transaction record a run until this one ends; on SQLite none can anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE"))


def commit(engine: Engine, work: Callable[[Cursor], bool]) -> bool:
    """Whether `work` was done with a cursor in a transaction of its own, and committed.

    It is undone where `work` returns false. PostgreSQL's driver begins transactions itself.

    False where the database or its driver objects. Whether a commit was done whose answer was lost
    is then not known: who asks must look, and learns on the way what the matter was.
    """
    try:
        connection = engine.raw_connection()
    except (SQLAlchemyError, sqlite3.Error):
        return False
    cursor = connection.cursor()
    try:
        if engine.dialect.name == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
        if not work(cursor):
            return False
        connection.commit()
    except engine.dialect.loaded_dbapi.Error as error:
        if engine.dialect.is_disconnect(error, connection, cursor):
            connection.invalidate(error)
        return False
    except UnicodeError:
        return False
    finally:
        connection.close()  # to the pool, which undoes what was not committed
    return True


class Cursor(Protocol):
    """What a driver executes prepared statements with."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement has changed."""

    def execute(self, statement: str, parameters: Row, /) -> object:
        """Execute a statement, with parameters by name."""

    def fetchone(self) -> Any:
        """The next row of what the last statement has selected."""


def head(cursor: Cursor, sql: Prepared, kind: str, name: str) -> Head | None:
    """The head of a chain, which nobody else moves before the transaction ends; None for none."""
    cursor.execute(sql.head, {"of": kind, "named": name})
    row = cursor.fetchone()
    return None if row is None else (row[0], row[1])


def add(cursor: Cursor, sql: Prepared, moves: Sequence[Row], steps: Steps) -> bool:
    """Whether the heads of chains have moved by `moves`; the rows of `steps` are added then.

    Where one is not where the writer thinks, somebody else has added to the chain: nothing is to
    be done. Heads come first, so that of several writers the others wait.
    """
    for move in moves:
        cursor.execute(sql.move_head, move)
        if cursor.rowcount != 1:
            return False
    for statement, rows in steps:
        for row in rows:  # psycopg's executemany has a pipeline, dearer than so few rows
            cursor.execute(statement, row)
    return True
