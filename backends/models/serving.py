"""The models of a run: opened by name, within its limits and caps, cached, recorded, closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING

from backends.models.anthropic_messages import AnthropicMessages
from backends.models.batching import Batched, Gathering
from backends.models.budget import Budget, Capped, unpriced
from backends.models.cache import Asked, Cached, CallCache, Replayed
from backends.models.catalogue import Catalogue, Server, catalogue
from backends.models.keys import Key, find_key
from backends.models.limits import Limited, Limits
from backends.models.naming import ModelName, parsed
from backends.models.openai_chat import OpenAIChat
from backends.models.recording import Recorded
from backends.models.retrying import Patience, Retried
from backends.models.settings import Settings
from backends.models.telemetry import Traced
from pxp_fsm.errors import UsageError
from pxp_fsm.models import CallLog, Capability, Model, Reply

if TYPE_CHECKING:
    import httpx2


def check(
    name: str, needs: Iterable[Capability] = (), settings: Settings = Settings()
) -> frozenset[Capability]:
    """What the model `name` can do; raises `UsageError` or `DataError` before anything is run.

    Refused are a name that is none, a model that lacks what it `needs`, one whose price a cap
    would have to know, and one whose key is not there (unless a recording stands in for it).
    """
    table = catalogue(settings.catalogue)
    model, server = _found(name, table)
    wanted = {*needs, *([Capability.BATCHES] if settings.batches else [])}
    missing = sorted(str(one) for one in wanted - server.can)
    if missing:
        raise UsageError(
            f"{model} cannot do what is asked of it here: {', '.join(missing)}; if your server "
            f"can, say so in a catalogue of your own"
        )
    if settings.replay is None:
        _library(model)
        if settings.dollars is not None and table.price(model) is None:
            raise unpriced(str(model))
        _key(model, server)
    return server.can


def _library(name: ModelName) -> None:
    """Raise `UsageError` where the library that speaks to the server is not installed."""
    if name.kind == "openai" and find_spec("openai") is None:
        raise UsageError(f"{name} needs the openai library: pip install 'pxp-fsm[openai]'")


def _found(name: str, table: Catalogue) -> tuple[ModelName, Server]:
    model = parsed(name)
    return model, table.server(model)


def _key(name: ModelName, server: Server) -> Key | None:
    """The key for a server, or None where it takes none; `UsageError` where it is missing."""
    if not server.key:
        return None
    key = find_key(server.key)
    if key is None:
        raise UsageError(
            f"{name} needs a key: put it into the environment as {server.key}, or into a .env file "
            f"in this folder. Without a key DRUG and RAD have agents of their own, which run "
            f"offline (name no model), pxp lan takes a script (script:FILE), and all of them "
            f"take a recording (--replay FILE)"
        )
    return key


def _client(
    name: ModelName,
    server: Server,
    key: Key | None,
    settings: Settings,
    transport: httpx2.AsyncBaseTransport | None,
) -> AnthropicMessages | OpenAIChat:
    kind = AnthropicMessages if name.kind == "anthropic" else OpenAIChat
    return kind(name, server, key, timeout=settings.timeout, transport=transport)


class Serving:
    """The models of one run, which share its limits, its budget and its cache.

    An asynchronous context manager: leave it in the loop that it was used in. `log` records every
    call; `spent` and `made` are what the run has spent and called before it was resumed, and
    `known` what was replied then: a reply whose message was not stored is not paid for again.
    `on_wait` is told when a server keeps it waiting. `transport` replaces the network, and `clock`
    and `sleep` the time, for tests.
    """

    def __init__(
        self,
        settings: Settings = Settings(),
        log: CallLog | None = None,
        *,
        spent: float = 0.0,
        made: int = 0,
        known: Iterable[tuple[Asked, Reply]] = (),
        on_wait: Callable[[str], None] = lambda _why: None,
        transport: httpx2.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._sleep = sleep
        self._on_wait = on_wait
        self.budget = Budget(settings.dollars, settings.calls, spent=spent, made=made)
        self.gathering = Gathering()
        self._log = log
        self._transport = transport
        self._table = catalogue(settings.catalogue)
        recorded = settings.replay is not None
        self._cache = CallCache(settings.replay or settings.cache, writes=not recorded)
        for asked, reply in known:
            self._cache.keep(asked, reply)
        self._limits: dict[str, Limits] = {}
        self._models: dict[str, Model] = {}
        self._clients: list[AnthropicMessages | OpenAIChat] = []
        self._batched: list[Batched] = []

    async def __aenter__(self) -> Serving:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection, and the cache."""
        for batched in self._batched:
            await batched.aclose()
        for client in self._clients:
            await client.aclose()
        self._cache.close()
        await asyncio.sleep(0)

    def session(self) -> AbstractContextManager[None]:
        """While a session is open, batches wait for its next request."""
        return self.gathering.session()

    def model(self, name: str) -> Model:
        """The model `name`; the same one each time. Raises what `check` does."""
        if name not in self._models:
            self._models[name] = self._opened(name)
        return self._models[name]

    def _opened(self, name: str) -> Model:
        named, server = _found(name, self._table)
        price = self._table.price(named)
        model: Model
        if self.settings.replay is not None:
            model = Replayed(str(named), server.can, self._cache)
        else:
            model = self._live(named, server)
            model = Capped(model, self.budget, price, server)
            patience = Patience(self.settings.attempts)
            model = Retried(model, patience, sleep=self._sleep, on_wait=self._on_wait)
            model = Cached(model, self._cache)
        model = Traced(model, named)
        return model if self._log is None else Recorded(model, self._log, price)

    def _live(self, named: ModelName, server: Server) -> Model:
        check(str(named), settings=self.settings)
        client = _client(named, server, _key(named, server), self.settings, self._transport)
        self._clients.append(client)
        if self.settings.batches and isinstance(client, AnthropicMessages):
            batched = Batched(client, self.gathering)
            self._batched.append(batched)
            return batched
        limits = self._limits.setdefault(
            named.url,
            Limits(
                self.settings.requests,
                self.settings.tokens,
                self.settings.in_flight,
                self._clock,
                self._sleep,
            ),
        )
        return Limited(client, limits)


def opened(name: str, settings: Settings = Settings(), log: CallLog | None = None) -> Model:
    """The model `name` by itself, for a script; a run has a `Serving`. Raises what `check` does."""
    return Serving(settings, log).model(name)
