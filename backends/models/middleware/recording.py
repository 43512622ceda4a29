"""The record of every call: request, purpose, reply or failure, and cost."""

from __future__ import annotations

import time
from collections.abc import Callable

from backends.models.catalogue import Price
from backends.models.failures import CallFailed
from pxp_fsm.prompting.model import Ask, Call, CallLog, Layer, Reply, Request


def recorded(
    name: str,
    log: CallLog,
    price: Price | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Layer:
    """Keeps every call of the model `name` in `log`, failures too."""

    async def reply(ask: Ask, request: Request) -> Reply:
        started = clock()
        try:
            reply = await ask(request)
        except CallFailed as error:
            cost = None if price is None else error.cost
            log.keep(Call(name, request, None, clock() - started, cost, str(error)))
            raise
        log.keep(Call(name, request, reply, clock() - started, _dollars(reply, price)))
        return reply

    return reply


def _dollars(reply: Reply, price: Price | None) -> float | None:
    if reply.served.cached:
        return 0.0
    return None if price is None else reply.served.cost
