"""Links: tokens that are one person's alone, stored as digests, which expire and can be revoked.

A link's token becomes a cookie. Who conducts has a cookie of its own, which no other link replaces.
No address of a network is read or stored.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response

from backends.databases import SqlBlackboard, tokens
from backends.databases.tokens import PAIRING_SECONDS, Purpose
from pxp_fsm.errors import Refused, UsageError, quoted
from pxp_fsm.web.guard import RESEARCHERS, Door, RequestBudget, Who, bearer, cookie, opening
from pxp_fsm.web.pages import note

EXPERTS = "expert"
"""The scope of the links of experts."""
PER_SECOND, BURST = 20.0, 120.0
"""Requests of one holder of a link: on average, and at once."""
DAY = 86_400.0


class Arrival(Protocol):
    """How people come who have no link: by an address with parameters, from another site."""

    def page(self, query: Mapping[str, str], address: str) -> Response | None:
        """What somebody is shown first, who comes with these parameters by the whole `address`;
        None where they mean nobody. Nothing is stored by it. Raises `Refused`, saying why, where
        nobody is taken."""

    def take(self, query: Mapping[str, str]) -> str | None:
        """The token of who has seen that page and goes on. Raises `Refused` as `page` does."""


class Links:
    """Access by links whose tokens are on `board`; `url` is where the pages are reached.

    Without `url` that is the loopback interface at `port`. The links of people and assistants are
    those of `scopes`; an `arrival` lets others in. A valid token is looked up again after
    `remembers` seconds: until then it counts, though another process may have revoked it. Raises
    `UsageError` for a URL that is none.
    """

    def __init__(
        self,
        board: SqlBlackboard,
        port: int,
        url: str | None = None,
        days: float = 14.0,
        *,
        scopes: tuple[str, ...] = (EXPERTS,),
        arrival: Arrival | None = None,
        remembers: float = 0.0,
    ) -> None:
        self.address = checked_url(url) if url is not None else f"http://127.0.0.1:{port}"
        self._board = board
        self._scopes = (*scopes, RESEARCHERS)
        self._arrival = arrival
        self._remembers = remembers
        self._known: dict[str, tuple[float, Who]] = {}
        self._seconds = days * DAY
        host = urlsplit(self.address).netloc
        self.hosts = (host,) if url is not None else (host, f"localhost:{port}")
        self._tls = self.address.startswith("https:")
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
        """The holder of the token of a request; whoever conducts stays who they are."""
        candidates = (
            bearer(headers),
            cookie(headers, self._conductors),
            cookie(headers, self.cookie),
        )
        return next((who for token in candidates if token and (who := self._holder(token))), None)

    @property
    def _conductors(self) -> str:
        return f"{self.cookie}-researcher"

    def opened(self, method: str, query: str, who: Who | None) -> Response | None:
        """The answer to a request with a right token or pairing, or of somebody who arrives."""
        parameters = dict(reversed(parse_qsl(query)))  # of two of a name the first one counts
        token = parameters.get("token", "")
        if "pair" in parameters and self._pairings.takes(""):
            try:
                token, _ = tokens.pair(self._board, parameters["pair"], seconds=self._seconds)
            except Refused:
                return None
        elif not token and self._arrival is not None and self._arrivals.takes(""):
            if who is not None and who.is_researcher:
                return note(
                    "You conduct this study",
                    "In this browser the study is yours to conduct. To see what participants see, "
                    "open the address in a private window.",
                )
            try:
                if method != "POST":
                    return self._arrival.page(parameters, f"{self.address}/?{query}")
                token = self._arrival.take(parameters) or ""
            except Refused as error:
                return note("You cannot take part now", f"{error}.")
        holder = self._holder(token) if token else None
        if holder is None:
            return None
        name = self._conductors if holder.is_researcher else self.cookie
        return opening(name, token, seconds=int(self._seconds), tls=self._tls)

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
            holder = tokens.holder(self._board, token)
        except Refused:
            return None
        ours = holder.scope in self._scopes  # a link of another study opens nothing here
        return Who(holder.scope, holder.subject) if ours else None


def door_of_people(scope: str, told: str, budget: RequestBudget | None = None) -> Door:
    """The door to pages of people with links of `scope`, and of whoever conducts.

    Whoever comes by a link that has ended, or by none, is `told` what that means for them.
    """
    return Door(
        admits=lambda who: who.scope in (scope, RESEARCHERS),
        refusal=note("This link has ended", told),
        budget=budget or RequestBudget(PER_SECOND, BURST),
    )


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
