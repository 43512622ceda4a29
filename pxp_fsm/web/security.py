"""Who may talk to a server on this machine: the page that was opened with its token, alone.

A page of any other origin can send requests to a server on the loopback interface; the host's name
can be made to lead there (DNS rebinding). So every request must name this host, come from this
origin, and carry the token, which is new at each start.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guarded:
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
