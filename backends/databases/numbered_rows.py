"""What a session holds in order: its messages, or the actions of a system, numbered and chained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Dialect, Insert, Table, select

from backends.databases import chain, schema
from backends.databases import statements as sql
from backends.databases.records import Row, judgement_of
from pxp_fsm.protocol.relations import Judgement

Chained = Callable[[str, Row, list[Row]], str]
"""The link of a row after the previous one, with what was judged to arrive at it."""


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """A table of such rows, with its statements as the driver takes them, parameters by name.

    `what` is a row in words.
    """

    what: str
    table: Table
    chained: Chained
    keep_text: str
    add: str
    add_judgement: str

    def steps(
        self, said: Sequence[Row], row: Row, judged: Sequence[Row]
    ) -> list[tuple[str, Sequence[Row]]]:
        """What a row is stored with: each statement with its rows."""
        steps = [(self.keep_text, said), (self.add, [row])]
        return [*steps, (self.add_judgement, judged)] if judged else steps

    def tip(self, connection: Connection, session: str) -> tuple[int, str] | None:
        """The number and link of a session's latest row; None where it has none."""
        c = self.table.c
        query = select(c.number, c.chain).where(c.session == session)
        found = connection.execute(query.order_by(c.number.desc()).limit(1)).one_or_none()
        return None if found is None else (found.number, found.chain)

    def stored_link(self, connection: Connection, row: Row, judged: list[Row]) -> str:
        """The link that `row` would have, had it been stored after the one before it."""
        if row["number"] == 1:
            before = connection.scalar(sql.SESSION_OPENING, {"named": row["session"]})
        else:
            c = self.table.c
            place = (c.session == row["session"], c.number == row["number"] - 1)
            before = connection.scalar(select(c.chain).where(*place))
        return self.chained(before or "", row, judged)


def judged_in(
    connection: Connection, session: str, known: Mapping[str, str]
) -> dict[int, list[Judgement]]:
    """The judgements of a session in order, by the number of the row that they led to.

    `known` are the SHA-256 of its texts by the names under which they are stored.
    """
    judged: dict[int, list[Judgement]] = {}
    for row in connection.execute(sql.JUDGED, {"named": session}):
        judged.setdefault(row.number, []).append(judgement_of(row, known))
    return judged


def numbered_rows(dialect: Dialect) -> tuple[NumberedRows, NumberedRows]:
    """The messages and the actions of `dialect`."""

    def made(what: str, table: Table, chained: Chained, add: Insert) -> NumberedRows:
        written = (sql.prepared(dialect, part) for part in (sql.KEEP_TEXT, add, sql.ADD_JUDGEMENT))
        return NumberedRows(what, table, chained, *written)

    return (
        made("message", schema.entries, chain.of_entry, sql.ADD_ENTRY),
        made("action", schema.actions, chain.of_action, sql.ADD_ACTION),
    )
