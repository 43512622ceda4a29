"""HTTP to a server: what it may send (bytes, time), where a prompt may go, and its connections."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from backends.models.failures import malformed, silent

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable

    import httpx2

MOST_BYTES = 16 * 2**20
"""Of one response: many times the longest reply."""
MOST_BATCH_BYTES = 2**30
"""Of the results of a batch, which are read line by line."""
PLAIN = {"Accept-Encoding": "identity"}
"""Nothing is sent compressed: a few bytes could be gigabytes."""

_KEPT_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))
"""How often a connection on which a server thinks for minutes says that it is there."""

_SECONDS_A_TOKEN = 0.1
_VENDORS = ("openai-organization", "openai-project")


@asynccontextmanager
async def speaking(where: str, seconds: float) -> AsyncIterator[Callable[[], None]]:
    """Gives up a stream that brings no token in so many seconds; what it gives is told of each.

    Comments, pings and empty pieces are none: a server can send them for ever. Raises `CallFailed`.
    """
    loop = asyncio.get_running_loop()
    quiet = asyncio.timeout(seconds)
    try:
        async with quiet:
            yield lambda: quiet.reschedule(loop.time() + seconds)
    except TimeoutError as error:
        if not quiet.expired():
            raise
        raise silent(where, seconds) from error


def longest(timeout: float, tokens: int) -> float:
    """How many seconds a call may take in all: a silence, and a tenth of one for each token."""
    return timeout + _SECONDS_A_TOKEN * tokens


def http_options(*, trusted: bool, transport: httpx2.AsyncBaseTransport | None) -> dict[str, Any]:
    """Options of a vendor's HTTP client: bounded responses, and no redirect followed.

    Headers that the environment adds for the vendor are sent to a `trusted` server only.
    """
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        """A stream that ends with a failure once it is longer than it may be."""

        def __init__(self, inner: Any, most: int) -> None:
            self._inner, self._most = inner, most

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for part in self._inner:
                count += len(part)
                if count > self._most:
                    raise _too_long(self._most)
                yield part

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def on_response(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") not in ("", "identity"):
            raise malformed("it is compressed, which was not asked for")
        batch = response.request.url.path.endswith("/results")
        most = MOST_BATCH_BYTES if batch else MOST_BYTES
        length = response.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > most):
            raise _too_long(most)
        response.stream = Bounded(response.stream, most)

    async def on_request(request: httpx2.Request) -> None:
        for name, value in _added_headers():
            if request.headers.get(name) == value or name in _VENDORS:
                request.headers.pop(name, None)

    hooks = {"response": [on_response], "request": [] if trusted else [on_request]}
    options: dict[str, Any] = {"follow_redirects": False, "event_hooks": hooks}
    if transport is not None:
        return options | {"transport": transport}
    trusts = _trusting(os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", ""))
    return options | {"verify": trusts, "mounts": _mounts(trusts)}


def _too_long(most: int) -> Exception:
    return malformed(f"it is longer than {most:,} bytes")


def _added_headers() -> list[tuple[str, str]]:
    """The headers that the vendors' libraries take from the environment."""
    lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    pairs = (line.partition(":") for line in lines)
    added = [(name.strip().lower(), value.strip()) for name, colon, value in pairs if colon]
    return [*added, *((name, "") for name in _VENDORS)]


@cache
def _trusting(_file: str, _folder: str) -> ssl.SSLContext:
    """Whom connections trust, as the environment has it: reading all certificates takes long."""
    import httpx2

    return httpx2.create_ssl_context()


def _mounts(trusts: ssl.SSLContext) -> dict[str, httpx2.AsyncBaseTransport]:
    """The transport of a vendor's HTTP client, for its option `mounts`.

    A pool of connections looks at all of them for each request, so that a call costs the more, the
    more are in flight. Here each call under way has a pool of its own, with one connection, which
    the next call takes over; the one that was used last is taken first. Proxies that the
    environment names are the library's: they come before this.
    """
    import httpx2

    if "all" in getproxies():
        return {}

    class Returning(httpx2.AsyncByteStream):
        """The stream of a response; when it is closed, its connection is free."""

        def __init__(self, inner: Any, taken: list[Any], free: list[Any]) -> None:
            self._inner, self._taken, self._free = inner, taken, free

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._inner:
                yield part

        async def aclose(self) -> None:
            try:
                await self._inner.aclose()
            finally:
                self._free += self._taken
                self._taken = []

    class OneForEach(httpx2.AsyncBaseTransport):
        """A transport of transports, one for each call under way."""

        def __init__(self) -> None:
            options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
            for name, value in _KEPT_ALIVE:
                if hasattr(socket, name):
                    options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
            self._options = options
            self._all: list[httpx2.AsyncHTTPTransport] = []
            self._free: list[httpx2.AsyncHTTPTransport] = []

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            transport = self._free.pop() if self._free else self._made()
            try:
                response = await transport.handle_async_request(request)
            except BaseException:
                self._free.append(transport)
                raise
            response.stream = Returning(response.stream, [transport], self._free)
            return response

        def _made(self) -> httpx2.AsyncHTTPTransport:
            made = httpx2.AsyncHTTPTransport(verify=trusts, socket_options=self._options)
            self._all.append(made)
            return made

        async def aclose(self) -> None:
            for transport in self._all:
                await transport.aclose()

    return {"all://": OneForEach()}
