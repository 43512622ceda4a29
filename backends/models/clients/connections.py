"""Connections to a server: one for each call under way, whatever the number of calls."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

_KEPT_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))
"""How often a connection on which a server thinks for minutes says that it is there."""


def mounts() -> dict[str, httpx2.AsyncBaseTransport]:
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
            self._trusted = httpx2.create_ssl_context()
            self._all: list[httpx2.AsyncHTTPTransport] = []
            self._free: list[httpx2.AsyncHTTPTransport] = []

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            one = self._free.pop() if self._free else self._made()
            try:
                response = await one.handle_async_request(request)
            except BaseException:
                self._free.append(one)
                raise
            response.stream = Returning(response.stream, [one], self._free)
            return response

        def _made(self) -> httpx2.AsyncHTTPTransport:
            made = httpx2.AsyncHTTPTransport(verify=self._trusted, socket_options=self._options)
            self._all.append(made)
            return made

        async def aclose(self) -> None:
            for one in self._all:
                await one.aclose()

    return {"all://": OneForEach()}
