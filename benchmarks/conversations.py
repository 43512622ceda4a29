"""The sessions that the blackboard's benchmark stores, one by one or as an import takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backends.databases import RunRecord, SessionRecord, chain, records
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome, digest

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
    said = []
    for place in range(1, length + 1):
        machine = place % 2 == 1
        who = f"machine on {number} at {place}" if machine else f"human on {number}"
        answer = Answer(f"CC(=O)O.{number}", f"{who}: " + "because it is so, " * 15)
        sender, receiver = ("m", "h") if machine else ("h", "m")
        tag = "INIT" if place == 1 else "REFUTE"
        said.append(Message(f"drug-1/1/{number}", place, sender, tag, answer, receiver))
    return said


def texts_of(message: Message) -> tuple[str, str]:
    return message.answer.prediction, message.answer.explanation


def in_bulk(sessions: int, judgements: int = 2) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of so many sessions, as an import takes them."""
    run = records.run_row(RUN)
    head = run["opening"]

    def opened(number: int) -> dict[str, Any]:
        session = {**records.session_row(record(number), SALT), "ordinal": number, "created": ""}
        return session | {"opening": chain.of_session(run["opening"], session)}

    for number in range(1, sessions + 1):
        head = chain.joined(head, opened(number)["opening"])
    yield "runs", run | {"opened": sessions, "head": head}
    for first in range(1, sessions + 1, BULK):
        found: dict[str, list[dict[str, Any]]] = {"sessions": [], "entries": [], "judgements": []}
        said = set[str]()
        for number in range(first, min(first + BULK, sessions + 1)):
            session, sent = opened(number), messages(number)
            link = session["opening"]
            said.add(record(number).instance.x)
            for message in sent:
                made, texts = records.entry_row(message, ADDITION, SALT)
                entry = {**made, "created": ""}
                about = message.session, message.number
                judged, _ = records.judgement_rows(*about, JUDGED[:judgements], SALT)
                said.update(texts)
                link = entry["chain"] = chain.of_entry(link, entry, judged)
                found["entries"].append(entry)
                found["judgements"] += judged
            session |= records.closing_row(*CLOSED, MESSAGES, SALT)[0]
            found["sessions"].append(session | {"seal": chain.of_closing(link, session, [])})
        yield from (("texts", row) for row in records.text_rows(said, SALT))
        for table, rows in found.items():
            yield from ((table, row) for row in rows)
