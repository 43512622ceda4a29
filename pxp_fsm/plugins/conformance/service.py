"""An untrusted service as a program: each request is an HTTP POST, its answer the response."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.plugins.conformance.process import (
    LONGEST,
    RESET,
    Answer,
    InvalidLine,
    ProgramFailed,
    Request,
    UnderTest,
    parse_answer,
    written,
)

if TYPE_CHECKING:
    import httpx2

SCHEMES = ("http://", "https://")


class Service(UnderTest):
    """What answers at `url`, in `timeout` seconds each; it resets when asked to.

    Raises `UsageError` for what is no URL, `ProgramFailed`, and `NoAnswer` where it does not reply
    in time.
    """

    def __init__(self, url: str, *, timeout: float = 5.0) -> None:
        import httpx2

        super().__init__(timeout)
        try:
            self._url = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise UsageError(f"{quoted(url)} is no URL: {error}") from error
        self._client = httpx2.Client(timeout=timeout, trust_env=False)

    def reset(self) -> Answer:
        """Start anew; what it replied."""
        reply = self.ask(RESET)
        if reply is None:
            raise ProgramFailed("it refused a reset; a service must do what a reset asks for")
        return reply

    def ask(self, asked: Request) -> Answer:
        """What it did at a request, or None where it refused."""
        import httpx2

        line = written(asked).strip()
        told = f"to {line.decode()}"
        headers = {"content-type": "application/json"}
        try:
            with self._client.stream("POST", self._url, content=line, headers=headers) as response:
                body = self._body(response, told)
        except httpx2.TimeoutException as error:
            raise NoAnswer(f"it did not reply within {self._timeout:g} s {told}") from error
        except httpx2.HTTPError as error:
            raise ProgramFailed(f"the connection failed {told}: {error}") from error
        if response.status_code != httpx2.codes.OK:
            raise ProgramFailed(f"it replied with status {response.status_code} {told}")
        try:
            return parse_answer(body)
        except InvalidLine as error:
            raise ProgramFailed(f"it said {error}, {told}") from None

    def _body(self, response: httpx2.Response, told: str) -> bytes:
        body, until = bytearray(), time.monotonic() + self._timeout
        for part in response.iter_bytes():
            body += part
            if time.monotonic() > until:
                raise NoAnswer(f"its reply took longer than {self._timeout:g} s {told}")
            if len(body) > LONGEST:
                raise ProgramFailed(f"it said more than {LONGEST} bytes {told}")
        return bytes(body)

    def close(self) -> None:
        """Close the connection; the service itself goes on."""
        self._client.close()
