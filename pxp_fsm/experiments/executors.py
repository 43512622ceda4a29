"""Executors: a run spread over processes and machines, through `concurrent.futures`.

Workers share one blackboard: an SQLite file where they are processes of this machine, and
otherwise a PostgreSQL. A worker that was killed is replaced, and its sessions go on at their next
messages. Dask may deal out a unit of the run twice (its worker was thought lost): a worker claims
what it carries there, and the claim ends with its connection. Local processes that are started anew
follow those that have ended. Where models are asked, each process has a part of the units from the
beginning, and the same part of the limits and of what is left of the caps.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import field
from multiprocessing import active_children
from typing import Any, ParamSpec, TypeVar

from backends.databases import SqlBlackboard
from backends.databases.engine import database_url, file_of
from backends.databases.locks import RunLocked
from backends.models.settings import Settings
from pxp_fsm.errors import BlackboardError, Halted, PXPError, UsageError, quoted, require_extra
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.openings import ONE_MACHINE, SystemOpening, Unit
from pxp_fsm.experiments.runs import Run
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.processes import Spawned, SpawnedContext, interrupts_wait

_P = ParamSpec("_P")
_T = TypeVar("_T")

PATIENCE = 600.0
"""Seconds that a worker waits for a unit that another still claims."""

ORPHANED = 5.0
"""Seconds within which workers end after the process that started them was killed."""

TICK = 5.0
"""Seconds after which a run that workers carry says again how far it has come."""

_PROCESSES = "processes://"
_ATTEMPTS = 3
"""How often local processes are started anew after one of them was lost."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is given. It is never shown: a database's URL may hold a password.

    `sent` is what a worker is sent of the sessions, "" where it reads them by name; `settings` are
    how it asks models, None where it asks none. Where another may have the same units, they are
    `claimed`.
    """

    database: str = field(repr=False)
    run: str
    units: tuple[Unit, ...]
    sent: str = field(default="", repr=False)
    settings: Settings | None = field(default=None, repr=False)
    claimed: bool = True


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker gives back: how many sessions it ended and messages it sent, in seconds.

    `error` says why it could not go on; `halted` where that is no fault, as at a cap.
    """

    units: tuple[Unit, ...]
    sessions: int = 0
    messages: int = 0
    seconds: float = 0.0
    error: str = ""
    halted: bool = False


def check_executor(name: str, database: str) -> None:
    """Raise `UsageError` where `name` is no executor, or `database` none that workers can share."""
    kind, _, rest = name.partition("://")
    number = rest.isascii() and rest.isdigit() and len(rest) < 5 and int(rest) > 0
    if not (rest if kind == "dask" else kind == "processes" and number):
        raise UsageError(
            f"there is no executor {quoted(name)}; write dask://HOST:PORT, or "
            "processes://NUMBER with a number from 1 to 9999",
            "executor",
        )
    url = database_url(database)
    if kind == "dask" and url.get_backend_name() != "postgresql":
        raise UsageError(
            "workers on several machines require a PostgreSQL blackboard: "
            "postgresql://USER@HOST/NAME",
            "database",
        )
    if url.get_backend_name() == "sqlite" and file_of(url) is None:
        raise UsageError("workers cannot share a database in memory; give a file", "database")


@contextmanager
def open_executor(name: str) -> Iterator[Executor]:
    """The executor that `name` means: `dask://HOST:PORT` or `processes://NUMBER`.

    Raises `UsageError` where it is not installed or does not answer.
    """
    kind, _, rest = name.partition("://")
    if kind == "processes":
        with _processes(int(rest)) as pool:
            yield pool
        return
    require_extra("dask", name, {"distributed": "Dask"})
    from distributed import Client

    try:
        client = Client(f"tcp://{rest}", timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {quoted(rest)}; start one with: dask scheduler"
        ) from error
    with client, client.get_executor(retries=_ATTEMPTS) as executor:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False)  # it cancels what is left
            raise


class _Pool(ProcessPoolExecutor):
    """Processes whose pool is whole at each interrupt: the first task starts what it consists of.

    An interrupt in there would leave a thread that is waited for and was never started.
    """

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        with interrupts_wait():
            return super().submit(fn, *args, **kwargs)


@contextmanager
def _processes(number: int) -> Iterator[Executor]:
    """So many local processes, which end at once when this process is interrupted."""
    with interrupts_wait():
        pool = _Pool(number, mp_context=SpawnedContext(), initializer=_end_with_the_parent)
    try:
        yield pool
    except KeyboardInterrupt:  # what they carry goes on at its next message, as after a kill
        for process in active_children():
            if isinstance(process, Spawned):
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_the_parent() -> None:
    """End this worker when the process that started it has ended, however that was."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is None:
        return

    def end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def spread(
    run: Run[Any],
    database: str,
    blackboard: SqlBlackboard,
    name: str,
    on_done: Callable[[Done], None] = lambda _done: None,
    on_tick: Callable[[], None] = lambda: None,
) -> None:
    """Carry `run` to its end on the executor `name`; resumable as any run.

    `on_done` is given what each worker has done, when it is done; `on_tick` is called then, and
    every `TICK` seconds.

    Raises `UsageError` where a person takes part, `BlackboardError` where another process works
    on the run by itself, or a worker was lost or could not do its part, and `Halted` where a worker
    reached its part of a cap.
    """
    if run.opening.unshared:
        raise UsageError(run.opening.unshared, "executor")
    local = name.startswith(_PROCESSES)
    if run.shares(1) and not local:
        raise UsageError(ONE_MACHINE, "executor")
    try:
        if local:  # no worker of a process that was killed goes on
            _claim(blackboard, run.name, ORPHANED)
        blackboard.lock(run.name, shared=True)
        left = {unit.name: unit for unit in run.units()}
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                _deal_out(run, database, name, left, on_done, on_tick)
            except BrokenProcessPool as error:
                if attempt == _ATTEMPTS:
                    raise BlackboardError(
                        f"workers of {name} ended {_ATTEMPTS} times; what they sent is stored: "
                        f"see why they end, then resume run {run.name}"
                    ) from error
            else:
                return
    finally:
        blackboard.unlock(run.name)


def _deal_out(
    run: Run[Any],
    database: str,
    name: str,
    left: dict[str, Unit],
    on_done: Callable[[Done], None],
    on_tick: Callable[[], None],
) -> None:
    """Have every unit of `left` carried; what is done is taken out of it."""
    about, units = (database, run.name), tuple(left.values())
    local, sent = name.startswith(_PROCESSES), run.opening.sent()
    if shares := run.shares(int(name.removeprefix(_PROCESSES)) if local else 1):
        parts = [
            Assignment(*about, units[place :: len(shares)], sent, share, claimed=False)
            for place, share in enumerate(shares)
        ]
    else:
        parts = [Assignment(*about, (unit,), sent, claimed=not local) for unit in units]
    with open_executor(name) as executor:
        going = {executor.submit(carry, part) for part in parts if part.units}
        while going:
            over, going = wait(going, TICK, FIRST_COMPLETED)
            for future in over:
                done = _result(future.result, name)
                for unit in done.units:
                    left.pop(unit.name)
                on_done(done)
            on_tick()


def _result(result: Callable[[], Done], name: str) -> Done:
    try:
        done = result()
    except BrokenProcessPool:
        raise
    except Exception as error:
        # what a lost Dask worker is told as; its text holds no URL, an assignment shows none
        raise BlackboardError(
            f"a worker of {name} was lost ({type(error).__name__}); what it sent is stored: "
            f"see why it ended, then resume the run"
        ) from error
    if done.halted:
        raise Halted(f"a worker of {name}, each of which has its part of the caps: {done.error}")
    if done.error:
        raise BlackboardError(f"{name}, unit {done.units[0].name}: {done.error}")
    return done


def carry(assignment: Assignment) -> Done:
    """Carry units to their end, in a worker; what goes wrong is in what is given back."""
    units, started = assignment.units, time.perf_counter()
    sessions = messages = 0

    def count(*, over: bool) -> None:
        nonlocal sessions, messages
        sessions += over
        messages += not over

    try:
        with SqlBlackboard(assignment.database, create=False) as board:
            board.lock(assignment.run, shared=True)
            for unit in units if assignment.claimed else ():
                _claim(board, f"{assignment.run}/{unit.name}")
            sent, asks = assignment.sent, assignment.settings
            of = (assignment.run, board, asks)
            run: Run[Any] = (
                runs.resume(*of, SystemOpening.received(sent)) if sent else runs.resume(*of)
            )
            run.execute_units(units, lambda step: count(over=step.event is None))
    except PXPError as error:
        return Done(units, error=str(error), halted=isinstance(error, Halted))
    except Exception as error:  # noqa: BLE001 - what is raised here crosses processes
        return Done(units, error=f"{type(error).__name__}: {error}")
    return Done(units, sessions, messages, time.perf_counter() - started)


def _claim(board: SqlBlackboard, unit: str, patience: float | None = None) -> None:
    """Claim a unit, waiting for whoever has it: they carry it to its end, or end themselves."""
    until, pause = time.monotonic() + (PATIENCE if patience is None else patience), 0.05
    while True:
        try:
            board.lock(unit)
        except RunLocked:
            if time.monotonic() > until:
                raise
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        else:
            return
