"""What a call took is stored with the message that comes of it: a commit before, and one after."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from backends.databases import CallsOf, SqlBlackboard, rows
from backends.databases.verify import verify_engine
from pxp_fsm.errors import BlackboardError
from pxp_fsm.prompting.model import Call, ModelRequest, Reply, Spending
from tests.backends.records import NAME, RUN, as_stored, message, record

MODEL = "anthropic:claude-haiku-4-5"
REQUEST = ModelRequest("", (), purpose="answer", session=NAME)


@pytest.fixture
def board(empty: SqlBlackboard) -> Iterator[SqlBlackboard]:
    """A run with one session; whatever was stored in it verifies."""
    empty.start_run(RUN)
    empty.start_session(record())
    yield empty
    assert verify_engine(empty.engine).problems == ()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The tables that each commit wrote to, in its order."""
    seen = list[list[str]]()
    add = rows.add

    def noted(cursor: Any, sql: Any, moves: Any, steps: Any) -> bool:
        tables = [statement.split()[2] for statement, values in steps if values]
        seen.append([table for table in tables if table not in ("texts", "judgements")])
        return add(cursor, sql, moves, steps)

    monkeypatch.setattr(rows, "add", noted)
    return seen


def answered(calls: CallsOf, reply: str) -> None:
    """A call from its reservation to its record."""
    reserved = calls.reserve(MODEL, REQUEST, 1.0)
    calls.settle(reserved, 0.25)
    calls.keep(Call(MODEL, REQUEST, Reply(reply), 0.1, 0.25))


def elsewhere(board: SqlBlackboard) -> int:
    """How many calls and settlements another connection sees."""
    with board.engine.connect() as connection:
        several = (connection.scalar(text(f"SELECT COUNT(*) FROM {one}")) for one in TABLES)
        return sum(map(int, filter(None, several)))


TABLES = ("calls", "settlements")


def test_a_message_of_a_model_takes_a_commit_before_its_call_and_one_after(
    board: SqlBlackboard, commits: list[list[str]]
) -> None:
    async def session() -> None:
        calls = CallsOf(board, RUN.run)
        calls.keep(Call(MODEL, REQUEST, Reply("the run's prompts are read once"), 0.1, 0.0))
        board.flush()
        commits.clear()
        for number in (1, 2, 3):
            answered(calls, str(number))
            board.append(*as_stored(message(number)))

    asyncio.run(session())
    assert commits == [["reservations"], ["settlements", "calls", "events"]] * 3
    assert board.spending(RUN.run) == Spending(3, 0.75)
    assert sum(cost.calls for cost in board.costs(RUN.run)) == 4
    assert len(board.events(NAME)) == 3


def test_the_next_reservation_takes_along_what_led_to_no_message(
    board: SqlBlackboard, commits: list[list[str]]
) -> None:
    async def judged() -> None:
        calls = CallsOf(board, RUN.run)
        answered(calls, "the run's prompts are read once")
        board.flush()
        answered(calls, "of no use")
        calls.reserve(MODEL, REQUEST, 1.0)

    asyncio.run(judged())
    assert commits[-1] == ["settlements", "calls", "reservations"]


def test_nothing_is_held_while_its_task_waits(board: SqlBlackboard) -> None:
    async def waits() -> None:
        answered(CallsOf(board, RUN.run), "x")
        assert elsewhere(board) < 2
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert elsewhere(board) == 2

    asyncio.run(waits())


def test_who_reads_sees_what_is_held(board: SqlBlackboard) -> None:
    async def reads() -> None:
        answered(CallsOf(board, RUN.run), "x")
        assert board.spending(RUN.run) == Spending(1, 0.25)
        assert [cost.calls for cost in board.costs(RUN.run)] == [1]

    asyncio.run(reads())


def test_what_is_held_is_stored_where_the_message_is_refused(board: SqlBlackboard) -> None:
    async def refused() -> None:
        answered(CallsOf(board, RUN.run), "x")
        with pytest.raises(BlackboardError, match="event 7 of"):
            board.append(*as_stored(message(7)))
        assert elsewhere(board) == 2

    asyncio.run(refused())


def test_a_message_is_stored_where_what_is_held_is_refused(board: SqlBlackboard) -> None:
    async def refused() -> None:
        calls = CallsOf(board, RUN.run)
        calls.settle((RUN.run, 99), 1.0)
        with pytest.raises(BlackboardError, match="no reserved call 99"):
            board.append(*as_stored(message(1)))
        board.append(*as_stored(message(2)))

    asyncio.run(refused())
    assert len(board.events(NAME)) == 2


def test_an_error_of_what_is_held_waits_for_who_can_have_it(board: SqlBlackboard) -> None:
    async def held() -> None:
        CallsOf(board, RUN.run).settle((RUN.run, 99), 1.0)
        await asyncio.sleep(0.01)
        with pytest.raises(BlackboardError, match="no reserved call 99"):
            board.spending(RUN.run)
        assert board.spending(RUN.run) == Spending()

    asyncio.run(held())


def test_commits_that_were_done_but_not_answered_are_done_once(
    board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = rows.commit

    def unanswered(*given: Any) -> bool:
        assert commit(*given)
        return False

    async def session() -> None:
        calls = CallsOf(board, RUN.run)
        for number in (1, 2):
            answered(calls, str(number))
            board.append(*as_stored(message(number)))

    monkeypatch.setattr(rows, "commit", unanswered)
    asyncio.run(session())
    assert board.spending(RUN.run) == Spending(2, 0.5)
    assert sum(cost.calls for cost in board.costs(RUN.run)) == 2
    assert len(board.events(NAME)) == 2
