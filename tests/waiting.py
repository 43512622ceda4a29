"""Tests wait for a state, not for a time: so they hold on a machine of any speed."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Callable

PATIENCE = 240.0
"""Seconds after which what a test waits for has not come: only a failure takes so long."""


def until(holds: Callable[[], object], pause: float = 0.01) -> None:
    """Wait until something holds, which is looked at after each `pause` (seconds)."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, "it did not come to that"
        time.sleep(pause)


async def comes(holds: Callable[[], object]) -> None:
    """Let the other tasks go on until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.001)


def free_port() -> int:
    """A port of this machine that a process may take, and take again after its end.

    It is not one of those that the system gives to whoever asks for any: those may be somebody
    else's before the process has taken it.
    """
    while True:
        port = random.SystemRandom().randint(10_000, 30_000)
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
