"""A gateway over standard input and output: the client is who started it, the server its child."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from asyncio.subprocess import create_subprocess_exec as start_process
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.gateway.frames import Lines
from pxp_fsm.plugins.gateway.gateway import Gateway, Traffic

_CHUNK = 65_536
_PATIENCE = 5.0
"""The seconds that a server has to end by itself, once its input is closed."""

Note = Callable[[str], None]


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

    async def run(self) -> int:
        """Pass messages until one side is gone; the server's exit code, 0 where the client went.

        Raises `UsageError` where the server cannot be started.
        """
        loop = asyncio.get_running_loop()
        try:
            server = await start_process(*self._command, stdin=PIPE, stdout=PIPE)
        except (OSError, ValueError) as error:
            name = quoted(self._command[0])
            raise UsageError(f"the server {name} cannot be started: {error}", "command") from error
        assert server.stdin is not None  # noqa: S101 - it is a pipe
        assert server.stdout is not None  # noqa: S101
        self._server = server.stdin
        self._client = await _writing(sys.stdout.fileno())
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", 0)
        )
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
            return await self._ended(server, there)
        finally:
            for task in (here, there, *others):
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            if server.returncode is None:
                with suppress(ProcessLookupError):
                    server.kill()
                await server.wait()

    async def _ended(self, server: Process, there: asyncio.Task[None]) -> int:
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
        return code if gone else 0

    async def _pump(
        self, reader: asyncio.StreamReader, decide: Callable[[bytes | None], Traffic]
    ) -> None:
        lines = Lines(self._gateway.policy.file.limits.frame)
        while data := await reader.read(_CHUNK):
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


async def _writing(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(descriptor), "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
