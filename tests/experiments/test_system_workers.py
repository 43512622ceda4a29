"""Runs of systems on workers: what each is sent, that nothing is lost and nothing done twice."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import executors
from pxp_fsm.experiments.executors import Assignment, carry, spread
from pxp_fsm.experiments.openings import SystemOpening
from pxp_fsm.experiments.runs import Run, resume, start
from tests.experiments.test_workers import dask, spawned
from tests.waiting import until

ROOT = Path(__file__).parents[2]
EXAMPLES = (
    "approval/approval.toml",
    "contract_net/contract_net.toml",
    "debate/debate.toml",
    "two_phase_commit/three_phase.toml",
)
DEBATE = ROOT / "examples" / EXAMPLES[2]
"""No member of it goes on while another is asked, and nothing happens by chance."""
COMMIT = ROOT / "examples" / EXAMPLES[-1]
SESSIONS = 6


def opened(path: Path = COMMIT, **respondents: str) -> SystemOpening:
    """The sessions of the system in the file; members are random."""
    file = read_system(path)
    who = {one.name: respondents.get(one.name, "random") for one in file.members}
    return SystemOpening(file, who, sessions=SESSIONS, seed=5)


def started(board: SqlBlackboard, path: Path = COMMIT, **respondents: str) -> Run[SystemOpening]:
    """A run of the system in the file that nobody has carried yet; members are random."""
    return start(opened(path, **respondents), board)


def transcript(board: SqlBlackboard, run: str) -> list[object]:
    """Everything that a run says, without times."""
    found: list[object] = []
    for record in board.sessions(run):
        actions = [
            (one.action, one.guard, one.message, one.memory) for one in board.events(record.session)
        ]
        found.append((record.session, record.position, record.ending, record.cause, actions))
    return sorted(found, key=repr)


def alone(path: Path = COMMIT, **respondents: str) -> list[object]:
    with SqlBlackboard(":memory:") as board:
        run = started(board, path, **respondents)
        run.execute()
        return transcript(board, run.name)


@pytest.mark.parametrize("path", EXAMPLES)
def test_a_worker_is_sent_the_whole_run(path: str) -> None:
    opening = opened(ROOT / "examples" / path)
    first, second, *_ = opening.system.places
    opening.follow = (Exchange(first, second, "TAG"),)
    found = SystemOpening.received(opening.sent())
    assert found.system == opening.system
    assert (found.respondents, found.follow) == (opening.respondents, opening.follow)
    assert (found.sessions, found.seed) == (opening.sessions, opening.seed)
    assert found.meaning() == opening.meaning()
    for one, other in zip(found.file.members, opening.file.members, strict=True):
        kept = ("name", "automaton", "respondent", "instructions", "timeout")
        assert [getattr(one, key) for key in kept] == [getattr(other, key) for key in kept]
    for key in ("name", "title", "about", "channel", "events", "faults", "limit"):
        assert getattr(found.file, key) == getattr(opening.file, key)


@pytest.mark.parametrize(
    ("who", "says"),
    [
        ("terminal", "a person works at one terminal"),
        ("mcp", "assistants work with one server"),
    ],
)
def test_who_needs_one_process_is_not_spread(who: str, says: str) -> None:
    with SqlBlackboard(":memory:") as board:
        run = started(board, coordinator=who)
        with pytest.raises(UsageError, match=says):
            spread(run, "postgresql://h/n", board, "processes://2")


def test_models_are_asked_by_processes_of_one_machine() -> None:
    with SqlBlackboard(":memory:") as board:
        run = started(board, coordinator="anthropic:claude-haiku-4-5")
        assert not run.opening.unshared and len(run.shares(2)) == 2
        with pytest.raises(UsageError, match="divided among the processes of one machine"):
            spread(run, "postgresql://h/n", board, "dask://h:1")


def test_a_worker_of_another_version_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with SqlBlackboard(":memory:") as board:
        run = started(board)
        monkeypatch.setattr("pxp_fsm.experiments.runs.__version__", "99.0")
        with pytest.raises(UsageError, match="resume it with that version"):
            resume(run.name, board, None, SystemOpening.received(run.opening.sent()))


@pytest.mark.deep
def test_units_are_carried_as_one_process_carries_them(database: str) -> None:
    with SqlBlackboard(database) as board:
        run = started(board)
        sent = run.opening.sent()
        done = [
            carry(Assignment(database, run.name, (one,), sent)) for one in reversed([*run.units()])
        ]
        assert [one.error for one in done] == [""] * len(done)
        assert sum(one.sessions for one in done) == SESSIONS == run.finished
        found = transcript(board, run.name)
        assert found == alone()
        assert carry(Assignment(database, run.name, (next(iter(run.units())),), sent)).sessions == 0


def test_workers_of_several_machines_share_postgresql_alone(tmp_path: Path) -> None:
    command = ["run", str(COMMIT), "--executor", "dask://h:1", "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(commands, command)
    assert done.exit_code == 2
    assert "workers on several machines require a PostgreSQL blackboard" in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_processes_share_the_file_that_a_run_has_without_a_database(tmp_path: Path) -> None:
    command = ["run", str(COMMIT), "--repetitions", "6", "--seed", "5", "--output", str(tmp_path)]
    done = CliRunner().invoke(commands, [*command, "--executor", "processes://2"])
    assert done.exit_code == 0, done.output
    (database,) = tmp_path.glob("*.sqlite")
    with SqlBlackboard(str(database)) as board:
        assert transcript(board, board.runs()[0].run) == alone()
    assert verify(str(database)).problems == ()


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "dialect"),
    [("dask", "postgresql"), ("processes", "postgresql"), ("processes", "sqlite")],
)
def test_a_worker_that_is_killed_loses_no_session(
    database: str, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"program:{sys.executable} -S -E {tmp_path / 'first.py'}"
    (tmp_path / "first.py").write_text(FIRST, "utf-8")
    held = tmp_path / "held"
    held.touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    killed: list[int] = []
    cluster: AbstractContextManager[tuple[str, Any]] = nullcontext(("processes://2", []))
    if kind == "dask":
        cluster = dask(environment, tmp_path, 2)
    with SqlBlackboard(database) as board, cluster as (name, workers):
        run = started(board, DEBATE, judge=program)
        stop = threading.Event()

        def kill_one() -> None:
            with SqlBlackboard(database) as mine:
                try:
                    until(lambda: stop.is_set() or len([*tmp_path.glob("waits-*")]) == 2)
                    assert min(one.messages for one in mine.sessions(run.name)) > 0
                    killed.append(workers[0].pid if kind == "dask" else spawned()[0])
                    os.kill(killed[0], signal.SIGKILL)
                finally:
                    held.unlink()

        with ThreadPoolExecutor(1) as beside:
            done = beside.submit(kill_one)
            try:
                executors.spread(run, database, board, name)
            finally:
                stop.set()
        done.result()
        assert len(killed) == 1
        assert transcript(board, run.name) == alone(DEBATE, judge=program)
    assert verify(database).problems == ()


FIRST = """
import json, os, pathlib, sys, time
held = pathlib.Path(__file__).with_name("held")
for number, line in enumerate(sys.stdin):
    told = json.loads(line)
    while number == 2 and held.exists():
        held.with_name(f"waits-{os.getpid()}").touch()
        time.sleep(0.01)
    first = sorted(option["do"] for option in told["options"])[0]
    print(json.dumps({"do": first, "to": "", "payload": None}), flush=True)
"""
