"""Assistants for tests: a host in this process, and clients of the SDK."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from backends.databases import SqlBlackboard
from pxp_fsm.automata.system import System, system_in
from pxp_fsm.automata.system_files import MCP, SystemFile, read_system
from pxp_fsm.experiments.system_runs import SystemRun, check_resumed, start_run
from pxp_fsm.prompting.members import WAIT
from pxp_fsm.sessions.occurrences import Occurrence
from pxp_fsm.web.assistants.server import server
from pxp_fsm.web.assistants.systems import SystemHost
from pxp_fsm.web.assistants.tools import Desk

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PEX = EXAMPLES / "assistants" / "pxp.toml"
ANSWER = {"prediction": "Canberra", "explanation": "The parliament sits there."}
PATIENCE = 600.0
"""Seconds after which what a test waits for has not come: no test is timed."""


@dataclass
class Hosted:
    """A run of assistants in this process."""

    desk: Desk
    host: SystemHost
    board: SqlBlackboard
    carrying: asyncio.Task[None]

    @property
    def run(self) -> SystemRun:
        """The run itself."""
        return self.host.run

    def stored(self, number: int = 1) -> tuple[Occurrence, ...]:
        """What is stored of a session."""
        return self.board.session(f"{self.run.name}/1/{number}").actions

    def client(self, member: str, mode: str = "auto") -> Client:
        """A client of the SDK that is this member, in this process."""
        return Client(server(self.desk, lambda _context: member), mode=mode, raise_exceptions=False)


@asynccontextmanager
async def hosted(
    path: Path,
    database: Path | SqlBlackboard,
    respondents: Mapping[str, str] | None = None,
    *,
    sessions: int = 1,
    seed: int = 0,
    resume: str | None = None,
) -> AsyncIterator[Hosted]:
    """The system in a file, carried on in this loop; every member is an assistant if not told."""
    file, system = _system(path)
    who = respondents or {one.name: MCP for one in file.members}
    opened = SqlBlackboard(str(database)) if isinstance(database, Path) else nullcontext(database)
    with opened as board:
        if resume is None:
            name = start_run(board, file, system, who, seed=seed, sessions=sessions)
        else:
            name = resume
            check_resumed(board, name, file, system, who, _run(file, "", who, board).settings)
        run = _run(file, name, who, board, sessions=sessions, seed=seed)
        desk = Desk(host := SystemHost(run), {})
        found = Hosted(desk, host, board, asyncio.create_task(host.carry()))
        try:
            yield found
        finally:
            found.carrying.cancel()
            await asyncio.gather(found.carrying, return_exceptions=True)
            desk.close()


def _run(
    file: SystemFile, name: str, who: Mapping[str, str], board: SqlBlackboard, **given: Any
) -> SystemRun:
    return SystemRun(
        name=name, system=system_in(file), file=file, respondents=who, board=board, **given
    )


@cache
def _system(path: Path) -> tuple[SystemFile, System]:
    file = read_system(str(path))
    return file, system_in(file)


async def said(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool returned, which is no refusal."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Why a tool refused."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return str(getattr(result.content[0], "text", ""))


async def my_turn(client: Client, session: str = "") -> dict[str, Any]:
    """The view of a session once it is the client's turn, or over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        view = await said(client, "turn", session=session, wait=5)
        if view["status"] != "others act":
            return view
    raise AssertionError("it has not become the client's turn")


async def play(client: Client, moves: Sequence[tuple[str, Any]], session: str = "") -> list[str]:
    """Make moves, each as soon as one may, and wait until then; what came of them."""
    outcomes, left = list[str](), list(moves)
    while left:
        view, (do, payload) = await my_turn(client, session), left[0]
        if do not in {one["do"] for one in view["options"]}:
            do, payload = WAIT, None
        told = {"session": view["session"], "question": view["question"], "do": do}
        result = await client.call_tool("answer", {**told, "payload": payload})
        if result.is_error:  # a message came before it
            assert "has moved on" in str(result.content), result.content
        elif isinstance(result.structured_content, dict) and do == left[0][0]:
            outcomes.append(result.structured_content["outcome"])
            left.pop(0)
    return outcomes


@asynccontextmanager
async def connected(address: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of the SDK at a running server."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120.0) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """What `pxp mcp` printed, in a process of its own, which Ctrl-C ends."""
    command = [sys.executable, "-m", "pxp_fsm.cli", "mcp", *arguments, "--output", str(folder)]
    command += [] if "--port" in arguments else ["--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            lines = ""
            for line in process.stdout:
                lines += line
                if "Ctrl-C" in line:
                    break
            yield lines, process
        finally:
            process.send_signal(signal.SIGINT)


def printed(lines: str) -> dict[str, tuple[str, str]]:
    """The address and token of each assistant, as the command prints them."""
    found = re.findall(r"^(\S+): (http\S+)\n  Authorization: Bearer (\S+)$", lines, re.MULTILINE)
    return {name: (address, token) for name, address, token in found}
