"""Records of every call: in the log, with its texts and cost; as an OpenTelemetry span, without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from backends.models.catalogue import ModelName, Price
from backends.models.failures import CallFailed
from pxp_fsm import __version__
from pxp_fsm.prompting.model import Ask, Call, CallLog, Layer, ModelRequest, Reply

if TYPE_CHECKING:
    from opentelemetry.trace import Span

SCOPE = "pxp_fsm"


def recorded(
    name: str,
    log: CallLog,
    price: Price | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Layer:
    """Keeps every call of the model `name` in `log`: its purpose, and its reply or failure."""

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
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


def traced(name: ModelName) -> Layer:
    """Puts a span around each call, by OpenTelemetry's conventions for generative models.

    Nothing happens where the `telemetry` extra is not installed, or the program has set up no
    tracer.
    """

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
        with _span(name, request) as span:
            reply = await ask(request)
            if span is not None and span.is_recording():
                span.set_attributes(_of_reply(reply))
            return reply

    return reply


@contextmanager
def _span(name: ModelName, request: ModelRequest) -> Iterator[Span | None]:
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        yield None
        return
    tracer = trace.get_tracer(SCOPE, __version__)
    if isinstance(tracer, trace.ProxyTracer):  # it stands for one that was not set up
        yield None
        return
    with tracer.start_as_current_span(
        f"chat {name.model}",
        kind=trace.SpanKind.CLIENT,
        attributes=_of_request(name, request),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(trace.Status(trace.StatusCode.ERROR))
            raise


def _of_request(name: ModelName, request: ModelRequest) -> dict[str, str | int | float]:
    server = urlsplit(name.url)
    attributes: dict[str, str | int | float | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": name.kind,
        "gen_ai.request.model": name.model,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.seed": request.seed,
        "gen_ai.output.type": "text" if request.schema is None else "json",
        "gen_ai.conversation.id": request.session or None,
        "server.address": server.hostname,
        "server.port": server.port,
        "pxp.purpose": request.purpose,
    }
    return {key: value for key, value in attributes.items() if value is not None}


def _of_reply(reply: Reply) -> dict[str, str | int | bool | list[str]]:
    used, served = reply.usage, reply.served
    return {
        "gen_ai.response.finish_reasons": [str(reply.stop)],
        "gen_ai.usage.input_tokens": used.sent + used.cache_read + used.cache_written,
        "gen_ai.usage.output_tokens": used.received,
        "gen_ai.usage.cache_read.input_tokens": used.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": used.cache_written,
        "pxp.request_id": served.request_id,
        "pxp.retries": served.retries,
        "pxp.batched": served.batched,
        "pxp.cached": served.cached,
    }
