"""Where kernels run: in the interpreter, or as WebAssembly (see `proofs.core.webassembly`).

The same functions over the same arrays. The interpreter needs no preparation; WebAssembly needs
some milliseconds for each kernel, after which it is a hundred times as fast. It is run by
`wasmtime`, which every installation has: it also lays out the diagrams.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
from array import array
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from proofs.core.explore import TooLarge
from proofs.core.webassembly import MOST_PAGES, Kernel, module

if TYPE_CHECKING:
    import wasmtime

Array = Any
"""Integers: an `array`, or a `memoryview` of the memory in which compiled kernels run."""

SIZES = {"q": 8, "i": 4, "H": 2, "B": 1}
"""The bytes of an entry of an array, by its typecode."""


class Runner(Protocol):
    """Makes arrays, and runs kernels on them."""

    def new(self, kind: str, count: int) -> Array:
        """An array of so many zeros; `kind` is a typecode of `array`."""

    def put(self, kind: str, values: Iterable[int]) -> Array:
        """An array with these entries."""

    def run(self, kernel: Kernel, *arguments: Any) -> int:
        """The result of a kernel; an array that it gets is one of this runner's."""

    def release(self, unused: Array) -> None:
        """Give back the memory of an array, which then holds zeros or nothing of use."""


class Interpreter:
    """Runs kernels as the plain functions that they are."""

    def new(self, kind: str, count: int) -> Array:
        return array(kind, bytes(count * SIZES[kind]))

    def put(self, kind: str, values: Iterable[int]) -> Array:
        return array(kind, values)

    def run(self, kernel: Kernel, *arguments: Any) -> int:
        return int(kernel(*arguments))

    def release(self, unused: Array) -> None:
        """Python does that by itself."""


class Compiled:
    """Runs kernels as WebAssembly, all in one memory, which is given out from its beginning.

    Its addresses, `most` bytes, are reserved when it is made: so it grows where it is, and arrays
    stay valid. What is not touched takes no memory. Raises `TooLarge` where nothing can be
    reserved, and where more is needed. Modules that are `checked` trap where a kernel does what is
    not translated exactly.
    """

    def __init__(self, *, checked: bool = False) -> None:
        try:
            import wasmtime
        except ModuleNotFoundError as error:
            raise TooLarge(
                "the states of a search that is interpreted, without wasmtime"
            ) from error

        self._checked, self._functions = checked, dict[Kernel, wasmtime.Func]()
        self._end = _ALIGNED
        try:
            self._reserve()
        except wasmtime.WasmtimeError:
            # The compiler's threads and earlier searches took addresses after the engine was made:
            # another engine has a share of what is left now.
            gc.collect()
            _module.cache_clear()
            _engine.cache_clear()
            try:
                self._reserve()
            except wasmtime.WasmtimeError as error:
                raise TooLarge(f"no room for {self.most >> 20:,} MB of addresses") from error
        data = self._memory.data_ptr(self._store)
        self._begin = ctypes.cast(data, ctypes.c_void_p).value or 0

    def _reserve(self) -> None:
        import wasmtime

        self._engine, self.most = _engine()
        self._store = wasmtime.Store(self._engine)
        pages = wasmtime.Limits(1, self.most // _PAGE)
        self._memory = wasmtime.Memory(self._store, wasmtime.MemoryType(pages))

    def new(self, kind: str, count: int) -> Array:
        size = SIZES[kind] * count
        aligned = next(
            (alignment for alignment in (_HUGE_PAGE, _SMALL_PAGE) if size >= alignment), _ALIGNED
        )
        begin = -(-self._end // aligned) * aligned
        self._reach(begin + size)
        return self._view(kind, begin, count)

    def put(self, kind: str, values: Iterable[int]) -> Array:
        entries = array(kind, values)
        stored = self.new(kind, len(entries))
        stored[:] = memoryview(entries)
        return stored

    def enlarged(self, latest: Array, count: int) -> Array:
        """The array that was made last, with so many entries, where it is; the new ones are 0."""
        begin = self._address(latest)
        self._reach(begin + SIZES[latest.format] * count)
        return self._view(latest.format, begin, count)

    def clear(self, unused: Array) -> None:
        """Put zeros into all entries."""
        ctypes.memset(self._begin + self._address(unused), 0, unused.nbytes)

    def release(self, unused: Array) -> None:
        """As said; what is released has zeros, and if it was made last, others are put there."""
        begin = self._address(unused)
        end = begin + unused.nbytes
        first, last = -(-begin // _SMALL_PAGE) * _SMALL_PAGE, end // _SMALL_PAGE * _SMALL_PAGE
        if first < last and sys.platform == "linux":
            _advise(self._begin + first, last - first, _NOT_NEEDED)
            ctypes.memset(self._begin + begin, 0, first - begin)
            begin = last
        ctypes.memset(self._begin + begin, 0, end - begin)
        if self._end == -(-end // _ALIGNED) * _ALIGNED:
            self._end = self._address(unused)

    def run(self, kernel: Kernel, *arguments: Any) -> int:
        import wasmtime

        if kernel not in self._functions:
            code = _module(kernel, self._checked)
            exports = wasmtime.Instance(self._store, code, [self._memory]).exports(self._store)
            function = exports["run"]
            assert isinstance(function, wasmtime.Func)  # noqa: S101 - `module` exports one
            self._functions[kernel] = function
        plain = list[int]()
        for argument in arguments:
            plain += (
                (self._address(argument), len(argument))
                if isinstance(argument, memoryview)
                else (argument,)
            )
        return int(self._functions[kernel](self._store, *plain))

    def _reach(self, end: int) -> None:
        """Make the memory large enough for what ends there."""
        import wasmtime

        missing = -(-end // _PAGE) - self._memory.size(self._store)
        try:
            if missing > 0:
                self._memory.grow(self._store, missing)
        except wasmtime.WasmtimeError:
            gc.collect()  # where data are limited, those of earlier searches count until then
            try:
                self._memory.grow(self._store, missing)
            except wasmtime.WasmtimeError as error:
                raise TooLarge(f"more than {self.most >> 20:,} MB of arrays are needed") from error
        self._end = -(-end // _ALIGNED) * _ALIGNED

    def _view(self, kind: str, begin: int, count: int) -> Array:
        raw = (ctypes.c_ubyte * (SIZES[kind] * count)).from_address(self._begin + begin)
        raw.store = self._store  # type: ignore[attr-defined] # it lives as long as its arrays
        if raw._length_ >= _HUGE_PAGE:
            _advise(self._begin + begin, raw._length_ // _SMALL_PAGE * _SMALL_PAGE, _HUGE_PAGES)
        return memoryview(raw).cast("B").cast(kind)  # type: ignore[call-overload] # one of `SIZES`

    def _address(self, own: Array) -> int:
        """Where an array is in the memory."""
        if not len(own):
            return 0
        return ctypes.addressof(ctypes.c_ubyte.from_buffer(own)) - self._begin


_PAGE, _SMALL_PAGE, _HUGE_PAGE, _ALIGNED = 1 << 16, 1 << 12, 1 << 21, 1 << 6
"""The bytes of a page of WebAssembly's memory and of the processor's; how arrays are aligned."""

_GUARD = 1 << 26
"""Addresses behind a memory that wasmtime leaves free, so that indices need no tests."""

_SHARE = 0.4
"""Of the addresses that the process may still have what one memory reserves: there may be two."""


@cache
def _engine() -> tuple[wasmtime.Engine, int]:
    """The compiler, and how many bytes a memory may have."""
    import wasmtime

    for cached in (_engine, _module):  # wasmtime complains of what is left when Python ends
        atexit.register(cached.cache_clear)
    config = wasmtime.Config()
    most = MOST_PAGES * _PAGE
    left = _addresses_left()
    if left is not None and left * _SHARE < most + _GUARD:
        most = max(1, int(left * _SHARE) // _PAGE) * _PAGE
        config.memory_reservation, config.memory_guard_size = most, _PAGE
    return wasmtime.Engine(config), most


def _addresses_left() -> int | None:
    """How many bytes of addresses the process may still have (`ulimit -v`); None for any number."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        pages = 0
    return max(0, limit - pages * resource.getpagesize())


@cache
def _module(kernel: Kernel, checked: bool) -> wasmtime.Module:
    import wasmtime

    return wasmtime.Module(_engine()[0], module(kernel, checked=checked))


_NOT_NEEDED, _HUGE_PAGES = 4, 14
"""Linux's advice about memory: its contents go, and it is best had in huge pages."""


def _advise(address: int, size: int, advice: int) -> None:
    """Tell the system about a part of memory; elsewhere than on Linux nothing is said."""
    if sys.platform == "linux":
        ctypes.CDLL(None).madvise(
            ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(advice)
        )
