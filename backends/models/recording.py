"""Every call recorded: what was asked of whom, for what, the reply or the failure, and its cost."""

from __future__ import annotations

import time
from collections.abc import Callable

from backends.models.catalogue import Price
from backends.models.failures import CallFailed
from pxp_fsm.models import Call, CallLog, Capability, Model, Reply, Request


class Recorded:
    """`model`, whose every call is kept in `log`, failures too."""

    def __init__(
        self,
        model: Model,
        log: CallLog,
        price: Price | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model = model
        self._log = log
        self._price = price
        self._clock = clock

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._model.capabilities

    async def reply(self, request: Request) -> Reply:
        started = self._clock()
        try:
            reply = await self._model.reply(request)
        except CallFailed as error:
            seconds = self._clock() - started
            cost = None if self._price is None else error.cost
            self._log.keep(Call(self.name, request, None, seconds, cost, str(error)))
            raise
        self._log.keep(
            Call(self.name, request, reply, self._clock() - started, self._dollars(reply))
        )
        return reply

    def _dollars(self, reply: Reply) -> float | None:
        if reply.served.cached:
            return 0.0
        if self._price is None:
            return None
        return self._price.of(reply.usage, batched=reply.served.batched) + reply.served.lost
