"""Whatever is changed after the fact is found, and where; what is not changed is not suspected."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from backends.databases import SqlBlackboard, schema
from backends.databases.recordings import Details, recorded_sessions, run_counts
from backends.databases.triggers import triggers
from backends.databases.verify import Report, verify, verify_engine
from backends.databases.views import VIEWS
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.backends.records import NAME, RUN, as_stored, message, record
from tests.sampling import sampled

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
            empty.append(*as_stored(said, f'{{"number": {number}}}', [judged]))
        if position < 3:
            late = Judgement("AGREE", "l", "r", Outcome.LATE, True, 0.5)
            empty.end(name, "late", "AGREE: no answer", [late])
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
    board.end("drug-1/1/3", "bound", "", [])
    assert verify_engine(board.engine).marks != report.marks


EVENT_2 = f"WHERE session = '{OTHER}' AND number = 2"
SESSION = f"WHERE session = '{OTHER}'"
REOPENED = "UPDATE sessions SET ending = NULL, cause = NULL, length = NULL, cause_digest = NULL"
CHANGES = [
    ("UPDATE texts SET text = 'z' WHERE text = 'e2'", "session, event 1"),
    ("DELETE FROM texts WHERE text = 'e2'", "session"),
    (f"UPDATE events SET label = 'REJECT' {EVENT_2}", "session, event 2"),
    (f"UPDATE events SET addition = 'z' {EVENT_2}", "session, event 2"),
    (f"UPDATE events SET addition_digest = NULL {EVENT_2}", "session, event 2"),
    (f"UPDATE events SET created = '' {EVENT_2}", "session, event 2"),
    (f"DELETE FROM events {EVENT_2}", "session, event 2"),
    (f"DELETE FROM events {SESSION} AND number = 3", "session"),
    (f"UPDATE judgements SET outcome = 'no' {EVENT_2}", "session, event 2"),
    (f"UPDATE judgements SET seconds = 0.3 {EVENT_2}", "session, event 2"),
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


@pytest.mark.parametrize(("statement", "where"), sampled(CHANGES, 2))
def test_a_change_is_found_where_it_was_made(
    board: SqlBlackboard, statement: str, where: str
) -> None:
    found = tampered(board, statement).problems
    place = where.replace("session", f"session {OTHER}")
    assert place in {problem.where for problem in found}, found
    untouched = {f"session {NAME}", f"session {NAME}, event 1"}
    if "runs" not in statement:
        assert not untouched & {problem.where for problem in found}, found


def test_what_the_automaton_forbids_is_found_even_where_the_chain_is_right(
    empty: SqlBlackboard,
) -> None:
    empty.start_run(RUN)
    empty.start_session(record())
    empty.append(*as_stored(message(1, "RATIFY"), "{}", []))
    (problem,) = verify_engine(empty.engine).problems
    assert problem.where == f"session {NAME}"
    assert "does not send RATIFY" in problem.what


def test_a_guard_that_was_dropped_is_missed(board: SqlBlackboard, dialect: str) -> None:
    statement = "DROP TRIGGER events_kept" + (" ON events" if dialect == "postgresql" else "")
    with board.engine.begin() as connection:
        connection.execute(text(statement))
    (problem,) = verify_engine(board.engine).problems
    assert (problem.where, "events_kept" in problem.what) == ("table events", True)


def test_bytes_that_are_no_text_are_found(board: SqlBlackboard, dialect: str) -> None:
    if dialect == "postgresql":
        pytest.skip("PostgreSQL keeps no such text")
    tampered(board, "UPDATE texts SET text = CAST(x'ff' AS TEXT) WHERE text = 'zzz'")
    report = tampered(board, "UPDATE texts SET text = CAST(x'ff' AS TEXT) WHERE text = 'e2'")
    assert f"session {OTHER}, event 1" in {problem.where for problem in report.problems}
    assert verify(str(board.engine.url)).problems == report.problems


FORGED = {
    "table1": "SELECT run, 1 AS repetition, 99 AS total FROM runs",
    "two_way": "SELECT session FROM sessions",
    "messages": "SELECT session, 1 AS number FROM sessions",
}


@pytest.mark.parametrize("view", FORGED)
def test_a_view_that_was_replaced_is_found(board: SqlBlackboard, view: str, dialect: str) -> None:
    with board.engine.begin() as connection:
        cascade = " CASCADE" if dialect == "postgresql" else ""
        connection.exec_driver_sql(f"DROP VIEW {view}{cascade}")
        connection.exec_driver_sql(f"CREATE VIEW {view} AS {FORGED[view]}")
    (problem,) = verify_engine(board.engine).problems
    assert (problem.where, "replaced" in problem.what) == (f"view {view}", True)


def test_views_that_cannot_be_compared_are_not_said_to_be_replaced(
    board: SqlBlackboard, dialect: str
) -> None:
    if dialect == "sqlite":
        pytest.skip("SQLite keeps the statements themselves")
    report = verify_engine(board.engine.execution_options(postgresql_readonly=True))
    assert report.problems == ()
    assert {problem.where for problem in report.unknown} == {f"view {name}" for name in VIEWS}
    assert {"read-only transaction" in problem.what for problem in report.unknown} == {True}


def test_what_is_published_is_not_computed_from_a_view_that_was_replaced(
    board: SqlBlackboard, dialect: str
) -> None:
    board.end("drug-1/1/3", "ratified", "", [])
    counted = run_counts(board, "drug-1")
    whole = list(recorded_sessions(board, "drug-1", *Details))
    entries = board.events(NAME)
    cascade = " CASCADE" if dialect == "postgresql" else ""
    with board.engine.begin() as connection:
        for view in ("table1", "intelligibility", "two_way_intelligibility", "messages", "costs"):
            connection.exec_driver_sql(f"DROP VIEW IF EXISTS {view}{cascade}")
            connection.exec_driver_sql(f"CREATE VIEW {view} AS SELECT 1 AS forged")
    assert run_counts(board, "drug-1") == counted
    assert counted.table1[0].total == 1
    assert list(recorded_sessions(board, "drug-1", *Details)) == whole
    assert board.events(NAME) == entries
    assert board.costs("drug-1") == ()


def test_a_trigger_that_does_nothing_is_found(board: SqlBlackboard, dialect: str) -> None:
    with board.engine.begin() as connection:
        if dialect == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER events_kept")
            connection.exec_driver_sql(
                "CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN SELECT 1; END"
            )
        else:
            connection.exec_driver_sql(
                "CREATE OR REPLACE FUNCTION events_kept() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RETURN OLD; END $$"
            )
    (problem,) = verify_engine(board.engine).problems
    assert problem.where == "table events"
    assert "events_kept, which guards it, was replaced" in problem.what


def test_a_trigger_too_many_is_found(board: SqlBlackboard, dialect: str) -> None:
    with board.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER helps AFTER INSERT ON events BEGIN SELECT 1; END"
            if dialect == "sqlite"
            else "CREATE FUNCTION helps() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NEW; END $$; CREATE TRIGGER helps BEFORE INSERT ON events "
            "FOR EACH ROW EXECUTE FUNCTION helps()"
        )
    (problem,) = verify_engine(board.engine).problems
    assert (problem.where, problem.what) == (
        "table events",
        "the trigger helps is not one of ours",
    )


def test_a_trigger_that_was_disabled_is_found(board: SqlBlackboard, dialect: str) -> None:
    if dialect == "sqlite":
        pytest.skip("SQLite disables none")
    with board.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE events DISABLE TRIGGER events_kept")
    (problem,) = verify_engine(board.engine).problems
    assert "events_kept" in problem.what


NOT_TEXT = [
    f"UPDATE texts SET text = x'00ff' WHERE text IN ('{OTHER}', 'e2')",
    f"UPDATE events SET label = x'00ff' {EVENT_2}",
    f"UPDATE events SET created = x'00ff' {EVENT_2}",
    f"UPDATE events SET member = 7 {EVENT_2}",
    f"UPDATE events SET number = 'two' {EVENT_2}",
    f"UPDATE judgements SET place = x'00' {EVENT_2}",
    f"UPDATE judgements SET number = 'x' {EVENT_2}",
    f"UPDATE sessions SET ordinal = 'x' {SESSION}",
    f"UPDATE sessions SET ending = x'00', length = 'many' {SESSION}",
    f"UPDATE sessions SET chain = x'00' {SESSION}",
]


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("statement", sampled(NOT_TEXT, 3))
def test_whatever_was_put_in_is_a_finding_and_the_rest_is_looked_at_all_the_same(
    board: SqlBlackboard, statement: str
) -> None:
    last = "UPDATE events SET addition = 'z' WHERE session = 'drug-1/1/3' AND number = 3"
    tampered(board, statement)
    wheres = {problem.where for problem in tampered(board, last).problems}
    assert any(where.startswith(f"session {OTHER}") for where in wheres), wheres
    assert "session drug-1/1/3, event 3" in wheres
    assert f"session {NAME}" not in wheres


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_table_that_is_gone_is_a_finding(board: SqlBlackboard) -> None:
    with board.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE judgements")
    wheres = {problem.where for problem in verify_engine(board.engine).problems}
    assert "table judgements" in wheres
