"""Failures of model calls, classified by remedy: retry, end the session, or stop the run."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any

from backends.models.clients.keys import Key, redacted
from pxp_fsm.errors import Halted, NoAnswer, PXPError, quoted

AGAIN = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may do; all from 500 on may, too."""

_BEHIND = frozenset({502, 504})
"""A gateway did not get a reply in time, or none that it could read: the server behind it may have
billed one. Servers do not bill what they answer with any other error."""

_PAYMENT = (401, 402, 403, 404)
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError")
_PASSING = ("overloaded_error", "rate_limit_error", "api_error", "timeout_error", "server_error")

_TOO_LONG = re.compile(r"context.(length|window|size|limit)|prompt is too long", re.IGNORECASE)
"""How servers say, each in its own words, that a request is longer than the context window."""

MOST_TOKENS = 2**31 - 1
"""More than any call uses, and the most that every database keeps."""

_MALFORMED = (
    ({"APIResponseValidationError", "ValidationError"}, "it has not the form of a reply"),
    ({"ValueError"}, "it is not JSON"),
    ({"RecursionError"}, "it is nested too deeply"),
    ({"APIError"}, "its stream told of an error"),
)


class CallFailed(NoAnswer):
    """A call without a usable reply.

    `again` says whether the same request may still succeed, after `wait` seconds if the server
    said so; `billed` whether it may have cost money, and `cost` how many dollars at most, where
    that is known. `sent` is False where no server was reached; `refused` says that a server did not
    take the request as it is, `malformed` that its reply was none, `too_long` that the request does
    not fit into the model's context window, `silent` that a stream went on and brought no token.
    """

    def __init__(
        self,
        cause: str,
        *,
        again: bool,
        billed: bool,
        wait: float | None = None,
        request_id: str = "",
        sent: bool = True,
        cost: float = 0.0,
        refused: bool = False,
        malformed: bool = False,
        too_long: bool = False,
        silent: bool = False,
    ) -> None:
        super().__init__(cause)
        self.again = again
        self.billed = billed
        self.wait = wait
        self.request_id = request_id
        self.sent = sent
        self.cost = cost
        self.refused = refused
        self.malformed = malformed
        self.too_long = too_long
        self.silent = silent


def malformed(reason: str, request_id: str = "") -> CallFailed:
    """A reply that is none: it was made, so it may have been billed."""
    return CallFailed(
        f"its reply is malformed: {reason}",
        again=True,
        billed=True,
        request_id=request_id,
        malformed=True,
    )


def silent(where: str, seconds: float) -> CallFailed:
    """A stream that was given up; what it had brought may have been billed."""
    problem = f"{where}: its stream brought no further token in {seconds:g} s"
    return CallFailed(problem, again=True, billed=True, silent=True)


def explained(error: Exception, where: str, key: Key | None) -> PXPError | None:
    """What an `error` that came out of a vendor's library means; None if it is not about a call.

    Both libraries have the same tree of exceptions, and neither is imported here. What a server
    says is quoted, never trusted; should it repeat the `key`, that is left out.
    """
    for known in (error, error.__cause__):
        if isinstance(known, PXPError):
            return known
    names = {kind.__name__ for kind in type(error).__mro__}
    if "APIStatusError" in names:
        return _status(error, where, key)
    if names & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return _connection(error, f"{where} did not answer in time")
    if names & {"APIConnectionError", "HTTPError", "StreamError"}:
        return _connection(error, f"{where}: the connection failed")
    for kinds, reason in _MALFORMED:
        if names & kinds:
            return malformed(reason)
    return None


def _connection(error: Exception, problem: str) -> CallFailed:
    cause = error.__cause__ or error
    sent = type(cause).__name__ not in _NEVER_SENT
    return CallFailed(f"{problem} ({type(cause).__name__})", again=True, billed=sent, sent=sent)


def _status(error: Any, where: str, key: Key | None) -> PXPError:
    status, headers = int(error.status_code), error.response.headers
    request_id = headers.get("request-id") or headers.get("x-request-id") or ""
    kind, message = _body(error.body)
    message, request_id = redacted(message, key), redacted(str(request_id), key)
    problem = f"{where}: HTTP {status}" + (f", {quoted(message, 200)}" if message else "")
    if 300 <= status < 400:
        return Halted(
            f"{problem}: it redirects, and no prompt is sent elsewhere; give the address itself"
        )
    if status in _PAYMENT:
        why = {401: "the key was refused", 402: "it is to be paid", 403: "this is not allowed"}
        return Halted(f"{problem}: {why.get(status, 'there is no such model or address')}")
    in_stream = status < 300
    passing = kind in _PASSING if in_stream else status in AGAIN or status >= 500
    again = passing and headers.get("x-should-retry") != "false"
    return CallFailed(
        problem,
        again=again,
        billed=in_stream or status in _BEHIND,
        wait=retry_after(headers),
        request_id=request_id,
        refused=not again and not in_stream,
        too_long=status in (400, 413) and _TOO_LONG.search(f"{kind} {message}") is not None,
    )


def _body(body: object) -> tuple[str, str]:
    """The kind of an error and what the server says of it, whatever it sent."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if isinstance(inner, Mapping):
        return str(inner.get("type") or ""), str(inner.get("message") or "")
    return "", ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, or None: `retry-after-ms`, `retry-after`, a date."""
    for name, part in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / part
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    try:
        return None if date is None else max(email.utils.mktime_tz(date) - time.time(), 0.0)
    except (OverflowError, ValueError):
        return None
