"""The call cache: replies of models, stored by (model, request, epoch).

A request that was asked before is not asked again. As a file it is a recording, one JSON object a
line, which can be shared, and replayed without a network; it holds digests of prompts, replies and
usage, and no key, because no request holds one.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Collection
from dataclasses import asdict, replace
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from backends.models.catalogue import ModelFacts
from pxp_fsm.artifacts import locked, write_atomically
from pxp_fsm.documents import lines_of
from pxp_fsm.errors import DataError, Halted, quoted
from pxp_fsm.prompting.model import (
    Ask,
    LanguageModel,
    Layer,
    LayeredModel,
    ModelRequest,
    Reply,
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
    crash is dropped, and its call is made again. Several processes may write one file: each takes
    in what the others have appended before it appends.
    """

    def __init__(self, path: Path | None = None, *, writes: bool = True) -> None:
        self.path = path
        self._known: dict[Asked, Reply] = {}
        self._file: FileIO | None = None
        self._read = self._lines = 0
        if path is None:
            return
        if not path.is_file() and not (writes and not path.exists()):
            raise DataError(f"there is no recording {path}")
        try:
            if writes:
                self._file = path.open("a+b", buffering=0)  # a buffer would hold what was there
                with locked(path):
                    self._take_in(path, self._file)
                    if self._read == 0:
                        self._append({"format": FORMAT, "version": VERSION})
            else:
                with path.open("rb", buffering=0) as file:
                    self._take_in(path, file)
        except OSError as error:
            self.close()
            why = str(error.strerror).lower()
            raise DataError(f"the recording {path} cannot be opened: {why}") from error
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._known)

    def find(self, asked: Asked) -> Reply | None:
        """The reply to what was `asked`, or None where it was not."""
        return self._known.get(asked)

    def keep(self, asked: Asked, reply: Reply) -> Reply:
        """Keep a reply, unless one is known already, in the file too; the one that is kept."""
        if asked in self._known or self.path is None or self._file is None:
            return self._known.setdefault(asked, reply)
        with locked(self.path):
            self._take_in(self.path, self._file)
            if asked not in self._known:
                self._append(as_line(asked, reply))
        return self._known.setdefault(asked, reply)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, line: dict[str, Any]) -> None:
        """Append a line; what stands after the last whole one was cut by a crash."""
        if self._file is None:
            return
        encoded = (json.dumps(line, ensure_ascii=True) + "\n").encode()
        self._file.truncate(self._read)
        written = self._file.write(encoded)
        if written != len(encoded):
            raise OSError(errno.ENOSPC, "no space left on device")
        os.fsync(self._file.fileno())
        self._read += len(encoded)
        self._lines += 1

    def _take_in(self, path: Path, file: FileIO) -> None:
        """Take in every whole line that was not read yet."""
        file.seek(self._read)
        buffered = BufferedReader(file)  # for these lines alone: `file` has no buffer
        try:
            for _number, line in lines_of(path, buffered):
                if not line.endswith(b"\n"):
                    return
                self._lines += 1
                self._take(path, self._lines, line)
                self._read += len(line)
        finally:
            buffered.detach()

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


def forget(path: Path, requests: Collection[str]) -> int:
    """Remove the replies to `requests` (their fingerprints) from the file `path`; how many.

    The file is replaced: a process that has it open writes on into the old one. Raises `DataError`
    where it is no recording.
    """
    CallCache(path, writes=False).close()
    with locked(path):
        first, *lines = path.read_text("utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        kept = [line for line in whole if json.loads(line)["request"] not in requests]
        if len(kept) < len(whole):
            write_atomically(path, "".join([first, *kept]))
    return len(whole) - len(kept)


def as_line(asked: Asked, reply: Reply) -> dict[str, Any]:
    """A call as a line of a recording."""
    model, digest, epoch = asked
    return {
        "model": model,
        "request": digest,
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

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
        asked = (name, fingerprint(request), request.epoch)
        while asked in under_way:
            await asyncio.shield(under_way[asked])
        recorded = cache.find(asked)
        if recorded is not None:
            return _cached(recorded)
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        under_way[asked] = over
        try:
            reply = await ask(request)
            kept = cache.keep(asked, reply)
            return reply if kept == reply else _cached(kept)
        finally:
            del under_way[asked]
            over.set_result(None)

    return reply


class NotRecorded(Halted):
    """A recording has no reply to what is asked."""


def replayed(facts: ModelFacts, cache: CallCache) -> LanguageModel:
    """A recorded model: it replies what it replied then, and nothing is sent anywhere."""
    name = str(facts.name)

    async def reply(request: ModelRequest) -> Reply:
        digest = fingerprint(request)
        recorded = cache.find((name, digest, request.epoch))
        if recorded is None:
            raise NotRecorded(
                f"the recording {cache.path or ''} has no reply of {name} to request "
                f"{digest[:12]}… (epoch {request.epoch}, {request.purpose}): it is of another run, "
                f"or its prompts have changed"
            )
        return _cached(recorded)

    return LayeredModel(name, facts.server.can, reply)


def _cached(reply: Reply) -> Reply:
    return replace(reply, served=Served(reply.served.request_id, cached=True))
