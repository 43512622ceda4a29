"""Rows of a system's session: its members, and its actions with what they carry."""

from __future__ import annotations

from sqlalchemy import Connection, select

from backends.databases import chain, schema
from backends.databases import statements as sql
from backends.databases.numbered_rows import judged_in
from backends.databases.records import MemberRecord, Row, check_values, now
from pxp_fsm.automata.actions import ActionRecord, Deliver, action_of, record_of
from pxp_fsm.errors import BlackboardError, quoted
from pxp_fsm.sessions.live import Letter
from pxp_fsm.sessions.occurrences import Occurrence


def member_rows(session: str, members: tuple[MemberRecord, ...]) -> list[Row]:
    """The rows of a session's members, in their order."""
    rows = [
        {
            "session": session,
            "place": place,
            "name": one.name,
            "automaton": one.automaton,
            "fingerprint": one.fingerprint,
            "table_digest": chain.text_digest(one.table),
            "description": one.description,
        }
        for place, one in enumerate(members, 1)
    ]
    for row in rows:
        check_values(f"member {quoted(row['name'])} of {quoted(session)}", row, {"place"})
    return rows


def members_of(connection: Connection, session: str) -> tuple[MemberRecord, ...]:
    """The members of a system's session, in their order."""
    m, t = schema.members.c, schema.texts.c
    query = (
        select(m.name, m.automaton, m.fingerprint, t.text, m.description)
        .join(schema.texts, t.digest == m.table_digest)
        .where(m.session == session)
        .order_by(m.place)
    )
    return tuple(MemberRecord(*row) for row in connection.execute(query))


def action_row(session: str, occurrence: Occurrence, salt: str) -> tuple[Row, list[str]]:
    """The row of an action, but for its link, and the texts that it refers to."""
    kind, member, partner, label, guard = record_of(occurrence.action)
    letter, delivers = occurrence.letter, isinstance(occurrence.action, Deliver)
    carried = None if letter is None or delivers else letter.text
    memory = occurrence.memory or None
    row: Row = {
        "session": session,
        "number": occurrence.number,
        "kind": kind,
        "member": member,
        "partner": partner or ("" if letter is None else letter.receiver),
        "label": label,
        "guard": guard or occurrence.guard,
        "letter": letter.number if letter is not None and delivers else None,
        "payload_digest": None if carried is None else chain.text_digest(carried, salt),
        "memory_digest": None if memory is None else chain.text_digest(memory, salt),
        "created": now(),
    }
    optional = {"letter", "payload_digest", "memory_digest"}
    what = f"action {quoted(occurrence.number)} of session {quoted(session)}"
    check_values(what, row, {"number", "letter"}, optional=optional)
    return row, [text for text in (carried, memory) if text is not None]


def occurrences(connection: Connection, session: str) -> tuple[Occurrence, ...]:
    """The actions of a session, in order, each with what it carried and what was judged."""
    a = schema.actions.c
    payloads, memories = schema.texts.alias(), schema.texts.alias()
    query = (
        select(schema.actions, payloads.c.text.label("payload"), memories.c.text.label("memory"))
        .join(payloads, payloads.c.digest == a.payload_digest, isouter=True)
        .join(memories, memories.c.digest == a.memory_digest, isouter=True)
        .where(a.session == session)
        .order_by(a.number)
    )
    rows = connection.execute(query).all()
    salt = connection.scalar(sql.SALT, {"named": session}) or ""
    texts = (text for row in rows for text in (row.payload, row.memory))
    judged = judged_in(connection, session, chain.plain_digests(salt, texts))
    letters: dict[int, Letter] = {}
    found = []
    for row in rows:
        letter = None
        if row.letter is not None:
            letter = letters.get(row.letter)
            if letter is None:
                raise BlackboardError(
                    f"action {row.number} of session {quoted(session)} delivers what action "
                    f"{row.letter} has not sent"
                )
        elif row.payload_digest is not None:
            said = schema.ERASED if row.payload is None else row.payload
            letter = Letter(row.number, row.member, row.partner, row.label, said)
            letters[row.number] = letter
        partner = "" if row.kind == "choose" else row.partner
        guard = row.guard if row.kind in ("choose", "decide") else ""
        action = action_of(ActionRecord(row.kind, row.member, partner, row.label, guard))
        judgements = tuple(judged.get(row.number, ()))
        memory = row.memory or ""
        found.append(Occurrence(row.number, action, row.guard, letter, memory, judgements))
    return tuple(found)
