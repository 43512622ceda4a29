"""Both protocols over real connections, to a server in another thread."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import suppress

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from backends.models.failures import CallFailed
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import Halted
from pxp_fsm.prompting.model import ModelRequest, Reply
from tests.backends.model_servers import UNTHINKING, Pauses, ask, events, run, said
from tests.waiting import PATIENCE

KINDS = ("anthropic", "openai")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def name(kind: str, httpserver: HTTPServer) -> str:
    url = httpserver.url_for("/v1" if kind == "openai" else "").rstrip("/")
    return f"{kind}:x@{url}"


def path(kind: str) -> str:
    return "/v1/messages" if kind == "anthropic" else "/v1/chat/completions"


async def asking(name: str, settings: Settings, *requests: ModelRequest) -> list[Reply]:
    pauses = Pauses()
    async with Serving(settings, clock=pauses, sleep=pauses.sleep) as serving:
        model = serving.model(name)
        return list(await asyncio.gather(*map(model.reply, requests)))


def test_plain_then_429_then_html_then_plain(kind: str, name: str, httpserver: HTTPServer) -> None:
    expecting = httpserver.expect_ordered_request
    expecting(path(kind), method="POST").respond_with_json(said(kind, "one"))
    expecting(path(kind)).respond_with_json({}, status=429, headers={"retry-after": "1"})
    expecting(path(kind)).respond_with_data("<html>busy", content_type="text/html")
    expecting(path(kind)).respond_with_json(said(kind, "two"))

    async def both() -> list[str]:
        first = await asking(name, Settings(catalogue=UNTHINKING), ask("1"))
        second = await asking(name, Settings(catalogue=UNTHINKING), ask("2"))
        return [reply.text for reply in (*first, *second)]

    assert run(both()) == ["one", "two"]
    httpserver.check_assertions()


def test_a_body_that_is_shorter_than_promised(kind: str, name: str, httpserver: HTTPServer) -> None:
    body = json.dumps(said(kind)).encode()

    def cut(_request: Asked) -> Response:
        promised = {"content-length": str(len(body) + 100), "content-type": "application/json"}
        return Response(iter([body]), headers=promised, direct_passthrough=True)

    httpserver.expect_oneshot_request(path(kind)).respond_with_handler(cut)
    httpserver.expect_request(path(kind)).respond_with_json(said(kind))
    assert run(asking(name, Settings(catalogue=UNTHINKING), ask()))[0].served.retries == 1


def test_a_stream_that_is_cut_politely(kind: str, name: str, httpserver: HTTPServer) -> None:
    stream = "text/event-stream"
    cut = httpserver.expect_oneshot_request(path(kind))
    cut.respond_with_data(events(kind, cut=True), content_type=stream)
    httpserver.expect_request(path(kind)).respond_with_data(events(kind), content_type=stream)
    reply = run(asking(name, Settings(catalogue=UNTHINKING), ask(max_tokens=9000)))[0]
    assert (reply.text, reply.served.retries) == ("fine", 1)


def test_a_server_that_says_nothing_is_late(kind: str, name: str, httpserver: HTTPServer) -> None:
    silent = threading.Event()

    def wait(_request: Asked) -> Response:
        silent.wait(PATIENCE)
        return Response()

    httpserver.expect_request(path(kind)).respond_with_handler(wait)
    try:
        with pytest.raises(CallFailed, match="did not answer in time"):
            run(asking(name, Settings(timeout=0.2, attempts=1, catalogue=UNTHINKING), ask()))
    finally:
        silent.set()


def test_no_more_are_in_flight_than_may_be(kind: str) -> None:
    lock, both = threading.Lock(), threading.Event()
    under_way = most = 0

    def count(_request: Asked) -> Response:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        if under_way == 2:
            both.set()
        assert both.wait(PATIENCE)
        time.sleep(0.02)  # a third would come now
        with lock:
            under_way -= 1
        return Response(json.dumps(said(kind)), content_type="application/json")

    with HTTPServer(threaded=True) as server:
        server.expect_request(path(kind)).respond_with_handler(count)
        name = f"{kind}:x@{server.url_for('/v1' if kind == 'openai' else '').rstrip('/')}"
        requests = [ask(str(number)) for number in range(9)]
        assert len(run(asking(name, Settings(in_flight=2, catalogue=UNTHINKING), *requests))) == 9
    assert most == 2


def test_a_server_that_is_not_there_stops_the_run(kind: str) -> None:
    with pytest.raises(Halted, match="check the server"):
        run(asking(f"{kind}:x@http://127.0.0.1:9/v1", Settings(attempts=2), ask()))


@pytest.mark.parametrize("proxied", [False, True])
def test_a_connection_is_kept_for_each_call_under_way_and_no_more(
    kind: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the environment names a proxy for everything, which is then what is asked."""
    opened: list[bytes] = []
    under_way, together = 0, asyncio.Event()
    body = json.dumps(said(kind)).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way
        place = len(opened)
        opened.append(b"")
        with suppress(asyncio.IncompleteReadError):
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                opened[place] = asked.split(b"\r\n")[0]
                lengths = (line for line in asked.lower().split(b"\r\n") if b"-length:" in line)
                await reader.readexactly(int(next(lengths).partition(b":")[2]))
                under_way += 1
                if under_way == 4:
                    together.set()
                await together.wait()
                await asyncio.sleep(0.02)  # a fifth would come now
                under_way -= 1
                writer.write(head % len(body) + body)
        writer.close()

    async def asked() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        host = "127.0.0.1" if not proxied else "far.invalid"
        if proxied:
            monkeypatch.setenv("all_proxy", f"http://127.0.0.1:{port}")
        async with server, Serving(Settings(in_flight=4, catalogue=UNTHINKING)) as serving:
            model = serving.model(f"{kind}:x@http://{host}:{port}/v1")
            together.set()
            for number in range(3):
                assert (await model.reply(ask(f"first {number}"))).text
            assert len(opened) == 1
            together.clear()
            await asyncio.gather(*(model.reply(ask(str(number))) for number in range(9)))
            assert len(opened) == 4

    run(asked())
    assert all((b"http://far.invalid" in first) == proxied for first in opened)
