"""News of sessions, from the thread that carries runs to the loop that serves pages."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MOST = 1_000
"""Items that wait for one listener."""
LOST = ""
"""What a listener hears in place of items that were too many: anything may have changed."""


class News:
    """How often each session has changed, and who wants to hear of it."""

    def __init__(self) -> None:
        self._changes: Counter[str] = Counter()
        self._heard = dict[asyncio.Queue[str], str | None]()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Serve the running loop from now on."""
        self._loop = asyncio.get_running_loop()

    def tell(self, session: str) -> None:
        """Say that something of `session` may look otherwise; from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended: nobody listens
                self._loop.call_soon_threadsafe(self._told, session)

    def version(self, session: str) -> int:
        """How often a session has changed; of "" how often any has."""
        return self._changes[session]

    async def after(self, session: str, seen: int, seconds: float) -> None:
        """Wait until a session has changed since it was at `seen`, at most so many seconds."""
        with self.listening(session) as heard, suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._changes[session] == seen:
                    await heard.get()

    @contextmanager
    def listening(self, session: str | None = None) -> Iterator[asyncio.Queue[str]]:
        """A queue of the names of sessions that have changed; of `session` alone, if it is one.

        Whoever is `MOST` items behind hears `LOST` in their place.
        """
        queue: asyncio.Queue[str] = asyncio.Queue(MOST)
        self._heard[queue] = session or None
        try:
            yield queue
        finally:
            del self._heard[queue]

    def _told(self, session: str) -> None:
        self._changes[session] += 1
        self._changes[""] += session != ""
        for queue, wanted in self._heard.items():
            if wanted in (None, session):
                if queue.full():
                    while not queue.empty():
                        queue.get_nowait()
                    queue.put_nowait(LOST)
                else:
                    queue.put_nowait(session)
