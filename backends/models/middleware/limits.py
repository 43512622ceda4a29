"""Rate limits of a server, shared by its models: requests, tokens, requests in flight."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import field

from backends.models.failures import CallFailed
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Ask, Layer, ModelRequest, Reply

MINUTE = 60.0
_BYTES_A_TOKEN = 3
_IMAGE = 1600
_STEP = 1.0
"""Seconds after which it is looked again whether there is room: a reply may have been short."""


def estimated_tokens(request: ModelRequest) -> int:
    """About how many tokens a request and its reply are, rather more than fewer."""
    characters = len(request.system) + sum(len(turn.text) for turn in request.turns)
    images = sum(len(turn.images) for turn in request.turns)
    return characters // _BYTES_A_TOKEN + images * _IMAGE + request.max_tokens


@dataclass(slots=True)
class _Taken:
    """A request that was let through, and the tokens that it counts for."""

    at: float
    tokens: int


@dataclass
class Limits:
    """At most so many `requests` and `tokens` in any 60 seconds, and `in_flight` at a time.

    None is no limit. Requests are let through in the order in which they came; one that is larger
    than `tokens` alone counts as all of them.
    """

    requests: int | None = None
    tokens: int | None = None
    in_flight: int | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _taken: deque[_Taken] = field(default_factory=deque)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _places: asyncio.Semaphore | None = None
    _not_before: float = 0.0

    def __post_init__(self) -> None:
        for name in ("requests", "tokens", "in_flight"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(
                    f"a limit of {name.replace('_', ' ')} must be at least 1, not {value}"
                )
        self._not_before = self.clock()
        if self.in_flight is not None:
            self._places = asyncio.Semaphore(self.in_flight)

    def hold(self, seconds: float) -> None:
        """Let nothing through for so long: the server has asked for it."""
        self._not_before = max(self._not_before, self.clock() + seconds)

    @asynccontextmanager
    async def place(self, tokens: int) -> AsyncIterator[Callable[[int], None]]:
        """A place for a request of about `tokens`; what it gives corrects them when they are known.

        A correction never lets through more than was let through in error: it counts from now on.
        """
        if self._places is not None:
            await self._places.acquire()
        try:
            taken = await self._admitted(tokens)

            def correct(actual: int) -> None:
                taken.tokens = self._counted(actual)

            yield correct
        finally:
            if self._places is not None:
                self._places.release()

    def _counted(self, tokens: int) -> int:
        return tokens if self.tokens is None else min(tokens, self.tokens)

    async def _admitted(self, tokens: int) -> _Taken:
        tokens = self._counted(tokens)
        async with self._turn:
            while (wait := self._wait(tokens)) > 0:
                await self.sleep(min(wait, _STEP))
            taken = _Taken(self.clock(), tokens)
            self._taken.append(taken)
            return taken

    def _wait(self, tokens: int) -> float:
        """How long until something changes that may let `tokens` through; 0 if that is now."""
        now = self.clock()
        if now < self._not_before:
            return self._not_before - now
        while self._taken and self._taken[0].at + MINUTE <= now:
            self._taken.popleft()
        full = self.requests is not None and len(self._taken) >= self.requests
        if self.tokens is not None:
            full = full or sum(taken.tokens for taken in self._taken) + tokens > self.tokens
        return self._taken[0].at + MINUTE - now if full else 0.0


def limited(limits: Limits) -> Layer:
    """Keeps a model within `limits`; a server that asks for a pause gets it from all its models."""

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
        async with limits.place(estimated_tokens(request)) as correct:
            try:
                reply = await ask(request)
            except CallFailed as error:
                if error.wait:
                    limits.hold(error.wait)
                raise
            used = reply.usage
            if used.sent or used.received:
                correct(used.sent + used.cache_written + used.received)
            return reply

    return reply
