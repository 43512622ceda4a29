"""An assistant's turn over MCP on loopback, and many assistants at once.

`python -m benchmarks.bench_mcp [CLIENTS]` prints, for one client, what a turn takes, by the clock
and of the server's CPU, beside a server of the same SDK whose tool does nothing; and for CLIENTS
clients, two a session, what their messages cost.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from mcp import Client

from tests.web.assistants import ANSWER, PEX, connected, my_turn, play, printed

ROOT = Path(__file__).parents[1]
TURNS = 200

_NOTHING = """
import uvicorn
import mcp_types as types
from mcp.server import Server
async def listed(_, __): return types.ListToolsResult(tools=[])
async def called(_, __): return types.CallToolResult(content=[types.TextContent(text="{}")])
server = Server("nothing", on_list_tools=listed, on_call_tool=called)
app = server.streamable_http_app(stateless_http=True, json_response=True)
from pxp_fsm.web.serving import listen
with listen(0) as found:
    print(f"nothing: http://127.0.0.1:{found.getsockname()[1]}/mcp", flush=True)
    print("  Authorization: Bearer none", flush=True)
    print("Ctrl-C ends it", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[found])
"""


@contextmanager
def serving(*command: str) -> Iterator[tuple[dict[str, tuple[str, str]], int]]:
    """The assistants of a server, and its process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        lines = ""
        for line in process.stdout or ():
            lines += line
            if "Ctrl-C" in line:
                break
        try:
            yield printed(lines), process.pid
        finally:
            process.send_signal(signal.SIGINT)


def cpu(process: int) -> float:
    """The seconds of CPU time that a process has had (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def timed(call: Callable[[], Awaitable[object]], process: int, what: str) -> None:
    """Print what a call takes, `TURNS` times in a row."""
    seconds, before = list[float](), cpu(process)
    for _ in range(TURNS):
        began = time.perf_counter()
        await call()
        seconds.append(time.perf_counter() - began)
    used = (cpu(process) - before) / TURNS
    print(
        f"{what}: median {1e3 * statistics.median(seconds):.1f} ms, least "
        f"{1e3 * min(seconds):.1f} ms, {1e3 * used:.1f} ms of the server's CPU"
    )


async def one(address: str, token: str, process: int, what: str) -> None:
    """One client that asks for its turn again and again."""
    async with connected(address, token) as client:
        await client.call_tool("turn", {})
        await timed(lambda: client.call_tool("turn", {}), process, what)


async def many(served: dict[str, tuple[str, str]], clients: int, process: int) -> None:
    """Clients that are all connected, two a session, and carry it to its end."""
    moves: dict[str, list[tuple[str, object]]] = {
        "machine": [("INIT", ANSWER), *[("REF", ANSWER)] * 5],
        "human": [*[("REF", ANSWER)] * 5, ("TERM", None)],
    }
    async with AsyncExitStack() as stack:
        entered = list[tuple[str, str, Client]]()
        for number in range(clients // 2):
            for member, given in served.items():
                client = await stack.enter_async_context(connected(*given))
                entered.append((member, f"pex-1/1/{number + 1}", client))
        began, before = time.perf_counter(), cpu(process)
        await asyncio.gather(
            *(play(client, moves[member], session) for member, session, client in entered)
        )
        seconds, used = time.perf_counter() - began, cpu(process) - before
        endings = [
            (await my_turn(client, session))["ending"]
            for member, session, client in entered
            if member == "machine"
        ]
    messages = len(endings) * sum(len(one) for one in moves.values())
    print(
        f"{clients} clients, {len(endings)} sessions, {messages} messages: {seconds:.1f} s, "
        f"{1e3 * used / messages:.1f} ms of the server's CPU a message; endings {set(endings)}"
    )


def main() -> None:
    """Measure, and print."""
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with serving("-c", _NOTHING) as (served, process):
        asyncio.run(one(*served["nothing"], process, "a tool that does nothing"))
    with tempfile.TemporaryDirectory() as folder:
        command = ("-m", "pxp_fsm.cli", "mcp", str(PEX), "--output", folder, "--port", "0")
        with serving(*command, "--sessions", str(clients // 2)) as (served, process):
            asyncio.run(one(*served["machine"], process, "a turn"))
            asyncio.run(many(served, clients, process))
    print(f"load {re.sub(r'[(),]', '', str(os.getloadavg()))}")


if __name__ == "__main__":
    main()
