"""The sessions that the blackboard's benchmark stores, one by one or as an import takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from backends.databases import RunRecord, SessionRecord, chain, rows, schema
from backends.databases.rows import Row
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome, digest
from pxp_fsm.sessions.events import Event

MESSAGES, BULK = 6, 500
RUN = RunRecord("drug-1", "drug", "{}", 0, "0", "f" * 64, "2026-01-01")
JUDGED = [Judgement("MATCH", digest("y"), digest("z"), Outcome.NO, True, 0.5)] * 2
ADDITION = '{"learned": true}'
SALT = "5a" * 16
"""One for all of them: what is measured are sessions that come after these."""
CLOSED = ("bound", "the bound of 6 messages")


def record(number: int) -> SessionRecord:
    about = Instance(f"i{number}", "CC(=O)Nc1ccc(O)cc1")
    agents = (("m", "machine"), ("h", "database"))
    table = builtin("interact")
    place = ("drug-1", 1, number, about, "interact", 10, 3, table.name, table.fingerprint)
    return SessionRecord(f"drug-1/1/{number}", *place, True, (), agents)


def messages(number: int, length: int = MESSAGES) -> list[Message]:
    """Six messages of some 300 bytes; the human says the same each time, as a proxy does."""
    sent = []
    for place in range(1, length + 1):
        machine = place % 2 == 1
        who = f"machine on {number} at {place}" if machine else f"human on {number}"
        answer = Answer(f"CC(=O)O.{number}", f"{who}: " + "because it is so, " * 15)
        sender, receiver = ("m", "h") if machine else ("h", "m")
        tag = "INIT" if place == 1 else "REFUTE"
        sent.append(Message(f"drug-1/1/{number}", place, sender, tag, answer, receiver))
    return sent


def texts_of(message: Message) -> tuple[str, str]:
    return message.answer.prediction, message.answer.explanation


Made = tuple[SessionRecord, tuple[str, str], Iterable[Event]]
"""A session, its ending with the cause, and its events."""


def in_bulk(sessions: int, judgements: int = 2) -> Iterator[tuple[str, Row]]:
    """The rows of so many sessions, as an import takes them."""
    judged = JUDGED[:judgements]
    made: Iterator[Made] = (
        (
            record(number),
            CLOSED,
            [Event.of_message(message, ADDITION, judged) for message in messages(number)],
        )
        for number in range(1, sessions + 1)
    )
    return rows_of(RUN, made)


def rows_of(about: RunRecord, sessions: Iterable[Made]) -> Iterator[tuple[str, Row]]:
    """The rows of a run with these sessions, as an import takes them: some sessions at a time."""
    run = rows.run_row(about)
    yield "runs", run
    number, link, known = 0, run["chain"], set[str]()
    while batch := list(islice(sessions, BULK)):
        held: dict[str, list[Row]] = {
            "sessions": [], "events": [], "judgements": [], "heads": []
        }  # fmt: skip
        carried = set[str]()
        for session_record, closed, events in batch:
            number += 1
            session = {**rows.session_row(session_record, SALT), "ordinal": number, "created": ""}
            latest = link = session["chain"] = chain.of_session(link, session)
            carried.add(session_record.instance.x)
            length = 0
            for length, event in enumerate(events, 1):
                row, texts = rows.event_row(session_record.session, event, SALT)
                judged, _ = rows.judgement_rows(
                    session_record.session, length, event.judgements, SALT
                )
                latest = chain.of_event(latest, row | {"created": ""}, judged)
                held["events"].append({**row, "created": "", "chain": latest})
                held["judgements"] += judged
                carried.update(texts)
            closing, texts = rows.closing_row(*closed, length, SALT)
            carried.update(texts)
            latest = chain.of_closing(latest, closing, [])
            held["sessions"].append(session | closing)
            held["heads"].append(_head("events", session_record.session, length, latest))
        yield from (("texts", row) for row in rows.text_rows(carried - known, SALT))
        known |= carried if len(known) < 1000 else set()
        for table, made in held.items():
            yield from ((table, row) for row in made)
    yield "heads", _head("sessions", about.run, number, link)
    for kind in schema.RECORDS:
        yield "heads", _head(kind, about.run, 0, run["chain"])


def _head(kind: str, name: str, number: int, link: str) -> Row:
    return {"kind": kind, "name": name, "number": number, "chain": link}
