"""Whatever is changed after the fact is found, and where; what is not changed is not suspected."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from backends.databases import SqlBlackboard, schema
from backends.databases.triggers import triggers
from backends.databases.verify import Report, verify, verify_engine
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.backends.records import NAME, RUN, message, record

OTHER = "drug-1/1/2"


@pytest.fixture
def board(empty: SqlBlackboard) -> SqlBlackboard:
    """Two sessions that are over and one that is not, of three messages each."""
    empty.start_run(RUN)
    for position in (1, 2, 3):
        name = f"drug-1/1/{position}"
        empty.start_session(record(name, position))
        for number, tag in enumerate(("INIT", "REFUTE", "RATIFY"), start=1):
            judged = Judgement("MATCH", "l", "r", Outcome.YES, True, 0.1 * number)
            said = message(number, tag, f"y{number}", f"e{position}", name)
            empty.append(said, f'{{"number": {number}}}', [judged])
        if position < 3:
            late = Judgement("AGREE", "l", "r", Outcome.LATE, True, 0.5)
            empty.close(name, "late", "AGREE: no answer", [late])
    return empty


def tampered(board: SqlBlackboard, statement: str) -> Report:
    """The report after `statement`, run by somebody who owns the database."""
    columns = {table.name: table.columns.keys() for table in schema.metadata.sorted_tables}
    sqlite = board.engine.dialect.name == "sqlite"
    made = list(triggers(board.engine.dialect.name, columns))
    with board.engine.connect() as connection:
        if sqlite:
            connection.execute(text("COMMIT"))
            connection.execute(text("PRAGMA foreign_keys = OFF"))
            for name, _table, _statement in made:
                connection.execute(text(f"DROP TRIGGER {name}"))
        else:
            connection.execute(text("SET session_replication_role = replica"))
        connection.execute(text(statement))
        for _name, _table, again in made if sqlite else ():
            connection.exec_driver_sql(again)
        connection.execute(text("PRAGMA foreign_keys = ON" if sqlite else "COMMIT"))
        connection.invalidate()
    return verify_engine(board.engine)


def test_an_untouched_blackboard_has_no_problems_and_its_mark_stays(board: SqlBlackboard) -> None:
    report = verify_engine(board.engine)
    assert report.problems == ()
    (mark,) = report.marks
    assert (mark.run, mark.sessions, mark.messages) == ("drug-1", 3, 9)
    assert verify_engine(board.engine) == report
    board.close("drug-1/1/3", "bound", "", [])
    assert verify_engine(board.engine).marks != report.marks


ENTRY_2 = f"WHERE session = '{OTHER}' AND number = 2"
SESSION = f"WHERE session = '{OTHER}'"
REOPENED = "UPDATE sessions SET ending = NULL, cause = NULL, length = NULL, seal = NULL"
CHANGES = [
    ("UPDATE texts SET text = 'z' WHERE text = 'e2'", "session, message 1"),
    ("DELETE FROM texts WHERE text = 'e2'", "session"),
    (f"UPDATE entries SET tag = 'REJECT' {ENTRY_2}", "session, message 2"),
    (f"UPDATE entries SET addition = '' {ENTRY_2}", "session, message 2"),
    (f"UPDATE entries SET created = '' {ENTRY_2}", "session, message 2"),
    (f"DELETE FROM entries {ENTRY_2}", "session, message 2"),
    (f"DELETE FROM entries {SESSION} AND number = 3", "session"),
    (f"UPDATE judgements SET outcome = 'no' {ENTRY_2}", "session, message 2"),
    (f"UPDATE judgements SET seconds = 0.3 {ENTRY_2}", "session, message 2"),
    (f"DELETE FROM judgements {SESSION} AND number = 4", "session"),
    (f"UPDATE sessions SET ending = 'bound' {SESSION}", "session"),
    (f"UPDATE sessions SET instance = 'x' {SESSION}", "session"),
    (f"UPDATE sessions SET fingerprint = 'x' {SESSION}", "session"),
    (f"{REOPENED} {SESSION}", "session"),
    (f"DELETE FROM sessions {SESSION}", "session"),
    ("DELETE FROM sessions WHERE session = 'drug-1/1/3'", "run drug-1"),
    ("UPDATE runs SET seed = 8", "run drug-1"),
    ("DELETE FROM runs", "session"),
]


@pytest.mark.parametrize(("statement", "where"), CHANGES)
def test_a_change_is_found_where_it_was_made(
    board: SqlBlackboard, statement: str, where: str
) -> None:
    found = tampered(board, statement).problems
    place = where.replace("session", f"session {OTHER}")
    assert place in {problem.where for problem in found}, found
    untouched = {f"session {NAME}", f"session {NAME}, message 1"}
    if "runs" not in statement:
        assert not untouched & {problem.where for problem in found}, found


def test_what_the_automaton_forbids_is_found_even_where_the_chain_is_right(
    empty: SqlBlackboard,
) -> None:
    empty.start_run(RUN)
    empty.start_session(record())
    empty.append(message(1, "RATIFY"), "{}", [])
    (problem,) = verify_engine(empty.engine).problems
    assert problem.where == f"session {NAME}"
    assert "does not send RATIFY" in problem.what


def test_a_guard_that_was_dropped_is_missed(board: SqlBlackboard, dialect: str) -> None:
    statement = "DROP TRIGGER entries_kept" + (" ON entries" if dialect == "postgresql" else "")
    with board.engine.begin() as connection:
        connection.execute(text(statement))
    (problem,) = verify_engine(board.engine).problems
    assert (problem.where, "entries_kept" in problem.what) == ("table entries", True)


def test_bytes_that_are_no_text_are_found(board: SqlBlackboard, dialect: str) -> None:
    if dialect == "postgresql":
        pytest.skip("PostgreSQL keeps no such text")
    tampered(board, "UPDATE texts SET text = CAST(x'ff' AS TEXT) WHERE text = 'zzz'")
    report = tampered(board, "UPDATE texts SET text = CAST(x'ff' AS TEXT) WHERE text = 'e2'")
    assert f"session {OTHER}, message 1" in {problem.where for problem in report.problems}
    assert verify(str(board.engine.url)).problems == report.problems
