"""Loops that Numba compiles: plain functions over arrays, the same in Python and compiled."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib.util import find_spec
from types import FrameType
from typing import Any, cast

from pxp_fsm.artifacts import cache_folder
from pxp_fsm.errors import require_extra


def can_compile() -> bool:
    """Whether Numba is installed (the extra `fast`)."""
    return find_spec("numba") is not None


def cached_by_numba(
    function: Callable[..., Any], called: tuple[Callable[..., Any], ...] = ()
) -> Callable[..., Any]:
    """`function`, compiled by Numba when first called, or loaded from the user's cache folder.

    `called` are plain functions of the same file that it calls. Raises `UsageError` where Numba is
    not installed.
    """
    with keeping_interrupts():
        compiled = _by_numba(function, called)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with keeping_interrupts():
            return compiled(*arguments)

    return call


def _by_numba(
    function: Callable[..., Any], called: tuple[Callable[..., Any], ...]
) -> Callable[..., Any]:
    require_extra("fast", "compiled=True", {"numba": "Numba"})
    import numba

    _compile_prefetch()
    _compile_exchange()
    for one in called:
        numba.extending.register_jitable(inline="always")(one)
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        return cast(Callable[..., Any], numba.njit(cache=True, nogil=True)(function))
    except (RuntimeError, OSError):  # no folder in which it may write
        return cast(Callable[..., Any], numba.njit(nogil=True)(function))
    finally:
        settings.CACHE_DIR = before


@contextmanager
def keeping_interrupts() -> Iterator[None]:
    """Let no Ctrl-C be lost: one that was swallowed in the block is raised at its end.

    `KeyboardInterrupt` is raised wherever Python is. In a callback of a weak reference or of LLVM,
    of which there are many while modules are imported and loops are compiled, it is printed and
    ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    met = list[int]()

    def note(number: int, frame: FrameType | None) -> None:
        met.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if met:  # what was interrupted has failed in another way
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if met:
        raise KeyboardInterrupt


def prefetch(_table: Any, _place: Any) -> None:
    """Fetch an entry of a table from memory, where it is compiled; else nothing is to be done."""


@cache
def _compile_prefetch() -> None:
    """Let Numba compile `prefetch` to the processor's instruction."""
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic, overload

    def fetched(_context: Any, table: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, values[0])
            address = builder.gep(array.data, [values[1]])
            address = builder.bitcast(address, ir.IntType(8).as_pointer())
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
            name = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
            builder.call(name, [address, number(1), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(table, place), generate

    fetch: Any = intrinsic(fetched)

    def compiled(_table: Any, _place: Any) -> Any:
        return lambda _table, _place: fetch(_table, _place)  # noqa: PLW0108 - Numba needs it

    overload(prefetch, strict=False, inline="always")(compiled)


def exchange(table: Any, place: Any, old: Any, new: Any) -> Any:
    """Put `new` into an entry of a table of 64-bit integers that has `old`; what it had before.

    Compiled, that is one step that no other thread divides.
    """
    there = table[place]
    if there == old:
        table[place] = new
    return there


@cache
def _compile_exchange() -> None:
    """Let Numba compile `exchange` to the processor's instruction."""
    from numba.core import types
    from numba.extending import intrinsic, overload

    def exchanged(_context: Any, table: Any, place: Any, _old: Any, _new: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, values[0])
            address = builder.gep(array.data, [values[1]])
            found = builder.cmpxchg(address, values[2], values[3], "monotonic", "monotonic")
            return builder.extract_value(found, 0)

        return types.int64(table, place, types.int64, types.int64), generate

    swap: Any = intrinsic(exchanged)

    def compiled(_table: Any, _place: Any, _old: Any, _new: Any) -> Any:
        return lambda _table, _place, _old, _new: swap(_table, _place, _old, _new)  # noqa: PLW0108

    overload(exchange, strict=False, inline="always")(compiled)
