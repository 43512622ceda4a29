"""An assistant's turn over MCP on loopback, and many assistants at once.

`python -m benchmarks.bench_mcp [CLIENTS]` prints, for one client, what a turn takes, by the clock
and of the server's CPU, beside a server of the same SDK whose tool does nothing, in turns; and for
CLIENTS clients, two a session, what their messages cost.
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
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client

from tests.web.assistants import ANSWER, PEX, connected, my_turn, play, printed

ROOT = Path(__file__).parents[1]
TURNS, ROUNDS = 100, 5

_NOTHING = """
from contextlib import suppress
import uvicorn
import mcp_types as types
from mcp.server import Server
tool = types.Tool(name="turn", input_schema={"type": "object"})
async def listed(_, __): return types.ListToolsResult(tools=[tool])
async def called(_, __): return types.CallToolResult(content=[types.TextContent(text="{}")])
server = Server("nothing", on_list_tools=listed, on_call_tool=called)
app = server.streamable_http_app(stateless_http=True, json_response=True)
from pxp_fsm.web.serving import listen
with listen(0) as found, suppress(KeyboardInterrupt):
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


@dataclass
class Measured:
    """What a call took: seconds by the clock, and of the server's CPU."""

    what: str
    seconds: list[float] = field(default_factory=list)
    used: float = 0.0

    def __str__(self) -> str:
        used = 1e3 * self.used / len(self.seconds)
        return (
            f"{self.what}: median {1e3 * statistics.median(self.seconds):.1f} ms, least "
            f"{1e3 * min(self.seconds):.1f} ms, {used:.2f} ms of the server's CPU"
        )


async def one(server: tuple[str, str, int], measured: Measured) -> None:
    """One client that asks for its turn again and again."""
    address, token, process = server
    async with connected(address, token) as client:
        await client.list_tools()
        await client.call_tool("turn", {})
        before = cpu(process)
        for _ in range(TURNS):
            began = time.perf_counter()
            await client.call_tool("turn", {})
            measured.seconds.append(time.perf_counter() - began)
        measured.used += cpu(process) - before


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
    messages = len(endings) * sum(len(member_moves) for member_moves in moves.values())
    print(
        f"{clients} clients, {len(endings)} sessions, {messages} messages: {seconds:.1f} s, "
        f"{1e3 * used / messages:.1f} ms of the server's CPU a message; endings {set(endings)}"
    )


def main() -> None:
    """Measure, and print."""
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        command = ("-m", "pxp_fsm.cli", "serve")
        end = ("--mcp", "--no-browser", "--port", "0", "--database")
        one_instance = ("--set", "instances=1", *end, f"{folder}/drug.sqlite")
        nothing, idle = stack.enter_context(serving("-c", _NOTHING))
        served, process = stack.enter_context(
            serving(
                *(*command, str(PEX), "--set", f"repetitions={clients // 2}"),
                *(*end, f"{folder}/pex.sqlite"),
            )
        )
        drug, chemist = stack.enter_context(serving(*command, "drug", *one_instance))
        rows = (
            (Measured("a tool that does nothing"), (*nothing["nothing"], idle)),
            (Measured("a turn of a system"), (*served["machine"], process)),
            (Measured("a turn of DRUG"), (*next(iter(drug.values())), chemist)),
        )
        for _ in range(ROUNDS):
            for measured, server in rows:
                asyncio.run(one(server, measured))
        for measured, _ in rows:
            print(measured)
        asyncio.run(many(served, clients, process))
    print(f"load {re.sub(r'[(),]', '', str(os.getloadavg()))}")


if __name__ == "__main__":
    main()
