"""What a server may do to a session: nothing that is too deep, too large, too long or elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import httpx2
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from backends.models.clients.keys import Key, redacted
from backends.models.failures import CallFailed
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import Halted
from pxp_fsm.prompting.model import ModelRequest, Reply
from tests.backends.model_servers import (
    BOTH,
    KEY,
    UNTHINKING,
    Handler,
    Log,
    Pauses,
    Server,
    ask,
    events,
    run,
    said,
)

DEEP = b'{"a":' * 60_000 + b"1" + b"}" * 60_000


def body(content: bytes, **headers: str) -> Handler:
    return lambda _request: httpx2.Response(
        200,
        content=content,
        headers={
            "content-type": "application/json",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        },
    )


class Endless(httpx2.AsyncByteStream):
    """A body without an end; `given` counts what was taken of it."""

    given = 0

    async def __aiter__(self) -> Any:
        while True:
            Endless.given += 2**20
            yield b" " * 2**20


def endless(_request: httpx2.Request) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.Response(200, stream=Endless(), headers=headers)


def usage(number: int) -> dict[str, Handler]:
    one = {**said("anthropic"), "usage": {"input_tokens": number, "output_tokens": 5}}
    other = {**said("openai"), "usage": {"prompt_tokens": number, "completion_tokens": 5}}
    return {"anthropic": body(json.dumps(one).encode()), "openai": body(json.dumps(other).encode())}


@cache
def bomb(name: str) -> Handler:
    packed = gzip.compress(json.dumps(said(name, " " * 50_000_000)).encode())
    return body(packed, content_encoding="gzip")


ATTACKS = ("deep", "endless", "promised", "bomb", "tokens", "digits")


def attack(which: str, name: str) -> Handler:
    return {
        "deep": body(DEEP),
        "endless": endless,
        "promised": body(b"{}", content_length="99999999999999999999"),
        "bomb": bomb(name) if which == "bomb" else endless,
        "tokens": usage(2**31)[name.partition(":")[0]],
        "digits": body(b'{"usage": ' + b"9" * 5000 + b"}"),
    }[which]


async def asking(
    name: str, handler: Handler, log: Log, request: ModelRequest, settings: Settings
) -> Reply:
    transport = httpx2.MockTransport(handler)
    pauses = Pauses()
    async with Serving(settings, log, transport=transport, sleep=pauses.sleep) as serving:
        return await serving.model(name).reply(request)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


WAYS = list(product(ATTACKS, BOTH, (100, 9000)))
SOON = [way for place, way in enumerate(WAYS) if place % 4 == 3]
"""Each attack on each vendor's client, on one whole and the other streamed."""


@pytest.mark.parametrize(
    ("which", "name", "tokens"),
    [way if way in SOON else pytest.param(*way, marks=pytest.mark.deep) for way in WAYS],
)
def test_a_reply_that_is_an_attack_is_asked_for_again_and_recorded(
    which: str, name: str, tokens: int
) -> None:
    Endless.given = 0
    log = Log()
    request = ask(max_tokens=tokens)
    handler = attack(which, name)
    with pytest.raises(CallFailed) as failed:
        run(asking(name, handler, log, request, Settings(attempts=2)))
    assert "tried 2 times" in str(failed.value)
    (call,) = log.calls
    assert call.reply is None
    assert call.failure == str(failed.value)
    assert Endless.given < 40 * 2**20


@pytest.mark.parametrize("name", BOTH)
def test_a_redirect_takes_no_prompt_elsewhere(name: str) -> None:
    server = Server(
        lambda _r: httpx2.Response(307, headers={"location": "http://elsewhere.example/v1"})
    )
    with pytest.raises(Halted, match="no prompt is sent elsewhere"):
        run(asking(name, server, Log(), ask(), Settings()))
    assert len(server.seen) == 1


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_what_the_environment_adds_is_sent_to_the_vendor_only(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway: a secret\nX-Other:also")
    monkeypatch.setenv("OPENAI_ORG_ID", "a secret")
    names = {"anthropic": "anthropic:claude-haiku-4-5", "openai": "openai:gpt-4o-mini"}
    sent: dict[bool, str] = {}
    for home in (True, False):
        server = Server(lambda _r: httpx2.Response(200, json=said(kind)))
        name = names[kind] if home else f"{kind}:x@http://localhost:1/v1"
        run(asking(name, server, Log(), ask(), Settings(catalogue=UNTHINKING)))
        sent[home] = str(server.seen[0].headers.raw)
        assert server.seen[0].headers["accept-encoding"] == "identity"
    assert "a secret" in sent[True]
    assert "a secret" not in sent[False]
    assert "also" not in sent[False]


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_byte_now_and_then_for_ever_is_not_waited_for(kind: str, httpserver: HTTPServer) -> None:
    over = threading.Event()

    def drip(_request: Asked) -> Response:
        def parts() -> Iterator[bytes]:
            while not over.is_set():
                yield b" "
                time.sleep(0.05)

        return Response(parts(), content_type="application/json")

    httpserver.expect_request("/v1/messages").respond_with_handler(drip)
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(drip)
    url = httpserver.url_for("/v1" if kind == "openai" else "").rstrip("/")

    async def asked() -> None:
        async with Serving(Settings(timeout=0.5, attempts=1, catalogue=UNTHINKING)) as serving:
            await serving.model(f"{kind}:x@{url}").reply(ask(max_tokens=1))

    try:
        with pytest.raises(CallFailed, match="did not answer in time"):
            run(asked())
    finally:
        over.set()


NOTHING = {
    "anthropic": {
        "pings": b'event: ping\ndata: {"type": "ping"}\n\n',
        "comments": b": go on\n\n",
        "empty": b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, '
        b'"delta": {"type": "text_delta", "text": ""}}\n\n',
        "bytes": b" ",
    },
    "openai": {
        "pings": b'data: {"id": "c1", "object": "chat.completion.chunk", "created": 1, '
        b'"model": "x", "choices": []}\n\n',
        "comments": b": go on\n\n",
        "empty": b'data: {"id": "c1", "object": "chat.completion.chunk", "created": 1, '
        b'"model": "x", "choices": [{"index": 0, "delta": {"content": ""}}]}\n\n',
        "bytes": b" ",
    },
}
"""What a server may send in a stream for ever, and is no token."""


class Dripping:
    """Serves the beginning of a stream, then `part` each twentieth of a second, for ever.

    `seen` counts the requests.
    """

    def __init__(self, httpserver: HTTPServer, kind: str, part: bytes) -> None:
        self.seen = 0
        self._over = threading.Event()
        self._begins, self._part = events(kind, "fi", cut=True), part
        for path in ("/v1/messages", "/v1/chat/completions"):
            httpserver.expect_request(path).respond_with_handler(self._drip)
        url = httpserver.url_for("/v1" if kind == "openai" else "").rstrip("/")
        self.name = f"{kind}:served@{url}"

    def __enter__(self) -> Dripping:
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()

    def _drip(self, _request: Asked) -> Response:
        self.seen += 1

        def parts() -> Iterator[bytes]:
            yield self._begins
            while not self._over.wait(0.05):
                yield self._part

        return Response(parts(), content_type="text/event-stream")


@pytest.mark.parametrize("sends", ["pings", "comments", "empty", "bytes"])
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_stream_that_goes_on_without_a_token_is_given_up(
    kind: str, sends: str, httpserver: HTTPServer
) -> None:
    """It would end with the longest reply only, which of a model that may think is half an hour."""

    async def asked(name: str) -> None:
        settings = Settings(silence=0.4, timeout=20, attempts=1)
        async with Serving(settings) as serving:
            await serving.model(name).reply(ask(max_tokens=9000))

    with (
        Dripping(httpserver, kind, NOTHING[kind][sends]) as server,
        pytest.raises(CallFailed, match=r"brought no further token in 0\.4 s") as failed,
    ):
        run(asked(server.name))
    assert failed.value.billed


def test_a_silent_stream_is_counted_and_tried_three_times_in_all(httpserver: HTTPServer) -> None:
    pauses = Pauses()

    async def asked(name: str) -> int:
        settings = Settings(silence=0.2, timeout=20, calls=50)
        async with Serving(settings, clock=pauses, sleep=pauses.sleep) as serving:
            with pytest.raises(Halted, match=r"no further token in 0\.2 s; tried 3 times"):
                await serving.model(name).reply(ask())
            return serving.budget.made

    with Dripping(httpserver, "anthropic", NOTHING["anthropic"]["pings"]) as server:
        assert run(asked(server.name)) == server.seen == 3


class Slow(httpx2.AsyncByteStream):
    """A stream whose pieces come 50 seconds after one another, as the clock of the loop has it."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> Any:
        loop, passed = asyncio.get_running_loop(), 0.0
        real = loop.time
        loop.time = lambda: real() + passed  # type: ignore[method-assign] # nobody waits
        for piece in self._pieces:
            passed += 50.0
            await asyncio.sleep(0)
            yield piece


@pytest.mark.parametrize("piece", ["text", "thinking"])
def test_a_slow_stream_that_says_something_is_waited_for(piece: str) -> None:
    """Each piece comes before the silence is too long; all of them take longer than it."""
    more = {"type": f"{piece}_delta", piece: "n"}
    event = {"type": "content_block_delta", "index": 0, "delta": more}
    delta = f"event: content_block_delta\ndata: {json.dumps(event)}\n\n".encode()
    end = events("anthropic", "").partition(b"event: content_block_stop")
    stream = Slow(events("anthropic", "fi", cut=True), *[delta] * 20, b"".join(end[1:]))
    headers = {"content-type": "text/event-stream"}
    handler = lambda _request: httpx2.Response(200, headers=headers, stream=stream)  # noqa: E731
    settings = Settings(silence=60, timeout=5_000, attempts=1)
    reply = run(asking("anthropic:served@http://localhost:1", handler, Log(), ask(), settings))
    assert reply.text == "fi" + ("n" * 20 if piece == "text" else "")


@pytest.mark.parametrize(
    "text",
    [
        f"refused {KEY}!",
        f"refused {KEY[:12]}",
        f"refused {KEY[-9:]} and {KEY[2:14]}",
        f"refused sk-n*********{KEY[-4:]}.",
        f"refused {KEY[:6]}…{KEY[-4:]}",
        "refused " + KEY.replace("-", "%2D"),
        "refused " + "".join(f"%{ord(c):02x}" for c in KEY),
    ],
)
def test_a_key_that_is_echoed_is_not_shown(text: str) -> None:
    found = redacted(text, Key(KEY, "MY_KEY"))
    assert "<the key in MY_KEY>" in found
    assert found.startswith("refused ")
    assert not any(KEY[i : i + 8] in found for i in range(len(KEY) - 7))
    assert "4711" not in found


def test_what_is_no_key_stays() -> None:
    text = "HTTP 400: 50% of sk- models are 100%25 fine... never mind"
    assert redacted(text, Key(KEY, "MY_KEY")) == text
    assert redacted(KEY, None) == KEY


@pytest.mark.parametrize("name", BOTH)
def test_a_key_in_a_header_of_a_reply_is_not_stored(name: str) -> None:
    headers = {"request-id": f"req {KEY}", "x-request-id": f"req {KEY}"}
    log = Log()
    server = Server(lambda _r: httpx2.Response(200, json=said(name), headers=headers))
    reply = run(asking(name, server, log, ask(), Settings()))
    assert KEY not in reply.served.request_id
    assert reply.served.request_id.startswith("req <the key in ")
