"""The guard before every page: who asks, from where, how much and how fast.

Who may talk to a server is the page that was opened with a token, alone. A page of any other origin
can send requests to a server on the loopback interface; the host's name can be made to lead there
(DNS rebinding). So every request must name this host, come from this origin, and carry a token.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import field
from http.cookies import CookieError, SimpleCookie
from typing import Protocol
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pxp_fsm.artifacts import policy_digest
from pxp_fsm.lazy_dataclasses import dataclass

RESEARCHERS = "researcher"
"""The scope of whoever conducts experiments or a study."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy: nothing inline, nothing evaluated, nothing from elsewhere.

The pointers of the editor of molecules are pictures in its code (data:).
"""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every response carries that does not say otherwise itself."""

SECONDS_OF_BODY = 30.0
"""Seconds in which the whole body of a request must have come."""


@dataclass(frozen=True, slots=True)
class Who:
    """The holder of a valid token: whoever started the server, or by a link, by a pseudonym."""

    scope: str
    subject: str

    @property
    def is_researcher(self) -> bool:
        """Whether it is who runs the experiments."""
        return self.scope == RESEARCHERS


class RequestBudget:
    """How often each key may do something: `rate` times a second on average, `burst` at once."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def takes(self, key: object) -> bool:
        """Whether it may be done once more now."""
        with self._lock:
            at = self._clock()
            left, since = self._left.pop(key, (self._burst, at))
            left = min(self._burst, left + (at - since) * self._rate)
            self._left[key] = (left - 1 if left >= 1 else left, at)
            while len(self._left) > 10_000:
                self._left.popitem(last=False)
            return left >= 1


class Admission(Protocol):
    """Who may talk to a server, and at which address it is reached."""

    @property
    def address(self) -> str:
        """Scheme and host."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the host may be called in a request."""

    def who(self, headers: Headers) -> Who | None:
        """The holder of the token of a request; None where it has none that is valid."""

    def opened(self, method: str, query: str, who: Who | None) -> Response | None:
        """The answer to a request for `/` whose query lets somebody in; None where it does not."""


@dataclass(frozen=True)
class Access:
    """The access of whoever starts a server on `port`; `token` is drawn anew at each start."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def address(self) -> str:
        """Scheme and host."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        """What to open: it leaves the token as a cookie."""
        return f"{self.address}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers do not keep those of different ports apart."""
        return f"pxp-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the page's host may be called."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def who(self, headers: Headers) -> Who | None:
        """Whoever started the server, where a request has its token."""
        token = bearer(headers) or cookie(headers, self.cookie)
        return Who("owner", "") if self._knows(token) else None

    def _knows(self, token: str) -> bool:
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def opened(self, method: str, query: str, who: Who | None) -> Response | None:
        """The page that goes on to `/` with the token as a cookie, where the query has it."""
        token = parse_qs(query).get("token", [""])[0]
        return opening(self.cookie, self.token) if self._knows(token) else None


_GO_ON = 'location.replace("/" + location.hash)'
"""A refresh alone would lose what stands after `#` in a link: the state of the explorer."""

_OPENED = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<link rel="icon" href="/icon.svg" type="image/svg+xml"><title>Opening</title>
<script>{_GO_ON}</script>
<noscript><meta http-equiv="refresh" content="0; url=/"></noscript></head>
<body><p><a href="/">Go on</a></p></body></html>
"""

_OPENING_POLICY = POLICY.replace("script-src 'self'", f"script-src {policy_digest(_GO_ON)}")


def opening(cookie: str, token: str, *, seconds: int | None = None, tls: bool = False) -> Response:
    """A page that sets a cookie and goes on to `/`.

    It is no redirection: a strict cookie is not sent along one that another site has begun.
    """
    response = HTMLResponse(_OPENED, headers={"content-security-policy": _OPENING_POLICY})
    response.set_cookie(cookie, token, seconds, httponly=True, samesite="strict", secure=tls)
    return response


def bearer(headers: Headers) -> str:
    """The token that a program sends with a request; "" where there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""


def cookie(headers: Headers, name: str) -> str:
    """The value of a cookie; "" where there is none."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def is_own(method: str, headers: Headers, access: Admission) -> bool:
    """Whether a request names this host, and comes from its own page, a program, or a link.

    What was begun by another site shows a page, and does nothing else: neither what is embedded in
    that site's pages nor what they send comes in. Whatever changes something says that it comes
    from here (`Origin`, or `Sec-Fetch-Site` where a browser leaves that out), or has its token in a
    header, which no browser adds by itself.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    scheme = access.address.partition("://")[0]
    if host not in access.hosts or origin not in (None, f"{scheme}://{host}"):
        return False
    site = headers.get("sec-fetch-site")
    if site in ("cross-site", "same-site"):
        kind = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
        return method == "GET" and kind == ("navigate", "document")
    changes = method not in ("GET", "HEAD", "OPTIONS")
    return not changes or origin is not None or site == "same-origin" or bool(bearer(headers))


NOT_OPENED = PlainTextResponse(
    "Open the address that the command has printed, with its token.\n", 403
)


@dataclass(frozen=True, kw_only=True)
class Door:
    """What the guard demands at the addresses below `at`: whom it `admits`, how much and how often.

    Whoever is nobody gets `refusal`. A body has at most `largest` bytes.
    """

    at: str = ""
    admits: Callable[[Who], bool] = lambda _who: True
    refusal: ASGIApp = NOT_OPENED
    largest: int = 262_144
    budget: RequestBudget = field(default_factory=lambda: RequestBudget(500.0, 2_000.0))


class RequestGuard:
    """The application `app` behind `access` and `doors`; it is told `who` asks in its state."""

    def __init__(self, app: ASGIApp, access: Admission, doors: Sequence[Door] = ()) -> None:
        self._app, self._access = app, access
        self._doors = sorted(doors, key=lambda door: len(door.at), reverse=True)

    def _door(self, path: str) -> Door:
        fits = (door for door in self._doors if f"{path}/".startswith(f"{door.at}/"))
        return next(fits, self._doors[-1])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers, door = Headers(scope=scope), self._door(scope["path"])
        method = scope.get("method", "GET")
        here = is_own(method, headers, self._access)
        who = self._access.who(headers) if here else None
        if who is not None and not door.admits(who):
            who = None
        scope["state"] = {**scope.get("state", {}), "who": who}
        if scope["type"] == "websocket":
            if who is not None and "origin" in headers:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                carried = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    carried.setdefault(name, value)
            await send(message)

        query = scope.get("query_string", b"").decode("latin-1")
        at_root = here and scope["path"] == "/" and bool(query)
        answer: ASGIApp | None = self._access.opened(method, query, who) if at_root else None
        if answer is None and who is None:
            answer = door.refusal
        elif answer is None and at_root:
            answer = RedirectResponse("/", 303)  # a token does not stay in the address
        if answer is not None:
            await answer(scope, receive, send_guarded)
        elif not door.budget.takes(who):
            told = JSONResponse({"detail": "too many requests; wait a second"}, 429)
            await told(scope, receive, send_guarded)
        else:
            await self._bounded(door.largest, scope, receive, send_guarded)

    async def _bounded(self, largest: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in once its whole body has come, in time and of a size that is read."""
        body = bytearray()
        try:
            async with asyncio.timeout(SECONDS_OF_BODY):
                more = True
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > largest:
                        told = {"detail": f"a request may have {largest:,} bytes"}
                        await JSONResponse(told, 413)(scope, receive, send)
                        return
        except TimeoutError:
            told = {"detail": f"the request has not come within {SECONDS_OF_BODY:.0f} seconds"}
            await JSONResponse(told, 408, {"connection": "close"})(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replayed, send)
