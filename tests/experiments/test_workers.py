"""Runs spread over workers on one blackboard: nothing lost, nothing done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import active_children, resource_tracker
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from backends.databases import SqlBlackboard
from backends.databases.locks import RunLocked
from backends.databases.verify import verify
from pxp_fsm.errors import BlackboardError, UsageError
from pxp_fsm.experiments import executors, runs
from pxp_fsm.experiments.executors import Assignment, carry, spread
from pxp_fsm.experiments.openings import Unit, units
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.processes import Spawned, interrupts_wait
from tests.command_line import take_sigint
from tests.experiments.slow_task import BEFORE_HELD, install
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]
PLAN = Plan("slow", repetitions=4, seed=3)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of processes that have the task installed, as this one has."""
    install(tmp_path / "plugin")
    monkeypatch.syspath_prepend(str(tmp_path / "plugin"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path / "plugin"), str(ROOT)))}


def transcript(board: SqlBlackboard, run: str) -> list[object]:
    """Everything that a run says, without times."""
    found: list[object] = []
    for record in board.sessions(run):
        found.append((record.session, record.instance, record.ending, record.cause))
        for entry in board.events(record.session):
            judged = [(j.relation, j.left, j.right, j.outcome) for j in entry.judgements]
            found.append((entry.carried, entry.addition, judged))
    return found


def alone(plan: Plan) -> list[object]:
    """The transcript of the same run, carried by one process from beginning to end."""
    with SqlBlackboard(":memory:") as board:
        runs.start(plan, board).execute()
        return transcript(board, "slow-1")


@pytest.mark.parametrize(
    ("repetitions", "sessions", "carries"),
    [(1, 1, False), (5, 20, True), (5, 20, False), (3, 1000, False), (1, 777, False), (9, 7, True)],
)
def test_units_hold_every_session_once(repetitions: int, sessions: int, carries: bool) -> None:
    found = list(units(repetitions, sessions, carries))
    places = [(u.repetition, p) for u in found for p in range(u.first, u.last + 1)]
    assert places == [(r, p) for r in range(1, repetitions + 1) for p in range(1, sessions + 1)]
    assert len({unit.name for unit in found}) == len(found)
    if carries:
        assert found == [Unit(r, 1, sessions) for r in range(1, repetitions + 1)]


@pytest.mark.parametrize(
    ("name", "where", "says"),
    [
        ("dask://", "postgresql://h/n", "there is no executor 'dask://'"),
        (
            "processes://0",
            "postgresql://h/n",
            "dask://HOST:PORT, or processes://NUMBER with a number from 1",
        ),
        ("processes://²", "postgresql://h/n", "there is no executor"),
        ("spark://h:1", "postgresql://h/n", "there is no executor 'spark"),
        ("dask://h:1", "runs/b.sqlite", "workers on several machines require a PostgreSQL"),
        ("processes://2", ":memory:", "workers cannot share a database in memory; give a file"),
    ],
)
def test_what_is_no_executor_is_refused(name: str, where: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        executors.check_executor(name, where)


def test_an_assignment_never_shows_its_database() -> None:
    assert "secret" not in repr(Assignment("postgresql://u:secret@h/n", "r", (Unit(1, 1, 2),)))


@pytest.mark.deep
@pytest.mark.usefixtures("plugin")
def test_units_carried_apart_make_the_run_that_one_process_makes(database: str) -> None:
    plan = replace(PLAN, instances="4", repetitions=2, carry=False)
    with SqlBlackboard(database) as board:
        run = runs.start(plan, board)
        given = [Assignment(database, run.name, (unit,)) for unit in run.units()]
        assert len(given) == 8
        done = [carry(each) for each in reversed(given)]
        assert [each.error for each in done] == [""] * 8
        assert transcript(board, run.name) == alone(plan)
        again = carry(given[0])
        assert (again.sessions, again.messages, again.error) == (0, 0, "")


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.usefixtures("plugin")
def test_a_run_that_workers_carry_is_not_carried_alone_and_the_other_way_round(
    database: str,
) -> None:
    with SqlBlackboard(database) as board, SqlBlackboard(database) as other:
        run = runs.start(replace(PLAN, instances="1"), board)
        board.lock(run.name, shared=True)
        other.lock(run.name, shared=True)
        other.unlock(run.name)
        with pytest.raises(RunLocked, match="another process is working on run slow-1"):
            runs.resume(run.name, other).execute()
        board.unlock(run.name)
        other.lock(run.name)
        done = carry(Assignment(database, run.name, (Unit(1, 1, 1),)))
        assert "another process is working on run slow-1" in done.error
        assert done.sessions == 0
        other.unlock(run.name)
        assert carry(Assignment(database, run.name, (Unit(1, 1, 1),))).error == ""


def test_a_database_in_memory_is_not_shared() -> None:
    refused = pytest.raises(BlackboardError, match="a database in memory cannot be shared")
    with SqlBlackboard(":memory:") as board, refused:
        board.lock("r", shared=True)


ASKING = """
import sys
from backends.databases import SqlBlackboard
from backends.databases.locks import RunLocked
database, shared = sys.argv[1:]
with SqlBlackboard(database) as board:
    try:
        board.lock("r", shared=shared == "shared")
        print("locked", flush=True)
    except RunLocked:
        print("refused", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_who_shares_a_run_keeps_out_who_wants_it_alone(database: str) -> None:
    def other(how: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", ASKING, database, how], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def said(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def asked(how: str) -> str:
        with other(how) as process:
            return said(process)

    with SqlBlackboard(database) as board:
        board.lock("r")
        assert (asked("shared"), asked("alone")) == ("refused", "refused")
        board.lock("r", shared=True)
        with other("shared") as sharing:
            assert said(sharing) == "locked"
            assert asked("alone") == "refused"
            board.unlock("r")  # who lets go first leaves it to the other
            assert asked("alone") == "refused"
            sharing.kill()
        assert asked("alone") == "locked"
        board.lock("r", shared=True)
        board.unlock("r")
        assert asked("alone") == "locked"
    if database.endswith("sqlite"):
        assert [path.name for path in Path(database).parent.glob("*-claim-*")] == []


@contextmanager
def dask(environment: dict[str, str], folder: Path, workers: int) -> Iterator[tuple[str, Any]]:
    """A scheduler and so many worker processes: its address, and the processes."""
    ready, program = folder / "scheduler.json", [sys.executable, "-m", "dask"]
    place = ["--scheduler-file", str(ready)]
    started: list[subprocess.Popen[bytes]] = []
    with (folder / "dask.log").open("wb") as log:

        def start(*arguments: str) -> None:
            command = [*program, *arguments, "--no-dashboard", *place]
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

        try:

            def is_ready() -> bool:
                assert started[0].poll() is None, (folder / "dask.log").read_text()
                return ready.exists()

            start("scheduler", "--host", "127.0.0.1", "--port", "0")
            until(is_ready)
            for _ in range(workers):
                start("worker", "--nthreads", "1", "--no-nanny")
            from distributed import Client

            with Client(scheduler_file=str(ready), set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=PATIENCE)
                address = client.scheduler.address.removeprefix("tcp://")
            yield f"dask://{address}", started[1:]
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def opened_sessions(board: SqlBlackboard) -> tuple[int, int]:
    """How many sessions are open, and how many messages there are."""
    with board.engine.connect() as connection:
        left = connection.scalar(text("SELECT COUNT(*) FROM sessions WHERE ending IS NULL"))
        sent = connection.scalar(text("SELECT COUNT(*) FROM events"))
    return int(left or 0), int(sent or 0)


HELD = 2 * BEFORE_HELD
"""The messages of a run of which two workers are held."""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """The file that holds each worker in the middle of a session, until it is gone."""
    path = tmp_path / "held"
    path.touch()
    yield path
    path.unlink(missing_ok=True)


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "plan",
    [
        replace(PLAN, carry=True),
        replace(PLAN, carry=False),
        replace(PLAN, carry=False, agents=3, repetitions=2, instances="9", n=6),
    ],
    ids=["carries", "two", "panel"],
)
def test_a_worker_that_is_killed_loses_nothing_and_another_ends_its_session_once(
    database: str, plugin: dict[str, str], tmp_path: Path, held: Path, plan: Plan
) -> None:
    failed: list[BaseException] = []
    holding = {**plugin, "PXP_HELD": str(held)}
    with SqlBlackboard(database) as board, dask(holding, tmp_path, 2) as (name, workers):
        run = runs.start(plan, board)

        def work() -> None:
            try:
                with SqlBlackboard(database) as mine:
                    spread(runs.resume(run.name, mine), database, mine, name)
            except BaseException as error:  # noqa: BLE001 - told by the test below
                failed.append(error)

        def are_held() -> bool:
            assert thread.is_alive(), failed
            return opened_sessions(board) == (2, HELD)

        thread = threading.Thread(target=work)
        thread.start()
        until(are_held)
        os.kill(workers[0].pid, signal.SIGKILL)
        held.unlink()
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()
        assert failed == []
        expected = alone(plan)
        assert transcript(board, run.name) == expected
        assert len(expected) == run.total + opened_sessions(board)[1]
        assert opened_sessions(board)[0] == 0
        assert verify(database).problems == ()


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_local_processes_carry_a_run_and_are_started_again_when_one_is_killed(
    database: str, plugin: dict[str, str], held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", plugin["PYTHONPATH"])
    monkeypatch.setenv("PXP_HELD", str(held))
    killed: list[int] = []
    with SqlBlackboard(database) as board:
        run = runs.start(PLAN, board)
        stop = threading.Event()

        def kill_one() -> None:
            with SqlBlackboard(database) as mine:
                try:
                    until(lambda: stop.is_set() or opened_sessions(mine)[1] == HELD)
                    killed.append(spawned()[0])
                    os.kill(killed[0], signal.SIGKILL)
                finally:
                    held.unlink()

        with ThreadPoolExecutor(1) as beside:
            done = beside.submit(kill_one)
            try:
                spread(run, database, board, "processes://2")
            finally:
                stop.set()
        done.result()
        assert len(killed) == 1
        assert transcript(board, run.name) == alone(PLAN)


def spawned() -> list[int]:
    """The worker processes of this one."""
    workers = (child for child in active_children() if isinstance(child, Spawned))
    return [worker.pid for worker in workers if worker.pid is not None]


PARENT = """
import time
from pxp_fsm.experiments.executors import open_executor
if __name__ == "__main__":
    with open_executor("processes://2") as pool:
        list(pool.map(abs, range(8)))
        print(" ".join(map(str, pool._processes)), flush=True)
        time.sleep(600)
"""


@pytest.mark.deep
def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "parent.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        workers = [Path(f"/proc/{pid}/cmdline") for pid in parent.stdout.readline().split()]
        assert workers and all(b"spawn_main" in worker.read_bytes() for worker in workers)
        parent.kill()

    def goes_on(worker: Path) -> bool:
        try:
            return bool(worker.read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            return False

    until(lambda: not any(map(goes_on, workers)))


INTERRUPTED = """
import time
from pxp_fsm.experiments.executors import open_executor
if __name__ == "__main__":
    for _ in range(12):
        try:
            print("begins", flush=True)
            with open_executor("processes://2") as pool:
                for _ in range(9):
                    pool.submit(time.sleep, 600)
                time.sleep(600)
        except KeyboardInterrupt:
            print("stopped", flush=True)
"""


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a group of processes")
def test_ctrl_c_ends_workers_without_a_word_at_every_moment_of_their_start(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(INTERRUPTED)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=take_sigint,  # noqa: PLW1509
    ) as parent:  # fmt: skip
        assert parent.stdout is not None and parent.stderr is not None
        for moment in range(12):
            assert parent.stdout.readline() == "begins\n", parent.stderr.read()
            time.sleep(0.02 + 0.1 * moment)
            os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
            sent = time.monotonic()
            assert parent.stdout.readline() == "stopped\n", parent.stderr.read()
            assert time.monotonic() - sent < PATIENCE  # and no worker has slept to the end
        assert parent.communicate(timeout=PATIENCE) == ("", "")

    def is_gone() -> bool:
        try:
            os.killpg(parent.pid, 0)
        except ProcessLookupError:
            return True
        return False

    until(is_gone)


@pytest.mark.skipif(os.name != "posix", reason="masks of signals are those of POSIX")
def test_ctrl_c_is_handled_as_before_where_no_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise OSError("no process can be started")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(resource_tracker, "ensure_running", refuse)
    with pytest.raises(OSError, match="no process"), interrupts_wait():
        pass
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a group of processes")
def test_a_run_on_workers_that_is_interrupted_goes_on_at_its_next_messages(
    database: str, plugin: dict[str, str], held: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pxp_fsm.cli", "run", "slow", "--repetitions", "4"]
    places = ["--seed", "3", "--database", database, "--output", "out"]
    with SqlBlackboard(database) as board:
        with subprocess.Popen(
            [*command, *places, "--executor", "processes://2"], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={**plugin, "PXP_HELD": str(held)}, preexec_fn=take_sigint,  # noqa: PLW1509
        ) as process:  # fmt: skip

            def are_held() -> bool:
                assert process.poll() is None
                return opened_sessions(board)[1] == HELD

            until(are_held)
            os.killpg(process.pid, signal.SIGINT)
            _, error = process.communicate(timeout=PATIENCE)
        assert (process.returncode, "Traceback" in error) == (130, False), error
        assert "Stopped" in error
        sent = opened_sessions(board)[1]
        runs.resume("slow-1", board).execute()
        assert transcript(board, "slow-1") == alone(PLAN)
        assert HELD == sent < opened_sessions(board)[1]
        assert verify(database).problems == ()


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_run_whose_processes_were_orphaned_is_spread_again(
    database: str,
    plugin: dict[str, str],
    held: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The workers of the process that was killed end by themselves, and are waited for."""
    monkeypatch.setenv("PYTHONPATH", plugin["PYTHONPATH"])
    command = [sys.executable, "-m", "pxp_fsm.cli", "run", "slow", "--repetitions", "4"]
    places = ["--seed", "3", "--database", database, "--output", "out"]
    with SqlBlackboard(database) as board:
        with subprocess.Popen(
            [*command, *places, "--executor", "processes://2"], cwd=tmp_path,
            stderr=subprocess.DEVNULL, env={**plugin, "PXP_HELD": str(held)},
        ) as process:  # fmt: skip

            def are_held() -> bool:
                assert process.poll() is None
                return opened_sessions(board)[1] == HELD

            until(are_held)
            process.kill()
        spread(runs.resume("slow-1", board), database, board, "processes://2")
        assert transcript(board, "slow-1") == alone(PLAN)
        assert verify(database).problems == ()
