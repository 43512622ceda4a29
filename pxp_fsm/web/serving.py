"""What every local server of pages has: its files, errors in words, a socket on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from types import FrameType

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.requests import Request
from starlette.types import ASGIApp

from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.web.assets import static
from pxp_fsm.web.security import Access, Guarded

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/base.css">
<link rel="stylesheet" href="/{name}.css">
<script src="/{name}.js" defer></script>
</head>
<body>
<div id="app"></div>
</body>
</html>
"""

_KINDS = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def add_page(app: FastAPI, name: str, title: str) -> None:
    """Serve the page of the bundle `name` at `/`, and the files that it is made of."""

    def send(path: str, text: str, kind: str) -> None:
        app.get(path, include_in_schema=False)(lambda: Response(text, media_type=kind))

    send("/", _PAGE.format(title=title, name=name), "text/html; charset=utf-8")
    for file in (f"{name}.js", f"{name}.css", "base.css", "icon.svg", "licenses.txt"):
        send(f"/{file}", static(file), _KINDS[file.rpartition(".")[2]])


def add_refusals(app: FastAPI) -> None:
    """Answer what cannot be read, and what the library refuses, with 422 and a sentence."""

    @app.exception_handler(PXPError)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    async def explain(_: Request, error: Exception) -> JSONResponse:
        found = error.errors() if isinstance(error, RequestValidationError) else ()
        told = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
        return JSONResponse({"detail": "; ".join(told)}, 422)


def listen(port: int = 0) -> socket.socket:
    """A socket on the loopback interface; 0 is any free port. `UsageError` where it is taken."""
    # its protocol is named, or asyncio would let small packets of its connections wait (Nagle)
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # a server that was killed is started again at once, at its port
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()  # from now on a browser that connects is waited with, not refused
    except OSError as error:
        found.close()
        raise UsageError(
            f"port {port} of this machine cannot be used ({error.strerror}); choose another one, "
            f"or leave it out"
        ) from error
    return found


def serve_guarded(app: ASGIApp, port: int, ready: Callable[[str], None]) -> None:
    """Serve `app` behind a new token until Ctrl-C; `ready` is told the address to open.

    Raises `UsageError` where the port is taken.
    """
    with listen(port) as listening:
        access = Access(listening.getsockname()[1])
        server = server_of(Guarded(app, access))
        ready(access.address)
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A second Ctrl-C changes nothing: what is being stored is stored. A third one ends at once."""

    _interrupts = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._interrupts += sig == signal.SIGINT
        if sig != signal.SIGINT or self._interrupts != 2:
            super().handle_exit(sig, frame)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server of a guarded `app`: it logs no requests, and believes no proxy."""
    return _Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws_max_size=65536,
            timeout_graceful_shutdown=3,
        )
    )


async def until_left(
    socket: WebSocket,
    tell: Coroutine[None, None, None],
    hear: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Let `tell` send until the page has left; what the page says goes to `hear`."""
    telling = asyncio.create_task(tell)
    try:
        while True:
            text = await socket.receive_text()
            if hear is not None:
                await hear(text)
    except WebSocketDisconnect:
        pass
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError, RuntimeError, WebSocketDisconnect):
            await telling
