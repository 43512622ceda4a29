"""Batches: the requests of all open sessions that are sent as one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from backends.models.failures import CallFailed
from backends.models.middleware.batches import BatchMembers, BatchQueue
from backends.models.middleware.retry import RetryPolicy, retried
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.prompting.model import (
    LayeredModel,
    ModelRequest,
    Reply,
    layered,
)
from tests.backends.model_servers import (
    ANTHROPIC,
    Log,
    Scripted,
    ask,
    run,
    said,
)

pytestmark = pytest.mark.usefixtures("model_keys")


class Batches(Scripted):
    """A batcher that notes how many requests came at a time."""

    def __init__(self, outcomes: Sequence[str] = ()) -> None:
        super().__init__(lambda request: Reply(request.turns[0].text))
        self.sizes: list[int] = []
        self._outcomes = iter(outcomes)

    async def batch(self, requests: Sequence[ModelRequest]) -> Sequence[Reply | CallFailed]:
        self.sizes.append(len(requests))
        await asyncio.sleep(0)
        outcome = next(self._outcomes, "")
        if outcome == "whole":
            raise CallFailed("down", again=True, billed=False)
        replies: list[Reply | CallFailed] = [Reply(one.turns[0].text) for one in requests]
        if outcome == "one":
            replies[0] = CallFailed("expired", again=True, billed=False)
        return replies


def test_each_round_of_all_open_sessions_is_one_batch() -> None:
    """Sessions of 3, 2 and 1 rounds: batches of 3, then 2, then 1, without waiting for silence."""
    inner, gathering = Batches(), BatchMembers()
    model = BatchQueue(inner.batch, gathering, quiet=60.0)

    async def session(rounds: int) -> list[str]:
        with gathering.session():
            return [(await model.reply(ask(f"{rounds}/{number}"))).text for number in range(rounds)]

    async def all_of_them() -> list[list[str]]:
        return list(await asyncio.gather(*map(session, (3, 2, 1))))

    assert run(all_of_them()) == [["3/0", "3/1", "3/2"], ["2/0", "2/1"], ["1/0"]]
    assert inner.sizes == [3, 2, 1]


def test_a_session_that_waits_for_something_else_holds_up_no_batch() -> None:
    inner, gathering = Batches(), BatchMembers()
    model = BatchQueue(inner.batch, gathering, quiet=0.01)

    async def two() -> str:
        with gathering.session(), gathering.session():
            return (await model.reply(ask("x"))).text

    assert run(two()) == "x"


def test_two_models_wait_for_the_same_sessions() -> None:
    gathering = BatchMembers()
    answering, judging = Batches(), Batches()
    models = [BatchQueue(inner.batch, gathering, quiet=60.0) for inner in (answering, judging)]

    async def session(model: BatchQueue) -> None:
        with gathering.session():
            await model.reply(ask())

    async def both() -> None:
        await asyncio.gather(*map(session, models))

    run(both())
    assert (answering.sizes, judging.sizes) == ([1], [1])


def test_what_fails_in_a_batch_is_asked_again_in_the_next() -> None:
    inner, gathering = Batches(["whole", "one"]), BatchMembers()

    async def instantly(_seconds: float) -> None:
        await asyncio.sleep(0)

    queue = BatchQueue(inner.batch, gathering, quiet=0.01)
    model = layered(
        LayeredModel("batches", frozenset(), queue.reply), retried(RetryPolicy(), sleep=instantly)
    )

    async def session(text: str) -> Reply:
        with gathering.session():
            return await model.reply(ask(text))

    async def both() -> list[Reply]:
        return list(await asyncio.gather(session("a"), session("b")))

    replies = run(both())
    assert [(reply.text, reply.served.retries) for reply in replies] == [("a", 2), ("b", 1)]
    assert inner.sizes == [2, 2, 1]


def test_a_run_in_batches_sends_nothing_else() -> None:
    """Two sessions of two rounds: two batches, at half the price."""
    sent: list[list[dict[str, Any]]] = []

    def batches(request: httpx2.Request) -> httpx2.Response:
        url = "https://api.anthropic.com/v1/messages/batches"
        if request.method == "POST":
            assert str(request.url) == url
            sent.append(json.loads(request.content)["requests"])
        if request.url.path.endswith("/results"):
            body = said(ANTHROPIC)
            results = [
                {"custom_id": one["custom_id"], "result": {"type": "succeeded", "message": body}}
                for one in sent[-1]
            ]
            return httpx2.Response(200, content="\n".join(map(json.dumps, results)))
        batch = {
            "id": "b1",
            "type": "message_batch",
            "processing_status": "ended",
            "results_url": f"{url}/b1/results",
        }
        return httpx2.Response(200, json=batch)

    log = Log()

    async def both() -> list[str]:
        transport = httpx2.MockTransport(batches)
        async with Serving(Settings(batches=True), log, transport=transport) as serving:
            model = serving.model(ANTHROPIC)

            async def session(name: str) -> str:
                with serving.session():
                    first = await model.reply(ask(f"{name} 1"))
                    second = await model.reply(ask(f"{name} 2"))
                return first.text + second.text

            return list(await asyncio.gather(session("a"), session("b")))

    assert run(both()) == ["finefine", "finefine"]
    assert [len(requests) for requests in sent] == [2, 2]
    assert "extra_body" not in str(sent)
    assert {call.dollars for call in log.calls} == {(20 * 1.0 + 5 * 5.0) / 1e6 / 2}
    assert all(call.reply is not None and call.reply.served.batched for call in log.calls)
