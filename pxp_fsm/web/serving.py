"""Serving pages on this machine: the socket, the server, and how long it waits for a request."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from types import FrameType, MappingProxyType
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.web.guard import Admission
from pxp_fsm.web.pages import PageSet, application

SECONDS_OF_HEADERS = 10.0
"""Seconds in which the headers of a request must have come."""


def listen(port: int = 0) -> socket.socket:
    """A socket on the loopback interface; 0 is any free port. `UsageError` where it is taken."""
    # its protocol is named, or asyncio would let small packets of its connections wait (Nagle)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # a server that was killed is started again at once, at its port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # from now on a browser that connects is waited with, not refused
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} of this machine cannot be used ({error.strerror}); choose another one, "
            f"or leave it out"
        ) from error
    return listener


class _Server(uvicorn.Server):
    """A second Ctrl-C changes nothing: what is being stored is stored. A third one ends at once."""

    interrupts = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.interrupts += sig == signal.SIGINT
        if sig != signal.SIGINT or self.interrupts != 2:
            super().handle_exit(sig, frame)


class _Connection(H11Protocol):
    """A connection that is closed where the headers of a request do not end in time.

    uvicorn waits for them for ever: whoever opens many connections would hold them all.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # Idle is whoever has begun no request as far as h11 knows: its headers are not whole yet.
        begun = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
        if begun and self.transport.get_protocol() is self:
            self._wait()
        else:  # a request that is being answered, or a WebSocket by now
            self._come()

    def connection_lost(self, exc: Exception | None) -> None:
        self._come()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(SECONDS_OF_HEADERS, self.transport.close)

    def _come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def server_of(app: ASGIApp) -> _Server:
    """A server of a guarded `app`: it logs no requests, and believes no proxy."""
    return _Server(
        uvicorn.Config(
            app,
            http=_Connection,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws_max_size=65536,
            timeout_graceful_shutdown=3,
        )
    )


@dataclass(frozen=True, kw_only=True)
class OpenSite:
    """What is served at a port, and what its people are given to come in.

    `links` are by pseudonym; that of "" belongs to whoever started the server. `tokens` are those
    of assistants, who connect at `tools`. `beside` runs while the server does, and ends it.
    """

    access: Admission
    sets: tuple[PageSet, ...]
    links: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tools: str = ""
    tokens: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None


Site = Callable[[int], OpenSite]
"""What is to be served, once the port is known: addresses and cookies have it in them."""


def serve(site: Site, port: int, ready: Callable[[OpenSite], None]) -> None:
    """Serve `site` until Ctrl-C; `ready` is told what people are given, before any of them comes.

    Raises `UsageError` where the port is taken, and what the site raises.
    """
    with listen(port) as listening:
        opening = site(int(listening.getsockname()[1]))
        server = server_of(application(opening.access, *opening.sets))
        with _stopped_by_interrupts(server):
            ready(opening)
            if opening.beside is None:
                server.run(sockets=[listening])
            else:
                asyncio.run(_both(server, listening, opening.beside()))


@contextmanager
def _stopped_by_interrupts(server: _Server) -> Iterator[None]:
    """A block in which Ctrl-C stops `server`, also while it starts; the block is then interrupted.

    An interrupt of the event loop that starts would leave the server as a coroutine that was never
    awaited, which Python warns of.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, server.handle_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if server.interrupts:
        signal.raise_signal(signal.SIGINT)


async def _both(
    server: uvicorn.Server, listening: socket.socket, beside: Coroutine[Any, Any, None]
) -> None:
    """Serve until the server ends, or what is beside it."""
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    other = asyncio.create_task(beside)
    await asyncio.wait((serving, other), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    other.cancel()
    await serving
    with suppress(asyncio.CancelledError):
        await other
