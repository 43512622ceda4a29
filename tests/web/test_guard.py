"""The guard, before each set of pages alike: who comes in, from where, with how much, in time."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocketDisconnect

from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.web import guard, serving
from pxp_fsm.web.assistants.server import PATH, assistant_pages
from pxp_fsm.web.guard import Access, Door, RequestBudget, RequestGuard
from pxp_fsm.web.links import Links
from pxp_fsm.web.pages import PageSet, application
from pxp_fsm.web.serving import listen, server_of
from tests.waiting import PATIENCE, until
from tests.web.assistants import PEX, hosted
from tests.web.experts import BASE, served
from tests.web.explorers import INTERACT, NoChecks, client_of

HOST = BASE.removeprefix("http://")
PAGE = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@dataclass(frozen=True)
class Guarded:
    """An application with a token: an address that is read, and one that changes something."""

    running: TestClient
    token: str
    cookie: str
    changes: str
    reads: str = ""
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    page: bool = True

    def client(self, base: str = BASE) -> TestClient:
        """A client of it without the token."""
        found = TestClient(
            self.running.app, base_url=base, headers=dict(self.headers), follow_redirects=False
        )
        found.portal = self.running.portal  # the loop in which it is served
        return found


@contextmanager
def _explorer(_folder: Path) -> Iterator[Guarded]:
    with client_of(INTERACT) as client:
        body: Any = {"choices": []}
        yield Guarded(client, "secret", "pxp-8000", "/api/trace", "/api/system", body)


@contextmanager
def _experts(folder: Path) -> Iterator[Guarded]:
    with served(folder / "lab.sqlite", "ann") as found:
        token = found.tokens["ann"]
        yield Guarded(found.client, token, found.links.cookie, "/api/pairing", "/api/me")


@contextmanager
def _assistants(folder: Path) -> Iterator[Guarded]:
    """The tools, which have no page; they are served in a thread with a loop of their own."""
    begun, over = threading.Event(), threading.Event()
    found: list[Guarded] = []

    async def work() -> None:
        async with hosted(PEX, folder / "tools.sqlite") as system:
            scope = system.assistants.scope
            links = Links(system.board, 8000, scopes=(scope,))
            app = application(links, assistant_pages(system.toolbox, scope))
            version = {"protocolVersion": "2025-11-25", "capabilities": {}}
            params = {**version, "clientInfo": {"name": "test", "version": "1"}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
            accepts = {"accept": "application/json, text/event-stream"}
            token = links.token(scope, "machine")
            with TestClient(app, base_url=BASE) as client:
                one = Guarded(client, token, links.cookie, PATH, "", body, accepts, page=False)
                found.append(one)
                begun.set()
                await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        yield found[0]
    finally:
        over.set()
        thread.join()


@contextmanager
def _studies(folder: Path) -> Iterator[Guarded]:
    files = pytest.importorskip("pxp_fsm.plugins.studies.files")
    from tests.plugins.studies.studies import study_server

    study = files.load_study(Path("examples/studies/easylan.toml"))
    with study_server(study, folder / "people.sqlite") as found:
        token = found.links.token(study.run, found.host.conduct.join())
        yield Guarded(found.client, token, found.links.cookie, "/api/pairing", "/api/me")


@contextmanager
def _studio(folder: Path) -> Iterator[Guarded]:
    views = pytest.importorskip("pxp_fsm.plugins.easylan.studio.views")
    from tests.plugins.easylan.studios import network_file, studio

    with studio(network_file(folder)) as client:
        reads = "/api/examples?agent=Poet"
        body: Any = {"operations": []}
        yield Guarded(client, "secret", "pxp-8000", "/api/faults", reads, body)
    views.session_automaton.cache_clear()  # it was laid out nowhere here


SETS: dict[str, Callable[[Path], AbstractContextManager[Guarded]]] = {
    "explorer": _explorer,
    "experts": _experts,
    "assistants": _assistants,
    "studies": _studies,
    "studio": _studio,
}


@pytest.fixture(scope="module", params=SETS)
def there(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Guarded]:
    with guarded(request.param, tmp_path_factory.mktemp(request.param)) as found:
        yield found


@contextmanager
def guarded(name: str, folder: Path) -> Iterator[Guarded]:
    """One of the `SETS`, whose graphs are laid out nowhere and whose checks have no process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))
        patch.setattr("pxp_fsm.web.explorer.Process", NoChecks)
        with SETS[name](folder) as found:
            yield found


def sent(there: Guarded, headers: Mapping[str, str], **changed: str) -> dict[bytes, bytes]:
    """Headers in which TOKEN and COOKIE are those of `there`."""
    found = {**headers, **changed}
    for one, other in (("TOKEN", there.token), ("COOKIE", there.cookie)):
        found = {name: value.replace(one, other) for name, value in found.items()}
    return {name.encode(): value.encode() for name, value in found.items()}


BY_TOKEN = {"authorization": "Bearer TOKEN"}
BY_COOKIE = {"cookie": "COOKIE=TOKEN"}


@pytest.mark.parametrize(
    ("headers", "admitted"),
    [
        (BY_TOKEN, True),
        (BY_COOKIE | {"origin": BASE}, True),
        (BY_COOKIE | {"sec-fetch-site": "same-origin"}, True),
        (BY_TOKEN | {"host": "localhost:8000"}, True),
        ({}, False),
        ({"authorization": "Bearer xTOKEN"}, False),
        ({"authorization": "Bearer \u00e9"}, False),
        ({"authorization": "Basic TOKEN"}, False),
        ({"cookie": "xCOOKIE=TOKEN", "origin": BASE}, False),
        ({"cookie": "COOKIE=; =;;\x01", "origin": BASE}, False),
        (BY_TOKEN | {"host": "evil.example"}, False),
        (BY_TOKEN | {"host": "127.0.0.1:8001"}, False),
        (BY_TOKEN | {"origin": "http://evil.example"}, False),
        (BY_TOKEN | {"origin": "http://localhost:8000"}, False),
        (BY_TOKEN | {"origin": "null"}, False),
        (BY_COOKIE | {"origin": BASE, "sec-fetch-site": "cross-site"}, False),
        (BY_TOKEN | {"sec-fetch-site": "same-site"}, False),
        (BY_COOKIE, False),
        (BY_COOKIE | {"sec-fetch-site": "none"}, False),
        (BY_COOKIE | {"sec-fetch-site": "same-site"}, False),
        (BY_COOKIE | {"sec-fetch-site": "cross-site"} | PAGE, False),
    ],
)
def test_only_its_own_page_and_programs_change_something(
    there: Guarded, headers: dict[str, str], admitted: bool
) -> None:
    answer = there.client().post(there.changes, json=there.body, headers=sent(there, headers))
    assert answer.status_code in ((200,) if admitted else (401, 403)), answer.text
    assert there.token not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


SPOILS: tuple[dict[str, str], ...] = (
    {"authorization": "", "cookie": ""},
    {"authorization": "Bearer xTOKEN", "cookie": ""},
    {"authorization": "Basic TOKEN", "cookie": "xCOOKIE=TOKEN"},
    {"host": "evil.example"},
    {"host": "127.0.0.1:8001"},
    {"host": "127.0.0.1:8000.evil.example"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:8000.evil.example"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
)
"""Each takes the right to be there from whoever had it."""
NO_RIGHTS: tuple[dict[str, str], ...] = (
    {"x-forwarded-for": "127.0.0.1", "x-forwarded-host": "127.0.0.1:8000"},
    {"forwarded": "for=127.0.0.1;host=127.0.0.1:8000"},
    {"x-http-method-override": "GET"},
    {"referer": "http://127.0.0.1:8000/"},
    {"accept": "text/html"},
    {"upgrade": "websocket", "connection": "upgrade"},
)
"""None gives it back."""


def trespass(there: Guarded, draw: random.Random) -> int:
    """Ask for something without the right to be there: the status of the answer.

    `AssertionError` where it is admitted, or told the token.
    """
    right = draw.choice([BY_TOKEN, BY_COOKIE | {"origin": BASE}, {**BY_TOKEN, **BY_COOKIE}])
    spoils = draw.sample(SPOILS, draw.choice([1, 1, 2]))
    headers = dict(right)
    for more in (*spoils, *draw.sample(NO_RIGHTS, draw.randint(0, 3))):
        headers |= more
    headers = {name: value for name, value in headers.items() if value}
    method = draw.choice(["GET", "POST", "POST", "PUT", "DELETE", "PATCH", "HEAD"])
    reads = [one for one in (there.reads, "/" if there.page else "") if one]
    path = draw.choice([there.changes, *reads, "/openapi.json", "/api/events", "/nowhere"])
    if not there.page:
        path = there.changes
    body = draw.choice([there.body, None, [], "x"])
    client = there.client()
    answer = client.request(method, path, json=body, headers=sent(there, headers))
    assert answer.status_code in (401, 403), (method, path, headers, answer.status_code)
    assert there.token not in answer.text
    assert "set-cookie" not in answer.headers
    return int(answer.status_code)


@pytest.mark.parametrize("seed", [0])
def test_nobody_without_the_right_to_be_there_is_admitted(there: Guarded, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(20):
        trespass(there, draw)


@pytest.mark.parametrize(
    ("headers", "admitted"),
    [
        (BY_TOKEN, True),
        (BY_COOKIE, True),
        (BY_COOKIE | {"sec-fetch-site": "same-origin", "sec-fetch-dest": "image"}, True),
        (BY_COOKIE | {"sec-fetch-site": "none"} | PAGE, True),
        (BY_COOKIE | {"sec-fetch-site": "same-site"} | PAGE, True),
        ({}, False),
        (BY_COOKIE | {"host": "evil.example"}, False),
        (BY_COOKIE | {"origin": "http://evil.example"}, False),
        (BY_COOKIE | {"sec-fetch-site": "same-site", "sec-fetch-dest": "script"}, False),
        (BY_COOKIE | {"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}, False),
        (BY_COOKIE | {"sec-fetch-site": "cross-site"} | PAGE | {"sec-fetch-dest": "iframe"}, False),
    ],
)
def test_what_is_embedded_elsewhere_reads_nothing(
    there: Guarded, headers: dict[str, str], admitted: bool
) -> None:
    paths = [one for one in (there.reads, "/" if there.page else "", "/openapi.json") if one]
    for path in paths[: None if there.page else 0]:
        answer = there.client().get(path, headers=sent(there, headers))
        assert answer.status_code == (200 if admitted else 403), path


def test_the_token_becomes_a_cookie_and_leaves_the_address(there: Guarded) -> None:
    if not there.page:
        return
    client = there.client()
    answer = client.get(f"/?token={there.token}")
    assert answer.status_code == 200
    assert there.token not in answer.text
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert client.get("/").status_code == 200
    assert client.get("/?x=1").headers["location"] == "/"
    assert there.client().get("/?token=other").status_code == 403
    assert there.client("http://evil").get(f"/?token={there.token}").status_code == 403
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}
    embedded["sec-fetch-mode"] = "no-cors"
    answer = there.client().get(f"/?token={there.token}", headers=embedded)
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


@pytest.mark.parametrize(
    ("headers", "admitted"),
    [
        (BY_COOKIE | {"origin": BASE}, True),
        (BY_COOKIE, False),
        (BY_TOKEN, False),
        (BY_COOKIE | {"origin": "http://evil.example"}, False),
        (BY_COOKIE | {"origin": BASE, "sec-fetch-site": "cross-site"}, False),
        ({"origin": BASE, "authorization": "Bearer other"}, False),
        (BY_COOKIE | {"origin": "http://evil.example", "host": "evil.example"}, False),
    ],
)
def test_a_socket_needs_the_origin_too(
    there: Guarded, headers: dict[str, str], admitted: bool
) -> None:
    if not there.page:
        return
    given = {name.decode(): value.decode() for name, value in sent(there, headers).items()}
    address = f"ws://{HOST}/api/events"
    client = there.client()
    if admitted:
        with client.websocket_connect(address, headers=given) as opened:
            assert opened.receive_json()["type"]
        return
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(address, headers=given):
        pass


def test_bytes_by_a_socket_end_the_connection_alone(there: Guarded) -> None:
    if not there.page:
        return
    given = {"cookie": f"{there.cookie}={there.token}", "origin": BASE}
    client, address = there.client(), f"ws://{HOST}/api/events"
    with client.websocket_connect(address, headers=given) as opened:
        opened.send_bytes(b"\x00\xff")
        with pytest.raises(WebSocketDisconnect) as ended:
            while True:
                opened.receive_json()
    assert ended.value.code == 1003
    with client.websocket_connect(address, headers=given) as opened:
        assert opened.receive_json()["type"]


def _guarded(door: Door) -> TestClient:
    """A small application behind a door."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message: Message = await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"][:9]})

    headers = {"authorization": "Bearer secret"}
    return TestClient(
        RequestGuard(app, Access(8000, "secret"), [door]), base_url=BASE, headers=headers
    )


def test_more_than_a_door_takes_is_refused() -> None:
    client = _guarded(Door(largest=1_000))
    assert client.post("/", content=b"x" * 1_000).text == "x" * 9
    answer = client.post("/", content=b"x" * 1_001)
    assert (answer.status_code, "1,000 bytes" in answer.text) == (413, True)
    answer = client.post("/", content=(b"x" * 10 for _ in range(200)))
    assert answer.status_code == 413


def test_who_asks_too_often_waits_and_nobody_else_does(tmp_path: Path) -> None:
    with served(tmp_path / "lab.sqlite", "ann", "bea", budget=RequestBudget(0.0, 3.0)) as two:
        ann, bea = two.expert("ann"), two.expert("bea")
        codes = [ann.ask("GET", "/api/me").status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert bea.ask("GET", "/api/me").status_code == 200


def test_each_set_has_a_door_of_its_own() -> None:
    async def refused(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    doors = [Door(), Door(at="/tools", admits=lambda _who: False, refusal=refused)]
    sets = [PageSet(title="pages", door=door) for door in doors]
    app = application(Access(8000, "secret"), *sets)
    headers = {"authorization": "Bearer secret"}
    client = TestClient(app, base_url=BASE, headers=headers)
    paths = ("/tools", "/tools/x", "/toolsx", "/")
    assert [client.get(path).status_code for path in paths] == [418, 418, 404, 404]


def test_every_start_has_its_own_token() -> None:
    tokens = {Access(1).token for _ in range(3)}
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 43
    assert "token" not in repr(Access(1))


@contextmanager
def running(app: ASGIApp) -> Iterator[int]:
    """The port of a server in another thread."""
    with listen() as listening:
        server = server_of(app)
        work = lambda: asyncio.run(server.serve(sockets=[listening]))  # noqa: E731
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


def _exchanged(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """What a connection is answered that sends these parts, until the server closes it."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        for part in parts:
            with suppress(OSError):  # it is closed already
                connection.sendall(part)
            time.sleep(pause)
        with suppress(ConnectionError):
            while data := connection.recv(65536):
                found += data
    return found


def test_headers_that_do_not_end_close_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serving.SECONDS_OF_HEADERS == 10.0
    monkeypatch.setattr(serving, "SECONDS_OF_HEADERS", 0.5)
    with running(_guarded(Door()).app) as port:
        begin = b"GET / HTTP/1.1\r\nHost: x\r\n"
        assert _exchanged(port) == b""
        assert _exchanged(port, begin) == b""
        assert _exchanged(port, begin, *[b"a: b\r\n"] * 8, pause=0.1) == b""
        whole = _exchanged(port, begin + b"\r\n" + begin)  # also after one that did end
        assert whole.count(b"HTTP/1.1 403") == 1
        monkeypatch.setattr(serving, "SECONDS_OF_HEADERS", PATIENCE)
        assert b"HTTP/1.1 403" in _exchanged(port, begin, b"Connection: close\r\n\r\n")


def test_a_body_that_does_not_come_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SECONDS_OF_BODY", 0.3)
    with running(_guarded(Door()).app) as port:
        head = "POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAuthorization: Bearer secret\r\n"
        told = _exchanged(port, f"{head}Content-Length: 5\r\n\r\nab".encode())
        assert told.startswith(b"HTTP/1.1 408")
