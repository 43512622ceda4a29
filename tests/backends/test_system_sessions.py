"""Systems' sessions on a blackboard: each action in its order, resumed exactly, verified, moved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from backends.databases.engine import open_engine
from backends.databases.transfer import export_rows, import_rows, read_jsonl, write_jsonl
from backends.databases.verify import verify, verify_engine
from pxp_fsm.errors import BlackboardError, UsageError
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import FAILED, Session
from tests.sessions.random_sessions import steady_session
from tests.sessions.small_systems import SILENT, WAITING

SEEDS = range(12)


class Killed(BaseException):
    """What stops a session in the middle of everything."""


def plain(events: tuple[Event, ...]) -> list[tuple[object, ...]]:
    """What must be the same: all but how long somebody thought."""
    return [
        (one.number, one.action, one.guard, one.message, one.memory, len(one.judgements))
        for one in events
    ]


def stopped_at(board: SqlBlackboard, seed: int, number: int) -> None:
    """Run a session that is killed right after its action `number` was stored."""

    def kill(event: Event) -> None:
        if event.number == number:
            raise Killed

    session = steady_session(seed, blackboard=board, on_event=kill)
    try:
        session.run_sync()
    except Killed:
        return


def test_a_session_that_was_killed_goes_on_at_the_next_action(empty: SqlBlackboard) -> None:
    channels = set()
    for seed in SEEDS:
        whole = steady_session(seed).run_sync()
        number = 1 + seed % max(1, len(whole.events))
        stopped_at(empty, seed, number)
        if len(whole.events) > number:
            resumed = steady_session(seed, blackboard=empty)
            empty.resume(resumed)
            assert len(resumed.events) == number
            resumed.run_sync()
            assert plain(resumed.events) == plain(whole.events), seed
            assert (resumed.ending, resumed.cause) == (whole.ending, whole.cause)
            channels.add(whole.system.channel.name)
        stored = empty.session(f"steady/{seed}")
        if whole.events:
            assert plain(stored.events)[:number] == plain(whole.events)[:number]
    assert len(channels) > 2
    assert verify_engine(empty.engine).problems == ()
    (mark,) = verify_engine(empty.engine).marks
    assert mark.sessions == len(SEEDS)


def test_what_goes_out_comes_in_exactly(database: str, tmp_path: Path) -> None:
    with SqlBlackboard(database) as board:
        for seed in SEEDS:
            steady_session(seed, blackboard=board).run_sync()
        write_jsonl(export_rows(board.engine, "steady"), tmp_path / "run.jsonl")
        expected = [board.session(f"steady/{seed}") for seed in SEEDS]
        (mark,) = verify_engine(board.engine).marks
    with SqlBlackboard(f"sqlite:///{tmp_path}/other.sqlite") as other:
        assert import_rows(other.engine, read_jsonl(tmp_path / "run.jsonl"), "it") == mark
        assert [other.session(f"steady/{seed}") for seed in SEEDS] == expected


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE events SET partner = 'elsewhere' WHERE number = 1", "event 1"),
        ("UPDATE events SET created = '' WHERE number = 2", "event 2"),
        ("DELETE FROM events WHERE number = 2", "event 2"),
        ("UPDATE members SET description = 'somebody else'", "under which conditions"),
        ("UPDATE sessions SET channel = 'fifo:1'", "under which conditions"),
        ("UPDATE sessions SET channel = ''", "under which conditions"),
        ("UPDATE texts SET text = 'null' WHERE text LIKE '{%states%'", "a table"),
    ],
)
def test_what_was_changed_is_found(database: str, change: str, problem: str) -> None:
    with SqlBlackboard(database) as board:
        steady_session(long_seed(), blackboard=board).run_sync()
    assert verify(database).problems == ()
    engine = open_engine(database, create=False)
    with engine.begin() as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in connection.execute(text(query)).all():
            connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
        connection.exec_driver_sql(change)
    engine.dispose()
    found = [f"{one.where}: {one.what}" for one in verify(database).problems]
    assert any(problem in one for one in found), found


def long_seed() -> int:
    """A session with several actions, not over a synchronous channel."""
    return next(
        seed
        for seed in range(100)
        if len((ran := steady_session(seed).run_sync()).events) > 5
        and not ran.system.channel.synchronous
    )


def test_the_database_itself_refuses_what_is_out_of_order(empty: SqlBlackboard) -> None:
    session = steady_session(long_seed(), blackboard=empty).run_sync()
    first, *_, last = session.events
    for event in (first, last):
        with pytest.raises(BlackboardError):
            empty.append(session.name, event)
    assert plain(empty.events(session.name)) == plain(session.events)


def test_who_would_resume_another_session_is_told(empty: SqlBlackboard) -> None:
    seed = long_seed()
    stopped_at(empty, seed, 2)
    again = steady_session(seed, blackboard=empty)
    with pytest.raises(UsageError, match=r"not\s+over; go on with it \(blackboard.resume"):
        again.run_sync()
    members: Any = again.members
    other = Session(again.system, members, name=again.name, blackboard=empty)
    with pytest.raises(UsageError, match="its faults was"):
        empty.resume(other)
    empty.resume(again)
    again.run_sync()
    with pytest.raises(UsageError, match="has ended"):
        empty.resume(steady_session(seed, blackboard=empty))
    with pytest.raises(UsageError, match="give this one another name"):
        steady_session(seed, blackboard=empty).run_sync()


def test_the_traceback_of_a_members_own_code_is_in_the_record(empty: SqlBlackboard) -> None:
    def broken(_turn: pxp.Turn) -> str:
        raise ZeroDivisionError("nothing to divide by")

    system = pxp.System.load("m=interact", "h=interact", channel="fifo:1")
    session = pxp.Session(
        system,
        {"m": broken, "h": lambda _turn: None},
        name="lab/1",
        blackboard=empty,
        parameters={"n": 10, "k": 3},
    )
    with pytest.raises(ZeroDivisionError):
        session.run_sync()
    stored = empty.session("lab/1").record
    assert (stored.ending, stored.cause) == (
        "no answer",
        "m: ZeroDivisionError: nothing to divide by",
    )
    (kept,) = empty.closing("lab/1")
    assert (kept.relation, kept.outcome) == (FAILED, Outcome.BROKEN)
    assert (kept.asked, kept.seconds) == (True, 0)
    assert "in broken" in kept.detail
    assert verify_engine(empty.engine).problems == ()


def test_who_has_no_answer_leaves_the_cause_and_no_traceback(empty: SqlBlackboard) -> None:
    def nothing(_turn: pxp.Turn) -> str:
        raise pxp.NoAnswer("nothing comes to mind")

    system = pxp.System.load("m=interact", "h=interact")
    members = {"m": nothing, "h": lambda _turn: None}
    bounds = {"n": 10, "k": 3}
    pxp.Session(system, members, name="lab/1", blackboard=empty, parameters=bounds).run_sync()
    stored = empty.session("lab/1").record
    assert (stored.ending, stored.cause) == ("no answer", "m: nothing comes to mind")
    assert empty.closing("lab/1") == ()


def test_an_event_that_begins_a_session_is_stored_with_it(empty: SqlBlackboard) -> None:
    session = pxp.Session(WAITING, SILENT, name="lab/1", blackboard=empty)
    session.raise_event("APPROVE")
    assert plain(empty.events("lab/1")) == plain(session.events)


def test_sessions_of_ones_own_are_numbered_in_their_run(empty: SqlBlackboard) -> None:
    for seed in (1, 2, 3):
        steady_session(seed, blackboard=empty).run_sync()
    assert [one.position for one in empty.sessions("steady")] == [1, 2, 3]
    assert [one.messages for one in empty.listing("steady")] == [
        len(empty.events(f"steady/{seed}")) for seed in (1, 2, 3)
    ]


KILLER = """
import os, signal, sys
from backends.databases import SqlBlackboard
from tests.sessions.random_sessions import steady_session
database, seed, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def kill(event):
    if event.number == number:
        os.kill(os.getpid(), signal.SIGKILL)
with SqlBlackboard(database) as board:
    session = steady_session(seed, blackboard=board, on_event=kill)
    if number > 1:
        board.resume(session)
    session.run_sync()
"""


@pytest.mark.deep
def test_a_session_that_is_killed_at_each_action_is_as_if_it_had_not_been(database: str) -> None:
    seed = long_seed()
    whole = steady_session(seed).run_sync()
    root = Path(__file__).parents[2]
    for number in range(1, len(whole.events) + 1):
        command = [sys.executable, "-c", KILLER, database, str(seed), str(number)]
        done = subprocess.run(command, cwd=root, env=os.environ, check=False)
        assert done.returncode == -signal.SIGKILL
    with SqlBlackboard(database) as board:
        resumed = steady_session(seed, blackboard=board)
        board.resume(resumed)
        resumed.run_sync()
        assert plain(board.events(resumed.name)) == plain(whole.events)
    assert verify(database).problems == ()
    assert any(event.message is not None for event in whole.events)
