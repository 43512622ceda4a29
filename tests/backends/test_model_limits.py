"""Limits, caps and pauses, with a clock and dice of the test's own."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.models.catalogue import (
    ModelFacts,
    Price,
    Rates,
    Server,
    catalogue,
    most_sent,
    parse_model_name,
)
from backends.models.failures import CallFailed, retry_after
from backends.models.middleware.budget import Budget, capped
from backends.models.middleware.limits import MINUTE, Limits, estimated_tokens, limited
from backends.models.middleware.retry import RetryPolicy, retried
from pxp_fsm.errors import Halted, NoAnswer, UsageError
from pxp_fsm.prompting.model import Ask, Layer, ModelRequest, Reply, Spending, Usage, layered
from tests.backends.model_servers import ANTHROPIC, Log, Pauses, Scripted, ask, run

PRICE = Price(ANTHROPIC, Rates(1.0, 5.0, 0.1, 1.25), 0.5, date(2026, 6, 30))
SERVER = Server(ANTHROPIC, frozenset())
FACTS = ModelFacts(parse_model_name(ANTHROPIC), SERVER, PRICE)
UNPRICED = ModelFacts(parse_model_name(ANTHROPIC), SERVER)
FAILED = CallFailed("no", again=True, billed=False)


@given(
    dollars=st.integers(0, 40).map(lambda cents: cents / 10_000),
    calls=st.none() | st.integers(0, 12),
    sizes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 300), st.booleans()), max_size=20),
)
def test_a_cap_is_never_passed_whatever_the_order(
    dollars: float, calls: int | None, sizes: list[tuple[int, int, bool]]
) -> None:
    """Calls that take their time, fail, are billed or not, and cost up to what they may."""
    budget = Budget(dollars, calls)
    billed = 0.0
    made = stopped = 0

    async def call(steps: int, received: int, fails: bool) -> None:
        nonlocal billed, made, stopped
        request = ask(max_tokens=300)

        def answer(_request: ModelRequest) -> Reply:
            nonlocal billed, made
            made += 1
            if fails:
                billed += PRICE.worst(request, SERVER) if received % 2 else 0.0
                raise CallFailed("cut", again=False, billed=bool(received % 2))
            usage = Usage(most_sent(request, SERVER) - steps, received)
            billed += PRICE.of(usage)
            return Reply("x" if received else "", usage=usage)

        for _ in range(steps):
            await asyncio.sleep(0)
        try:
            await layered(Scripted(answer), capped(budget, FACTS)).reply(request)
        except Halted:
            stopped += 1
        except NoAnswer:
            pass

    async def all_of_them() -> None:
        await asyncio.gather(*(call(*size) for size in sizes))

    run(all_of_them())
    assert billed <= dollars + 1e-9
    assert budget.spent <= dollars
    assert budget.spent == pytest.approx(billed, abs=1e-9)
    assert made == budget.made == len(sizes) - stopped
    assert calls is None or made <= calls


def test_a_call_without_room_waits_for_those_under_way_and_then_the_run_stops() -> None:
    request = ask(max_tokens=300)
    worst = PRICE.worst(request, SERVER)
    budget = Budget(worst * 1.5)
    model = layered(Scripted(lambda _: Reply("x", usage=Usage(10, 10))), capped(budget, FACTS))

    async def many() -> list[Reply | BaseException]:
        return await asyncio.gather(
            *(model.reply(request) for _ in range(200)), return_exceptions=True
        )

    replies = run(many())
    halted = [one for one in replies if isinstance(one, Halted)]
    fitting = int((worst * 1.5 - worst) / PRICE.of(Usage(10, 10))) + 1
    assert len(replies) - len(halted) == fitting
    assert "resume the run with a higher one" in str(halted[0])


def test_what_was_spent_before_a_resume_counts() -> None:
    budget = Budget(1.0, 5, spent=Spending(4, 1.0))
    model = layered(Scripted(lambda _: Reply("x")), capped(budget, FACTS))
    with pytest.raises(Halted, match=r"\$1\.0000 are spent"):
        run(model.reply(ask()))
    model = layered(
        Scripted(lambda _: Reply("x")), capped(Budget(calls=4, spent=Spending(4)), UNPRICED)
    )
    with pytest.raises(Halted, match="cap of 4 calls"):
        run(model.reply(ask()))


def test_money_is_not_capped_where_the_price_is_not_known() -> None:
    with pytest.raises(UsageError, match="is unknown"):
        layered(Scripted(lambda _: Reply("x")), capped(Budget(1.0), UNPRICED))


def test_a_cancelled_call_counts_as_billed() -> None:
    budget = Budget(1.0)
    request = ask()

    async def cancelled() -> None:
        never = asyncio.Event()

        class Slow(Scripted):
            async def reply(self, request: ModelRequest) -> Reply:
                await never.wait()
                raise AssertionError

        call = asyncio.ensure_future(
            layered(Slow(lambda _: Reply("")), capped(budget, FACTS)).reply(request)
        )
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    run(cancelled())
    assert budget.spent == pytest.approx(PRICE.worst(request, SERVER))


@pytest.mark.parametrize(("dollars", "calls"), [(-1.0, None), (float("nan"), None), (None, -1)])
def test_a_cap_is_a_number_from_0(dollars: float | None, calls: int | None) -> None:
    with pytest.raises(UsageError, match="a cap on"):
        Budget(dollars, calls)


@given(
    requests=st.none() | st.integers(1, 5),
    tokens=st.none() | st.integers(150, 1000),
    in_flight=st.none() | st.integers(1, 4),
    calls=st.lists(
        st.tuples(st.integers(1, 400), st.floats(0, 90), st.sampled_from([0.0, 0.0, 0.0, 30.0])),
        max_size=15,
    ),
)
def test_no_minute_holds_more_than_the_limits(
    requests: int | None,
    tokens: int | None,
    in_flight: int | None,
    calls: list[tuple[int, float, float]],
) -> None:
    pauses = Pauses()
    limits = Limits(requests, tokens, in_flight, clock=pauses, sleep=pauses.sleep)
    let_through: list[tuple[float, int]] = []
    under_way = most = 0
    held: list[tuple[float, float]] = []

    class Busy(Scripted):
        async def reply(self, request: ModelRequest) -> Reply:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            index = int(request.session)
            let_through.append((pauses.now, estimated_tokens(request)))
            await pauses.sleep(calls[index][1])
            under_way -= 1
            if calls[index][2]:
                held.append((pauses.now, calls[index][2]))
                raise CallFailed("busy", again=True, billed=False, wait=calls[index][2])
            return Reply("x")

    model = layered(Busy(lambda _: Reply("")), limited(limits))

    async def all_of_them() -> None:
        await asyncio.gather(
            *(
                model.reply(ask("", max_tokens=size, session=str(index)))
                for index, (size, _seconds, _wait) in enumerate(calls)
            ),
            return_exceptions=True,
        )

    run(all_of_them())
    assert len(let_through) == len(calls)
    assert in_flight is None or most <= in_flight
    for start, _ in let_through:
        window = [size for at, size in let_through if start <= at < start + MINUTE]
        assert requests is None or len(window) <= requests
        counted = sum(min(size, tokens or size) for size in window)
        assert tokens is None or counted <= tokens
    for asked, wait in held:
        assert not [at for at, _ in let_through if asked < at < asked + wait]


def test_a_short_reply_makes_room_before_its_minute_is_over() -> None:
    pauses = Pauses()
    limits = Limits(tokens=130, clock=pauses, sleep=pauses.sleep)
    model = layered(Scripted(lambda _: Reply("x", usage=Usage(5, 5))), limited(limits))

    async def three() -> None:
        for _ in range(3):
            await model.reply(ask("", max_tokens=100))

    run(three())
    assert pauses.now == 0.0


@pytest.mark.parametrize("name", ["requests", "tokens", "in_flight"])
def test_a_limit_is_1_at_least(name: str) -> None:
    none: dict[str, Any] = {name: 0}
    with pytest.raises(UsageError, match="at least 1"):
        Limits(**none)


@given(st.integers(1, 2000), st.none() | st.floats(0, 1e6), st.floats(0, 1))
def test_a_pause_is_never_shorter_than_asked_for_and_never_grows_without_bound(
    failed: int, wait: float | None, draw: float
) -> None:
    pause = RetryPolicy().pause(failed, wait, draw)
    assert pause >= (wait or 0.0)
    assert pause <= max(60.0, wait or 0.0)
    assert pause >= min(2.0 ** min(failed - 1, 10), 60.0) / 2


def test_a_server_that_asks_to_wait_for_hours_stops_the_run() -> None:
    def busy(_request: ModelRequest) -> Reply:
        raise CallFailed("busy", again=True, billed=False, wait=86400.0)

    with pytest.raises(Halted, match="wait 86400 s"):
        run(layered(Scripted(busy), retried(sleep=Pauses().sleep)).reply(ask()))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_what_retry_after_says(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(httpx2.Headers(headers)) == seconds


def test_the_worst_case_of_a_request_covers_every_byte() -> None:
    text = "é" * 1000
    assert most_sent(ask(text), SERVER) >= 2000
    named = parse_model_name("anthropic:claude-haiku-4-5")
    price = catalogue().price(named)
    assert price is not None
    assert price.of(Usage(1_000_000, 1_000_000)) == pytest.approx(6.0)
    assert price.of(Usage(0, 0, 1_000_000, 1_000_000)) == pytest.approx(1.35)
    assert price.of(Usage(1_000_000), batched=True) == pytest.approx(0.5)
    assert Log().calls == []


def test_a_long_pause_is_told_and_a_short_one_is_not() -> None:
    told: list[str] = []
    waits = iter([None, 30.0, None])

    def busy(_request: ModelRequest) -> Reply:
        for wait in waits:
            raise CallFailed("HTTP 529: overloaded", again=True, billed=False, wait=wait)
        return Reply("fine")

    pauses = Pauses()
    model = layered(
        Scripted(busy),
        retried(RetryPolicy(8), sleep=pauses.sleep, draw=lambda: 0.0, on_wait=told.append),
    )
    assert run(model.reply(ask())).served.retries == 3
    assert pauses.slept == [0.5, 30.0, 2.0]
    assert told == ["waiting 30 s: HTTP 529: overloaded (attempt 2 of 8)"]


def test_the_first_layer_is_next_to_the_model() -> None:
    passed: list[str] = []

    def noting(name: str) -> Layer:
        async def reply(ask: Ask, request: ModelRequest) -> Reply:
            passed.append(name)
            reply = await ask(request)
            passed.append(name)
            return reply

        return reply

    inner = Scripted(lambda _: Reply("x"))
    model = layered(layered(inner, noting("a"), noting("b")), noting("c"))
    assert run(model.reply(ask())).text == "x"
    assert passed == ["c", "b", "a", "a", "b", "c"]
    assert (model.name, model.capabilities) == (inner.name, inner.capabilities)
