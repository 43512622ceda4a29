"""A gateway over streamable HTTP: the client posts messages here, and the server is at a URL.

One client, with its token, and one server. Each request of the client has a stream of its own, on
which its answer comes, and before it what the gateway or the server asks meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2
from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse
from starlette.background import BackgroundTask
from starlette.requests import Request

from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.gateway import frames
from pxp_fsm.plugins.gateway.gateway import Gateway, Traffic
from pxp_fsm.plugins.gateway.people import approval_pages, scope_of
from pxp_fsm.web.guard import Door
from pxp_fsm.web.links import Links
from pxp_fsm.web.pages import PageSet
from pxp_fsm.web.serving import OpenSite, Site

AT = "/mcp"
"""Where the client finds it."""

CLIENT = "client"
"""Who posts messages, as its token is named."""

_PASSED = ("mcp-session-id", "mcp-protocol-version", "last-event-id", "mcp-method", "mcp-name")
"""Headers of the client that the server is sent, beside what a proxy has to say itself."""

_NAMES, _TOKEN = b"x-mcp-header", re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BASE64 = re.compile(r"=\?base64\?(.*)\?=")

_EVENTS, _JSON = "text/event-stream", "application/json"
_REFUSED = (400, 401, 403, 404, 405, 413, 415, 429)
"""Statuses by which a server says that it has carried nothing out: a session that is over, ..."""

_SECONDS = 3_600.0
"""The seconds in which the server has to say something more."""

Note = Callable[[str], None]


class HttpProxy:
    """The gateway between a client that posts to it and the server at `url`.

    `note` is told what whoever runs the gateway should know.
    """

    def __init__(self, gateway: Gateway, url: str, note: Note) -> None:
        self._gateway = gateway
        self._url = url
        self._note = note
        self._streams: dict[Any, asyncio.Queue[tuple[bytes, Traffic] | None]] = {}
        self._listening: asyncio.Queue[tuple[bytes, Traffic] | None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._parameters: dict[Any, dict[str, tuple[str, ...]]] = {}
        self.routes = APIRouter()
        self.routes.post("")(self._posted)
        self.routes.get("")(self._listened)
        self.routes.delete("")(self._deleted)

    @asynccontextmanager
    async def during(self) -> AsyncIterator[None]:
        """While it is served: the connections to the server, and who reads from them."""
        timeout = httpx2.Timeout(30.0, read=_SECONDS)
        async with httpx2.AsyncClient(timeout=timeout, follow_redirects=False) as self._server:
            yield
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def tell(self, traffic: Traffic) -> None:
        """Send the client what follows from what somebody did elsewhere, where it listens."""
        self._deliver(traffic, self._listening)

    async def _posted(self, request: Request) -> Response:
        """A message of the client."""
        body = await request.body()
        message = _message(body)  # the gateway says what is wrong with another one
        identity = message.get("id") if "method" in message else None
        if type(identity) not in (int, str):
            identity = None
        problem = _other_headers(message, request) or self._other_parameters(message, request)
        if problem:
            refused = frames.error(identity, frames.HEADER_MISMATCH, problem)
            return Response(refused, 400, media_type=_JSON)
        stream: asyncio.Queue[tuple[bytes, Traffic] | None] = asyncio.Queue()
        traffic = self._gateway.from_client(body)
        self._told(traffic)
        status, headers = 200, dict[str, str]()
        if identity is not None and identity not in self._streams:
            self._streams[identity] = stream
        self._deliver(traffic, stream)
        for frame in traffic.to_server:
            status, headers = await self._send(frame, request)
        if identity is None:
            errors = [frame for frame in traffic.to_client if "error" in json.loads(frame)]
            if errors:
                return Response(errors[0], 400, media_type=_JSON)
            return Response(status_code=202 if status == 200 else status)
        return self._streamed(identity, stream, status, headers)

    def _streamed(
        self,
        identity: Any,
        stream: asyncio.Queue[tuple[bytes, Traffic] | None],
        status: int,
        headers: dict[str, str],
    ) -> Response:
        """One answer that is there as JSON, with the server's status; else events until it is."""
        if stream.qsize() == 1:
            ready = stream.get_nowait()
            if ready is not None and _identity(ready[0]) == identity and _is_answer(ready[0]):
                self._streams.pop(identity, None)
                passed = BackgroundTask(self._gateway.delivered, ready[1])
                return Response(ready[0], status, headers, _JSON, passed)
            stream.put_nowait(ready)

        async def events() -> AsyncIterator[bytes]:
            try:
                while (said := await stream.get()) is not None:
                    frame, traffic = said
                    yield (
                        b"event: message\ndata: "
                        + frame.strip().replace(b"\n", b"\ndata: ")
                        + b"\n\n"
                    )
                    self._gateway.delivered(traffic)
                    if _identity(frame) == identity and _is_answer(frame):
                        break
            finally:
                self._streams.pop(identity, None)

        return StreamingResponse(events(), 200, headers, _EVENTS)

    def _deliver(
        self, traffic: Traffic, stream: asyncio.Queue[tuple[bytes, Traffic] | None] | None
    ) -> None:
        """Put each frame for the client on the stream that it belongs to, or else on this one."""
        for frame in traffic.to_client:
            own = self._streams.get(_identity(frame)) if _is_answer(frame) else None
            chosen = own or stream or self._listening
            if chosen is None:
                self._note("the client listens nowhere to what it should be told")
            else:
                chosen.put_nowait((frame, traffic))

    def _told(self, traffic: Traffic) -> None:
        for text in traffic.notes:
            self._note(text)

    def _other_parameters(self, message: dict[str, Any], request: Request) -> str:
        """Why headers that repeat arguments do not go with a call; "" where they do."""
        for header, keys in self._named(message).items():
            value = message["params"].get("arguments")
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            written = value if isinstance(value, str) else json.dumps(value)
            given = [_decoded(text) for text in request.headers.getlist(header)]
            if given and given != [written]:
                return f"the header {header} is not what the message says"
        return ""

    def _named(self, message: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """The headers that repeat arguments of a call, as the server's list of tools says."""
        params = message.get("params")
        tool = params.get("name") if isinstance(params, dict) else None
        return self._parameters.get(tool, {}) if isinstance(tool, str) else {}

    def _learn(self, frame: bytes) -> None:
        """Take note of headers that a list of tools names."""
        result = _message(frame).get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                self._parameters[tool["name"]] = dict(_parameters(tool.get("inputSchema")))

    async def _send(self, frame: bytes, request: Request) -> tuple[int, dict[str, str]]:
        """Send the server a message; its answers are delivered as they come.

        The status and the headers that the client is to be told are returned.
        """
        identity = _identity(frame) if not _is_answer(frame) else None
        named = self._named(json.loads(frame))
        headers = {key: value for key in named if (value := request.headers.get(key))}
        headers |= _passed(request) | {"content-type": _JSON, "accept": f"{_JSON}, {_EVENTS}"}
        built = self._server.build_request("POST", self._url, content=frame, headers=headers)
        try:
            response = await self._server.send(built, stream=True)
        except httpx2.HTTPError as error:
            self._lost(identity, f"the server cannot be reached: {error}")
            return 200, {}
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        if kind == _EVENTS and response.is_success:
            self._begin(self._read_events(response, identity))
        else:
            await self._read_one(response, identity)
        session = response.headers.get("mcp-session-id")
        return _status(response), {"mcp-session-id": session} if session else {}

    def _begin(self, reading: Any) -> None:
        task = asyncio.ensure_future(reading)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_one(self, response: httpx2.Response, identity: Any) -> None:
        """An answer that is one message, or none."""
        most, body = self._gateway.policy.file.limits.frame, bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > most:
                    break
        except httpx2.HTTPError as error:
            self._lost(identity, f"the server's answer broke off: {error}")
            return
        finally:
            await response.aclose()
        if body.strip() and (response.is_success or _message(bytes(body))):
            await self._heard(bytes(body), identity, response.request)
        if identity is not None and identity in self._gateway.waiting:
            status = response.status_code
            if status in _REFUSED:
                said = f"the server has refused it: status {status}"
                refused = frames.error(identity, frames.NOT_ANSWERED, said)
                await self._heard(refused, identity, response.request)
            else:
                self._lost(identity, f"the server answered with the status {status}")

    async def _read_events(self, response: httpx2.Response, identity: Any) -> None:
        """Messages as they come, one an event, until the stream ends."""
        most, data, size = self._gateway.policy.file.limits.frame, list[str](), 0
        with suppress(httpx2.HTTPError):
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    size += len(line)
                    data.append(line[5:].removeprefix(" ") if size <= most else "")
                elif not line and data:
                    whole = None if size > most else "\n".join(data).encode()
                    if whole is None or whole.strip():
                        await self._heard(whole, identity, response.request)
                    data, size = [], 0
        await response.aclose()
        if identity is not None and identity in self._gateway.waiting:
            self._lost(identity, "the server's answer broke off")

    async def _heard(self, frame: bytes | None, identity: Any, asked: httpx2.Request) -> None:
        traffic = self._gateway.from_server(frame)
        self._told(traffic)
        for passed in traffic.to_client:
            if _NAMES in passed:
                self._learn(passed)
        self._deliver(traffic, self._streams.get(identity))
        for answer in traffic.to_server:
            headers = _passed(asked) | {"content-type": _JSON, "accept": f"{_JSON}, {_EVENTS}"}
            with suppress(httpx2.HTTPError):
                await self._server.post(self._url, content=answer, headers=headers)

    def _lost(self, identity: Any, why: str) -> None:
        """No answer will come: a call is in doubt from now on."""
        self._note(why)
        if identity is not None:
            self._deliver(self._gateway.lost(identity, why), self._streams.get(identity))

    async def _listened(self, request: Request) -> Response:
        """The client listens to what it is told unasked; so the gateway listens to the server."""
        stream: asyncio.Queue[tuple[bytes, Traffic] | None] = asyncio.Queue()
        headers = _passed(request)
        built = self._server.build_request("GET", self._url, headers={**headers, "accept": _EVENTS})
        try:
            response = await self._server.send(built, stream=True)
        except httpx2.HTTPError as error:
            return _unreachable(error)
        if not response.is_success:
            await response.aclose()
            return Response(status_code=response.status_code)
        self._listening = stream
        reading = asyncio.ensure_future(self._read_events(response, None))

        async def events() -> AsyncIterator[bytes]:
            try:
                while not reading.done() or not stream.empty():
                    with suppress(asyncio.TimeoutError):
                        said = await asyncio.wait_for(stream.get(), 1.0)
                        if said is not None:
                            data = said[0].strip().replace(b"\n", b"\ndata: ")
                            yield b"event: message\ndata: " + data + b"\n\n"
            finally:
                reading.cancel()
                if self._listening is stream:
                    self._listening = None

        return StreamingResponse(events(), 200, media_type=_EVENTS)

    async def _deleted(self, request: Request) -> Response:
        """The client ends its session at the server."""
        headers = _passed(request)
        try:
            response = await self._server.delete(self._url, headers=headers)
        except httpx2.HTTPError as error:
            return _unreachable(error)
        return Response(status_code=response.status_code)


def gateway_site(
    gateway: Gateway,
    board: SqlBlackboard,
    server: str,
    note: Note,
    url: str | None = None,
    days: float = 14.0,
) -> Site:
    """The gateway before the server at that URL, for one client, and the pages of who approves."""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"{quoted(server)} is no address of an MCP server: http(s)://HOST/PATH")
    proxy, scope, people = (
        HttpProxy(gateway, server, note),
        scope_of(gateway),
        gateway.policy.file.people,
    )
    of_client = f"{CLIENT} of {scope}"

    def site(port: int) -> OpenSite:
        links = Links(board, port, url, days, scopes=(scope, of_client), remembers=1.0)
        door = Door(
            at=AT,
            admits=lambda who: who.scope == of_client,
            largest=gateway.policy.file.limits.frame,
        )
        pages = PageSet(title="Gateway", routes=proxy.routes, at=AT, door=door, during=proxy.during)
        return OpenSite(
            access=links,
            sets=(pages, approval_pages(gateway, scope, proxy.tell)),
            links={person: links.link(scope, person) for person in people},
            tools=links.address + AT,
            tokens={CLIENT: links.token(of_client, CLIENT)},
        )

    return site


def _message(body: bytes) -> dict[str, Any]:
    """What the client posted, where it is an object."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _other_headers(message: dict[str, Any], request: Request) -> str:
    """Why the headers of a request do not go with its message; "" where they do.

    What a server reads of a header must be what the gateway has read of the message.
    """
    params = message.get("params")
    named = params.get("name", params.get("uri")) if isinstance(params, dict) else None
    for header, value in (("mcp-method", message.get("method")), ("mcp-name", named)):
        given = request.headers.getlist(header)
        if given and [_decoded(text) for text in given] != [value]:
            return f"the header {header} is not what the message says"
    return ""


def _parameters(schema: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The headers that a tool's schema names, each with the way to the argument that it repeats."""
    left: list[tuple[object, tuple[str, ...]]] = [(schema, ())]
    while left:
        part, way = left.pop()
        if isinstance(part, dict):
            named, parts = part.get("x-mcp-header"), part.get("properties")
            if isinstance(named, str) and _TOKEN.fullmatch(named):
                yield f"mcp-param-{named.lower()}", way
            if isinstance(parts, dict):
                left += [(parts[key], (*way, key)) for key in parts]


def _passed(request: Request | httpx2.Request) -> dict[str, str]:
    """The headers of a request that go on to the server."""
    return {key: value for key in _PASSED if (value := request.headers.get(key))}


def _decoded(text: str) -> str:
    """What a header says; where that is no plain ASCII, it is written in Base64."""
    coded = _BASE64.fullmatch(text)
    if coded is None:
        return text
    try:
        return b64decode(coded[1], validate=True).decode("utf-8")
    except ValueError:
        return text


def _status(response: httpx2.Response) -> int:
    """The status of the client's answer: that of the server's, which may say what is wrong.

    A server that asks for a token does not ask for that of the client, which is the gateway's.
    """
    if response.is_success:
        return 200
    return 502 if response.status_code == 401 else response.status_code


def _identity(frame: bytes) -> Any:
    return json.loads(frame).get("id")


def _is_answer(frame: bytes) -> bool:
    return "method" not in json.loads(frame)


def _unreachable(error: httpx2.HTTPError) -> Response:
    said = f"the server cannot be reached: {error}"
    return Response(frames.error(None, frames.INVALID_REQUEST, said), 502, media_type=_JSON)
