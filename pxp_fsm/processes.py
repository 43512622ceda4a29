"""Processes that are spawned, and that Ctrl-C, which a terminal sends to all, does not reach."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess


class Spawned(SpawnProcess):
    """A process that whoever started it ends: Ctrl-C does not interrupt it.

    It would do so while the process imports, which prints a traceback.
    """

    def start(self) -> None:
        """Start it, with the signal blocked."""
        with interrupts_wait():
            super().start()


class SpawnedContext(SpawnContext):
    """A context of multiprocessing whose processes are such."""

    Process = Spawned


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """A block after which Ctrl-C is handled here, and never by a process that is started in it.

    A process inherits the mask of the thread that starts it, which blocks the signal (Windows has
    no masks). The first one would start the tracker of resources, too, after which multiprocessing
    unblocks the signal in any case: so the tracker is started before. Another thread may still
    take it, for which Python calls the handler in the main one: that notes it, or a process could
    be left half started.
    """
    came, before, mask = list[int](), None, None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        if sys.platform != "win32":
            resource_tracker.ensure_running()
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if before is not None:
            signal.signal(signal.SIGINT, before)
        for number in came:
            signal.raise_signal(number)
