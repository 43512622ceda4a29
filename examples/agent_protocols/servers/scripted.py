"""What the adapters have in common: a server as a process, and the messages of `pxp conform`."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import httpx2

QUIET = 1.0
"""Seconds after which a server that has not answered is taken to be quiet."""


class Adapter(Protocol):
    def reset(self) -> list[str]: ...
    def event(self, name: str) -> list[str]: ...
    def receive(self, tag: str) -> list[str]: ...


class Server:
    """The command as a server on a free port of loopback; PORT in it stands for the port."""

    def __init__(self, command: Sequence[str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.process = subprocess.Popen(
            [str(self.port) if word == "PORT" else word for word in command],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        address = f"http://127.0.0.1:{self.port}"
        self.client = httpx2.Client(base_url=address, timeout=10, trust_env=False)

    def __enter__(self) -> Self:
        until = time.monotonic() + 60
        while True:
            try:
                self.client.get("/")
            except httpx2.HTTPError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()

    def post(
        self, path: str, content: dict[str, Any], headers: dict[str, str]
    ) -> httpx2.Response | None:
        """The response, or None where there is none in `QUIET` seconds."""
        try:
            return self.client.post(path, json=content, headers=headers, timeout=QUIET)
        except httpx2.TimeoutException:
            return None


def serve(adapter: Adapter) -> None:
    """Answer the messages on standard input, one line each."""
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "reset":
            sent = adapter.reset()
        elif asked["do"] == "event":
            sent = adapter.event(asked["name"])
        else:
            sent = adapter.receive(asked["tag"])
        print(json.dumps({"sent": sent}), flush=True)
