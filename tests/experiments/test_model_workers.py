"""Runs with models that several processes carry: what is said, and the limits and caps of all."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.databases import SqlBlackboard
from backends.databases.locks import RunLocked
from backends.databases.verify import verify
from backends.models.settings import Settings
from pxp_fsm.cli.presentation.runs import progress
from pxp_fsm.errors import Halted, UsageError
from pxp_fsm.experiments import executors, runs
from pxp_fsm.experiments.executors import Assignment, Done, carry, spread
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.prompting.model import Spending
from tests.experiments.scripted_server import Table

limits = st.none() | st.integers(1, 50)


def plan(table: Table, **more: Any) -> Plan:
    one = table.model
    return Plan("animals", instances="1", repetitions=3, machine=one, judge=one, **more)


def said(board: SqlBlackboard, run: str) -> dict[str, list[object]]:
    return {
        record.session: [(entry.carried.tag, entry.carried.answer) for entry in entries]
        + [record.ending]
        for record in board.sessions(run)
        for entries in [board.events(record.session)]
    }


def carried(run: Run[TaskOpening], board: SqlBlackboard, database: str, workers: int) -> list[Done]:
    """The run, carried by so many workers at once, each a thread with a blackboard of its own."""
    board.lock(run.name, shared=True)
    units, shares = tuple(run.units()), run.shares(workers)
    parts = [
        Assignment(database, run.name, units[place :: len(shares)], settings=share)
        for place, share in enumerate(shares)
    ]
    with ThreadPoolExecutor(workers) as threads:
        done = list(threads.map(carry, parts))
    board.unlock(run.name)
    return done


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_workers_that_ask_models_make_the_run_that_one_process_makes(
    database: str, table: Table
) -> None:
    with SqlBlackboard(":memory:") as alone:
        runs.start(plan(table), alone).execute()
        expected, calls = said(alone, "animals-1"), alone.spending("animals-1").calls
    asked = len(table.asked)
    with SqlBlackboard(database) as board:
        run = runs.start(plan(table), board)
        done = carried(run, board, database, 3)
        assert [one.error for one in done] == [""] * 3
        assert sum(one.sessions for one in done) == 3
        assert said(board, "animals-1") == expected
        assert board.spending("animals-1").calls == len(table.asked) - asked == calls
        assert sum(cost.unsettled for cost in board.costs("animals-1")) == 0
    assert verify(database).problems == ()


@pytest.mark.deep
def test_a_run_says_how_far_it_is_before_a_worker_has_ended(
    database: str,
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The worker ends only when all of its sessions have been told of."""
    told, done = threading.Event(), list[Done]()

    def carry_and_wait(part: Assignment) -> Done:
        found = carry(part)
        assert told.wait(60)
        return found

    monkeypatch.setattr(executors, "TICK", 0.01)
    monkeypatch.setattr(executors, "carry", carry_and_wait)
    monkeypatch.setattr(executors, "open_executor", lambda _name: ThreadPoolExecutor(1))
    with SqlBlackboard(database) as board:
        run = runs.start(plan(table), board)
        show, lines = progress(run.name, board, run.total), list[str]()

        def on_tick() -> None:
            show()
            lines.extend(capsys.readouterr().err.splitlines())
            if lines[-1] == "3 of 3 sessions are over":
                assert told.is_set() or not done
                told.set()

        spread(run, database, board, "processes://1", done.append, on_tick)
    assert len(done) == 1
    assert len(lines) == len(set(lines))


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_workers_together_keep_a_cap_and_a_resumed_run_what_is_left_of_it(
    database: str, table: Table
) -> None:
    with SqlBlackboard(database) as board:
        run = runs.start(plan(table), board, settings=Settings(calls=5))
        assert [share.calls for share in run.shares(2)] == [3, 2]
        assert all(one.halted for one in carried(run, board, database, 2))
        assert len(table.asked) == board.spending("animals-1").calls == 5
        again = runs.resume("animals-1", board)
        assert [share.calls for share in again.shares(2)] == [0]
        (one,) = carried(again, board, database, 2)
        assert one.halted
        assert len(table.asked) == 5
        carried(runs.resume("animals-1", board, Settings(calls=1000)), board, database, 2)
        assert all(record.ending for record in board.sessions("animals-1"))


@settings(max_examples=30)
@given(st.builds(Settings, limits, limits, st.integers(1, 50)), st.integers(1, 9), st.data())
def test_shares_are_together_what_is_left(
    whole: Settings, number: int, data: st.DataObject
) -> None:
    calls, dollars = data.draw(st.integers(0, 60)), data.draw(st.floats(0, 9))
    spent = Spending(data.draw(st.integers(0, 60)), data.draw(st.floats(0, 9)))
    shares = Settings(
        whole.requests, whole.tokens, whole.in_flight, calls=calls, dollars=dollars
    ).shares(number, spent)
    assert 1 <= len(shares) <= number
    for name in ("requests", "tokens", "in_flight"):
        limit = getattr(whole, name)
        parts = [getattr(share, name) for share in shares]
        assert sum(parts) == limit if limit is not None else set(parts) == {None}
    assert sum(share.calls or 0 for share in shares) == max(0, calls - spent.calls)
    left = max(0.0, dollars - spent.dollars)
    parts = [share.dollars or 0.0 for share in shares]
    assert left - 1e-8 <= sum(parts) <= left + 1e-12


@pytest.mark.parametrize(
    ("executor", "more", "asking", "says"),
    [
        ("dask://h:1", {}, Settings(), "write processes://NUMBER"),
        ("processes://2", {"scope": "pair"}, Settings(), "give --set agents.scope=session"),
        ("processes://2", {}, Settings(batches=True), "each round of all sessions is one batch"),
    ],
)
def test_what_one_process_has_to_carry_is_refused(
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
    executor: str,
    more: dict[str, str],
    asking: Settings,
    says: str,
) -> None:
    wanted = plan(table, **more)
    if asking.batches:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        wanted = Plan("animals", machine="anthropic:claude-haiku-4-5")
    with SqlBlackboard(":memory:") as board:
        run = runs.start(wanted, board, settings=asking)
        with pytest.raises(UsageError, match=says):
            spread(run, "postgresql://h/n", board, executor)
    assert table.asked == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_run_whose_models_another_process_asks_is_not_spread(
    database: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its workers may have been orphaned: they end soon."""
    monkeypatch.setattr(executors, "ORPHANED", 0.2)
    with SqlBlackboard(database) as board, SqlBlackboard(database) as other:
        run = runs.start(plan(table), board)
        other.lock(run.name, shared=True)
        with pytest.raises(RunLocked, match="another process is working on run animals-1"):
            spread(run, database, board, "processes://2")
        assert not board.holds(run.name)
    assert table.asked == []


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_processes_ask_models_within_their_caps(database: str, table: Table) -> None:
    with SqlBlackboard(database) as board:
        run = runs.start(plan(table), board, settings=Settings(calls=5))
        with pytest.raises(Halted, match="each of which has its part of the caps"):
            spread(run, database, board, "processes://2")
        assert len(table.asked) == board.spending(run.name).calls == 5
    assert verify(database).problems == ()
