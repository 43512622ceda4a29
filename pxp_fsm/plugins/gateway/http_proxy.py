"""A gateway over streamable HTTP: the client posts messages here, and the server is at a URL.

One client, with its token, and one server. Each request of the client has a stream of its own, on
which its answer comes, and before it what the gateway or the server asks meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

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
from pxp_fsm.plugins.gateway.policy import VARIABLE
from pxp_fsm.plugins.gateway.protocols import CARD, interfaces
from pxp_fsm.web.guard import Door
from pxp_fsm.web.links import Links
from pxp_fsm.web.pages import PageSet
from pxp_fsm.web.serving import OpenSite, Site

CLIENT = "client"
"""Who posts messages, as its token is named."""

_NAMES, _TOKEN = b"x-mcp-header", re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BASE64 = re.compile(r"=\?base64\?(.*)\?=")

_EVENTS, _JSON = "text/event-stream", "application/json"
_NO_STORE = {"cache-control": "no-store"}
_REFUSED = (400, 401, 403, 404, 405, 413, 415, 429)
"""Statuses by which a server says that it has carried nothing out: a session that is over, ..."""

_SECONDS = 3_600.0
"""The seconds in which the server has to say something more."""

Note = Callable[[str], None]
Item = tuple[bytes, Traffic] | None
"""A frame for the client, or None at the end of what the server has to say."""


class HttpProxy:
    """The gateway between a client that posts to it and the server at `url`.

    `note` is told what whoever runs the gateway should know. The server is sent the headers of the
    policy, with what `environment` has in them; raises `UsageError` where it has not. An agent of
    A2A is asked at `url` for its card, which says where it is.
    """

    def __init__(
        self, gateway: Gateway, url: str, note: Note, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._gateway = gateway
        self._protocol = gateway.protocol
        self._url = url
        self._endpoint = url if self._protocol.calls == "tool" else ""
        self._own_headers = _credentials(gateway.policy.file.headers, environment)
        self._note = note
        self._streams: dict[Any, asyncio.Queue[Item]] = {}
        self._listening: asyncio.Queue[Item] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._parameters: dict[Any, dict[str, tuple[str, ...]]] = {}
        self.routes = APIRouter()
        self.routes.post("")(self._posted)
        if self._protocol.calls == "tool":
            self.routes.get("")(self._listened)
            self.routes.delete("")(self._deleted)
        else:
            self.routes.get(CARD)(self._described)

    @asynccontextmanager
    async def during(self) -> AsyncIterator[None]:
        """While it is served: the connections to the server, and who reads from them."""
        timeout = httpx2.Timeout(30.0, read=_SECONDS)
        async with httpx2.AsyncClient(
            timeout=timeout, follow_redirects=False, headers=self._own_headers
        ) as self._server:
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
        if not self._endpoint:
            try:
                await self._card()
            except UsageError as error:
                self._note(str(error))
                return Response(
                    frames.error(identity, self._protocol.not_answered, str(error)),
                    media_type=_JSON,
                )
        problem = _other_headers(message, request) or self._other_parameters(message, request)
        if problem:
            refused = frames.error(identity, frames.HEADER_MISMATCH, problem)
            return Response(refused, 400, media_type=_JSON)
        stream: asyncio.Queue[Item] = asyncio.Queue()
        traffic = self._gateway.from_client(body)
        self._told(traffic)
        malformed = [frame for frame in traffic.to_client if _is_of_nothing(frame)]
        if malformed:
            return Response(malformed[0], 400, media_type=_JSON)
        status, headers = 200, dict[str, str]()
        if identity is not None and identity not in self._streams:
            self._streams[identity] = stream
        self._deliver(traffic, stream)
        for frame in traffic.to_server:
            status, headers = await self._send(frame, request)
        if identity is None:
            return Response(status_code=202 if status == 200 else status)
        # Some clients that have asked for a stream take nothing else from the gateway itself.
        is_plain = bool(traffic.to_server) or not self._protocol.streams(message["method"])
        return self._streamed(identity, stream, status, headers, is_plain=is_plain)

    def _streamed(
        self,
        identity: Any,
        stream: asyncio.Queue[Item],
        status: int,
        headers: dict[str, str],
        *,
        is_plain: bool,
    ) -> Response:
        """One answer that is there as JSON, with the server's status; else events until it is."""
        if is_plain and stream.qsize() == 1 and identity not in self._gateway.waiting:
            ready = stream.get_nowait()
            if ready is not None and _identity(ready[0]) == identity and _is_answer(ready[0]):
                self._streams.pop(identity, None)
                passed = BackgroundTask(self._gateway.delivered, ready[1])
                return Response(ready[0], status, headers, _JSON, passed)
            stream.put_nowait(ready)

        async def events() -> AsyncIterator[bytes]:
            try:
                while (item := await stream.get()) is not None:
                    frame, traffic = item
                    yield (
                        b"event: message\ndata: "
                        + frame.strip().replace(b"\n", b"\ndata: ")
                        + b"\n\n"
                    )
                    self._gateway.delivered(traffic)
                    if identity not in self._gateway.waiting and stream.empty():
                        break  # it was answered, and no more comes
            finally:
                self._streams.pop(identity, None)

        return StreamingResponse(events(), 200, headers, _EVENTS)

    def _deliver(self, traffic: Traffic, stream: asyncio.Queue[Item] | None) -> None:
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
            values = [_decoded(text) for text in request.headers.getlist(header)]
            if values and values != [written]:
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
        headers |= self._passed(request) | {"content-type": _JSON, "accept": f"{_JSON}, {_EVENTS}"}
        built = self._server.build_request("POST", self._endpoint, content=frame, headers=headers)
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
        passed = ("mcp-session-id", "a2a-extensions")
        return _status(response), {
            key: value for key in passed if (value := response.headers.get(key))
        }

    def _begin(self, reading: Any) -> None:
        task = asyncio.ensure_future(reading)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_one(self, response: httpx2.Response, identity: Any) -> None:
        """An answer that is one message, or none."""
        try:
            body = await self._body(response)
        except httpx2.HTTPError as error:
            self._lost(identity, f"the server's answer broke off: {error}")
            return
        if body.strip() and (response.is_success or _message(body)):
            await self._heard(body, identity, response.request)
        if identity is not None and identity in self._gateway.waiting:
            status = response.status_code
            if status in _REFUSED:
                reason = f"the server has refused it: status {status}"
                refused = frames.error(identity, self._protocol.not_answered, reason)
                await self._heard(refused, identity, response.request)
            else:
                self._lost(identity, f"the server answered with the status {status}")

    async def _body(self, response: httpx2.Response) -> bytes:
        """What a server says at once, as far as a frame may be long, and a little more."""
        most, body = self._gateway.policy.file.limits.frame, bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > most:
                    break
        finally:
            await response.aclose()
        return bytes(body)

    async def _read_events(self, response: httpx2.Response, identity: Any) -> None:
        """Messages as they come, one an event, until the stream ends."""
        most, data, size = self._gateway.policy.file.limits.frame, list[bytes](), 0
        lines = frames.Lines(most + 100, keeps_blank=True)
        with suppress(httpx2.HTTPError):
            async for part in response.aiter_bytes():
                for whole in lines.feed(part):
                    line = None if whole is None else whole.rstrip(b"\r\n")
                    if line is None or line.startswith(b"data:"):
                        size += most + 1 if line is None else len(line)
                        told = b"" if line is None or size > most + 100 else line[5:]
                        data.append(told.removeprefix(b" "))
                    elif not line and data:
                        message = None if size > most + 100 else b"\n".join(data)
                        if message is None or message.strip():
                            await self._heard(message, identity, response.request)
                        data, size = [], 0
        await response.aclose()
        if identity is not None and identity in self._gateway.waiting:
            self._lost(identity, "the server's answer broke off")
        own = self._streams.get(identity)
        if own is not None:
            own.put_nowait(None)

    async def _heard(self, frame: bytes | None, identity: Any, asked: httpx2.Request) -> None:
        traffic = self._gateway.from_server(frame)
        self._told(traffic)
        for passed in traffic.to_client:
            if _NAMES in passed:
                self._learn(passed)
        self._deliver(traffic, self._streams.get(identity))
        for answer in traffic.to_server:
            headers = self._passed(asked) | {"content-type": _JSON, "accept": f"{_JSON}, {_EVENTS}"}
            with suppress(httpx2.HTTPError):
                await self._server.post(self._endpoint, content=answer, headers=headers)

    def _lost(self, identity: Any, why: str) -> None:
        """No answer will come: a call is in doubt from now on, unless it has begun to come."""
        traffic = Traffic() if identity is None else self._gateway.lost(identity, why)
        if traffic.to_client or identity is None:
            self._note(why)
        self._told(traffic)
        self._deliver(traffic, self._streams.get(identity))

    async def _listened(self, request: Request) -> Response:
        """The client listens to what it is told unasked; so the gateway listens to the server."""
        stream: asyncio.Queue[Item] = asyncio.Queue()
        headers = self._passed(request)
        built = self._server.build_request(
            "GET", self._endpoint, headers={**headers, "accept": _EVENTS}
        )
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
                        item = await asyncio.wait_for(stream.get(), 1.0)
                        if item is not None:
                            data = item[0].strip().replace(b"\n", b"\ndata: ")
                            yield b"event: message\ndata: " + data + b"\n\n"
            finally:
                reading.cancel()
                if self._listening is stream:
                    self._listening = None

        return StreamingResponse(events(), 200, media_type=_EVENTS)

    async def _deleted(self, request: Request) -> Response:
        """The client ends its session at the server."""
        headers = self._passed(request)
        try:
            response = await self._server.delete(self._endpoint, headers=headers)
        except httpx2.HTTPError as error:
            return _unreachable(error)
        return Response(status_code=response.status_code)

    async def _described(self, request: Request) -> Response:
        """The card of an agent, with what is allowed now and this address."""
        try:
            card = await self._card()
        except UsageError as error:
            self._note(str(error))
            return Response(str(error), 502, media_type="text/plain")
        shown = self._gateway.described(card)
        return Response(frames.written(shown), media_type=_JSON, headers=_NO_STORE)

    async def _card(self) -> dict[str, Any]:
        """The card of the agent, which says where it is asked; raises `UsageError`."""
        at = self._url.rstrip("/") + CARD
        try:
            built = self._server.build_request("GET", at, headers={"accept": _JSON})
            response = await self._server.send(built, stream=True)
            card = _message(await self._body(response))
        except httpx2.HTTPError as error:
            raise UsageError(f"the agent's card at {at} cannot be read: {error}") from error
        named = [interface["url"] for interface in interfaces(card)]
        if not response.is_success or not named:
            status = f"its status is {response.status_code}"
            reason = status if not response.is_success else "it names no address for JSON-RPC"
            raise UsageError(f"the agent's card at {at} cannot be used: {reason}")
        address = _joined(at, named[0])
        if _origin(address) != _origin(at):
            raise UsageError(
                f"the agent's card at {at} leads to {quoted(address)}, elsewhere, where the "
                f"gateway does not follow"
            )
        self._endpoint = address
        return card

    def _passed(self, request: Request | httpx2.Request) -> dict[str, str]:
        """The headers of a request that go on to the server."""
        headers = request.headers
        return {key: value for key in self._protocol.headers if (value := headers.get(key))}


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
        subject = f"{quoted(server)} is no address of an {gateway.protocol.title} server"
        raise UsageError(f"{subject}: http(s)://HOST/PATH")
    proxy, scope, people = (
        HttpProxy(gateway, server, note),
        scope_of(gateway),
        gateway.policy.file.people,
    )
    of_client, at = f"{CLIENT} of {scope}", gateway.protocol.at

    def site(port: int) -> OpenSite:
        links = Links(board, port, url, days, scopes=(scope, of_client), remembers=1.0)
        door = Door(
            at=at,
            admits=lambda who: who.scope == of_client,
            largest=gateway.policy.file.limits.frame,
        )
        pages = PageSet(title="Gateway", routes=proxy.routes, at=at, door=door, during=proxy.during)
        gateway.address = links.address + at
        return OpenSite(
            access=links,
            sets=(pages, approval_pages(gateway, scope, proxy.tell)),
            links={person: links.link(scope, person) for person in people},
            tools=gateway.address,
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
        values = request.headers.getlist(header)
        if values and [_decoded(text) for text in values] != [value]:
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


def _credentials(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Headers with the values of their environment variables, which no message shows."""

    def value(variable: re.Match[str]) -> str:
        text = environment.get(variable[1], "")
        if not re.fullmatch(r"[!-~]([ -~]*[!-~])?", text):
            problem = "is not set" if not text else "is no text that a header can have"
            raise UsageError(f"the environment variable {variable[1]} of the policy {problem}")
        return text

    return {name: VARIABLE.sub(value, text) for name, text in headers.items()}


def _joined(at: str, address: str) -> str:
    """The address that stands on the page `at`; raises `UsageError` where it is none."""
    joined = ""
    with suppress(ValueError):
        joined = urljoin(at, address)
    if not joined.isascii() or not joined.isprintable() or not joined:
        raise UsageError(f"{quoted(address)} is no address")
    return joined


def _origin(address: str) -> tuple[str, str | None, int | None]:
    """Whose an address is; raises `UsageError` where it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError as error:
        raise UsageError(f"{quoted(address)} is no address") from error
    return parts.scheme, parts.hostname, port


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


def _is_of_nothing(frame: bytes) -> bool:
    """Whether it is an error about a frame that was no message."""
    message = json.loads(frame)
    return "error" in message and message.get("id") is None


def _is_answer(frame: bytes) -> bool:
    return "method" not in json.loads(frame)


def _unreachable(error: httpx2.HTTPError) -> Response:
    reason = f"the server cannot be reached: {error}"
    return Response(frames.error(None, frames.INVALID_REQUEST, reason), 502, media_type=_JSON)
