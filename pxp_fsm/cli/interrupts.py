"""What Ctrl-C does: it ends a command that loads or that is over, and interrupts one that runs."""

from __future__ import annotations

# `signal` loads `enum` first: some milliseconds in which Ctrl-C would print a traceback.
import _signal as signal  # type: ignore[import-not-found]
import atexit
import os
import sys

TYPE_CHECKING = False  # as in `__main__`
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def stop(_number: int = 0, _frame: FrameType | None = None) -> NoReturn:
    """End the process there and then.

    While a command loads, nothing can be lost, and an exception could be turned into another one by
    whatever is being imported.
    """
    os.write(2, b"Stopped.\n")
    os._exit(130)


def stop_at_once() -> None:
    """From now on Ctrl-C ends the process, unless somebody else handles the signal already."""
    if _handler() is signal.default_int_handler:
        try:
            signal.signal(signal.SIGINT, stop)
        except ValueError:  # only the main thread may set handlers
            return
        sys.unraisablehook = _unraisable
        atexit.register(_ignore)  # the first to be registered is the last to be called


def interrupt() -> None:
    """From now on Ctrl-C interrupts what runs, which then closes what it has opened."""
    if _handler() is stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_with(code: int) -> None:
    """From now on Ctrl-C ends the process with `code`: the work is done, its output is written.

    What is left is to wait for threads, and to call what was registered for the exit.
    """
    if _handler() in (stop, signal.default_int_handler):
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(code))


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an error is what somebody made of an interrupt, as imports do."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _handler() -> object:
    return signal.getsignal(signal.SIGINT)


def _ignore() -> None:
    """Ignore Ctrl-C from now on: Python is taken apart, and can call no handler any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """End the process where a callback of the interpreter was interrupted, which drops errors."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        stop()
    sys.__unraisablehook__(unraisable)
