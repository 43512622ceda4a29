"""Who may talk to the server of experts: links that are theirs alone, and how much they may send.

A link's token becomes a cookie. Only digests are stored; tokens expire and can be revoked. No
address of a network is read or stored.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backends.databases import SqlBlackboard, tokens
from backends.databases.tokens import PAIRING_SECONDS, Purpose
from pxp_fsm.errors import Refused, UsageError, quoted
from pxp_fsm.web.serving import HEADERS, POLICY, given_token

EXPERTS, RESEARCHERS = "expert", "researcher"
"""The scopes of tokens."""
LARGEST_BODY = 262_144
"""Bytes of a request's body that are read."""
PER_SECOND, BURST = 20.0, 120.0
"""Requests of one holder of a link: on average, and at once."""
DAY = 86_400.0

PAGE_HEADERS = {
    **HEADERS,
    "content-security-policy": POLICY.replace("img-src 'self'", "img-src 'self' data:"),
}
"""What every response carries; the molecule editor's pointers are pictures in its code (data:)."""

_OPENED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<link rel="icon" href="/icon.svg" type="image/svg+xml"><title>Opening</title></head>
<body><p><a href="/">Go on</a></p></body></html>
"""
"""The cookie is not sent along a redirection that another site began; from this page it is."""


@dataclass(frozen=True, slots=True)
class Who:
    """The holder of a valid link: an expert by their pseudonym, or a researcher."""

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


Arrive = Callable[[Mapping[str, str]], str | None]
"""The token of who comes with these parameters in the address; None where they mean nobody.

Raises `Refused`, saying why, where nobody is taken.
"""


class Links:
    """Access by links whose tokens are on `board`; `url` is where the pages are reached.

    Without `url` that is the loopback interface at `port`. The links of people are those of
    `scope`; `arrive` lets others in. A valid token is looked up again after `remembers` seconds:
    until then it counts, though it may have been revoked. Raises `UsageError` for a URL that is
    none.
    """

    def __init__(
        self,
        board: SqlBlackboard,
        port: int,
        url: str | None = None,
        days: float = 14.0,
        *,
        scope: str = EXPERTS,
        arrive: Arrive = lambda _given: None,
        remembers: float = 0.0,
    ) -> None:
        self.address = checked_url(url) if url is not None else f"http://127.0.0.1:{port}"
        self._board = board
        self._scopes = (scope, RESEARCHERS)
        self._arrive = arrive
        self._remembers = remembers
        self._known: dict[str, tuple[float, Who]] = {}
        self._seconds = days * DAY
        host = urlsplit(self.address).netloc
        self._hosts = (host,) if url is not None else (host, f"localhost:{port}")
        self._scheme = urlsplit(self.address).scheme
        self.cookie = f"pxp-experts-{port}" if url is None else "pxp-experts"
        self._pairings, self._arrivals = RequestBudget(1.0, 20.0), RequestBudget(5.0, 100.0)

    def link(self, scope: str, subject: str) -> str:
        """A new link for somebody; it is shown once, and not stored."""
        return f"{self.address}/?token={self.token(scope, subject)}"

    def token(self, scope: str, subject: str) -> str:
        """A new token for somebody, as their programs send it; it is not stored either."""
        return tokens.issue(self._board, scope, subject, seconds=self._seconds)

    def pairing(self, who: Who) -> str:
        """A link with which `who` opens the page on one other device, once, within ten minutes."""
        token = tokens.issue(
            self._board, who.scope, who.subject, Purpose.PAIRING, seconds=PAIRING_SECONDS
        )
        return f"{self.address}/?pair={token}"

    def revoke(self, scope: str, subject: str) -> int:
        """Revoke every link and device of somebody; how many there were."""
        self._known.clear()
        return tokens.revoke(self._board, scope, subject)

    def who(self, headers: Headers) -> Who | None:
        """Who sends a request; None where host, origin or token is not right."""
        token = given_token(headers, self.cookie)
        return self._holder(token) if self.is_here(headers) and token else None

    def is_here(self, headers: Headers) -> bool:
        """Whether a request names this host, and comes from no other origin."""
        origin, host = headers.get("origin"), headers.get("host")
        return host in self._hosts and (origin is None or origin == f"{self._scheme}://{host}")

    def opened(self, query: str) -> Response | None:
        """The answer to a request with a right token or pairing, or to somebody who arrives."""
        given = parse_qs(query)
        token = given.get("token", [""])[0]
        if "pair" in given and self._pairings.takes(""):
            try:
                token, _ = tokens.pair(self._board, given["pair"][0], seconds=self._seconds)
            except Refused:
                return None
        elif not token and self._arrivals.takes(""):
            try:
                token = self._arrive({name: values[0] for name, values in given.items()}) or ""
            except Refused as error:
                return PlainTextResponse(f"{error}\n", 403)
        if not token or self._holder(token) is None:
            return None
        response = HTMLResponse(_OPENED)
        response.set_cookie(
            self.cookie,
            token,
            max_age=int(self._seconds),
            httponly=True,
            samesite="strict",
            secure=self._scheme == "https",
        )
        return response

    def _holder(self, token: str) -> Who | None:
        if not self._remembers:
            return self._found(token)
        until, who = self._known.get(token, (0.0, None))
        if time.monotonic() < until:
            return who
        who = self._found(token)
        if who is None:
            self._known.pop(token, None)
        else:  # as many as there are valid ones
            self._known[token] = (time.monotonic() + self._remembers, who)
        return who

    def _found(self, token: str) -> Who | None:
        try:
            found = tokens.holder(self._board, token)
        except Refused:
            return None
        ours = found.scope in self._scopes  # a link of another study opens nothing here
        return Who(found.scope, found.subject) if ours else None


def checked_url(url: str) -> str:
    """`url` as scheme and host; raises `UsageError` where it is anything else.

    Without TLS it is this machine's own address alone: links are secrets.
    """
    whole = re.fullmatch(r"(https?)://([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?/?", url)
    if whole is None or int(whole[3] or 1) not in range(1, 65536):
        raise UsageError(
            f"{quoted(url)} is no address of a server; write https://HOST, without a path", "url"
        )
    if whole[1] == "http" and whole[2].lower() not in ("localhost", "127.0.0.1"):
        raise UsageError(
            f"{quoted(url)} has no TLS, so that anybody on the way could read the links; write "
            f"https://HOST, and let a server on this machine terminate TLS",
            "url",
        )
    return url.rstrip("/").lower()


class BoundedRequests:
    """Requests of bounded size and number; stands behind `GuardedApp`, which says whose."""

    def __init__(self, app: ASGIApp, budget: RequestBudget | None = None) -> None:
        self._app = app
        self._budget = budget or RequestBudget(PER_SECOND, BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        who = scope.get("state", {}).get("who")
        if who is not None and not self._budget.takes(who):
            refusal = JSONResponse({"detail": "too many requests; wait a second"}, 429)
            await refusal(scope, receive, send)
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY:
                told = {"detail": f"a request may have {LARGEST_BODY:,} bytes"}
                await JSONResponse(told, 413)(scope, receive, send)
                return
            if not message.get("more_body", False):
                break
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replayed, send)
