"""News: what has changed, told to every page and assistant that listens.

There is one queue for each listener. Whoever is too far behind is told `LOST`, and begins again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from fastapi import WebSocket, WebSocketDisconnect

Json = Mapping[str, Any]
"""What a page is sent."""

_MOST = 1_000
"""News that wait for one listener."""

TEXT_ONLY = 1003
"""The code with which a WebSocket is closed that has sent bytes: unsupported data (RFC 6455)."""


class NewsItem(NamedTuple):
    """A piece of news: what has changed, and what all pages are sent of it, if that is the same."""

    about: str
    message: Json | None = None


LOST = NewsItem("")
"""What a listener is told in place of news that were too many: anything may have changed."""


class News:
    """How often each thing has changed, by its name, and who wants to be told."""

    def __init__(self) -> None:
        self._changes: Counter[str] = Counter()
        self._heard = dict[asyncio.Queue[NewsItem], str]()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Serve the running loop from now on."""
        self._loop = asyncio.get_running_loop()

    def tell(self, about: str, message: Json | None = None) -> None:
        """Say that something has changed; from any thread.

        In the loop that is served it is told at once, so that whoever looks first and listens then
        is told nothing twice.
        """
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is None:
            return
        if running is self._loop:
            self._tell(NewsItem(about, message))
        else:
            with suppress(RuntimeError):  # the loop has ended: nobody listens
                self._loop.call_soon_threadsafe(self._tell, NewsItem(about, message))

    def version(self, about: str) -> int:
        """How often something has changed; of "" how often anything has."""
        return self._changes[about]

    async def after(self, about: str, seen: int, seconds: float) -> None:
        """Wait until something has changed since it was at `seen`, at most so many seconds."""
        with self.listening(about) as heard, suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._changes[about] == seen:
                    await heard.get()

    @contextmanager
    def listening(self, about: str = "") -> Iterator[asyncio.Queue[NewsItem]]:
        """A queue of what changes from now on; of one thing alone, if it is named."""
        queue: asyncio.Queue[NewsItem] = asyncio.Queue(_MOST)
        self._heard[queue] = about
        try:
            yield queue
        finally:
            del self._heard[queue]

    def _tell(self, told: NewsItem) -> None:
        self._changes[told.about] += 1
        self._changes[""] += told.about != ""
        for queue, about in self._heard.items():
            if about in ("", told.about):
                if queue.full():
                    while not queue.empty():
                        queue.get_nowait()
                    queue.put_nowait(LOST)
                else:
                    queue.put_nowait(told)


async def push(
    socket: WebSocket,
    news: News,
    begin: Callable[[], Iterable[Json]],
    told: Callable[[NewsItem], Json | None] = lambda news: news.message,
    hear: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Send a page what it `begin`s with, then what it is `told`, until it has left.

    A page that is too far behind begins again. What it says goes to `hear`; bytes are a fault of
    its protocol, and end the connection.
    """
    with news.listening() as heard:  # first: what changes from now on is told
        await socket.accept()

        async def tell() -> None:
            behind = True
            while True:
                if behind:
                    for message in begin():
                        await socket.send_json(dict(message))
                item = await heard.get()
                behind = item is LOST
                seen = None if behind else told(item)
                if seen is not None:
                    await socket.send_json(dict(seen))

        telling = asyncio.create_task(tell())
        try:
            while (message := await socket.receive())["type"] == "websocket.receive":
                text = message.get("text")
                if text is None:
                    await socket.close(TEXT_ONLY, "only text is read here")
                    break
                if hear is not None:
                    await hear(text)
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError, RuntimeError, WebSocketDisconnect):
                await telling
