"""The call cache: replies of models, stored by (model, request, epoch).

A request that was asked before is not asked again. As a file it is a recording, one JSON object a
line, which can be shared, and replayed without a network; it holds digests of prompts, replies and
usage, and no key, because no request holds one.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict, replace
from io import BufferedRandom
from pathlib import Path
from typing import Any

from backends.models.catalogue import ModelFacts
from pxp_fsm.errors import DataError, Halted, quoted
from pxp_fsm.prompting.model import (
    Ask,
    Layer,
    LayeredModel,
    Model,
    Reply,
    Request,
    Served,
    Stop,
    Usage,
    fingerprint,
)

FORMAT = "pxp-fsm calls"
VERSION = 1

Asked = tuple[str, str, int]
"""Model, fingerprint of the request, epoch."""


class CallCache:
    """Replies by what was asked; in memory, and in the file `path` where one is given.

    A file that is there is read first; every new reply is appended to it at once. Raises
    `DataError`, with file and line, for what is none of its lines; a last line that was cut by a
    crash is dropped, and its call is made again.
    """

    def __init__(self, path: Path | None = None, *, writes: bool = True) -> None:
        self.path = path
        self._known: dict[Asked, Reply] = {}
        self._file: BufferedRandom | None = None
        if path is None:
            return
        if not writes and not path.is_file():
            raise DataError(f"there is no recording {path}")
        try:
            whole = self._read(path) if path.is_file() else 0
            if writes:
                self._file = path.open("r+b" if path.is_file() else "x+b")
                self._file.truncate(whole)
                self._file.seek(whole)
                if whole == 0:
                    self._append({"format": FORMAT, "version": VERSION})
        except OSError as error:
            why = str(error.strerror).lower()
            raise DataError(f"the recording {path} cannot be opened: {why}") from error

    def __len__(self) -> int:
        return len(self._known)

    def find(self, asked: Asked) -> Reply | None:
        """The reply to what was `asked`, or None where it was not."""
        return self._known.get(asked)

    def keep(self, asked: Asked, reply: Reply) -> None:
        """Keep a reply; one that is known already stays as it is."""
        if asked in self._known:
            return
        self._known[asked] = reply
        if self._file is not None:
            self._append(as_line(asked, reply))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, line: dict[str, Any]) -> None:
        if self._file is None:
            return
        self._file.write((json.dumps(line, ensure_ascii=True) + "\n").encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, path: Path) -> int:
        """Take in every line of the file; how many of its bytes are whole lines."""
        whole = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                self._take(path, number, line)
                whole += len(line)
        return whole

    def _take(self, path: Path, number: int, line: bytes) -> None:
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError.at(path, number, "this is not JSON; is it a recording?") from error
        if number == 1:
            if raw != {"format": FORMAT, "version": VERSION}:
                raise DataError.at(path, 1, f"this is not a recording of version {VERSION}")
            return
        try:
            asked, reply = from_line(raw)
        except (ValueError, TypeError, KeyError) as error:
            raise DataError.at(path, number, f"this is not a call: {quoted(str(error))}") from error
        known = self._known.setdefault(asked, reply)
        if known != reply:
            raise DataError.at(path, number, "the same call has another reply on an earlier line")


def as_line(asked: Asked, reply: Reply) -> dict[str, Any]:
    """A call as a line of a recording."""
    model, said, epoch = asked
    return {
        "model": model,
        "request": said,
        "epoch": epoch,
        "text": reply.text,
        "stop": str(reply.stop),
        "usage": asdict(reply.usage),
        "request_id": reply.served.request_id,
    }


def from_line(raw: Any) -> tuple[Asked, Reply]:
    """A line of a recording as a call; raises `ValueError`, `TypeError` or `KeyError`."""
    texts = [raw["model"], raw["request"], raw["text"], raw["request_id"]]
    usage = Usage(**raw["usage"])
    numbers = [raw["epoch"], *asdict(usage).values()]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is missing")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("a number is missing")
    asked = (raw["model"], raw["request"], raw["epoch"])
    served = Served(raw["request_id"])
    return asked, Reply(raw["text"], Stop(raw["stop"]), usage, served)


def cached(name: str, cache: CallCache) -> Layer:
    """Asks the model `name` only for what `cache` does not hold.

    Two who ask the same at once share the reply.
    """
    under_way: dict[Asked, asyncio.Future[None]] = {}

    async def reply(ask: Ask, request: Request) -> Reply:
        asked = (name, fingerprint(request), request.epoch)
        while asked in under_way:
            await asyncio.shield(under_way[asked])
        found = cache.find(asked)
        if found is not None:
            return _cached(found)
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        under_way[asked] = over
        try:
            reply = await ask(request)
            cache.keep(asked, reply)
            return reply
        finally:
            del under_way[asked]
            over.set_result(None)

    return reply


def replayed(facts: ModelFacts, cache: CallCache) -> Model:
    """A recorded model: it replies what it replied then, and nothing is sent anywhere."""
    name = str(facts.name)

    async def reply(request: Request) -> Reply:
        said = fingerprint(request)
        found = cache.find((name, said, request.epoch))
        if found is None:
            raise Halted(
                f"the recording {cache.path or ''} has no reply of {name} to request "
                f"{said[:12]}… (epoch {request.epoch}, {request.purpose}): it is of another run, "
                f"or its prompts have changed"
            )
        return _cached(found)

    return LayeredModel(name, facts.server.can, reply)


def _cached(reply: Reply) -> Reply:
    return replace(reply, served=Served(reply.served.request_id, cached=True))
