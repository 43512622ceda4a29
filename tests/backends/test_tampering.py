"""Whoever changes, removes, adds or moves one row behind the blackboard's back is found out.

The cases are made from the schema, so that a new table or column is tried as soon as it is there.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, RowMapping, Table, delete, insert, select, text, update
from sqlalchemy.exc import DBAPIError

import pxp_fsm as pxp
from backends.databases import CallsOf, SqlBlackboard, disclosure, erasure, schema, tokens
from backends.databases.drafts import Timing, keep_draft, keep_timing
from backends.databases.verify import NOT_COVERED, IntegrityProblem, verify_rows
from pxp_fsm.errors import BlackboardError
from pxp_fsm.prompting.model import Call, ModelRequest, Reply
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.sessions.events import Event
from tests.backends.records import NAME, RUN, message, record

TABLES = [table for table in schema.metadata.sorted_tables if table.name not in NOT_COVERED]
ERASED, OPEN, SYSTEM = "drug-1/1/2", "drug-1/1/3", "drug-1/1/4"


@pytest.fixture
def board(empty: SqlBlackboard, tmp_path: Path) -> SqlBlackboard:
    return filled(empty, tmp_path)


def filled(empty: SqlBlackboard, tmp_path: Path) -> SqlBlackboard:
    """A run with rows in every table: sessions that are over, erased, and going on."""
    empty.start_run(RUN)
    judged = Judgement("MATCH", "l", "r", Outcome.YES, True, 0.25, "as they said")
    late = Judgement("AGREE", "l", "r", Outcome.LATE, True, 0.5)
    for position, name in enumerate((NAME, ERASED, OPEN), 1):
        empty.start_session(record(name, position))
        for number in (1, 2):
            said = message(number, "", f"y{number}", f"e{position}", name)
            empty.append(name, Event.of_message(said, f"noted {number}", [judged]))
    empty.end(NAME, "late", "AGREE: no answer", [late])
    empty.end(ERASED, "bound", "the bound", [])
    _system_session(empty)
    calls = CallsOf(empty, RUN.run)
    for name, failure in ((NAME, ""), (NAME, "the server said no"), (ERASED, ""), ("", "")):
        asked = ModelRequest("", (), session=name)
        paid = calls.reserve("vendor:model", asked, 0.5)
        calls.keep(Call("vendor:model", asked, None if failure else Reply("so"), 0.5, 0.1, failure))
        calls.settle(paid, 0.1)
    calls.reserve("vendor:model", ModelRequest("", (), session=NAME), None)
    keep_timing(empty, NAME, 1, Timing(1.5, 2.0, 3, 4, "page", "consent"))
    file = tmp_path / "given.csv"
    file.write_text("a,b\n")
    disclosure.note_export(empty, [RUN.run], "study", file)
    erasure.erase(empty, erasure.sessions_of(empty, [ERASED]))
    disclosure.note_export(empty, [RUN.run], "study", file)
    keep_draft(empty, OPEN, 3, {"text": "half a"})
    tokens.issue(empty, RUN.run, "h1", seconds=60)
    disclosure.identify(empty, RUN.run, "h1", {"panel": "somebody"})
    return empty


def _system_session(board: SqlBlackboard) -> None:
    """Some events of a system, which is not over."""
    system = pxp.System.load("m=interact", "h=interact", channel="fifo:1")

    def choose(turn: pxp.Turn) -> Any:
        guard = turn.guards[0] if turn.guards else None
        return pxp.Intent(guard) if guard else None

    session = pxp.Session(
        system,
        {"m": choose, "h": choose},
        instance="x",
        name=SYSTEM,
        blackboard=board,
        seed=3,
        parameters={"n": 10, "k": 3},
    )

    async def begin() -> None:
        for _ in range(4):
            if session.ending is None:
                await session.step()

    asyncio.run(begin())


@contextmanager
def unguarded(board: SqlBlackboard) -> Iterator[Connection]:
    """A connection of whoever owns the database; what is done with it is undone at the end."""
    with board.engine.connect() as connection:
        sqlite = board.engine.dialect.name == "sqlite"
        if sqlite:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA foreign_keys = OFF")
            driver.execute("PRAGMA ignore_check_constraints = ON")
            triggers = text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for name in connection.scalars(triggers).all():
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
        yield connection
        connection.rollback()
        connection.invalidate()


def other(column: Column[Any], value: Any) -> Any:
    """Another value that such a column might have."""
    if value is None:
        kind = column.type.python_type
        return "z" if kind is str else kind(7)
    if isinstance(value, str):
        return f"{value}z"
    return value + 1


def by_key(table: Table, row: Mapping[Any, Any]) -> Any:
    """What is true of that row alone."""
    clauses = [column == row[column.name] for column in table.primary_key.columns]
    return text("1 = 1") if not clauses else clauses[0] if len(clauses) == 1 else _all(clauses)


def _all(clauses: list[Any]) -> Any:
    found = clauses[0]
    for clause in clauses[1:]:
        found = found & clause
    return found


def found_out(connection: Connection, statement: Any) -> tuple[IntegrityProblem, ...]:
    """What is said once `statement` was done; the database itself may refuse it."""
    inner = connection.begin_nested()
    try:
        connection.execute(statement)
    except DBAPIError:
        return (IntegrityProblem("the database", "it refuses this even to its owner"),)
    else:
        return verify_rows(connection).problems
    finally:
        inner.rollback()


def test_nothing_is_suspected_that_was_not_changed(board: SqlBlackboard) -> None:
    with unguarded(board) as connection:
        assert verify_rows(connection).problems == ()
        for table in schema.metadata.sorted_tables:
            assert connection.execute(select(table)).first() is not None, table.name


def change(connection: Connection, draw: random.Random) -> str:
    """Change, empty, remove or add one row that is covered: what was done.

    `AssertionError` where nothing is said of it.
    """
    table = draw.choice(TABLES)
    row = draw.choice(rows_of(connection, table))
    column = draw.choice(
        [one for one in table.columns if f"{table.name}.{one.name}" not in NOT_COVERED]
    )
    here, value = update(table).where(by_key(table, row)), other(column, row[column.name])
    done = {
        "a value changed": here.values({column.name: value}),
        "a row removed": delete(table).where(by_key(table, row)),
    }
    if column.nullable and row[column.name] is not None:
        done["a value emptied"] = here.values({column.name: None})
    if column.primary_key:
        done["a row added"] = insert(table).values({**row, column.name: value})
    what = draw.choice(list(done))
    assert found_out(connection, done[what]), (what, table.name, column.name, dict(row))
    return what


WHOLE = [pytest.param(name, True, marks=pytest.mark.deep) for name in ("sqlite", "postgresql")]


def rows_of(connection: Connection, table: Table) -> Sequence[RowMapping]:
    return connection.execute(select(table)).mappings().all()


@pytest.mark.deep
@pytest.mark.parametrize(("dialect", "every_row"), [("sqlite", False), *WHOLE])
def test_each_column_of_each_row_is_covered(board: SqlBlackboard, every_row: bool) -> None:
    """The sample tries each column on one row, and one row after the other."""
    with unguarded(board) as connection:
        for table in TABLES:
            rows = rows_of(connection, table)
            covered = [
                column
                for column in table.columns
                if f"{table.name}.{column.name}" not in NOT_COVERED
            ]
            for place, column in enumerate(covered):
                for row in rows if every_row else [rows[place % len(rows)]]:
                    told = table.name, column.name, dict(row)
                    values = {column.name: other(column, row[column.name])}
                    changed = update(table).where(by_key(table, row)).values(values)
                    assert found_out(connection, changed), told
                    if column.nullable and row[column.name] is not None:
                        emptied = update(table).where(by_key(table, row))
                        assert found_out(connection, emptied.values({column.name: None})), told


@pytest.mark.deep
@pytest.mark.parametrize(
    ("dialect", "every_row"),
    [("sqlite", False), pytest.param("postgresql", False, marks=pytest.mark.deep), *WHOLE],
)
def test_each_row_is_missed_and_one_too_many_is_seen(board: SqlBlackboard, every_row: bool) -> None:
    with unguarded(board) as connection:
        for table in TABLES:
            for row in rows_of(connection, table)[:: 1 if every_row else 8]:
                removed = delete(table).where(by_key(table, row))
                assert found_out(connection, removed), (table.name, dict(row))
                for column in table.primary_key.columns:
                    added = {**row, column.name: other(column, row[column.name])}
                    assert found_out(connection, insert(table).values(added)), (table.name, added)


MOVED = [
    ("calls", "run"),
    ("reservations", "run"),
    ("settlements", "run"),
    ("exports", "run"),
    ("events", "session"),
]


def test_rows_that_change_places_are_seen(board: SqlBlackboard) -> None:
    for name, of in MOVED:
        table = schema.metadata.tables[name]
        with unguarded(board) as connection:
            first, second = connection.execute(select(table).order_by(*table.primary_key)).all()[:2]
            assert getattr(first, of) == getattr(second, of)
            for before, after in (
                (first.number, 99),
                (second.number, first.number),
                (99, second.number),
            ):
                connection.execute(
                    update(table)
                    .where(table.c[of] == getattr(first, of), table.c.number == before)
                    .values(number=after)
                )
            assert verify_rows(connection).problems, name


def test_a_session_that_is_over_is_not_begun_again(board: SqlBlackboard) -> None:
    again, sessions = dict.fromkeys(schema.CLOSING), schema.sessions
    with unguarded(board) as connection:
        for name in (NAME, ERASED):
            begun = update(sessions).where(sessions.c.session == name).values(again)
            assert found_out(connection, begun), name


def test_a_version_that_is_not_ours_is_not_opened(board: SqlBlackboard) -> None:
    with board.engine.begin() as connection:
        connection.execute(update(schema.version).values(version_num="7"))
    with pytest.raises(BlackboardError, match="schema version 7"):
        SqlBlackboard(board.engine.url.render_as_string(hide_password=False), create=False)


def test_what_is_not_covered_is_what_is_said_not_to_be() -> None:
    tables = set(schema.metadata.tables)
    assert {name.partition(".")[0] for name in NOT_COVERED} <= tables
    assert set(schema.SHAPES) | {name for name in NOT_COVERED if "." not in name} == tables
