"""The cost of a message does not grow with the conversation, and nothing is stored twice."""

from __future__ import annotations

from itertools import pairwise

from sqlalchemy import text

from backends.databases import SqlBlackboard
from tests.backends.records import RUN, as_stored, message, record


def size(board: SqlBlackboard) -> int:
    """Bytes of the tables and indexes."""
    with board.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            pages = connection.scalar(text("PRAGMA page_count")) or 0
            free = connection.scalar(text("PRAGMA freelist_count")) or 0
            return int(pages - free) * 4096
        query = (
            "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class "
            "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        )
        return int(connection.scalar(text(query)) or 0)


def test_bytes_a_message_are_flat_over_a_conversation_of_1000(empty: SqlBlackboard) -> None:
    empty.start_run(RUN)
    empty.start_session(record())
    sizes = [size(empty)]
    for number in range(1, 1001):
        said = f"{number:04} " + "so it is " * 40
        empty.append(*as_stored(message(number, "", said, said[::-1]), '{"learned": true}', []))
        if number % 250 == 0:
            sizes.append(size(empty))
    quarters = [after - before for before, after in pairwise(sizes[1:])]
    assert max(quarters) < 1.35 * min(quarters), quarters
    assert max(quarters) / 250 < 2500


def test_what_is_said_again_in_a_session_is_stored_once(empty: SqlBlackboard) -> None:
    empty.start_run(RUN)
    for position in (1, 2, 3):
        name = f"drug-1/1/{position}"
        empty.start_session(record(name, position))
        for number in range(1, 11):
            empty.append(
                *as_stored(message(number, "", "the same", "because" * 1000, name), "{}", [])
            )
    with empty.engine.connect() as connection:
        assert connection.scalar(text("SELECT COUNT(*) FROM texts")) == 3 * 4
        assert connection.scalar(text("SELECT COUNT(*) FROM messages")) == 30
