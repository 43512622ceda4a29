"""A gateway over standard input and output: the client is who started it, the server its child."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from asyncio.subprocess import PIPE, Process
from asyncio.subprocess import create_subprocess_exec as start_process
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.gateway.frames import Lines
from pxp_fsm.plugins.gateway.gateway import Gateway, Traffic

_CHUNK = 65_536
_PATIENCE = 5.0
"""The seconds that a server has to end by itself, once its input is closed."""

_MOMENT = 1.0
"""The seconds for which a first request is waited for, whose server is gone."""

Note = Callable[[str], None]


class Reading(Protocol):
    """Where bytes come from; b"" is the end."""

    async def read(self, n: int) -> bytes:
        """The next bytes, at most `n`."""


class Writing(Protocol):
    """Where bytes go."""

    def write(self, data: bytes) -> None:
        """Send all of it."""

    async def drain(self) -> None:
        """Wait until more may be written."""


class _File:
    """A stream that the event loop cannot wait for: a regular file, a device without a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, n: int) -> bytes:
        return await asyncio.to_thread(os.read, self._descriptor, n)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def drain(self) -> None:
        """All is written."""


class StdioProxy:
    """The gateway between this process's standard streams and the server's.

    `note` is told what whoever runs the gateway should know. `beside` runs while it does.
    """

    def __init__(
        self,
        gateway: Gateway,
        command: Sequence[str],
        note: Note,
    ) -> None:
        self.beside: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._gateway = gateway
        self._command = command
        self._note = note
        self._has_spoken = False

    async def run(self) -> int:
        """Pass messages until one side is gone.

        The server's exit code, where it went before the client, left a request without an answer,
        or ended with a code and had said nothing; else 0. Raises `UsageError` where the server
        cannot be started, or a standard stream is closed.
        """
        loop = asyncio.get_running_loop()
        reader, self._client = await _reading(0), await _writing(1)
        try:
            server = await start_process(*self._command, stdin=PIPE, stdout=PIPE)
        except (OSError, ValueError) as error:
            name = quoted(self._command[0])
            raise UsageError(f"the server {name} cannot be started: {error}", "command") from error
        assert server.stdin is not None  # noqa: S101 - it is a pipe
        assert server.stdout is not None  # noqa: S101
        self._server, self._heard = server.stdin, server.stdout
        here = asyncio.create_task(self._pump(reader, self._gateway.from_client))
        there = asyncio.create_task(self._pump(server.stdout, self._gateway.from_server))
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        others: list[asyncio.Task[Any]] = [asyncio.create_task(ended.wait())]
        if self.beside is not None:
            others.append(asyncio.create_task(self.beside()))
        try:
            await asyncio.wait((here, there, *others), return_when=asyncio.FIRST_COMPLETED)
            # What failed in a pump is told; the other side's end is the usual way to go.
            for pump in (here, there):
                if pump.done():
                    pump.result()
            return await self._ended(server, here, there)
        finally:
            for task in (here, there, *others):
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            if server.returncode is None:
                with suppress(ProcessLookupError):
                    server.kill()
                await server.wait()

    async def _ended(
        self, server: Process, here: asyncio.Task[None], there: asyncio.Task[None]
    ) -> int:
        """Let the server end, and pass what it still says."""
        gone = there.done()
        server.stdin.close()  # type: ignore[union-attr] # it is a pipe
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(there), _PATIENCE)
        try:
            code = await asyncio.wait_for(server.wait(), _PATIENCE)
        except TimeoutError:
            server.terminate()
            return 0
        if gone and not self._has_spoken:  # a client's first request is on its way
            with suppress(asyncio.TimeoutError):
                async with asyncio.timeout(_MOMENT):
                    while not here.done() and not self._gateway.waiting:
                        await asyncio.sleep(0.02)
        waiting = list(self._gateway.waiting)
        if not gone and code == 0:  # what it has not answered the client has not waited for
            return 0
        name = quoted(self._command[0])
        why = f"the server's command {name} ended "
        why += f"with code {code}" if code >= 0 else f"by signal {-code}"
        if waiting or not self._has_spoken:
            why += " before it answered"
        self._note(why)
        for identity in waiting:
            await self._pass(self._gateway.lost(identity, why))
        if waiting:
            code = code or 1
        return code if gone or waiting or not self._has_spoken else 0

    async def _pump(self, reader: Reading, decide: Callable[[bytes | None], Traffic]) -> None:
        lines = Lines(self._gateway.policy.file.limits.frame)
        while data := await reader.read(_CHUNK):
            self._has_spoken |= reader is self._heard
            for frame in lines.feed(data):
                await self._pass(decide(frame))

    def tell(self, traffic: Traffic) -> None:
        """Send the client what follows from what somebody did elsewhere."""
        for frame in traffic.to_client:
            self._client.write(frame)

    async def _pass(self, traffic: Traffic) -> None:
        for text in traffic.notes:
            self._note(text)
        for frames, writer in (
            (traffic.to_server, self._server),
            (traffic.to_client, self._client),
        ):
            if frames:
                with suppress(ConnectionError):  # its end is seen where it is read
                    writer.write(b"".join(frames))
                    await writer.drain()
                    if writer is self._client:
                        self._gateway.delivered(traffic)


async def _reading(descriptor: int) -> Reading:
    if not _is_waited_for(descriptor):
        return _File(descriptor)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(descriptor), "rb", 0)
    )
    return reader


async def _writing(descriptor: int) -> Writing:
    if not _is_waited_for(descriptor):
        return _File(descriptor)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(descriptor), "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _is_waited_for(descriptor: int) -> bool:
    """Whether the event loop can wait for a stream: for a pipe, a socket or a terminal."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        raise UsageError("the client speaks over standard input and output: open both") from error
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
