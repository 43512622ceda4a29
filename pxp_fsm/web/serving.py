"""What every local server of pages has: its files, errors in words, a socket on this machine.

Who may talk to it is the page that was opened with its token, alone. A page of any other origin can
send requests to a server on the loopback interface; the host's name can be made to lead there (DNS
rebinding). So every request must name this host, come from this origin, and carry the token, which
is new at each start.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from types import FrameType
from typing import Protocol
from urllib.parse import parse_qs

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pxp_fsm.errors import PXPError, UsageError


def static(name: str) -> str:
    """The text of a file that pages are made of."""
    return resources.files("pxp_fsm.web").joinpath("static", name).read_text("utf-8")


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy: nothing inline, nothing evaluated, nothing from elsewhere."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every response carries."""

NOT_OPENED = "Open the address that the command has printed, with its token.\n"


class Admission(Protocol):
    """Who may talk to a server."""

    def who(self, headers: Headers) -> object | None:
        """Who sends a request; None where it is nobody who may."""

    def is_here(self, headers: Headers) -> bool:
        """Whether a request names this host, and comes from no other origin."""

    def opened(self, query: str) -> Response | None:
        """The answer to a request whose query has a right token: it sets the cookie."""


@dataclass(frozen=True)
class Access:
    """Access to the server on `port`; `token` is drawn anew at each start."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def address(self) -> str:
        """What to open: it leaves the token as a cookie."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers do not keep those of different ports apart."""
        return f"pxp-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the page's host may be called."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def who(self, headers: Headers) -> object | None:
        """The page, where host, origin and token of a request are right."""
        right = self.is_here(headers) and self._knows(given_token(headers, self.cookie))
        return self if right else None

    def is_here(self, headers: Headers) -> bool:
        """Whether a request names this host, and comes from no other origin."""
        origin = headers.get("origin")
        return headers.get("host") in self.hosts and (
            origin is None or origin == f"http://{headers['host']}"
        )

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def opened(self, query: str) -> Response | None:
        """The answer to a request whose query has the right token: it sets the cookie."""
        given = parse_qs(query).get("token", [""])[0]
        if not self._knows(given):
            return None
        response = RedirectResponse("/", 303)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        return response


def given_token(headers: Headers, cookie: str) -> str:
    """The token that a request carries, as a bearer or in that cookie; "" where there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(cookie)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


class GuardedApp:
    """The application `app` behind `access`, which is told `who` asks in the request's state.

    Whoever is nobody gets `refusal`; by default they are told to open the printed address.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Admission,
        headers: Mapping[str, str] = HEADERS,
        refusal: ASGIApp | None = None,
    ) -> None:
        self._app = app
        self._refusal = refusal or PlainTextResponse(NOT_OPENED, 403)
        self._access = access
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        who = self._access.who(headers)
        scope["state"] = {**scope.get("state", {}), "who": who}
        if scope["type"] == "websocket":
            if who is not None and "origin" in headers:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        answer: ASGIApp = self._app
        query = scope.get("query_string", b"").decode("latin-1")
        at_root = scope["path"] == "/" and bool(query) and self._access.is_here(headers)
        opened = self._access.opened(query) if at_root else None
        if opened is not None:
            answer = opened
        elif who is None:
            answer = self._refusal
        elif at_root:
            answer = RedirectResponse("/", 303)  # the token does not stay in the address
        await answer(scope, receive, send_guarded)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/base.css">
<link rel="stylesheet" href="/{name}.css">
<script src="/{name}.js" defer></script>
</head>
<body>
<div id="app"></div>
</body>
</html>
"""

_KINDS = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def add_page(app: FastAPI, name: str, title: str) -> None:
    """Serve the page of the bundle `name` at `/`, and the files that it is made of."""

    def send(path: str, text: str, kind: str) -> None:
        app.get(path, include_in_schema=False)(lambda: Response(text, media_type=kind))

    send("/", _PAGE.format(title=title, name=name), "text/html; charset=utf-8")
    for file in (f"{name}.js", f"{name}.css", "base.css", "icon.svg", "licenses.txt"):
        send(f"/{file}", static(file), _KINDS[file.rpartition(".")[2]])


def add_refusals(app: FastAPI) -> None:
    """Answer what cannot be read, and what the library refuses, with 422 and a sentence."""

    @app.exception_handler(PXPError)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    async def explain(_: Request, error: Exception) -> JSONResponse:
        found = error.errors() if isinstance(error, RequestValidationError) else ()
        told = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
        return JSONResponse({"detail": "; ".join(told)}, 422)


def listen(port: int = 0) -> socket.socket:
    """A socket on the loopback interface; 0 is any free port. `UsageError` where it is taken."""
    # its protocol is named, or asyncio would let small packets of its connections wait (Nagle)
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # a server that was killed is started again at once, at its port
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()  # from now on a browser that connects is waited with, not refused
    except OSError as error:
        found.close()
        raise UsageError(
            f"port {port} of this machine cannot be used ({error.strerror}); choose another one, "
            f"or leave it out"
        ) from error
    return found


def serve_guarded(app: ASGIApp, port: int, ready: Callable[[str], None]) -> None:
    """Serve `app` behind a new token until Ctrl-C; `ready` is told the address to open.

    Raises `UsageError` where the port is taken.
    """
    with listen(port) as listening:
        access = Access(listening.getsockname()[1])
        server = server_of(GuardedApp(app, access))
        ready(access.address)
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A second Ctrl-C changes nothing: what is being stored is stored. A third one ends at once."""

    _interrupts = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._interrupts += sig == signal.SIGINT
        if sig != signal.SIGINT or self._interrupts != 2:
            super().handle_exit(sig, frame)


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server of a guarded `app`: it logs no requests, and believes no proxy."""
    return _Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws_max_size=65536,
            timeout_graceful_shutdown=3,
        )
    )


async def until_left(
    socket: WebSocket,
    tell: Coroutine[None, None, None],
    hear: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Let `tell` send until the page has left; what the page says goes to `hear`."""
    telling = asyncio.create_task(tell)
    try:
        while True:
            text = await socket.receive_text()
            if hear is not None:
                await hear(text)
    except WebSocketDisconnect:
        pass
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError, RuntimeError, WebSocketDisconnect):
            await telling
