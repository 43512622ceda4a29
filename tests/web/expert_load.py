"""Experts who answer on a server as their browsers do, and what must be stored of it then."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from backends.databases import SqlBlackboard
from backends.databases.verify import verify_engine
from tests.web.experts import MINE, QuickServer

THINKS = 30.0
"""Seconds between two requests of a person, on average."""
AWAY = (httpx2.HTTPError, OSError)


@dataclass
class Load:
    """What all experts together have seen."""

    seconds: list[float] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    ready: int = 0
    ends: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.ends.is_set()


async def expert(server: QuickServer, name: str, load: Load, thinks: float) -> None:
    """A person who answers whatever waits, until the time is over."""
    chance, sent = random.Random(name), 0
    token = server.links[name].partition("token=")[2]
    headers = {"authorization": f"Bearer {token}"}
    base = f"http://127.0.0.1:{server.port}"
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=60) as client:
        listening = asyncio.create_task(_listen(server.port, token))
        while not await _is_asked(client):
            await asyncio.sleep(chance.uniform(2, 10))
        load.ready += 1
        while not load.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(load.ends.wait(), chance.expovariate(1 / thinks))
            if load.over:  # or all would answer at once
                break
            try:
                view = await _waiting(client)
                if view is None:
                    if await _all_over(client):
                        break
                    continue
                step, asked = view["asked"]["step"], view["asked"]
                body: dict[str, Any] = {"key": asked["key"], "choice": "send"}
                if step == "answer":
                    sent += 1
                    body |= {"choice": "own", **MINE, "explanation": f"{name} {sent}"}
                elif step == "tag":
                    body["choice"] = chance.choice(
                        [one["guard"] for one in asked["choices"] if one["allowed"]]
                    )
                began = time.perf_counter()
                said = await client.post(f"/api/sessions/{view['id']}/reply", json=body)
                load.seconds.append(time.perf_counter() - began)
                if said.status_code == 200 and step == "look":
                    load.acknowledged.append(asked["answer"]["explanation"])
                elif said.status_code not in (200, 409):
                    raise RuntimeError(said.text)
            except AWAY:  # the server was killed: asked again soon
                continue
        listening.cancel()


async def _listen(port: int, token: str) -> None:
    """Keep a WebSocket open, and open it again when it ends."""
    headers = {"authorization": f"Bearer {token}", "origin": f"http://127.0.0.1:{port}"}
    while True:
        with suppress(WebSocketException, OSError, TimeoutError):
            address = f"ws://127.0.0.1:{port}/api/events"
            async with connect(address, additional_headers=headers, origin=None) as socket:
                async for _ in socket:
                    pass
        await asyncio.sleep(1)


async def _waiting(client: httpx2.AsyncClient) -> dict[str, Any] | None:
    for line in (await client.get("/api/sessions")).json():
        if line["standing"] == "you":
            view: dict[str, Any] = (await client.get(f"/api/sessions/{line['id']}")).json()
            return view if view["asked"] else None
    return None


async def _is_asked(client: httpx2.AsyncClient) -> bool:
    try:
        return await _waiting(client) is not None
    except AWAY:
        return False


async def _all_over(client: httpx2.AsyncClient) -> bool:
    lines = (await client.get("/api/sessions")).json()
    return all(line["standing"] == "over" for line in lines)


async def measured(
    server: QuickServer,
    experts: int,
    kills: int,
    seconds: float,
    thinks: float = THINKS,
    seed: int = 1,
) -> Load:
    """Let experts answer for so long, and kill the server so often before.

    They begin once a session waits for each of them.
    """
    load, chance = Load(), random.Random(seed)
    tasks = [
        asyncio.create_task(expert(server, f"e{number}", load, thinks))
        for number in range(1, experts + 1)
    ]
    while load.ready < experts and not any(task.done() for task in tasks):
        await asyncio.sleep(0.5)
    for _ in range(kills):
        await asyncio.sleep(chance.uniform(0.5, 4.0))
        await asyncio.to_thread(server.end)
        await asyncio.to_thread(server.start)
    await asyncio.wait(tasks, timeout=seconds)
    load.ends.set()
    await asyncio.gather(*tasks)
    return load


def check(database: Path, load: Load) -> tuple[int, int, int]:
    """How many messages experts have sent, how many acknowledged ones are lost, how many doubled.

    A text counts once a session: who edits, or is asked again after a kill, may send it once.
    """
    with SqlBlackboard(str(database), create=False) as board:
        said = [
            entry.carried.answer.explanation
            for record in board.sessions()
            for entry in board.events(record.session)
            if entry.carried.sender == "h"
        ]
        problems = list(verify_engine(board.engine).problems)
    if problems:
        raise RuntimeError(f"the chain does not verify: {problems[:3]}")
    return len(said), len(set(load.acknowledged) - set(said)), len(said) - len(set(said))
