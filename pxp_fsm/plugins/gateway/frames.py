"""Frames of JSON-RPC: read so that no reader on the way can see another message in them.

A gateway and a server that read one frame in two ways are a way around the gateway. So a frame with
a key twice, with keys that differ in case only from what the protocol names, with a carriage return
inside (a line's end for some readers), or that is no UTF-8 is malformed, and passes to nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pxp_fsm.errors import DataError

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
"""Codes of JSON-RPC errors."""

HEADER_MISMATCH = -32020
"""MCP's own code: a header of the request says something else than its message."""

_TOP = ("jsonrpc", "id", "method", "params", "result", "error")
_PARAMS = (
    *("name", "arguments", "requestId", "task", "uri", "inputResponses", "requestState"),
    *("message", "configuration", "tenant", "metadata"),
)
_FOLDED = {key.casefold() for key in (*_TOP, *_PARAMS)}
_KNOWN = {*_TOP, *_PARAMS}


class Malformed(DataError):
    """A frame that is no message of JSON-RPC, or that two readers could read in two ways."""

    def __init__(self, problem: str, code: int = PARSE_ERROR) -> None:
        self.code = code
        super().__init__(problem)


def read_frame(frame: bytes | None, most: int) -> Any:
    """The message of a frame, None of one that was too long to be kept; raises `Malformed`."""
    if frame is None or len(frame) > most:
        raise Malformed(f"a message has at most {most:,} bytes")
    if b"\r" in frame.rstrip(b"\r\n"):
        raise Malformed("a message is one line, without a carriage return in it")
    try:
        message = json.loads(
            frame.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=Number,
        )
    except UnicodeDecodeError as error:
        raise Malformed("a message is text in UTF-8") from error
    except RecursionError as error:
        raise Malformed("a message is nested too deeply") from error
    except ValueError as error:
        raise Malformed(f"this is no JSON: {error}") from error
    if isinstance(message, list):
        raise Malformed("messages are sent one by one, not in batches", INVALID_REQUEST)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Malformed('a message is an object with "jsonrpc": "2.0"', INVALID_REQUEST)
    parts = message, message.get("params")
    for part in parts:
        for key in part if isinstance(part, dict) else ():
            if key not in _KNOWN and key.casefold() in _FOLDED:
                raise Malformed(f"the key {key!r} is spelled otherwise", INVALID_REQUEST)
    if "method" in message and not isinstance(message["method"], str):
        raise Malformed("a method is text", INVALID_REQUEST)
    identity = message.get("id", "")
    if type(identity) not in (int, str):
        raise Malformed("an id is text or a whole number", INVALID_REQUEST)
    return message


class Number(float):
    """A number with a fraction or an exponent, and its text: two of them can be one float."""

    text: str

    def __new__(cls, text: str) -> Number:
        """The number of a text; raises `Malformed` where no float is as large."""
        number = super().__new__(cls, text)
        if number in (float("inf"), float("-inf")):
            raise Malformed(f"{text[:40]} is too large a number")
        number.text = text
        return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise Malformed("a key stands twice in one object")
    return content


def _constant(name: str) -> Any:
    raise Malformed(f"{name} is no number of JSON")


def written(message: Any) -> bytes:
    """A message as a frame."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def answer(identity: Any, result: Any) -> bytes:
    """The frame of a result."""
    return written({"jsonrpc": "2.0", "id": identity, "result": result})


def error(identity: Any, code: int, message: str) -> bytes:
    """The frame of an error."""
    return written({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}})


def notification(method: str) -> bytes:
    """The frame of a notification."""
    return written({"jsonrpc": "2.0", "method": method})


class Lines:
    """Splits a stream of bytes into frames; of one that is too long no more is kept than that.

    Blank lines are no frames, unless `keeps_blank`.
    """

    def __init__(self, most: int, *, keeps_blank: bool = False) -> None:
        self._most = most
        self._keeps_blank = keeps_blank
        self._held = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """The frames that are whole now, each with its newline; None for one that is too long."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._held += part
            if self._skipping or len(self._held) > self._most:
                yield None
            elif self._keeps_blank or self._held.strip():
                yield bytes(self._held) + b"\n"
            self._held.clear()
            self._skipping = False
        if not self._skipping:
            self._held += rest
        if len(self._held) > self._most:
            self._held.clear()
            self._skipping = True
