"""Nothing stored is changed or removed, whoever writes to the database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from backends.databases import CallsOf, SqlBlackboard
from backends.databases.verify import verify_engine
from pxp_fsm.prompting.model import Call, ModelRequest, Reply
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.backends.records import NAME, RUN, as_stored, message, record

TABLES = (
    "texts",
    "runs",
    "sessions",
    "heads",
    "events",
    "judgements",
    "calls",
    "blackboard_version",
)
CHANGES = [
    "UPDATE texts SET text = 'another'",
    "UPDATE heads SET name = 'another'",
    "UPDATE runs SET task = 'another'",
    "UPDATE sessions SET instance = 'another'",
    "UPDATE sessions SET ending = 'term', cause = '', length = 1 WHERE position = 1",
    "UPDATE sessions SET ending = NULL, cause = NULL, length = NULL",
    "UPDATE events SET label = 'RATIFY'",
    "UPDATE events SET chain = ''",
    "UPDATE judgements SET outcome = 'no'",
    "UPDATE calls SET dollars = 0",
]
EVENT = (
    "INSERT INTO events SELECT session, {number}, kind, {member}, {partner}, label, guard, "
    "message, payload_digest, explanation_digest, memory_digest, addition, addition_digest, "
    "created, chain "
    "FROM events WHERE session = 'drug-1/1/{session}' AND number = 1"
)


@pytest.fixture
def board(empty: SqlBlackboard) -> Iterator[SqlBlackboard]:
    """One session that is over, one that is not."""
    judged = Judgement("MATCH", "l", "r", Outcome.YES, True, 0.5)
    empty.start_run(RUN)
    for position in (1, 2):
        name = f"drug-1/1/{position}"
        empty.start_session(record(name, position))
        empty.append(*as_stored(message(1, session=name), "{}", [judged]))
    empty.end(NAME, "bound", "", [])
    CallsOf(empty, "drug-1").keep(
        Call("anthropic:x", ModelRequest("", (), session=NAME), Reply("so"), 0.5)
    )
    yield empty
    assert verify_engine(empty.engine).problems == ()


def refusal(board: SqlBlackboard, statement: str, *before: str) -> str:
    """In which words the database refuses the statement, or ""; what it does is undone."""
    with board.engine.connect() as connection:
        try:
            for first in before:
                connection.execute(text(first))
            connection.execute(text(statement))
        except IntegrityError as error:
            return str(error)
        finally:
            connection.rollback()
    return ""


def test_what_is_stored_stays(board: SqlBlackboard) -> None:
    statements = [*CHANGES, *(f"DELETE FROM {name}" for name in TABLES)]
    assert [one for one in statements if "never" not in refusal(board, one)] == []


def test_no_row_is_replaced_and_no_table_emptied(board: SqlBlackboard, dialect: str) -> None:
    if dialect == "sqlite":
        # replacing a text by itself changes nothing
        tables = [name for name in TABLES if name not in ("texts", "blackboard_version")]
        statements = [f"INSERT OR REPLACE INTO {name} SELECT * FROM {name}" for name in tables]
        board.engine.dispose()
        first = ["PRAGMA recursive_triggers = OFF"]
    else:
        statements, first = [f"TRUNCATE {name} CASCADE" for name in TABLES], []
    assert [one for one in statements if not refusal(board, one, *first)] == []


def test_a_text_is_not_replaced_by_another(board: SqlBlackboard, dialect: str) -> None:
    if dialect == "postgresql":
        pytest.skip("INSERT OR REPLACE is SQLite's")
    with pytest.raises(IntegrityError, match="never"), board.engine.begin() as connection:
        connection.execute(
            text("INSERT OR REPLACE INTO texts SELECT digest, 'another', salt FROM texts LIMIT 1")
        )


@pytest.mark.parametrize(
    ("number", "member", "partner", "session", "says"),
    [
        (3, "'m'", "'h'", 2, "without a gap"),
        (1, "'m'", "'h'", 2, "without a gap"),
        (2, "'x'", "'h'", 2, "two agents"),
        (2, "'h'", "'h'", 2, "two agents"),
        (2, "'h'", "'m'", 1, "ended already"),
    ],
)
def test_an_event_is_the_next_one_between_the_two_agents_of_an_open_session(
    board: SqlBlackboard, number: int, member: str, partner: str, session: int, says: str
) -> None:
    statement = EVENT.format(number=number, member=member, partner=partner, session=session)
    with pytest.raises(IntegrityError, match=says), board.engine.begin() as connection:
        connection.execute(text(statement))
