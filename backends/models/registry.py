"""The models of a run: opened by name, with its limits, caps, cache and records."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from backends import programs
from backends.models import scripts
from backends.models.catalogue import ModelFacts, catalogue
from backends.models.clients.anthropic_messages import AnthropicMessages
from backends.models.clients.keys import Key, find_key
from backends.models.clients.openai_chat import OpenAIChat
from backends.models.middleware.batches import BatchMembers, BatchQueue
from backends.models.middleware.budget import Budget, capped, unpriced
from backends.models.middleware.cache import Asked, CallCache, cached, replayed
from backends.models.middleware.limits import Limits, limited
from backends.models.middleware.recording import recorded, traced
from backends.models.middleware.retry import RetryPolicy, retried
from backends.models.scripts import Script
from backends.models.settings import Settings
from backends.programs import ProgramModel
from pxp_fsm.errors import UsageError, quoted, require_extra
from pxp_fsm.prompting.model import (
    NOTHING_SPENT,
    CallLog,
    Capability,
    LanguageModel,
    LayeredModel,
    Ledger,
    Reply,
    Spending,
    layered,
)

if TYPE_CHECKING:
    import httpx2


def check_model(
    name: str, needs: Iterable[Capability] = (), settings: Settings = Settings()
) -> frozenset[Capability]:
    """What the model `name` can do; raises `UsageError` or `DataError` before anything is run.

    Refused are a name that is none, a model that its vendor has retired or that lacks what it
    `needs`, one whose price a cap would have to know, and one whose key is not there (unless a
    recording stands in for it). A script's file and a program are tried here.
    """
    local = _local(name, settings)
    if local is not None:
        missing = sorted(str(capability) for capability in {*needs} - local.capabilities)
        if missing:
            raise UsageError(f"{name} does not support what is requested: {', '.join(missing)}")
        if isinstance(local, ProgramModel):
            local.check()
        return local.capabilities
    facts = catalogue(settings.catalogue).facts(name)
    if settings.replay is None:
        facts.check_served()
    can = facts.server.can
    wanted = {*needs, *([Capability.BATCHES] if settings.batches else [])}
    missing = sorted(str(capability) for capability in wanted - can)
    if missing:
        raise UsageError(
            f"{facts.name} does not support what is requested: {', '.join(missing)}; if your "
            f"server does, declare it in a catalogue of your own (pxp help models)"
        )
    if settings.replay is None:
        _check_library(facts)
        if settings.dollars is not None and facts.price is None:
            raise unpriced(str(facts.name))
        _key(facts)
    return can


def check_effort(name: str, effort: str, settings: Settings = Settings()) -> None:
    """Raise `UsageError` where the model `name` does not take this level of effort."""
    local = is_local(name)
    levels = () if local else catalogue(settings.catalogue).facts(name).server.effort
    if effort not in levels:
        raise UsageError(
            f"{name} takes no effort {quoted(effort)}; it takes: {', '.join(levels) or 'none'}",
            "effort",
        )


def is_local(name: str) -> bool:
    """Whether the model `name` is on no server: a script's file, or a program."""
    return name.startswith((scripts.PREFIX, programs.PREFIX))


def _local(name: str, settings: Settings) -> Script | ProgramModel | None:
    """The script or the program of that name, opened anew; None for a model on a server."""
    if name.startswith(scripts.PREFIX):
        return scripts.read_script(Path(name.removeprefix(scripts.PREFIX)))
    if not name.startswith(programs.PREFIX):
        return None
    own = os.environ.get(_PROGRAMS, "").split(",")
    if name not in {*settings.programs, *(programs.PREFIX + command.strip() for command in own)}:
        raise UsageError(
            f"{quoted(name)} is named by a file or a database, which start no program; if you "
            f"would start it yourself, set {_PROGRAMS} in the environment to its command"
        )
    return ProgramModel(name.removeprefix(programs.PREFIX))


_PROGRAMS = "PXP_PROGRAMS"
"""The variable with the commands that files and databases may name, separated by commas."""


def _check_library(facts: ModelFacts) -> None:
    """Raise `UsageError` where the library that speaks to the server is not installed."""
    if facts.name.kind == "openai":
        require_extra("openai", str(facts.name), {"openai": "the library openai"})


def _key(facts: ModelFacts) -> Key | None:
    """The key for a server, or None where it takes none; `UsageError` where it is missing."""
    variable = facts.server.key
    if not variable:
        return None
    key = find_key(variable)
    if key is None:
        raise UsageError(
            f"{facts.name} requires a key: set {variable} in the environment, or in a .env file in "
            f"this folder. Without a key, the agents of DRUG and RAD run offline (name no model), "
            f"a network takes a script (script:FILE), and a recording can be replayed"
        )
    return key


class Serving:
    """The models of one run, which share its limits, its budget and its cache.

    An asynchronous context manager: leave it in the loop that it was used in. `log` records every
    call, and `ledger` each attempt before it is sent; `spent` is what the run has spent before it
    was resumed, and `known` what was replied then: a reply whose message was not stored is not paid
    for again.
    `on_wait` is told when a server keeps it waiting. `transport` replaces the network, and `clock`
    and `sleep` the time, for tests.
    """

    def __init__(
        self,
        settings: Settings = Settings(),
        log: CallLog | None = None,
        *,
        ledger: Ledger | None = None,
        spent: Spending = NOTHING_SPENT,
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
        self.budget = Budget(settings.dollars, settings.calls, spent=spent, ledger=ledger)
        self.gathering = BatchMembers()
        self._log = log
        self._transport = transport
        self._table = catalogue(settings.catalogue)
        self._cache = CallCache(settings.replay or settings.cache, writes=settings.replay is None)
        for asked, reply in known:
            self._cache.keep(asked, reply)
        self._limits: dict[str, Limits] = {}
        self._models: dict[str, LanguageModel] = {}
        self._clients: list[AnthropicMessages | OpenAIChat | ProgramModel] = []
        self._queues: list[BatchQueue] = []

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
        for queue in self._queues:
            await queue.aclose()
        for client in self._clients:
            await client.aclose()
        self._cache.close()
        await asyncio.sleep(0)

    def session(self) -> AbstractContextManager[None]:
        """While a session is open, batches wait for its next request."""
        return self.gathering.session()

    def model(self, name: str) -> LanguageModel:
        """The model `name`; the same one each time. Raises what `check_model` does.

        The name of a script's file, `script:FILE`, opens it anew: what it has replied counts in it.
        A program, `program:COMMAND`, runs until these models are closed.
        """
        if name in self._models:
            return self._models[name]
        local = _local(name, self.settings)
        if local is None:
            self._models[name] = self._opened(name)
            return self._models[name]
        model = local if self._log is None else layered(local, recorded(local.name, self._log))
        if isinstance(local, ProgramModel):
            self._clients.append(local)
            self._models[name] = model
        return model

    def _opened(self, name: str) -> LanguageModel:
        facts = self._table.facts(name)
        if self.settings.replay is not None:
            model = replayed(facts, self._cache)
        else:
            patience = RetryPolicy(self.settings.attempts)
            model = layered(
                self._live(facts),
                capped(self.budget, facts),
                retried(patience, sleep=self._sleep, on_wait=self._on_wait),
                cached(str(facts.name), self._cache),
            )
        outer = [traced(facts.name)]
        if self._log is not None:
            outer.append(recorded(str(facts.name), self._log, facts.price))
        return layered(model, *outer)

    def _live(self, facts: ModelFacts) -> LanguageModel:
        settings = self.settings
        check_model(str(facts.name), settings=settings)
        kind = AnthropicMessages if facts.name.kind == "anthropic" else OpenAIChat
        client = kind(
            facts,
            _key(facts),
            timeout=settings.timeout,
            silence=settings.silence,
            transport=self._transport,
        )
        self._clients.append(client)
        if settings.batches and isinstance(client, AnthropicMessages):
            queue = BatchQueue(client.batch, self.gathering)
            self._queues.append(queue)
            return LayeredModel(client.name, client.capabilities, queue.reply)
        limits = self._limits.setdefault(
            facts.name.url,
            Limits(
                settings.requests, settings.tokens, settings.in_flight, self._clock, self._sleep
            ),
        )
        return layered(client, limited(limits))


def open_model(
    name: str, settings: Settings = Settings(), log: CallLog | None = None
) -> LanguageModel:
    """The model `name` by itself, for a script; a run has a `Serving`. Raises what `check_model`
    does.
    """
    return Serving(settings, log).model(name)


@asynccontextmanager
async def open_models(
    settings: Settings | None = None,
    on_wait: Callable[[str], None] = lambda _why: None,
    log: CallLog | None = None,
    ledger: Ledger | None = None,
    spent: Spending = NOTHING_SPENT,
    known: Iterable[tuple[Asked, Reply]] = (),
) -> AsyncIterator[Callable[[str], LanguageModel]]:
    """Opens models by name, `script:FILE` and `program:COMMAND` too; all share limits and caps.

    `log` records every call, `ledger` each attempt; `spent` and `known` are what a run that is
    resumed has spent, and was replied. The function raises `UsageError` for a name
    that is none, and `DataError` for a script.
    """
    async with Serving(
        settings or Settings(), log, ledger=ledger, spent=spent, known=known, on_wait=on_wait
    ) as serving:
        yield serving.model
