"""Assistants for tests: a host in this process, and clients of the SDK."""

from __future__ import annotations

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
from pxp_fsm.automata.system_files import MCP, SystemFile, read_system
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.openings import SystemOpening
from pxp_fsm.experiments.runs import Run
from pxp_fsm.prompting.members import WAIT
from pxp_fsm.sessions.events import Event
from pxp_fsm.web.assistants.server import server
from pxp_fsm.web.assistants.systems import SystemAssistants
from pxp_fsm.web.assistants.tools import Toolbox
from pxp_fsm.web.hosting import Host, carried
from pxp_fsm.web.news import News
from tests.command_line import PLACES
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PEX = EXAMPLES / "assistants" / "pex.toml"
ANSWER = {"prediction": "Canberra", "explanation": "The parliament sits there."}


@dataclass
class Hosted:
    """A run of assistants in this process."""

    toolbox: Toolbox
    assistants: SystemAssistants
    board: SqlBlackboard

    @property
    def run(self) -> Run[SystemOpening]:
        """The run itself."""
        return self.assistants.run

    def stored(self, number: int = 1) -> tuple[Event, ...]:
        """What is stored of a session."""
        return self.board.session(f"{self.run.name}/1/{number}").events

    def client(self, member: str, mode: str = "auto") -> Client:
        """A client of the SDK that is this member, in this process."""
        return Client(
            server(self.toolbox, lambda _context: member), mode=mode, raise_exceptions=False
        )


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
    """The system in a file, carried on by a host; every member is an assistant if not told."""
    file = _file(path)
    who = respondents or {one.name: MCP for one in file.members}
    opening = SystemOpening(file, who, sessions=sessions, seed=seed)
    opened = SqlBlackboard(str(database)) if isinstance(database, Path) else nullcontext(database)
    with opened as board:
        run = (
            runs.start(opening, board)
            if resume is None
            else runs.resume(resume, board, None, opening)
        )
        host, news = Host(board, [run]), News()
        assistants = SystemAssistants(host, run, news)
        toolbox = Toolbox(assistants, {})
        try:
            async with carried(host, news):
                yield Hosted(toolbox, assistants, board)
        finally:
            toolbox.close()


@cache
def _file(path: Path) -> SystemFile:
    return read_system(str(path))


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
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
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
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """What `pxp serve --mcp` printed, in a process of its own, which Ctrl-C ends."""
    command = [sys.executable, "-m", "pxp_fsm.cli", "serve", *arguments, "--no-browser"]
    command += ["--database", str(folder / "blackboard.sqlite")]
    command += [] if "--port" in arguments else ["--port", "0"]
    environment = {**os.environ, "PYTHONPATH": PLACES, "PYTHONUNBUFFERED": "1"}
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
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


def printed(lines: str) -> dict[str, tuple[str, str]]:
    """The address and token of each assistant, as the command prints them."""
    found = re.findall(r"^(\S+): (http\S+)\n  Authorization: Bearer (\S+)$", lines, re.MULTILINE)
    return {name: (address, token) for name, address, token in found}
